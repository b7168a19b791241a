"""The store over SQLAlchemy: SQLite and PostgreSQL by the same code.

Rows and sessions stay in this module and ``rows``. Every public method is one short transaction: whatever
takes time has happened before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, insert, or_, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent, Entry, Report, SavedView, ShareLink
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import EvidenceDamaged, Problem
from recdash.store import audit
from recdash.store.integrity import everything_wrong
from recdash.store.protocol import REFERENCE_SLOTS, UNUSED_FOR
from recdash.store.rows import RowStore, row_of, stored, used_files, whole_row_of
from recdash.store.tables import (
    ENTRY,
    EXPERIMENT,
    KINDS,
    ONLINE_TEST,
    REPORT,
    RUN,
    SAVED_VIEW,
    SHARE_LINK,
    ArtifactRow,
    CurveRow,
    EntryRow,
    ExperimentRow,
    Kind,
    OnlineTestRow,
    ReportRow,
    RunRow,
    SavedViewRow,
    ShareLinkRow,
    curve_columns,
    curve_of,
    has_its_key,
    is_whole,
    links_of,
)

if TYPE_CHECKING:
    import pyarrow as pa


class SqlStore(RowStore):
    """See :class:`recdash.store.protocol.Store`."""

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
            row = row_of(session, EXPERIMENT, experiment_id)
            gone = {
                kind.word: count
                for kind in KINDS
                if kind is not EXPERIMENT and (count := _count_of(session, kind, experiment_id))
            }
            self._note(session, "delete experiment", experiment_id, name=row.name, with_it=gone)
            session.delete(row)

    # runs ──────────────────────────────────────────────────────────────────────────────────────

    def runs(self, experiment: str, archived: bool = False) -> list[Run]:
        found = self._listed(RUN, archived, RunRow.slot, experiment=experiment, replicate_of=None)
        damaged = self._damaged_below([run for run in found if run.replicated])
        return [run for run in found if run.id not in damaged]

    def _damaged_below(self, runs: Sequence[Run]) -> frozenset[str]:
        """Ids of those whose replicates are not whole: what their mean or their sum was is not known."""
        below = self._rows_below([run.id for run in runs]) if runs else {}
        damaged = [run for run in runs if not _are_whole(run, below[run.id])]
        for run in damaged:
            self._damage.note(RUN, run, _damaged_replicates(run))
        return frozenset(run.id for run in damaged)

    def _rows_below(self, run_ids: Sequence[str]) -> dict[str, list[RunRow]]:
        query = select(RunRow).where(RunRow.replicate_of.in_(run_ids)).order_by(RunRow.slot.desc())
        found: dict[str, list[RunRow]] = {run_id: [] for run_id in run_ids}
        with self._read() as session:
            for row in session.scalars(query):
                found.get(str(row.replicate_of), []).append(row)
            session.expunge_all()
        return found

    def replicates(self, run_ids: Sequence[str]) -> dict[str, list[Run]]:
        rows = self._rows_below(run_ids)
        return {run_id: [self._damage.checked(RUN, row) for row in below] for run_id, below in rows.items()}

    def run(self, run_id: str) -> Run:
        found: Run = self._one(RUN, run_id)
        return found

    def run_name(self, run_id: str) -> str:
        return self._name(RUN, run_id)

    def find_run(self, experiment: str, upload_sha: str) -> Run | None:
        order = (RunRow.archived.is_not(None), RunRow.slot)
        where: dict[str, Any] = {"experiment": experiment, "upload": upload_sha, "replicate_of": None}
        known: list[Run] = self._listed(RUN, True, *order, **where)
        damaged = self._damaged_below([run for run in known if run.replicated])
        whole = (run for run in known if run.id not in damaged and not self._has_damaged_curves(run.id))
        return next(whole, None)

    def _has_damaged_curves(self, run_id: str) -> bool:
        return any(isinstance(curve, Unavailable) for curve in self.curves([run_id])[run_id].values())

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
            added: Run = stored(session, RUN, row_of(session, RUN, run.id))
            return added

    def _insert_run(self, session: Session, run: Run, columns: list[dict[str, Any]]) -> RunRow:
        experiment: ExperimentRow = whole_row_of(session, EXPERIMENT, run.experiment)
        if run.replicate_of is None:
            self._replace_damaged(session, experiment, run)
        slot = _next_slot(session, experiment, run)
        row: RunRow = self._insert(session, RUN, run)
        row.slot = slot
        session.flush()
        if columns:
            session.execute(insert(CurveRow), columns)
        return row

    def _replace_damaged(self, session: Session, experiment: ExperimentRow, run: Run) -> None:
        """Take away what is left of a damaged run that is uploaded again; the new one stands in its place."""
        same = RunRow.name == run.name
        if run.upload is not None:  # of folds, seeds and predictions alone there is no upload to know it by
            same = or_(same, RunRow.upload == run.upload)
        rows = session.scalars(
            select(RunRow).filter_by(experiment=run.experiment, replicate_of=None).where(same)
        )
        for row in [row for row in rows if not _is_whole_run(session, row)]:
            if experiment.baseline == row.id:
                experiment.baseline = run.id
            _link_to(session, experiment.id, row.id, run.id)
            self._replace(session, RUN, row, run)

    def update_run(self, run_id: str, **fields: Any) -> Run:
        updated: Run = self._update(RUN, run_id, fields)
        return updated

    def delete_run(self, run_id: str) -> None:
        with self._write() as session:
            run: RunRow = row_of(session, RUN, run_id)
            experiment: ExperimentRow = whole_row_of(session, EXPERIMENT, run.experiment)
            if experiment.baseline == run_id:
                experiment.baseline = None
            told = {"name": run.name, "unlinked_from": _unlink(session, run)}
            self._note(session, "delete run", run_id, experiment=run.experiment, **told)
            session.delete(run)

    def curves(
        self, run_ids: Sequence[str], metrics: Sequence[str] | None = None
    ) -> dict[str, dict[str, Curve | Unavailable]]:
        query = select(CurveRow).where(CurveRow.run.in_(run_ids)).order_by(CurveRow.metric)
        if metrics is not None:
            query = query.where(CurveRow.metric.in_(metrics))
        found: dict[str, dict[str, Curve | Unavailable]] = {run_id: {} for run_id in run_ids}
        with self._read() as session:
            for row in session.scalars(query):
                if row.run in found:
                    found[row.run][row.metric] = curve_of(row)
        return found

    def metrics(self, run_ids: Sequence[str]) -> dict[str, tuple[str, ...]]:
        query = select(CurveRow.run, CurveRow.metric, CurveRow.checksum).where(CurveRow.run.in_(run_ids))
        found: dict[str, list[str]] = {run_id: [] for run_id in run_ids}
        with self._read() as session:
            for run, metric, stored_checksum in session.execute(query):
                if has_its_key(run, metric, stored_checksum) and run in found:
                    found[run].append(metric)
                else:
                    self._damage.of_a_curve(session, run, metric)
        return {run_id: tuple(sorted(metrics)) for run_id, metrics in found.items()}

    # online tests ──────────────────────────────────────────────────────────────────────────────

    def online_tests(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        order = (OnlineTestRow.created.desc(), OnlineTestRow.id)
        return self._listed(ONLINE_TEST, archived, *order, experiment=experiment)

    def online_test(self, test_id: str) -> OnlineTest:
        found: OnlineTest = self._one(ONLINE_TEST, test_id)
        return found

    def online_test_name(self, test_id: str) -> str:
        return self._name(ONLINE_TEST, test_id)

    def add_online_test(self, test: OnlineTest) -> OnlineTest:
        with self._write() as session:
            row = session.get(OnlineTestRow, test.id)
            if row is None:
                same = select(OnlineTestRow).filter_by(experiment=test.experiment, name=test.name)
                for damaged in [one for one in session.scalars(same) if not is_whole(one)]:
                    self._replace(session, ONLINE_TEST, damaged, test)
                row = self._insert(session, ONLINE_TEST, test)
            added: OnlineTest = stored(session, ONLINE_TEST, row)
            return added

    def update_online_test(self, test_id: str, **fields: Any) -> OnlineTest:
        updated: OnlineTest = self._update(ONLINE_TEST, test_id, fields)
        return updated

    def delete_online_test(self, test_id: str) -> None:
        self._delete(ONLINE_TEST, test_id)

    # what people write and share ───────────────────────────────────────────────────────────────

    def entries(self, experiment: str) -> list[Entry]:
        return self._listed(ENTRY, True, EntryRow.created, EntryRow.id, experiment=experiment)

    def entry(self, entry_id: str) -> Entry:
        found: Entry = self._one(ENTRY, entry_id)
        return found

    def add_entry(self, entry: Entry, check: Callable[[Sequence[Entry]], None] | None = None) -> Entry:
        order = (EntryRow.created, EntryRow.id)
        with self._write() as session:
            row = session.get(EntryRow, entry.id)
            if row is None and check is not None:
                rows = session.scalars(
                    select(EntryRow).filter_by(experiment=entry.experiment).order_by(*order)
                )
                check(self._damage.whole(ENTRY, rows))
            added: Entry = stored(session, ENTRY, row or self._insert(session, ENTRY, entry))
            return added

    def reports(self, experiment: str, archived: bool = False) -> list[Report]:
        order = (ReportRow.created.desc(), ReportRow.id)
        return self._listed(REPORT, archived, *order, experiment=experiment)

    def report(self, report_id: str) -> Report:
        found: Report = self._one(REPORT, report_id)
        return found

    def add_report(self, report: Report) -> Report:
        added: Report = self._add(REPORT, report)
        return added

    def update_report(self, report_id: str, **fields: Any) -> Report:
        updated: Report = self._update(REPORT, report_id, fields)
        return updated

    def delete_report(self, report_id: str) -> None:
        self._delete(REPORT, report_id)

    def share_links(self, experiment: str) -> list[ShareLink]:
        order = (ShareLinkRow.created.desc(), ShareLinkRow.id)
        return self._listed(SHARE_LINK, True, *order, experiment=experiment)

    def share_link(self, link_id: str) -> ShareLink:
        found: ShareLink = self._one(SHARE_LINK, link_id)
        return found

    def add_share_link(self, link: ShareLink) -> ShareLink:
        added: ShareLink = self._add(SHARE_LINK, link)
        return added

    def update_share_link(self, link_id: str, **fields: Any) -> ShareLink:
        updated: ShareLink = self._update(SHARE_LINK, link_id, fields)
        return updated

    def saved_views(self, experiment: str) -> list[SavedView]:
        return self._listed(SAVED_VIEW, True, SavedViewRow.name, experiment=experiment)

    def saved_view_named(self, name: str) -> SavedView | None:
        return next(iter(self._listed(SAVED_VIEW, True, SavedViewRow.id, name=name)), None)

    def add_saved_view(self, view: SavedView) -> SavedView:
        added: SavedView = self._add(SAVED_VIEW, view)
        return added

    def delete_saved_view(self, view_id: str) -> None:
        self._delete(SAVED_VIEW, view_id)

    def deeds(self, limit: int | None = None) -> list[AuditEvent]:
        with self._read() as session:
            return audit.all_deeds(session, limit)

    def altered(self) -> list[str]:
        with self._read() as session:
            return audit.altered(session)

    def check(self) -> list[Problem]:
        with self._read() as session:
            return everything_wrong(session, self._artifacts)

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
            try:
                used = used_files(session)
            except EvidenceDamaged:  # a row may need any of the files: all stay until it is whole or gone
                return 0
            known = session.scalars(select(ArtifactRow.sha256)).all()
            if not known:
                # A database that never needed a file: new, or in the place of one that has gone.
                return 0
            unused = [sha256 for sha256 in known if sha256 not in used]
            session.execute(delete(ArtifactRow).where(ArtifactRow.sha256.in_(unused)))
            return self._artifacts.remove_unused(used, older_than)


def _next_slot(session: Session, experiment: ExperimentRow, run: Run) -> int:
    if run.replicate_of is not None:
        first = session.scalar(select(func.min(RunRow.slot)).filter_by(experiment=experiment.id))
        return min(first or 0, 0) - 1
    if run.reference:
        last = session.scalar(select(func.max(RunRow.slot)).filter_by(experiment=experiment.id))
        return REFERENCE_SLOTS if last is None else max(REFERENCE_SLOTS, last + 1)
    experiment.next_slot += 1
    return experiment.next_slot - 1


def _count_of(session: Session, kind: Kind, experiment_id: str) -> int:
    count = select(func.count()).select_from(kind.row).filter_by(experiment=experiment_id)
    return int(session.scalar(count) or 0)


def _unlink(session: Session, run: RunRow) -> list[str]:
    """Take a run out of the links of its experiment's online tests; their names."""
    tests = session.scalars(select(OnlineTestRow).filter_by(experiment=run.experiment))
    linked = [test for test in tests if is_whole(test) and run.id in links_of(test).values()]
    for test in linked:
        test.links = json.dumps({variant: by for variant, by in links_of(test).items() if by != run.id})
    return [test.name for test in linked]


def _link_to(session: Session, experiment_id: str, old: str, new: str) -> None:
    """Have the experiment's online tests name another run."""
    for test in session.scalars(select(OnlineTestRow).filter_by(experiment=experiment_id)):
        if is_whole(test) and old in links_of(test).values():
            links = links_of(test).items()
            test.links = json.dumps({variant: new if by == old else by for variant, by in links})


def _is_whole_run(session: Session, row: RunRow) -> bool:
    """Its own row, its curves and its replicates."""
    if not is_whole(row):
        return False
    curves = session.scalars(select(CurveRow).where(CurveRow.run == row.id))
    below = session.scalars(select(RunRow).where(RunRow.replicate_of == row.id)).all()
    return all(isinstance(curve_of(curve), Curve) for curve in curves) and _are_whole(
        RUN.to_value(row), below
    )


def _are_whole(run: Run, below: Sequence[RunRow]) -> bool:
    """Are all its replicates there, and none of them damaged?"""
    labels = run.replicated.labels if run.replicated else ()
    return all(is_whole(row) for row in below) and sorted(row.name for row in below) == sorted(labels)


def _damaged_replicates(run: Run) -> Problem:
    found = f"it is damaged: of its {run.replicated} not all are as they were written, so it shows no number"
    return Problem("damaged", f"run '{run.name}'", found, RUN.repair)
