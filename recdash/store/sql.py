"""The store over SQLAlchemy: SQLite and PostgreSQL by the same code.

Rows and sessions stay in this module. Every public method is one short transaction: whatever
takes time has happened before.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from recdash.domain import Curve, Experiment, OnlineTest, Run
from recdash.errors import Forbidden, NameTaken, NotFound, Problem
from recdash.store.artifacts import Artifacts
from recdash.store.connections import DatabaseUrl, connect, spoken
from recdash.store.protocol import REFERENCE_SLOTS, UNUSED_FOR
from recdash.store.schema import ensure_schema
from recdash.store.tables import (
    EXPERIMENT,
    FIXED,
    KINDS,
    ONLINE_TEST,
    RUN,
    ArtifactRow,
    CurveRow,
    ExperimentRow,
    Kind,
    OnlineTestRow,
    RunRow,
    curve_columns,
    curve_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


class SqlStore:
    """See :class:`recdash.store.protocol.Store`."""

    def __init__(self, url: DatabaseUrl, artifacts: Path, read_only: bool = False) -> None:
        with spoken(url.url.render_as_string(hide_password=True)):
            self._database = connect(url, read_only)
        self._artifacts = Artifacts(artifacts)
        self._finalizer = weakref.finalize(self, self._database.dispose)
        try:
            ensure_schema(self._database)
        except BaseException:
            self.close()
            raise

    @property
    def read_only(self) -> bool:
        return self._database.writer is None

    @property
    def notices(self) -> tuple[Problem, ...]:
        return self._database.notices

    def close(self) -> None:
        self._finalizer()

    # transactions ──────────────────────────────────────────────────────────────────────────────

    @contextmanager
    def _read(self) -> Iterator[Session]:
        with spoken(self._database.place):
            self._database.check()
            with Session(self._database.reader) as session, session.begin():
                yield session

    @contextmanager
    def _write(self) -> Iterator[Session]:
        self._refuse_if_read_only()
        with spoken(self._database.place), self._database.gate.hold():
            self._database.check()
            with Session(self._database.writer) as session, session.begin():
                yield session

    def _refuse_if_read_only(self) -> None:
        if self.read_only:
            raise Forbidden("This store is open for reading only.")

    # any kind of thing ─────────────────────────────────────────────────────────────────────────

    def _one(self, kind: Kind, key: str) -> Any:
        with self._read() as session:
            return kind.to_value(_row(session, kind, key))

    def _listed(self, kind: Kind, archived: bool, *order: Any, **where: str | None) -> list[Any]:
        query = select(kind.row).filter_by(**where).order_by(*order)
        if not archived:
            query = query.where(kind.row.archived.is_(None))
        with self._read() as session:
            return [kind.to_value(row) for row in session.scalars(query)]

    def _add(self, kind: Kind, value: Any) -> Any:
        with self._write() as session:
            stored = session.get(kind.row, value.id)
            if stored is None:
                stored = self._insert(session, kind, value)
            return _stored(session, kind, stored)

    def _insert(self, session: Session, kind: Kind, value: Any) -> Any:
        if kind is not EXPERIMENT:
            _row(session, EXPERIMENT, value.experiment)
        _refuse_conflicts(session, kind, value)
        self._register(session, _needed(kind, value), value.created)
        row = kind.to_row(value)
        session.add(row)
        return row

    def _update(self, kind: Kind, key: str, fields: dict[str, Any]) -> Any:
        if wrong := fields.keys() - (set(kind.names) - FIXED):
            raise TypeError(f"{', '.join(sorted(wrong))} of an {kind.word} cannot be changed")
        with self._write() as session, session.no_autoflush:
            row = _row(session, kind, key)
            before = _needed(kind, row)
            for name, value in fields.items():
                setattr(row, name, value)
            _refuse_conflicts(session, kind, row)
            self._register(session, _needed(kind, row) - before, row.created)
            return _stored(session, kind, row)

    def _register(self, session: Session, needed: frozenset[str], created: datetime) -> None:
        """Note which files are needed from now on; raises ``NotFound`` for one that is not there."""
        sizes = {sha256: self._artifacts.n_bytes(sha256) for sha256 in sorted(needed)}
        known = set(session.scalars(select(ArtifactRow.sha256).where(ArtifactRow.sha256.in_(needed))))
        rows = [
            {"sha256": sha256, "n_bytes": n_bytes, "created": created}
            for sha256, n_bytes in sizes.items()
            if sha256 not in known
        ]
        if rows:
            session.execute(insert(ArtifactRow), rows)

    # experiments ───────────────────────────────────────────────────────────────────────────────

    def experiments(self, archived: bool = False) -> list[Experiment]:
        return self._listed(EXPERIMENT, archived, ExperimentRow.created.desc(), ExperimentRow.id)

    def experiment(self, experiment_id: str) -> Experiment:
        found: Experiment = self._one(EXPERIMENT, experiment_id)
        return found

    def experiment_named(self, name: str) -> Experiment | None:
        return next(iter(self._listed(EXPERIMENT, True, ExperimentRow.id, name=name)), None)

    def add_experiment(self, experiment: Experiment) -> Experiment:
        added: Experiment = self._add(EXPERIMENT, experiment)
        return added

    def update_experiment(self, experiment_id: str, **fields: Any) -> Experiment:
        updated: Experiment = self._update(EXPERIMENT, experiment_id, fields)
        return updated

    def delete_experiment(self, experiment_id: str) -> None:
        with self._write() as session:
            session.delete(_row(session, EXPERIMENT, experiment_id))

    # runs ──────────────────────────────────────────────────────────────────────────────────────

    def runs(self, experiment: str, archived: bool = False) -> list[Run]:
        return self._listed(RUN, archived, RunRow.slot, experiment=experiment, replicate_of=None)

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        query = select(RunRow).where(RunRow.replicate_of.in_(run_ids)).order_by(RunRow.slot.desc())
        found: dict[str, list[Run]] = {run_id: [] for run_id in run_ids}
        with self._read() as session:
            for row in session.scalars(query):
                found[str(row.replicate_of)].append(RUN.to_value(row))
        return found

    def run(self, run_id: str) -> Run:
        found: Run = self._one(RUN, run_id)
        return found

    def find_run(self, experiment: str, upload_sha: str) -> Run | None:
        order = (RunRow.archived.is_not(None), RunRow.slot)
        where: dict[str, Any] = {"experiment": experiment, "upload": upload_sha, "replicate_of": None}
        return next(iter(self._listed(RUN, True, *order, **where)), None)

    def add_run(
        self,
        run: Run,
        curves: Sequence[Curve],
        replicates: Sequence[tuple[Run, Sequence[Curve]]] = (),
    ) -> Run:
        below = [(replace(one, replicate_of=run.id), of_one) for one, of_one in replicates]
        rows = [
            (one, [curve_columns(one.id, curve) for curve in found]) for one, found in ((run, curves), *below)
        ]
        with self._write() as session:
            if session.get(RunRow, run.id) is None:
                for one, columns in rows:
                    self._insert_run(session, one, columns)
            stored: Run = _stored(session, RUN, _row(session, RUN, run.id))
            return stored

    def _insert_run(self, session: Session, run: Run, columns: list[dict[str, Any]]) -> RunRow:
        experiment: ExperimentRow = _row(session, EXPERIMENT, run.experiment)
        slot = _next_slot(session, experiment, run)
        row: RunRow = self._insert(session, RUN, run)
        row.slot = slot
        session.flush()
        if columns:
            session.execute(insert(CurveRow), columns)
        return row

    def update_run(self, run_id: str, **fields: Any) -> Run:
        updated: Run = self._update(RUN, run_id, fields)
        return updated

    def delete_run(self, run_id: str) -> None:
        with self._write() as session:
            run: RunRow = _row(session, RUN, run_id)
            experiment: ExperimentRow = _row(session, EXPERIMENT, run.experiment)
            if experiment.baseline == run_id:
                experiment.baseline = None
            _unlink(session, run)
            session.delete(run)

    def curves(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve]]:
        query = select(CurveRow).where(CurveRow.run.in_(run_ids)).order_by(CurveRow.metric)
        if metrics is not None:
            query = query.where(CurveRow.metric.in_(metrics))
        found: dict[str, dict[str, Curve]] = {run_id: {} for run_id in run_ids}
        with self._read() as session:
            for row in session.scalars(query):
                found[row.run][row.metric] = curve_of(row)
        return found

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        query = select(CurveRow.run, CurveRow.metric).where(CurveRow.run.in_(run_ids))
        with self._read() as session:
            pairs = session.execute(query).all()
        return {run_id: tuple(sorted(metric for run, metric in pairs if run == run_id)) for run_id in run_ids}

    # online tests ──────────────────────────────────────────────────────────────────────────────

    def online_tests(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        order = (OnlineTestRow.created.desc(), OnlineTestRow.id)
        return self._listed(ONLINE_TEST, archived, *order, experiment=experiment)

    def online_test(self, test_id: str) -> OnlineTest:
        found: OnlineTest = self._one(ONLINE_TEST, test_id)
        return found

    def add_online_test(self, test: OnlineTest) -> OnlineTest:
        added: OnlineTest = self._add(ONLINE_TEST, test)
        return added

    def update_online_test(self, test_id: str, **fields: Any) -> OnlineTest:
        updated: OnlineTest = self._update(ONLINE_TEST, test_id, fields)
        return updated

    def delete_online_test(self, test_id: str) -> None:
        with self._write() as session:
            session.delete(_row(session, ONLINE_TEST, test_id))

    # artifacts ─────────────────────────────────────────────────────────────────────────────────

    def put(self, table: pa.Table | Iterable[pa.RecordBatch]) -> str:
        self._refuse_if_read_only()
        return self._artifacts.put(table)

    def put_file(self, file: Path | bytes) -> str:
        self._refuse_if_read_only()
        return self._artifacts.put_file(file)

    def path(self, sha256: str) -> Path:
        return self._artifacts.path(sha256)

    def table(self, sha256: str) -> pa.Table:
        return self._artifacts.table(sha256)

    def collect(self, older_than: timedelta = UNUSED_FOR) -> int:
        # The files go while the gate is held: nothing can come to need one of them meanwhile.
        with self._write() as session:
            used = _used(session)
            known = session.scalars(select(ArtifactRow.sha256)).all()
            if not known:
                # A database that never needed a file: new, or in the place of one that has gone.
                return 0
            unused = [sha256 for sha256 in known if sha256 not in used]
            session.execute(delete(ArtifactRow).where(ArtifactRow.sha256.in_(unused)))
            return self._artifacts.remove_unused(used, older_than)


def _row(session: Session, kind: Kind, key: str) -> Any:
    row = session.get(kind.row, key)
    if row is None:
        raise NotFound(f"There is no {kind.word} with the id '{key}'.")
    return row


def _stored(session: Session, kind: Kind, row: Any) -> Any:
    """The value as it will be read later, times in UTC and so on."""
    session.flush()
    session.refresh(row)
    return kind.to_value(row)


def _refuse_conflicts(session: Session, kind: Kind, value: Any) -> None:
    """Refuse a name in use, and a baseline that is not a run of its experiment."""
    _refuse_taken_name(session, kind, value)
    if kind is EXPERIMENT and value.baseline is not None:
        _refuse_foreign_baseline(session, value)


def _refuse_foreign_baseline(session: Session, experiment: ExperimentRow) -> None:
    run = session.get(RunRow, experiment.baseline)
    if run is None or run.experiment != experiment.id or run.replicate_of is not None:
        raise NotFound(f"The experiment has no run with the id '{experiment.baseline}'.")


def _refuse_taken_name(session: Session, kind: Kind, value: Any) -> None:
    others = select(kind.row.archived).where(kind.row.name == value.name, kind.row.id != value.id)
    if kind is not EXPERIMENT:
        others = others.where(kind.row.experiment == value.experiment)
    if kind is RUN:
        others = others.where(kind.row.replicate_of.is_not_distinct_from(value.replicate_of))
    other = session.execute(others.limit(1)).first()
    if other is not None and other.archived is not None:
        fix = "Choose another name, or restore or delete that one on the Runs page, under Show archived."
        raise NameTaken(f"An archived {kind.word} is already called '{value.name}'. {fix}")
    if other is not None:
        raise NameTaken(f"Another {kind.word} is already called '{value.name}'. Choose another name.")


def _next_slot(session: Session, experiment: ExperimentRow, run: Run) -> int:
    if run.replicate_of is not None:
        first = session.scalar(select(func.min(RunRow.slot)).filter_by(experiment=experiment.id))
        return min(first or 0, 0) - 1
    if run.reference:
        last = session.scalar(select(func.max(RunRow.slot)).filter_by(experiment=experiment.id))
        return REFERENCE_SLOTS if last is None else max(REFERENCE_SLOTS, last + 1)
    experiment.next_slot += 1
    return experiment.next_slot - 1


def _unlink(session: Session, run: RunRow) -> None:
    """Take a run out of the links of its experiment's online tests."""
    for test in session.scalars(select(OnlineTestRow).filter_by(experiment=run.experiment)):
        test.links = {variant: linked for variant, linked in test.links.items() if linked != run.id}


def _needed(kind: Kind, thing: Any) -> frozenset[str]:
    """The sha256 of every file that a value, or its row, needs."""
    return frozenset(sha256 for sha256 in kind.needs(thing) if sha256 is not None)


def _used(session: Session) -> frozenset[str]:
    """The sha256 of every file that something stored needs."""
    return frozenset().union(
        *(_needed(kind, row) for kind in KINDS for row in session.scalars(select(kind.row)))
    )
