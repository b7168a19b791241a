"""The workspace: every question that a user can ask of one store."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING

from recdash.domain.access import Person
from recdash.domain.arguments import check_type
from recdash.errors import Problem
from recdash.service.access.audit import AuditLog
from recdash.service.access.maintenance import Maintenance
from recdash.service.access.sharing import Sharing
from recdash.service.access.sign_ins import SignIns
from recdash.service.access.tokens import Tokens
from recdash.service.catalog.additions import Additions
from recdash.service.catalog.demo import DemoExperiment
from recdash.service.catalog.experiments import Experiments
from recdash.service.catalog.intake import Intake
from recdash.service.catalog.overview import ExperimentCards
from recdash.service.catalog.purge import Purge
from recdash.service.catalog.runs import Runs
from recdash.service.catalog.sources import NamedSources
from recdash.service.context import ServiceContext, local_person, now_in_utc
from recdash.service.decisions.decisions import Decisions
from recdash.service.decisions.gates import Gates
from recdash.service.decisions.journal import Journal
from recdash.service.decisions.plans import Plans
from recdash.service.decisions.reviews import Reviews
from recdash.service.decisions.snapshots import Snapshots
from recdash.service.decisions.subjects import Subjects
from recdash.service.diagnosis.explain import Diagnosis
from recdash.service.diagnosis.offline_evidence import OfflineEvidence
from recdash.service.diagnosis.online_evidence import OnlineEvidence
from recdash.service.diagnosis.served_evidence import ServedEvidence
from recdash.service.metric_values import MetricValues
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.cutoffs import CutoffComparisons
from recdash.service.offline.definitions import PresetResults
from recdash.service.offline.lists import StoredLists
from recdash.service.offline.overlap import Overlap
from recdash.service.offline.replicates import Replicates
from recdash.service.offline.run_curves import RunCurves
from recdash.service.offline.scopes import Scopes
from recdash.service.offline.scores import Scores
from recdash.service.offline.segments import Segments
from recdash.service.offline.slices import Slices
from recdash.service.offline.tradeoffs import TradeOffs
from recdash.service.offline.users import UserResults
from recdash.service.online.agreement import OnlineAgreement
from recdash.service.online.analysis import OnlineAnalysis
from recdash.service.online.interleaving import Interleaving
from recdash.service.online.library import MetricLibrary
from recdash.service.online.off_policy import OffPolicyEstimates
from recdash.service.online.shared_users import ConcurrentTests
from recdash.service.online.tests import OnlineTests
from recdash.service.online.track_record import TrackRecords
from recdash.service.queries import Queries
from recdash.service.rules import Rules
from recdash.service.run_data import RunData
from recdash.store import Store, open_store

if TYPE_CHECKING:
    from recdash.ingest import Limits
    from recdash.store import FoundArtifacts


class Workspace:
    """A store as one person sees it. Each attribute is a service, which answers one kind of question."""

    def __init__(
        self,
        store: Store,
        *,
        person: Person | None = None,
        limits: Limits | None = None,
        clock: Callable[[], datetime] = now_in_utc,
    ) -> None:
        person = person or local_person()
        self._wire(ServiceContext(store, person, limits, clock).seen_by(person))
        self._context.clear_caches_after_purge()  # earlier removals do not count

    def _wire(self, context: ServiceContext) -> None:
        self._context = context
        self._data = RunData(context)
        self._values = MetricValues(context, self._data)
        self.experiments = Experiments(context)
        self.runs = Runs(context, self._data)
        self._lists = StoredLists(context, self._data)
        self.cutoffs = CutoffComparisons(context, self._values)
        self.scopes = Scopes(context, self._data)
        self.slices = Slices(context, self._data, self._values)
        self.users = UserResults(context, self._data, self._values, self._lists)
        self.overlap = Overlap(context, self._data, self._values, self._lists)
        self.sharing = Sharing(context)
        self.sign_ins = SignIns(context)
        self.tokens = Tokens(context)
        self.audit = AuditLog(context)
        self.maintenance = Maintenance(context)
        self._run_curves = RunCurves(context, self._data, self._values, self.slices)
        self.scores = Scores(context, self._data, self._values, self._run_curves)
        self.queries = Queries(context, self.scores)
        self.rules = Rules(context)
        self.replicates = Replicates(context, self._data, self._run_curves)
        self.comparisons = Comparisons(
            context,
            self._data,
            self._values,
            self._run_curves,
            self.scores,
            self.replicates,
            scopes=self.scopes,
        )
        self.tradeoffs = TradeOffs(context, self.scores, self.comparisons)
        self.segments = Segments(context, self._data, self._values, self.scores, self.slices)
        self.definitions = PresetResults(context, self._data, self._run_curves)
        self.online_tests = OnlineTests(context, self.scores, self.comparisons)
        self.metric_library = MetricLibrary(context)
        self.interleaving = Interleaving(context, self.online_tests, self.comparisons)
        self.online_analysis = OnlineAnalysis(context, self.online_tests)
        self.concurrent_tests = ConcurrentTests(context, self.online_tests)
        self.off_policy = OffPolicyEstimates(context, self._data, self.online_tests)
        self.agreement = OnlineAgreement(context, self.scores, self.comparisons, self.online_analysis)
        self.track_records = TrackRecords(context, self.comparisons, self.online_tests, self.agreement)
        self.gates = Gates(
            context,
            self._data,
            self.comparisons,
            self.online_tests,
            self.online_analysis,
            self.track_records,
        )
        self.overview = ExperimentCards(context, self.queries, self.comparisons, self.online_tests)
        self._online_evidence = OnlineEvidence(context, self.online_tests, self.online_analysis)
        self._offline_evidence = OfflineEvidence(
            context,
            self._data,
            self._values,
            self.comparisons,
            self.overlap,
            self.online_tests,
            self._online_evidence,
        )
        self._served_evidence = ServedEvidence(context, self._data, self._lists, self._offline_evidence)
        self.diagnosis = Diagnosis(
            context,
            self.comparisons,
            self._online_evidence,
            self._offline_evidence,
            self._served_evidence,
            self.track_records,
        )
        self._snapshots = Snapshots(
            context, self.comparisons, self.online_tests, self.online_analysis, self.diagnosis
        )
        self.journal = Journal(context)
        self.plans = Plans(context, self.journal, self.online_tests, self.online_analysis)
        self.reviews, self.decisions = self._decision_services(context, self.journal)
        self.additions = Additions(context, self.experiments, self.runs, self.online_tests, self.interleaving)
        self.demo = DemoExperiment(
            context,
            self.experiments,
            self.runs,
            self.additions,
            self.queries,
            decision_services=self._decision_services,
        )
        self.intake = Intake(
            context, self.experiments, self.runs, self.online_tests, self.additions, self.interleaving
        )
        self.sources = NamedSources(context)
        self.purge = Purge(
            context, self._data, self.experiments, self.runs, self.online_tests, self.interleaving
        )
        self._narrowed = context.cached(context.narrowed_to, most=8)
        self._seen = context.cached(self._as_seen, most=64)

    def _decision_services(
        self, context: ServiceContext, journal: Journal | None = None
    ) -> tuple[Reviews, Decisions]:
        """Returns the services for reviews and decisions, which write as the context's person at the
        context's time.
        """
        journal = journal or Journal(context)
        subjects = Subjects(context, self.queries, self.online_tests)
        return (
            Reviews(context, self._snapshots, journal, subjects),
            Decisions(context, self.online_tests, self._snapshots, journal, subjects),
        )

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        artifacts: str | os.PathLike[str] | None = None,
        person: Person | None = None,
        limits: Limits | None = None,
        found_artifacts: FoundArtifacts | None = None,
    ) -> Workspace:
        """Opens the workspace of a database, by default the one in the settings; read-only unless the person
        may edit.

        ``person`` defaults to the local user. ``found_artifacts``: see ``open_store``.
        """
        check_type("artifacts", artifacts, (str, os.PathLike, NoneType), "Give the path of a folder.")
        person = person or local_person()
        reading = not person.may("editor")
        store = open_store(database_url, artifacts, read_only=reading, found_artifacts=found_artifacts)
        return cls(store, person=person, limits=limits)

    @property
    def person(self) -> Person:
        return self._context.person

    @property
    def store(self) -> Store:
        return self._context.store

    @property
    def limits(self) -> Limits | None:
        """Returns the limits of uploads; None if uploads are not limited."""
        return self._context.limits

    def now(self) -> datetime:
        return self._context.now()

    def secret(self) -> bytes:
        """Returns the secret that signs links and cookies: the one in the settings, else the one in the
        store.
        """
        return self._context.secret()

    def damaged(self, experiment_id: str | None = None) -> list[Problem]:
        """Returns the damage that was noticed while reading an experiment, by default any; damaged data is
        not used.
        """
        return self.store.damaged(experiment_id)

    def also_clear(self, clear: Callable[[], None]) -> None:
        """Makes the workspace call ``clear`` when it clears its caches because a user was removed."""
        self._context.also_clear(clear)

    def release_unneeded(self) -> None:
        """Frees what is not needed while no page is open: cached answers, if anything was deleted since the
        last call, as they may be about that, and connections for reading.
        """
        self._context.clear_caches_after_deletion()
        self._context.store.close_idle_readers()

    def seen_by(self, person: Person) -> Workspace:
        """Returns this workspace for another person, with the same cached answers.

        A guest shares cached answers only with guests who see the same of the same experiment.
        """
        self._context.clear_caches_after_purge()
        self._context.clear_caches_after_alteration()
        return self if person == self.person else self._seen(person)

    def _as_seen(self, person: Person) -> Workspace:
        guest_of = person.experiment
        context = self._context if guest_of is None else self._narrowed(guest_of, person.numbers_only)
        seen = object.__new__(type(self))
        seen._wire(context.seen_by(person))
        return seen
