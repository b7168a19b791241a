"""A store in memory for one computation. Files that were not stored here are read from another store."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, cast

from recdash.domain.journal import Entry
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Forbidden, NotFound, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.artifacts import Artifacts
    from recdash.store.protocol import ArtifactStore, Store


class InMemory:
    """The base of a store's parts in memory; a method that a subclass does not define raises an error."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Forbidden(f"A store in memory has no '{name}'.")


class MemoryStore(InMemory):
    """A store with one experiment, its runs and tests.

    Tables are kept in memory; nothing is written to disk.
    """

    read_only = False

    def __init__(self, behind: Store, experiment: Experiment, journal: Sequence[Entry] = ()) -> None:
        self.experiments = MemoryExperiments(experiment)
        self.curves = MemoryCurves()
        self.runs = MemoryRuns(self.experiments, self.curves)
        self.online_tests = MemoryOnlineTests(self.experiments)
        self.journal = MemoryJournal(journal)
        self.artifacts = MemoryArtifacts(behind)
        self.audit = MemoryAudit()

    def has_altered_files(self) -> bool:
        return False

    def damaged(self, experiment: str | None = None) -> list[Problem]:  # noqa: ARG002 - as in any store
        return []

    def by(self, who: str, role: str, read_only: bool = False) -> MemoryStore:  # noqa: ARG002 - as in any store
        return self


class FilesOnly(InMemory):
    """A store with files and no rows, for a process that scores runs whose rows another one stores."""

    read_only = False

    def __init__(self, artifacts: Artifacts) -> None:
        self.artifacts = cast("ArtifactStore", artifacts)  # all but removing garbage

    def by(self, who: str, role: str, read_only: bool = False) -> FilesOnly:  # noqa: ARG002 - as in any store
        return self


class MemoryAudit(InMemory):
    """An audit log that is always empty."""

    def last(self) -> str:
        return ""

    def n_deletions(self) -> int:
        return 0

    def n_purges(self) -> int:
        return 0

    def purges_of(self, experiment: str) -> list[datetime]:  # noqa: ARG002 - as in any store
        return []


class MemoryExperiments(InMemory):
    """The experiments of a store in memory, which has exactly one."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment

    def all(self, archived: bool = False) -> list[Experiment]:  # noqa: ARG002 - as in any store
        return [self._experiment]

    def get(self, experiment_id: str) -> Experiment:
        if experiment_id != self._experiment.id:
            raise NotFound(f"No experiment has the id '{experiment_id}'.")
        return self._experiment


class MemoryCurves(InMemory):
    """The curves of runs by run id and metric."""

    def __init__(self) -> None:
        self._curves: dict[str, dict[str, Curve]] = {}

    def put(self, run_id: str, curves: Sequence[Curve]) -> None:
        """Stores the curves of a run in memory."""
        self._curves[run_id] = {curve.metric: curve for curve in curves}

    def move(self, old: str, new: str) -> None:
        """Moves the curves from one run id to another."""
        self._curves[new] = self._curves.pop(old)

    def of_runs(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        return {
            run_id: {
                metric: curve
                for metric, curve in self._curves.get(run_id, {}).items()
                if metrics is None or metric in metrics
            }
            for run_id in run_ids
        }

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {run_id: tuple(sorted(self._curves.get(run_id, {}))) for run_id in run_ids}


class MemoryRuns(InMemory):
    """The runs by id, and their replicates."""

    def __init__(self, experiments: MemoryExperiments, curves: MemoryCurves) -> None:
        self._experiments, self._curves = experiments, curves
        self._runs: dict[str, Run] = {}
        self._replicates: dict[str, list[Run]] = {}

    def add(
        self, run: Run, curves: Sequence[Curve], replicates: Sequence[tuple[Run, Sequence[Curve]]] = ()
    ) -> Run:
        self._runs[run.id] = run
        self._replicates[run.id] = [replace(replicate, replicate_of=run.id) for replicate, _ in replicates]
        for added, own in [(run, curves), *replicates]:
            self._curves.put(added.id, own)
        return run

    def update(self, key: str, **fields: Any) -> Run:
        """Changes any fields of a run, even the id, as nothing refers to it yet."""
        changed = replace(self._runs.pop(key), **fields)
        self._runs[changed.id] = changed
        self._curves.move(key, changed.id)
        replicates = self._replicates.pop(key)
        self._replicates[changed.id] = [replace(run, replicate_of=changed.id) for run in replicates]
        return changed

    def find(self, experiment: str, upload_sha: str) -> Run | None:  # noqa: ARG002 - as in any store
        return None

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Run]:
        self._experiments.get(experiment)
        runs = sorted(self._runs.values(), key=lambda run: run.slot)
        return [run for run in runs if archived or run.archived is None]

    def get(self, run_id: str) -> Run:
        replicates = {run.id: run for runs in self._replicates.values() for run in runs}
        run = self._runs.get(run_id) or replicates.get(run_id)
        if run is None:
            raise NotFound(f"No run has the id '{run_id}'.")
        return run

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        return {run_id: self._replicates.get(run_id, []) for run_id in run_ids}


class MemoryOnlineTests(InMemory):
    """The online tests by id."""

    def __init__(self, experiments: MemoryExperiments) -> None:
        self._experiments = experiments
        self._tests: dict[str, OnlineTest] = {}

    def add(self, test: OnlineTest) -> OnlineTest:
        self._tests[test.id] = test
        return test

    def of_experiment(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        self._experiments.get(experiment)
        tests = sorted(self._tests.values(), key=lambda test: test.created, reverse=True)
        return [test for test in tests if archived or test.archived is None]

    def get(self, test_id: str) -> OnlineTest:
        if test_id not in self._tests:
            raise NotFound(f"No A/B test has the id '{test_id}'.")
        return self._tests[test_id]


class MemoryJournal(InMemory):
    """A journal with fixed entries."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Entry]:  # noqa: ARG002 - as in any store
        return list(self._entries)


class MemoryArtifacts(InMemory):
    """A store of tables in memory, which also reads the files of another store."""

    def __init__(self, behind: Store) -> None:
        self._behind = behind
        self._tables: dict[str, pa.Table] = {}

    def put(self, table: Any) -> str:
        """Stores a table in memory, and returns a random name in place of its hash."""
        import pyarrow as pa

        name = secrets.token_hex(32)
        self._tables[name] = table if isinstance(table, pa.Table) else pa.Table.from_batches(list(table))
        return name

    def table(self, sha256: str) -> pa.Table:
        return self._tables[sha256] if sha256 in self._tables else self._behind.artifacts.table(sha256)

    def path(self, sha256: str) -> Path:
        return self._behind.artifacts.path(sha256)
