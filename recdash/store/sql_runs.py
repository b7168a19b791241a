"""Runs, their replicates and their curves in the database."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import delete, func, insert, or_, select
from sqlalchemy.orm import Session

from recdash.domain.records import Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import Problem
from recdash.store import audit
from recdash.store.garbage import deleting
from recdash.store.protocol import REFERENCE_SLOTS
from recdash.store.rows import DeletableRows, intact_row_of, row_of, stored
from recdash.store.tables import (
    EXPERIMENT,
    ONLINE_TEST,
    RUN,
    CurveRow,
    ExperimentRow,
    Kind,
    OnlineTestRow,
    RunRow,
    curve_columns,
    curve_of,
    has_its_key,
    is_intact,
    links_of,
    seal_of_curves,
)
from recdash.store.transactions import Transactions

OF_SCORES = ("upload", "hits", "ledger", "notices", "absent", "provenance")
"""The fields of a run that are computed from its upload, with the upload."""


class SqlCurves:
    """The :class:`recdash.store.protocol.CurveStore` of an SQL database."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def of_runs(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        query = select(CurveRow).where(CurveRow.run.in_(run_ids)).order_by(CurveRow.metric)
        if metrics is not None:
            query = query.where(CurveRow.metric.in_(metrics))
        curves: dict[str, dict[str, Curve | Unavailable]] = {run_id: {} for run_id in run_ids}
        with self._transactions.read() as session:
            for row in session.scalars(query):
                if row.run in curves:
                    curves[row.run][row.metric] = curve_of(row)
        return curves

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        def read(session: Session) -> dict[str, tuple[str, ...]]:
            query = select(CurveRow.run, CurveRow.metric, CurveRow.checksum).where(CurveRow.run.in_(run_ids))
            metrics: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
            for run_id, metric, checksum in session.execute(query):
                if has_its_key(run_id, metric, checksum) and run_id in metrics:
                    metrics[run_id].append(metric)
                else:
                    self._transactions.damage.of_a_curve(session, run_id, metric)
            return {run_id: tuple(sorted(names)) for run_id, names in metrics.items()}

        return dict(self._transactions.remembered(("metrics", *run_ids), read))


class SqlRuns(DeletableRows[Run]):
    """The :class:`recdash.store.protocol.RunStore` of an SQL database."""

    kind = RUN
    order = (RunRow.slot,)

    def __init__(self, transactions: Transactions, curves: SqlCurves) -> None:
        super().__init__(transactions)
        self._curves = curves

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Run]:
        runs = self._list(archived, experiment=experiment, replicate_of=None)
        return self._without_damaged_replicates(runs)

    def _without_damaged_replicates(self, runs: Sequence[Run]) -> list[Run]:
        """Returns the runs without those that have a damaged replicate, which have no valid mean; records the
        damage.
        """
        replicated = [run.id for run in runs if run.replicated]
        replicates = self._replicate_rows(replicated) if replicated else {}
        undamaged = []
        for run in runs:
            if run.id not in replicates or _are_whole(run, replicates[run.id]):
                undamaged.append(run)
            else:
                self._damage.note(RUN, run, _damaged_replicates(run))
        return undamaged

    def _replicate_rows(self, run_ids: Sequence[str]) -> dict[str, list[RunRow]]:
        query = select(RunRow).where(RunRow.replicate_of.in_(run_ids)).order_by(RunRow.slot.desc())
        rows: dict[str, list[RunRow]] = {run_id: [] for run_id in run_ids}
        with self._transactions.read() as session:
            for row in session.scalars(query):
                rows.get(str(row.replicate_of), []).append(row)
            session.expunge_all()
        return rows

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        return {
            run_id: [self._damage.checked(RUN, row) for row in rows]
            for run_id, rows in self._replicate_rows(run_ids).items()
        }

    def find(self, experiment: str, upload_sha: str) -> Run | None:
        runs = self._list(experiment=experiment, upload=upload_sha, replicate_of=None)
        runs.sort(key=lambda run: run.archived is not None)
        for run in self._without_damaged_replicates(runs):
            curves = self._curves.of_runs([run.id])[run.id].values()
            if not any(isinstance(curve, Unavailable) for curve in curves):
                return run
        return None

    def add(
        self,
        run: Run,
        curves: Sequence[Curve] = (),
        replicates: Sequence[tuple[Run, Sequence[Curve]]] = (),
    ) -> Run:
        below = [(replace(replicate, replicate_of=run.id), own) for replicate, own in replicates]
        # Convert curves to bytes before the transaction, which should be short.
        rows = [
            (added, [curve_columns(added.id, curve) for curve in own])
            for added, own in [(run, curves), *below]
        ]
        with self._transactions.write() as session:
            if session.get(RunRow, run.id) is None:
                for added, curve_rows in rows:
                    self._insert_run(session, added, curve_rows)
            return stored(session, RUN, row_of(session, RUN, run.id))

    def _insert_run(self, session: Session, run: Run, curve_rows: list[dict[str, Any]]) -> None:
        experiment: ExperimentRow = intact_row_of(session, EXPERIMENT, run.experiment)
        if run.replicate_of is None:
            self._replace_damaged(session, experiment, run)
        slot = _next_slot(session, experiment, run)
        curves = {audit.curves_key(run.id): seal_of_curves(curve_rows)}
        self._insert(session, replace(run, slot=slot), curves)
        session.flush()
        if curve_rows:
            session.execute(insert(CurveRow), curve_rows)

    def _replace_damaged(self, session: Session, experiment: ExperimentRow, run: Run) -> None:
        """Deletes the damaged rows of a run that is uploaded again; the new run replaces it, also as baseline
        and in links.
        """
        same = RunRow.name == run.name
        if run.upload is not None:  # folds, seeds and predictions cannot be recognised by a single upload
            same = or_(same, RunRow.upload == run.upload)
        rows = session.scalars(
            select(RunRow).filter_by(experiment=run.experiment, replicate_of=None).where(same)
        )
        for row in [row for row in rows if not _is_whole_run(session, row)]:
            changed = _relink(session, experiment, row, run.id)
            self._replace(session, row, run, audit.sealed(*changed))

    def replace_scores(
        self,
        key: str,
        scored: Run,
        curves: Sequence[Curve] = (),
        replicates: Sequence[tuple[Run, Sequence[Curve]]] = (),
    ) -> Run:
        rows = [curve_columns(key, curve) for curve in curves]
        below = [(run, [curve_columns(run.id, curve) for curve in own]) for run, own in replicates]
        with self._transactions.write() as session:
            row: RunRow = intact_row_of(session, RUN, key)
            before = RUN.to_value(row)
            after = replace(before, **{name: getattr(scored, name) for name in OF_SCORES})
            self._transactions.register(session, RUN.needs(after) - RUN.needs(before), row.created)
            for name, column in RUN.columns(after).items():
                if name in OF_SCORES:
                    setattr(row, name, column)
            seals = {**audit.sealed((RUN, row)), audit.curves_key(key): seal_of_curves(rows)}
            details = {"name": row.name, "upload": row.upload}
            self._transactions.note(session, audit.SCORE_AGAIN, key, seals, **details)
            session.execute(delete(CurveRow).where(CurveRow.run == key))
            for replicate in session.scalars(select(RunRow).filter_by(replicate_of=key)):
                session.delete(replicate)
            session.flush()
            if rows:
                session.execute(insert(CurveRow), rows)
            for run, curve_rows in below:
                own = replace(run, experiment=before.experiment, replicate_of=key)
                self._insert_run(session, own, curve_rows)
            return stored(session, RUN, row)

    def delete(self, key: str) -> None:
        with deleting(self._transactions) as session:
            run: RunRow = row_of(session, RUN, key)
            experiment: ExperimentRow = intact_row_of(session, EXPERIMENT, run.experiment)
            details = {"experiment": run.experiment, "name": run.name}
            changed = _relink(session, experiment, run, None)
            tests = [row.name for kind, row in changed if kind is ONLINE_TEST]
            sealed = audit.sealed(*changed)
            self._transactions.note(session, "delete run", key, sealed, **details, unlinked_from=tests)
            session.delete(run)


def _next_slot(session: Session, experiment: ExperimentRow, run: Run) -> int:
    if run.replicate_of is not None:
        first = session.scalar(select(func.min(RunRow.slot)).filter_by(experiment=experiment.id))
        return min(first or 0, 0) - 1
    if run.reference:
        last = session.scalar(select(func.max(RunRow.slot)).filter_by(experiment=experiment.id))
        return REFERENCE_SLOTS if last is None else max(REFERENCE_SLOTS, last + 1)
    experiment.next_slot += 1
    return experiment.next_slot - 1


def _relink(
    session: Session, experiment: ExperimentRow, run: RunRow, new: str | None
) -> list[tuple[Kind, Any]]:
    """Puts the run ``new`` in place of ``run`` as baseline and in the experiment's online tests, or no run
    for None.

    Returns the changed rows with their kinds.
    """
    changed: list[tuple[Kind, Any]] = []
    if experiment.baseline == run.id:
        experiment.baseline = new
        changed.append((EXPERIMENT, experiment))
    for test in session.scalars(select(OnlineTestRow).filter_by(experiment=run.experiment)):
        if not is_intact(test) or run.id not in links_of(test).values():
            continue
        links = {variant: new if linked == run.id else linked for variant, linked in links_of(test).items()}
        test.links = json.dumps({variant: linked for variant, linked in links.items() if linked is not None})
        changed.append((ONLINE_TEST, test))
    return changed


def _is_whole_run(session: Session, row: RunRow) -> bool:
    """Returns whether a run's own row, its curves and its replicates are all intact."""
    if not is_intact(row):
        return False
    curves = session.scalars(select(CurveRow).where(CurveRow.run == row.id))
    replicates = session.scalars(select(RunRow).where(RunRow.replicate_of == row.id)).all()
    return all(isinstance(curve_of(curve), Curve) for curve in curves) and _are_whole(
        RUN.to_value(row), replicates
    )


def _are_whole(run: Run, replicates: Sequence[RunRow]) -> bool:
    """Returns whether all replicates of a run are stored and intact."""
    labels = run.replicated.labels if run.replicated else ()
    return all(is_intact(row) for row in replicates) and sorted(row.name for row in replicates) == sorted(
        labels
    )


def _damaged_replicates(run: Run) -> Problem:
    text = f"it is damaged: some of its {run.replicated} are not what was written, so it has no numbers"
    return Problem("damaged", f"run '{run.name}'", text, RUN.repair)
