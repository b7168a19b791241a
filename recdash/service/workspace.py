"""The workspace: everything that a user can ask, over one store; and the demo."""

from __future__ import annotations

import copy
from functools import lru_cache
from typing import TYPE_CHECKING

from recdash.domain.access import Person
from recdash.domain.records import Experiment
from recdash.report.digest.digest import Digests
from recdash.report.reports import Reports
from recdash.service.access.audit import Audits
from recdash.service.access.sharing import LinkDead, Sharing
from recdash.service.catalog.experiments import Experiments
from recdash.service.catalog.runs import Runs
from recdash.service.context import person_here
from recdash.service.decisions.decisions import Decisions
from recdash.service.offline.cutoffs import AcrossCutoffs
from recdash.service.offline.definitions import UnderPresets
from recdash.service.offline.overlap import WhatIsFound
from recdash.service.offline.scopes import Scopes
from recdash.service.offline.segments import Segments
from recdash.service.offline.tradeoffs import TradeOffs
from recdash.service.offline.users import PerUser
from recdash.service.validation import Progress, quiet
from recdash.store import OneExperiment, open_store

if TYPE_CHECKING:
    import os

    from recdash.ingest import Limits
    from recdash.report.reports import ReportFile
    from recdash.store import FoundArtifacts


class Workspace(
    Decisions,
    UnderPresets,
    AcrossCutoffs,
    Scopes,
    TradeOffs,
    Segments,
    PerUser,
    WhatIsFound,
    Experiments,
    Runs,
    Reports,
    Sharing,
    Audits,
    Digests,
):
    """Experiments, runs and online tests of one store, seen by one person."""

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        artifacts: str | os.PathLike[str] | None = None,
        person: Person | None = None,
        limits: Limits | None = None,
        found_artifacts: FoundArtifacts | None = None,
    ) -> Workspace:
        """The workspace of a database (by default that of the settings); a viewer's is read-only.

        Without a ``person`` it is that of whoever sits at this machine. ``found_artifacts``: as in
        ``open_store``.
        """
        person = person or person_here()
        reading = not person.may("editor")
        store = open_store(database_url, artifacts, read_only=reading, found_artifacts=found_artifacts)
        return cls(store, person=person, limits=limits)

    def _keep(self) -> None:
        super()._keep()
        self._narrowed = lru_cache(maxsize=8)(self._narrow_to)

    def seen_by(self, person: Person) -> Workspace:
        """The same workspace for another person, who shares what was read and computed.

        A guest shares it with the other guests of the same experiment only.
        """
        if person == self.person:
            return self
        seen = copy.copy(self if person.experiment is None else self._narrowed(person.experiment))
        seen.person = person
        seen.store = seen.store.by(person.name, person.role, read_only=not person.may("editor"))
        return seen

    def _narrow_to(self, experiment_id: str) -> Workspace:
        """With answers of its own: no id of another experiment finds anything there."""
        store = OneExperiment(self.store, experiment_id)
        guest = Person("guest", "viewer", experiment_id)
        return type(self)(store, person=guest, limits=self.limits, clock=self._clock)

    def shared_report(self, token: str) -> ReportFile:
        """The one report that a share link opens, as a page; the rest of its experiment stays closed.

        Raises LinkDead, also for the link of a whole experiment.
        """
        link = self.shared(token)
        if link.report is None:
            raise LinkDead("unknown")
        inside = self.seen_by(Person(f"guest of {link.author}", "viewer", link.experiment))
        return inside.report_file(link.report)

    def has_demo(self) -> bool:
        return any(one.demo for one in self.experiments(archived=True))

    def load_demo(self, progress: Progress | None = None) -> Experiment:
        """Five candidates of an invented film service, and an A/B test; loading again changes nothing."""
        self._may_write()
        from recdash.demo import film_service

        tell = progress or quiet
        tell(0.0, "Inventing a film service")
        made = film_service.make()
        known = [one for one in self.experiments(archived=True) if one.demo]
        experiment = (
            self.restore_experiment(known[0].id)
            if known
            else self.create_experiment(
                made.experiment, made.truth, train=made.train, catalogue=made.catalogue, demo=True
            )
        )
        ids = {}
        for place, (name, table) in enumerate(made.runs.items(), start=1):
            ids[name] = self.add_runs(experiment.id, table, name=name)[0].run.id
            tell(place / (len(made.runs) + 1), f"Scored {name}")
        if not self.online_tests(experiment.id, archived=True):
            links = {variant: ids[run] for variant, run in made.links.items()}
            tables = {"sessions": made.sessions, "served": made.served}
            self.add_online_test(experiment.id, made.test, tables, control=made.control, links=links)
        tell(1.0, "Done")
        return self.set_baseline(experiment.id, ids[made.baseline])

    def remove_demo(self) -> None:
        self._may_write()
        for one in self.experiments(archived=True):
            if one.demo:
                self._write().delete_experiment(one.id)
