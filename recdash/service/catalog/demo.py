"""Loads and removes the demo, which includes a sample review, decision and report."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from recdash.domain.access import Person
from recdash.domain.journal import Report
from recdash.domain.records import Experiment, OnlineTest
from recdash.evaluation.candidates import PreparedRun
from recdash.service.catalog.additions import Added, Addition, Additions
from recdash.service.catalog.experiments import Experiments, Setup
from recdash.service.catalog.history import SAMPLE_AUTHOR
from recdash.service.catalog.runs import Runs
from recdash.service.context import ServiceContext
from recdash.service.decisions.decisions import Decisions
from recdash.service.decisions.reviews import Reviews
from recdash.service.online.tests import NewTest
from recdash.service.queries import Queries
from recdash.service.question import Question
from recdash.service.staging import store_with_files
from recdash.service.validation import Progress, quiet
from recdash.store import new_id

if TYPE_CHECKING:
    from recdash.demo.film_service import FilmService

CHOSEN = "ALS v3"
PROPOSAL = "Sample: replace Popular with ALS v3 in the homepage row."
DECISION = (
    "Sample decision. ALS v3 won offline and online. Two-tower scores higher offline, but users watched less "
    "in the A/B test."
)
ALTHOUGH = (
    "Diversity falls slightly more than its guardrail allows, and the A/B test was too small for sessions "
    "per user. We accept both, because users engaged and watched more."
)
REPORT_TITLE = "Sample report: which recommender for the homepage row?"
SUMMARY = (
    "Sample summary. Ship ALS v3 to all users of the homepage row. Two-tower learned the season's hits, "
    "which many users start and few finish."
)
ONLINE_METRIC = "session_watch_time"
SLICES = "user_warmth"


class DemoExperiment:
    """The demo experiment of a store.

    ``decision_services`` returns the services for reviews and decisions that write as a context's person.
    """

    def __init__(
        self,
        context: ServiceContext,
        experiments: Experiments,
        runs: Runs,
        additions: Additions,
        queries: Queries,
        *,
        decision_services: Callable[[ServiceContext], tuple[Reviews, Decisions]],
    ) -> None:
        self._context, self._experiments, self._runs = context, experiments, runs
        self._store = context.store
        self._additions, self._queries = additions, queries
        self._decision_services = decision_services

    def exists(self) -> bool:
        return any(experiment.demo for experiment in self._store.experiments.all(archived=True))

    def load(self, progress: Progress | None = None) -> Experiment:
        """Stores a simulated film service: a baseline and four candidates, an A/B test, an interleaving test,
        a sample review, decision and report.

        All of it is stored in one transaction. Loading it again changes nothing, except that an archived demo
        is unarchived.
        """
        self._context.must_be_editor()
        from recdash.demo import film_service

        tell = progress or quiet
        tell(0.0, "Simulating a film service")
        service = film_service.make()
        known = next((stored for stored in self._store.experiments.all(archived=True) if stored.demo), None)
        where = self._setup(service) if known is None else known.id
        prepared: list[PreparedRun] = []
        n_steps = len(service.runs) + 2
        for place, (name, table) in enumerate(service.runs.items(), start=1):
            prepared += self._runs.prepare(where, table, name=name)
            tell(place / n_steps, f"Scored {name}")
        stored = [] if known is None else self._store.online_tests.of_experiment(known.id, archived=True)
        has_interleaving = any(test.is_interleaved for test in stored)
        has_test = len(stored) > has_interleaving
        addition = Addition(
            where if isinstance(where, str) else None,
            None if isinstance(where, str) else where,
            prepared,
            [{}] * len(prepared),
            tests=_tests(service, has_test=has_test, has_interleaving=has_interleaving),
        )
        tell(1 - 1 / n_steps, "Storing it with a sample decision and report")
        experiment = store_with_files(
            self._context.writable_store(),
            lambda: self._additions.stage(addition),
            lambda staged: self._stored(service, self._additions.store_staged(addition, staged)),
        )
        tell(1.0, "Done")
        return experiment

    def _setup(self, service: FilmService) -> Setup:
        return self._experiments.read_setup(
            service.experiment, service.truth, train=service.train, catalogue=service.catalogue, demo=True
        )

    def _stored(self, service: FilmService, added: Added) -> Experiment:
        """Stores what belongs to the experiment and its runs, in the same transaction as these."""
        ids = {name: done.run.id for name, done in zip(service.runs, added.runs, strict=True)}
        if not added.is_new:
            self._experiments.unarchive(added.experiment.id)
        experiment = self._experiments.set_baseline(added.experiment.id, ids[service.baseline])
        if added.is_new:
            self._add_samples(experiment, added.tests[0], ids)
        return experiment

    def _add_samples(self, experiment: Experiment, test: OnlineTest, ids: Mapping[str, str]) -> None:
        """Stores a review of the candidate to ship, its approval and a report.

        They are dated now, as their evidence is: a decision cannot be older than the numbers behind it.
        """
        query = self._queries.of(experiment.id)
        author = Person(SAMPLE_AUTHOR, self._context.person.role, named=False)
        reviews, decisions = self._decision_services(replace(self._context, person=author))
        review = reviews.propose(experiment.id, ids[CHOSEN], query, text=PROPOSAL)
        reviews.add_offline_evidence(review.id)
        reviews.add_online_evidence(review.id, test.id)
        decisions.decide(experiment.id, "ship", about=review.id, text=DECISION, although=ALTHOUGH)
        question = Question(experiment.id, query, SLICES, test.id, ONLINE_METRIC).as_dict()
        report = Report(
            new_id(),
            experiment.id,
            self._context.now(),
            SAMPLE_AUTHOR,
            REPORT_TITLE,
            SUMMARY,
            (),
            question,
            document=None,
        )
        self._context.writable_store().reports.add(report)

    def remove(self) -> None:
        """Deletes the demo with its decisions, reports and files."""
        self._context.must_be_editor()
        for experiment in self._store.experiments.all(archived=True):
            if experiment.demo:
                self._context.writable_store().experiments.delete(experiment.id)


def _tests(service: FilmService, *, has_test: bool, has_interleaving: bool) -> list[NewTest]:
    """Returns the A/B test, then the interleaving test, without those that are stored already."""
    tests = []
    if not has_test:
        tables = {"sessions": service.sessions, "served": service.served}
        tests.append(NewTest(service.test, tables, service.control, links=service.links))
    if not has_interleaving:
        interleaved = {"interleaving": service.interleaved}
        tests.append(NewTest(service.interleaving, interleaved, service.control, links=service.teams))
    return tests
