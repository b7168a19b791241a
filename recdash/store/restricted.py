"""A read-only store that is limited to one experiment, for guests who follow a share link."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Generic, NoReturn, TypeVar

from recdash.domain.access import READ_ONLY_LINK, without_ids
from recdash.domain.journal import Entry, Report, SavedView
from recdash.domain.records import Experiment, KeptEstimate, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Forbidden, NotFound, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.protocol import Store, ValueStore

Value = TypeVar("Value", Run, OnlineTest, Entry, Report, SavedView, KeptEstimate)
Noticed = TypeVar("Noticed", Run, OnlineTest)


def noticed_without_ids(value: Noticed) -> Noticed:
    """Returns a run or A/B test whose notices quote no ids of users."""
    return replace(value, notices=tuple(map(without_ids, value.notices)))


class Narrowed:
    """The base of a store's parts that are limited to one experiment.

    A method that a subclass does not define raises ``Forbidden``, so that nothing is passed on by default.
    """

    def __init__(self, store: Store, experiment_id: str) -> None:
        self._store, self._experiment_id = store, experiment_id

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Forbidden(READ_ONLY_LINK)

    def _own(self, experiment_id: str, word: str = "experiment", key: str | None = None) -> str:
        """Returns the experiment's id if it is the guest's.

        Raises ``NotFound`` for any other, whether it exists or not. ``word`` and ``key`` are the kind and id
        in the message, by default those of the experiment.
        """
        if experiment_id != self._experiment_id:
            raise NotFound(f"No {word} has the id '{experiment_id if key is None else key}'.")
        return experiment_id

    def _own_runs(self, run_ids: Sequence[str]) -> Sequence[str]:
        for run_id in run_ids:
            self._own(self._store.runs.get(run_id).experiment, "run", run_id)
        return run_ids


class OneExperiment(Narrowed):
    """The read methods of a :class:`Store` for one experiment.

    Others are not found, and all else is forbidden. With ``numbers_only`` notices quote no ids of users, and
    saved views show no single user.
    """

    read_only = True

    def __init__(self, store: Store, experiment_id: str, *, numbers_only: bool = False) -> None:
        super().__init__(store, experiment_id)
        self.experiments = NarrowedExperiments(store, experiment_id, numbers_only=numbers_only)
        noticed = noticed_without_ids if numbers_only else None
        viewed = SavedView.without_user if numbers_only else None
        self.runs = NarrowedRuns(store, experiment_id, store.runs, "run", noticed)
        self.curves = NarrowedCurves(store, experiment_id)
        self.online_tests = NarrowedValues(store, experiment_id, store.online_tests, "online test", noticed)
        self.journal = NarrowedValues(store, experiment_id, store.journal, "entry")
        self.reports = NarrowedValues(store, experiment_id, store.reports, "report")
        self.saved_views = NarrowedViews(store, experiment_id, store.saved_views, "saved view", viewed)
        self.estimates = NarrowedValues(store, experiment_id, store.estimates, "off-policy estimate")
        self.artifacts = NarrowedArtifacts(store, experiment_id)

    @property
    def notices(self) -> tuple[Problem, ...]:
        return ()

    def has_altered_files(self) -> bool:
        return False

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        return self._store.damaged(self._own(experiment or self._experiment_id))

    def by(self, who: str, role: str, read_only: bool = False) -> OneExperiment:  # noqa: ARG002
        return self


class NarrowedExperiments(Narrowed):
    def __init__(self, store: Store, experiment_id: str, *, numbers_only: bool) -> None:
        super().__init__(store, experiment_id)
        self._numbers_only = numbers_only

    def all(self, archived: bool = False) -> list[Experiment]:
        return [
            self._as_seen(experiment)
            for experiment in self._store.experiments.all(archived)
            if experiment.id == self._experiment_id
        ]

    def get(self, key: str) -> Experiment:
        return self._as_seen(self._store.experiments.get(self._own(key)))

    def named(self, name: str) -> Experiment | None:
        return next((experiment for experiment in self.all(archived=True) if experiment.name == name), None)

    def _as_seen(self, experiment: Experiment) -> Experiment:
        if not self._numbers_only or "notices" not in experiment.settings:
            return experiment
        notices = [asdict(without_ids(Problem(**notice))) for notice in experiment.settings["notices"]]
        return replace(experiment, settings={**experiment.settings, "notices": notices})


class NarrowedValues(Narrowed, Generic[Value]):
    """The values of one kind that belong to the experiment. ``word`` is the noun for such a value.

    ``as_seen`` returns a value as the guest may read it; None if they may read all of it.
    """

    def __init__(
        self,
        store: Store,
        experiment_id: str,
        values: ValueStore[Value],
        word: str,
        as_seen: Callable[[Value], Value] | None = None,
    ) -> None:
        super().__init__(store, experiment_id)
        self._values: ValueStore[Value] = values
        self._word = word
        self._as_seen: Callable[[Value], Value] = as_seen or (lambda value: value)

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Value]:
        return [self._as_seen(value) for value in self._values.of_experiment(self._own(experiment), archived)]

    def get(self, key: str) -> Value:
        value = self._values.get(key)
        self._own(value.experiment, self._word, key)
        return self._as_seen(value)


class NarrowedRuns(NarrowedValues[Run]):
    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        replicates = self._store.runs.replicates(self._own_runs(run_ids))
        return {run_id: [self._as_seen(run) for run in runs] for run_id, runs in replicates.items()}

    def find(self, experiment: str, upload_sha: str) -> Run | None:
        run = self._store.runs.find(self._own(experiment), upload_sha)
        return None if run is None else self._as_seen(run)


class NarrowedCurves(Narrowed):
    def of_runs(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        return self._store.curves.of_runs(self._own_runs(run_ids), metrics)

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return self._store.curves.metrics(self._own_runs(run_ids))


class NarrowedViews(NarrowedValues[SavedView]):
    def named(self, name: str) -> SavedView | None:
        view = self._store.saved_views.named(name)
        if view is None or view.experiment != self._experiment_id:
            return None
        return self._as_seen(view)


class NarrowedArtifacts(Narrowed):
    def path(self, sha256: str) -> Path:
        return self._store.artifacts.path(self._own_file(sha256))

    def table(self, sha256: str) -> pa.Table:
        return self._store.artifacts.table(self._own_file(sha256))

    def _own_file(self, sha256: str) -> str:
        """Returns the hash if a record of the experiment needs the file. Raises ``NotFound`` otherwise."""
        store, experiment = self._store, self._store.experiments.get(self._experiment_id)
        runs = store.runs.of_experiment(experiment.id, archived=True)
        replicates = store.runs.replicates([run.id for run in runs])
        files: set[str | None] = {*experiment.files}
        for run in [*runs, *(replicate for below in replicates.values() for replicate in below)]:
            files.update((run.upload, *run.hits.values()))
        for test in store.online_tests.of_experiment(experiment.id, archived=True):
            files.update((test.upload, *test.tables.values()))
        for report in store.reports.of_experiment(experiment.id, archived=True):
            files.add(report.document)
        if sha256 not in files:
            raise NotFound(f"There is no file {sha256}.")
        return sha256
