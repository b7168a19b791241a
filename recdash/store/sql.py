"""The store over SQLAlchemy: SQLite and PostgreSQL by the same code.

Every public method is one short transaction, in which rows and sessions stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from recdash.domain.journal import AuditEvent, Entry, Report, SavedView, ShareLink
from recdash.domain.records import Experiment, OnlineTest
from recdash.errors import EvidenceDamaged, Problem
from recdash.settings import FoundArtifacts
from recdash.store import audit
from recdash.store.connections import DatabaseUrl, connect, spoken
from recdash.store.damage import Damage
from recdash.store.integrity import everything_wrong, structure
from recdash.store.ownership import artifacts_of, is_shared, note_use, refuse_lost
from recdash.store.protocol import UNUSED_FOR
from recdash.store.rows import Rows, row_of, used_files
from recdash.store.schema import ensure_schema
from recdash.store.secret import kept_secret
from recdash.store.sql_runs import SqlCurves, SqlRuns
from recdash.store.tables import (
    ENTRY,
    EXPERIMENT,
    KINDS,
    ONLINE_TEST,
    REPORT,
    SAVED_VIEW,
    SHARE_LINK,
    ArtifactRow,
    EntryRow,
    ExperimentRow,
    OnlineTestRow,
    ReportRow,
    SavedViewRow,
    ShareLinkRow,
    is_whole,
)
from recdash.store.transactions import Transactions

if TYPE_CHECKING:
    import pyarrow as pa


class SqlStore:
    """See :class:`recdash.store.protocol.Store`."""

    def __init__(self, transactions: Transactions, root: Path) -> None:
        self._transactions, self._root = transactions, root
        self.experiments = SqlExperiments(transactions)
        self.curves = SqlCurves(transactions)
        self.runs = SqlRuns(transactions, self.curves)
        self.online_tests = SqlOnlineTests(transactions)
        self.journal = SqlJournal(transactions)
        self.reports = SqlReports(transactions)
        self.share_links = SqlShareLinks(transactions)
        self.saved_views = SqlSavedViews(transactions)
        self.audit = SqlAudit(transactions)
        self.artifacts = SqlArtifacts(transactions)

    @classmethod
    def open(
        cls,
        url: DatabaseUrl,
        root: Path,
        read_only: bool = False,
        found_artifacts: FoundArtifacts = "ask",
    ) -> SqlStore:
        """The store of a database and of the artifacts below ``root``; see ``recdash.store.open_store``."""
        if url.file is not None and not read_only:
            refuse_lost(url.file, root, found_artifacts)
        with spoken(url.url.render_as_string(hide_password=True)):
            database = connect(url, read_only)
        damage = Damage()
        try:
            ensure_schema(database)
            with spoken(database.place):
                files = artifacts_of(database, root, found_artifacts)
                if not read_only:
                    note_use(files.folder, database.place)
                with Session(database.reader) as session, session.begin():
                    damage.of_all(structure(session))
        except BaseException:
            database.close()
            raise
        return cls(Transactions(database, files, damage, read_only), root)

    @property
    def read_only(self) -> bool:
        return self._transactions.read_only

    @property
    def notices(self) -> tuple[Problem, ...]:
        return self._transactions.database.notices

    def damaged(self, experiment: str | None = None) -> list[Problem]:
        damage = self._transactions.damage
        if damage.is_of_rows:
            with self._transactions.read() as session:
                damage.forget_gone(session)
        return damage.found(experiment)

    def check(self) -> list[Problem]:
        with self._transactions.read() as session:
            return everything_wrong(session, self._transactions.files)

    def secret(self) -> bytes:
        return kept_secret(self._root)

    def by(self, who: str, role: str, read_only: bool = False) -> SqlStore:
        read_only = self.read_only or read_only
        return SqlStore(replace(self._transactions, who=who, role=role, read_only=read_only), self._root)

    def close(self) -> None:
        self._transactions.database.close()


class SqlExperiments(Rows[Experiment]):
    """See :class:`recdash.store.protocol.ExperimentStore`."""

    kind = EXPERIMENT

    def all(self, archived: bool = False) -> list[Experiment]:
        return self._list(ExperimentRow.created.desc(), ExperimentRow.id, archived=archived)

    def named(self, name: str) -> Experiment | None:
        return next(iter(self._list(ExperimentRow.id, name=name)), None)

    def add(self, experiment: Experiment) -> Experiment:
        return self._add(experiment)

    def update(self, experiment_id: str, **fields: Any) -> Experiment:
        return self._update(experiment_id, fields)

    def delete(self, experiment_id: str) -> None:
        with self._transactions.write() as session:
            row = row_of(session, EXPERIMENT, experiment_id)
            counts = {}
            for kind in KINDS:
                if kind is not EXPERIMENT:
                    count = select(func.count()).select_from(kind.row).filter_by(experiment=experiment_id)
                    counts[kind.word] = session.scalar(count) or 0
            deleted = {word: count for word, count in counts.items() if count}
            self._transactions.note(
                session, "delete experiment", experiment_id, name=row.name, with_it=deleted
            )
            session.delete(row)


class SqlOnlineTests(Rows[OnlineTest]):
    """See :class:`recdash.store.protocol.OnlineTestStore`."""

    kind = ONLINE_TEST

    def of_experiment(self, experiment: str, archived: bool = False) -> list[OnlineTest]:
        order = (OnlineTestRow.created.desc(), OnlineTestRow.id)
        return self._list(*order, archived=archived, experiment=experiment)

    def name_of(self, test_id: str) -> str:
        return self._name(test_id)

    def add(self, test: OnlineTest) -> OnlineTest:
        with self._transactions.write() as session:
            if session.get(OnlineTestRow, test.id) is None:
                same = select(OnlineTestRow).filter_by(experiment=test.experiment, name=test.name)
                for row in session.scalars(same).all():
                    if not is_whole(row):
                        self._replace(session, row, test)
            return self._add_in(session, test)

    def update(self, test_id: str, **fields: Any) -> OnlineTest:
        return self._update(test_id, fields)

    def delete(self, test_id: str) -> None:
        self._delete(test_id)


class SqlJournal(Rows[Entry]):
    """See :class:`recdash.store.protocol.JournalStore`."""

    kind = ENTRY

    def of_experiment(self, experiment: str) -> list[Entry]:
        return self._list(EntryRow.created, EntryRow.id, experiment=experiment)

    def add(self, entry: Entry, check: Callable[[Sequence[Entry]], None] | None = None) -> Entry:
        with self._transactions.write() as session:
            row = session.get(EntryRow, entry.id)
            if row is None and check is not None:
                journal = select(EntryRow).filter_by(experiment=entry.experiment)
                rows = session.scalars(journal.order_by(EntryRow.created, EntryRow.id))
                check(self._damage.whole(ENTRY, rows))
            return self._add_in(session, entry)


class SqlReports(Rows[Report]):
    """See :class:`recdash.store.protocol.ReportStore`."""

    kind = REPORT

    def of_experiment(self, experiment: str, archived: bool = False) -> list[Report]:
        order = (ReportRow.created.desc(), ReportRow.id)
        return self._list(*order, archived=archived, experiment=experiment)

    def add(self, report: Report) -> Report:
        return self._add(report)

    def update(self, report_id: str, **fields: Any) -> Report:
        return self._update(report_id, fields)

    def delete(self, report_id: str) -> None:
        self._delete(report_id)


class SqlShareLinks(Rows[ShareLink]):
    """See :class:`recdash.store.protocol.ShareLinkStore`."""

    kind = SHARE_LINK

    def of_experiment(self, experiment: str) -> list[ShareLink]:
        return self._list(ShareLinkRow.created.desc(), ShareLinkRow.id, experiment=experiment)

    def add(self, link: ShareLink) -> ShareLink:
        return self._add(link)

    def update(self, link_id: str, **fields: Any) -> ShareLink:
        return self._update(link_id, fields)


class SqlSavedViews(Rows[SavedView]):
    """See :class:`recdash.store.protocol.SavedViewStore`."""

    kind = SAVED_VIEW

    def of_experiment(self, experiment: str) -> list[SavedView]:
        return self._list(SavedViewRow.name, experiment=experiment)

    def named(self, name: str) -> SavedView | None:
        return next(iter(self._list(SavedViewRow.id, name=name)), None)

    def add(self, view: SavedView) -> SavedView:
        return self._add(view)

    def delete(self, view_id: str) -> None:
        self._delete(view_id)


class SqlAudit:
    """See :class:`recdash.store.protocol.AuditStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def events(self, limit: int | None = None) -> list[AuditEvent]:
        with self._transactions.read() as session:
            return audit.events(session, limit)

    def altered(self) -> list[str]:
        with self._transactions.read() as session:
            return audit.altered(session)


class SqlArtifacts:
    """See :class:`recdash.store.protocol.ArtifactStore`."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions, self._files = transactions, transactions.files

    def put(self, table: pa.Table | Iterable[pa.RecordBatch]) -> str:
        self._transactions.refuse_if_read_only()
        return self._files.put(table)

    def put_file(self, file: Path | bytes) -> str:
        self._transactions.refuse_if_read_only()
        return self._files.put_file(file)

    def path(self, sha256: str) -> Path:
        return self._files.path(sha256)

    def table(self, sha256: str) -> pa.Table:
        return self._files.table(sha256)

    def collect(self, older_than: timedelta = UNUSED_FOR) -> int:
        if is_shared(self._files.folder, self._transactions.database.place):
            return 0
        # The files are removed while no other writer can begin to need one of them.
        with self._transactions.write() as session:
            try:
                used = used_files(session)
            except EvidenceDamaged:  # a damaged row may need any of the files: all stay
                return 0
            known = session.scalars(select(ArtifactRow.sha256)).all()
            if not known:
                # A database that never needed a file: new, or in the place of one that is lost.
                return 0
            unused = [sha256 for sha256 in known if sha256 not in used]
            session.execute(delete(ArtifactRow).where(ArtifactRow.sha256.in_(unused)))
            return self._files.remove_unused(used, older_than)
