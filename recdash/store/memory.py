"""A store for one sitting: what is computed stays in memory; other files come from another store."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from recdash.domain.journal import Entry
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Forbidden, NotFound, Problem

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.protocol import Store


class MemoryStore:
    """One experiment with its runs and tests. Tables that are put are held; nothing is written anywhere."""

    read_only = False

    def __init__(self, behind: Store, experiment: Experiment, journal: Sequence[Entry] = ()) -> None:
        self._behind, self._experiment, self._journal = behind, experiment, list(journal)
        self._runs: dict[str, Run] = {}
        self._below: dict[str, list[Run]] = {}
        self._curves: dict[str, dict[str, Curve]] = {}
        self._tests: dict[str, OnlineTest] = {}
        self._tables: dict[str, pa.Table] = {}

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        raise Forbidden(f"A store in memory has no '{name}'.")

    def damaged(self, experiment: str | None = None) -> list[Problem]:  # noqa: ARG002 - as every store
        return []

    def by(self, who: str, role: str, read_only: bool = False) -> MemoryStore:  # noqa: ARG002 - as every store
        return self

    # experiment and journal ────────────────────────────────────────────────────────────────────

    def experiments(self, archived: bool = False) -> list[Experiment]:  # noqa: ARG002 - as every store
        return [self._experiment]

    def experiment(self, experiment_id: str) -> Experiment:
        if experiment_id != self._experiment.id:
            raise NotFound(f"There is no experiment with the id '{experiment_id}'.")
        return self._experiment

    def entries(self, experiment: str) -> list[Entry]:  # noqa: ARG002
        return list(self._journal)

    # runs ──────────────────────────────────────────────────────────────────────────────────────

    def add_run(
        self, run: Run, curves: Sequence[Curve], replicates: Sequence[tuple[Run, Sequence[Curve]]] = ()
    ) -> Run:
        self._runs[run.id] = run
        self._curves[run.id] = {curve.metric: curve for curve in curves}
        self._below[run.id] = [replace(one, replicate_of=run.id) for one, _ in replicates]
        self._curves |= {one.id: {curve.metric: curve for curve in own} for one, own in replicates}
        return run

    def update_run(self, run_id: str, **fields: Any) -> Run:
        """Other fields, also those that make a run itself: nothing refers to it here yet."""
        changed = replace(self._runs.pop(run_id), **fields)
        self._runs[changed.id] = changed
        self._curves[changed.id] = self._curves.pop(run_id)
        self._below[changed.id] = [replace(one, replicate_of=changed.id) for one in self._below.pop(run_id)]
        return changed

    def find_run(self, experiment: str, upload_sha: str) -> Run | None:  # noqa: ARG002
        return None

    def runs(self, experiment: str, archived: bool = False) -> list[Run]:
        self.experiment(experiment)
        known = sorted(self._runs.values(), key=lambda run: run.slot)
        return [run for run in known if archived or run.archived is None]

    def run(self, run_id: str) -> Run:
        below = {one.id: one for some in self._below.values() for one in some}
        found = self._runs.get(run_id) or below.get(run_id)
        if found is None:
            raise NotFound(f"There is no run with the id '{run_id}'.")
        return found

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        return {run_id: self._below.get(run_id, []) for run_id in run_ids}

    def curves(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        return {run_id: _some(self._curves.get(run_id, {}), metrics) for run_id in run_ids}

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        return {run_id: tuple(sorted(self._curves.get(run_id, {}))) for run_id in run_ids}

    # online tests ──────────────────────────────────────────────────────────────────────────────

    def add_online_test(self, test: OnlineTest) -> OnlineTest:
        self._tests[test.id] = test
        return test

    def online_tests(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        self.experiment(experiment)
        known = sorted(self._tests.values(), key=lambda test: test.created, reverse=True)
        return [test for test in known if archived or test.archived is None]

    def online_test(self, test_id: str) -> OnlineTest:
        if test_id not in self._tests:
            raise NotFound(f"There is no online test with the id '{test_id}'.")
        return self._tests[test_id]

    # files ─────────────────────────────────────────────────────────────────────────────────────

    def put(self, table: Any) -> str:
        """Under a name that no other file has."""
        import pyarrow as pa

        name = secrets.token_hex(32)
        self._tables[name] = table if isinstance(table, pa.Table) else pa.Table.from_batches(list(table))
        return name

    def table(self, sha256: str) -> pa.Table:
        return self._tables[sha256] if sha256 in self._tables else self._behind.table(sha256)

    def path(self, sha256: str) -> Path:
        return self._behind.path(sha256)


def _some(curves: Mapping[str, Curve], metrics: Sequence[str] | None) -> dict[str, Curve | Unavailable]:
    return {name: curve for name, curve in curves.items() if metrics is None or name in metrics}
