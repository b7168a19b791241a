"""A store narrowed to one experiment, for reading: what the guest of a share link may see."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from recdash.domain.journal import Entry, Report, SavedView
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Forbidden, NotFound, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.protocol import Store


class Narrowed:
    """A store, or a part of one, that shows one experiment.

    What a subclass does not define is forbidden to a guest: nothing is passed on by default.
    """

    def __init__(self, store: Store, experiment_id: str) -> None:
        self._store, self._experiment_id = store, experiment_id

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Forbidden("A share link is for reading.")

    def _own(self, experiment_id: str, word: str = "experiment", key: str | None = None) -> str:
        """The id; raises ``NotFound`` for that of another experiment, as for one that does not exist."""
        if experiment_id != self._experiment_id:
            raise NotFound(f"There is no {word} with the id '{experiment_id if key is None else key}'.")
        return experiment_id

    def _own_runs(self, run_ids: Sequence[str]) -> Sequence[str]:
        for run_id in run_ids:
            self._own(self._store.runs.get(run_id).experiment, "run", run_id)
        return run_ids


class OneExperiment(Narrowed):
    """The reading half of a :class:`Store`. Other experiments do not exist, everything else is forbidden."""

    read_only = True

    def __init__(self, store: Store, experiment_id: str) -> None:
        super().__init__(store, experiment_id)
        self.experiments = NarrowedExperiments(store, experiment_id)
        self.runs = NarrowedRuns(store, experiment_id)
        self.curves = NarrowedCurves(store, experiment_id)
        self.online_tests = NarrowedOnlineTests(store, experiment_id)
        self.journal = NarrowedJournal(store, experiment_id)
        self.reports = NarrowedReports(store, experiment_id)
        self.saved_views = NarrowedSavedViews(store, experiment_id)
        self.artifacts = NarrowedArtifacts(store, experiment_id)

    @property
    def notices(self) -> tuple[Problem, ...]:
        return ()

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        return self._store.damaged(self._own(experiment or self._experiment_id))

    def by(self, who: str, role: str, read_only: bool = False) -> OneExperiment:  # noqa: ARG002
        return self


class NarrowedExperiments(Narrowed):
    def all(self, archived: bool = False) -> list[Experiment]:
        return [
            experiment
            for experiment in self._store.experiments.all(archived)
            if experiment.id == self._experiment_id
        ]

    def get(self, experiment_id: str) -> Experiment:
        return self._store.experiments.get(self._own(experiment_id))

    def named(self, name: str) -> Experiment | None:
        return next((experiment for experiment in self.all(archived=True) if experiment.name == name), None)


class NarrowedRuns(Narrowed):
    def of_experiment(self, experiment: str, archived: bool = False) -> list[Run]:
        return self._store.runs.of_experiment(self._own(experiment), archived)

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        return self._store.runs.replicates(self._own_runs(run_ids))

    def get(self, run_id: str) -> Run:
        run = self._store.runs.get(run_id)
        self._own(run.experiment, "run", run_id)
        return run

    def find(self, experiment: str, upload_sha: str) -> Run | None:
        return self._store.runs.find(self._own(experiment), upload_sha)


class NarrowedCurves(Narrowed):
    def of_runs(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        return self._store.curves.of_runs(self._own_runs(run_ids), metrics)

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._store.curves.metrics(self._own_runs(run_ids))


class NarrowedOnlineTests(Narrowed):
    def of_experiment(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        return self._store.online_tests.of_experiment(self._own(experiment), archived)

    def get(self, test_id: str) -> OnlineTest:
        test = self._store.online_tests.get(test_id)
        self._own(test.experiment, "online test", test_id)
        return test


class NarrowedJournal(Narrowed):
    def of_experiment(self, experiment: str) -> list[Entry]:
        return self._store.journal.of_experiment(self._own(experiment))

    def get(self, entry_id: str) -> Entry:
        entry = self._store.journal.get(entry_id)
        self._own(entry.experiment, "entry", entry_id)
        return entry


class NarrowedReports(Narrowed):
    def of_experiment(self, experiment: str, archived: bool = False) -> list[Report]:
        return self._store.reports.of_experiment(self._own(experiment), archived)

    def get(self, report_id: str) -> Report:
        report = self._store.reports.get(report_id)
        self._own(report.experiment, "report", report_id)
        return report


class NarrowedSavedViews(Narrowed):
    def of_experiment(self, experiment: str) -> list[SavedView]:
        return self._store.saved_views.of_experiment(self._own(experiment))

    def named(self, name: str) -> SavedView | None:
        view = self._store.saved_views.named(name)
        return view if view is not None and view.experiment == self._experiment_id else None


class NarrowedArtifacts(Narrowed):
    def path(self, sha256: str) -> Path:
        return self._store.artifacts.path(self._own_file(sha256))

    def table(self, sha256: str) -> pa.Table:
        return self._store.artifacts.table(self._own_file(sha256))

    def _own_file(self, sha256: str) -> str:
        """The hash, if something of this experiment needs the file; else raises ``NotFound``."""
        store, experiment = self._store, self._store.experiments.get(self._experiment_id)
        runs = store.runs.of_experiment(experiment.id, archived=True)
        replicates = store.runs.replicates([run.id for run in runs])
        files = {experiment.truth, experiment.train, experiment.catalogue, *experiment.tables.values()}
        for run in [*runs, *(replicate for below in replicates.values() for replicate in below)]:
            files.update((run.upload, *run.hits.values()))
        for test in store.online_tests.of_experiment(experiment.id, archived=True):
            files.update((test.upload, *test.tables.values()))
        for report in store.reports.of_experiment(experiment.id, archived=True):
            files.add(report.document)
        if sha256 not in files:
            raise NotFound(f"There is no file {sha256}.")
        return sha256
