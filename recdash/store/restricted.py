"""A store narrowed to one experiment, for reading: what the guest of a share link may see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from recdash.domain.journal import Entry, Report, SavedView
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Forbidden, NotFound, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.protocol import Store


class OneExperiment:
    """The reading half of a :class:`Store`. Other experiments are not there, everything else is forbidden.

    What is not written here does not exist for a guest: nothing is passed on by default.
    """

    read_only = True

    def __init__(self, store: Store, experiment_id: str) -> None:
        self._store, self._experiment_id = store, experiment_id

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Forbidden("A share link is for reading.")

    @property
    def notices(self) -> tuple[Problem, ...]:
        return ()

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        mine = self._mine(experiment or self._experiment_id, "experiment", experiment or "")
        return self._store.damaged(mine)

    def by(self, who: str, role: str, read_only: bool = False) -> OneExperiment:  # noqa: ARG002
        return self

    def experiments(self, archived: bool = False) -> list[Experiment]:
        return [one for one in self._store.experiments(archived) if one.id == self._experiment_id]

    def experiment(self, experiment_id: str) -> Experiment:
        return self._store.experiment(self._mine(experiment_id, "experiment", experiment_id))

    def experiment_named(self, name: str) -> Experiment | None:
        return next((one for one in self.experiments(archived=True) if one.name == name), None)

    def runs(self, experiment: str, archived: bool = False) -> list[Run]:
        return self._store.runs(self._mine(experiment, "experiment", experiment), archived)

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        return self._store.replicates(self._known(run_ids))

    def run(self, run_id: str) -> Run:
        run = self._store.run(run_id)
        self._mine(run.experiment, "run", run_id)
        return run

    def find_run(self, experiment: str, upload_sha: str) -> Run | None:
        return self._store.find_run(self._mine(experiment, "experiment", experiment), upload_sha)

    def curves(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        return self._store.curves(self._known(run_ids), metrics)

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._store.metrics(self._known(run_ids))

    def online_tests(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        return self._store.online_tests(self._mine(experiment, "experiment", experiment), archived)

    def online_test(self, test_id: str) -> OnlineTest:
        test = self._store.online_test(test_id)
        self._mine(test.experiment, "online test", test_id)
        return test

    def entries(self, experiment: str) -> list[Entry]:
        return self._store.entries(self._mine(experiment, "experiment", experiment))

    def entry(self, entry_id: str) -> Entry:
        entry = self._store.entry(entry_id)
        self._mine(entry.experiment, "entry", entry_id)
        return entry

    def reports(self, experiment: str, archived: bool = False) -> list[Report]:
        return self._store.reports(self._mine(experiment, "experiment", experiment), archived)

    def report(self, report_id: str) -> Report:
        report = self._store.report(report_id)
        self._mine(report.experiment, "report", report_id)
        return report

    def saved_views(self, experiment: str) -> list[SavedView]:
        return self._store.saved_views(self._mine(experiment, "experiment", experiment))

    def saved_view_named(self, name: str) -> SavedView | None:
        found = self._store.saved_view_named(name)
        return found if found is not None and found.experiment == self._experiment_id else None

    def path(self, sha256: str) -> Path:
        return self._store.path(self._of_mine(sha256))

    def table(self, sha256: str) -> pa.Table:
        return self._store.table(self._of_mine(sha256))

    def _mine(self, experiment_id: str, word: str, key: str) -> str:
        """The id, unless it is that of another experiment: then the same words as for what is not there."""
        if experiment_id != self._experiment_id:
            raise NotFound(f"There is no {word} with the id '{key}'.")
        return experiment_id

    def _known(self, run_ids: Sequence[str]) -> Sequence[str]:
        for run_id in run_ids:
            self.run(run_id)
        return run_ids

    def _of_mine(self, sha256: str) -> str:
        """A file's name, if something of this experiment needs the file."""
        if sha256 not in self._files():
            raise NotFound(f"There is no file {sha256}.")
        return sha256

    def _files(self) -> frozenset[Any]:
        experiment = self.experiment(self._experiment_id)
        runs = self.runs(experiment.id, archived=True)
        below = [one for some in self._store.replicates([run.id for run in runs]).values() for one in some]
        found: list[Iterable[str | None]] = [
            (experiment.truth, experiment.train, experiment.catalogue, *experiment.tables.values()),
            *((run.upload, *run.hits.values()) for run in (*runs, *below)),
            *((one.upload, *one.tables.values()) for one in self.online_tests(experiment.id, archived=True)),
            [report.document for report in self.reports(experiment.id, archived=True)],
        ]
        return frozenset(sha256 for some in found for sha256 in some if sha256 is not None)
