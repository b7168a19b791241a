"""A store in SQLite or PostgreSQL, with the same code over SQLAlchemy.

Every public method is one short transaction; it returns neither rows nor sessions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from recdash.domain.journal import (
    ApiToken,
    AuditEvent,
    AuditResult,
    Entry,
    LinkUse,
    Report,
    SavedView,
    ShareLink,
)
from recdash.domain.records import Experiment, KeptEstimate, OnlineTest
from recdash.errors import Problem, StoreBusy
from recdash.settings import FoundArtifacts
from recdash.store import audit
from recdash.store.artifacts import Artifacts
from recdash.store.audit_key import begin_again, key_of
from recdash.store.backup import BackupSummary, RestoreSummary, write_backup
from recdash.store.checksums import seal
from recdash.store.connections import DatabaseUrl, connect, translating_errors
from recdash.store.damage import Damage
from recdash.store.file_watch import FileWatch
from recdash.store.garbage import collect, deleting, discard, remove_replaced
from recdash.store.integrity import everything_damaged, everything_wrong, mismatch_of, structure
from recdash.store.ownership import artifacts_of, note_use, refuse_lost
from recdash.store.permissions import tighten
from recdash.store.protocol import UNUSED_FOR, Garbage
from recdash.store.replay import audited, log_state, replay
from recdash.store.rows import DeletableRows, Rows, row_of
from recdash.store.schema import ensure_schema
from recdash.store.secret import kept_secret
from recdash.store.sql_runs import SqlCurves, SqlRuns
from recdash.store.tables import (
    API_TOKEN,
    ENTRY,
    ESTIMATE,
    EXPERIMENT,
    KINDS,
    ONLINE_TEST,
    REPORT,
    SAVED_VIEW,
    SHARE_LINK,
    ApiTokenRow,
    EndedSessionRow,
    EntryRow,
    ExperimentRow,
    KeptEstimateRow,
    LibraryMetricRow,
    LinkUseRow,
    OnlineTestRow,
    ReportRow,
    SavedViewRow,
    ShareLinkRow,
    TokenUseRow,
    columns_of,
    is_intact,
)
from recdash.store.transactions import Transactions

if TYPE_CHECKING:
    import pyarrow as pa


class SqlStore:
    """The :class:`recdash.store.protocol.Store` of an SQL database."""

    def __init__(self, transactions: Transactions, root: Path) -> None:
        self._transactions, self._root = transactions, root
        self.experiments = SqlExperiments(transactions)
        self.curves = SqlCurves(transactions)
        self.runs = SqlRuns(transactions, self.curves)
        self.online_tests = SqlOnlineTests(transactions)
        self.journal = SqlJournal(transactions)
        self.reports = SqlReports(transactions)
        self.share_links = SqlShareLinks(transactions)
        self.api_tokens = SqlApiTokens(transactions)
        self.ended_sessions = SqlEndedSessions(transactions)
        self.saved_views = SqlSavedViews(transactions)
        self.estimates = SqlEstimates(transactions)
        self.metric_library = SqlMetricLibrary(transactions)
        self.audit = SqlAudit(transactions)
        self.artifacts = SqlArtifacts(transactions)
        database = transactions.database
        self._watch = FileWatch(database.file, transactions.files, self._state_of_writes)

    @classmethod
    def open(
        cls,
        url: DatabaseUrl,
        root: Path,
        read_only: bool = False,
        found_artifacts: FoundArtifacts = "ask",
    ) -> SqlStore:
        """Returns the store of a database, with its files below ``root``; see
        ``recdash.store.open_store``.
        """
        if url.file is not None and not read_only:
            refuse_lost(url.file, root, found_artifacts)
        with translating_errors(url.url.render_as_string(hide_password=True)):
            database = connect(url, read_only)
        damage = Damage()
        try:
            ensure_schema(database)
            with translating_errors(database.place):
                files = artifacts_of(database, root, found_artifacts)
                if not read_only:
                    note_use(files.folder, database.place)
                    tighten(url.file, root, files.folder)
                with Session(database.reader) as session, session.begin():
                    damage.of_all(structure(session))
                    state = partial(log_state, session)
                    goes_on = found_artifacts != "ask"
                    key = key_of(
                        files.folder,
                        state,
                        lambda: not read_only and (goes_on or not audit.is_made_with_key(session)),
                    )
        except BaseException:
            database.close()
            raise
        return cls(Transactions(database, files, damage, read_only, key), root)

    @property
    def read_only(self) -> bool:
        return self._transactions.read_only

    def _state_of_writes(self) -> object:
        return self._transactions.database.write_lock.n_turns, self.audit.last()

    def close_idle_readers(self) -> None:
        self._transactions.database.close_idle_readers()

    def has_altered_files(self) -> bool:
        return self._watch.has_alterations()

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
            return everything_wrong(session, self._transactions.files, self._transactions.key)

    def back_up(self, target: Path) -> BackupSummary:
        transactions = self._transactions
        transactions.refuse_if_read_only()
        with translating_errors(transactions.database.place):
            summary = write_backup(transactions.database, transactions.files, self._root, target)
        try:
            with transactions.write() as session:
                transactions.note(session, "back up", "store", files=summary.n_files, bytes=summary.n_bytes)
        except StoreBusy as error:
            finding = f"The backup {target} is whole, but the audit log has no line about it"
            raise StoreBusy(f"{finding}: the store was locked by other writers for too long.") from error
        return summary

    def note_restore(self, summary: RestoreSummary) -> None:
        """Records in the audit log that this store was restored from a backup.

        If the backup is older than the key of the log, the key counts from here on.
        """
        with self._transactions.write() as session:
            key, state = self._transactions.key, log_state(session)
            if key is not None and state.last < key.since.last:
                begin_again(self._transactions.files.folder, key, state)
            self._transactions.note(session, "restore backup", "store", written=summary.created)

    def transaction(self) -> AbstractContextManager[None]:
        return self._transactions.together()

    def secret(self) -> bytes:
        return kept_secret(self._root)

    def by(self, who: str, role: str, read_only: bool = False) -> SqlStore:
        read_only = self.read_only or read_only
        return SqlStore(replace(self._transactions, who=who, role=role, read_only=read_only), self._root)

    def close(self) -> None:
        self._transactions.database.close()


class SqlExperiments(DeletableRows[Experiment]):
    """The :class:`recdash.store.protocol.ExperimentStore` of an SQL database."""

    kind = EXPERIMENT
    order = (ExperimentRow.created.desc(), ExperimentRow.id)

    def all(self, archived: bool = False) -> list[Experiment]:
        return self._list(archived)

    def named(self, name: str) -> Experiment | None:
        return next(iter(self._list(name=name)), None)

    def delete(self, key: str) -> None:
        with deleting(self._transactions) as session:
            row = row_of(session, EXPERIMENT, key)
            deleted = {}
            for kind in KINDS:
                if kind.has("experiment"):
                    count = select(func.count()).select_from(kind.row).filter_by(experiment=key)
                    if n_rows := session.scalar(count):
                        deleted[kind.word] = n_rows
            self._transactions.note(session, "delete experiment", key, name=row.name, with_it=deleted)
            session.delete(row)


class SqlOnlineTests(DeletableRows[OnlineTest]):
    """The :class:`recdash.store.protocol.OnlineTestStore` of an SQL database."""

    kind = ONLINE_TEST
    order = (OnlineTestRow.created.desc(), OnlineTestRow.id)

    def add(self, value: OnlineTest) -> OnlineTest:
        with self._transactions.write() as session:
            if session.get(OnlineTestRow, value.id) is None:
                same = select(OnlineTestRow).filter_by(experiment=value.experiment, name=value.name)
                for row in session.scalars(same).all():
                    if not is_intact(row):
                        self._replace(session, row, value)
            return self._add_in(session, value)


class SqlJournal(Rows[Entry]):
    """The :class:`recdash.store.protocol.JournalStore` of an SQL database."""

    kind = ENTRY
    order = (EntryRow.created, EntryRow.id)

    def add(self, value: Entry, check: Callable[[Sequence[Entry]], None] | None = None) -> Entry:
        with self._transactions.write() as session:
            if check is not None and session.get(EntryRow, value.id) is None:
                journal = select(EntryRow).filter_by(experiment=value.experiment).order_by(*self.order)
                check(self._damage.intact(ENTRY, session.scalars(journal)))
            return self._add_in(session, value)


class SqlReports(DeletableRows[Report]):
    """The :class:`recdash.store.protocol.ReportStore` of an SQL database."""

    kind = REPORT
    is_remembered = False  # a report holds its whole document
    order = (ReportRow.created.desc(), ReportRow.id)


class SqlShareLinks(Rows[ShareLink]):
    """The :class:`recdash.store.protocol.ShareLinkStore` of an SQL database."""

    kind = SHARE_LINK
    order = (ShareLinkRow.created.desc(), ShareLinkRow.id)

    def uses(self, experiment: str) -> dict[str, LinkUse]:
        query = select(LinkUseRow).join(ShareLinkRow).where(ShareLinkRow.experiment == experiment)
        with self._transactions.read() as session:
            return {row.link: LinkUse(row.last, row.n_opened) for row in session.scalars(query)}

    def note_use(self, key: str, at: datetime, *, opened: bool) -> None:
        with self._transactions.write() as session:
            use = session.get(LinkUseRow, key)
            if use is not None:
                use.last, use.n_opened = at, use.n_opened + opened
            elif session.get(ShareLinkRow, key) is not None:
                session.add(LinkUseRow(link=key, last=at, n_opened=int(opened)))


class SqlApiTokens(Rows[ApiToken]):
    """The :class:`recdash.store.protocol.ApiTokenStore` of an SQL database."""

    kind = API_TOKEN
    order = (ApiTokenRow.created.desc(), ApiTokenRow.id)

    def all(self) -> list[ApiToken]:
        return self._list()

    def last_uses(self) -> dict[str, datetime]:
        def read(session: Session) -> dict[str, datetime]:
            return {row.token: row.last for row in session.scalars(select(TokenUseRow))}

        return dict(self._transactions.remembered("last uses of API tokens", read))

    def note_use(self, key: str, at: datetime) -> None:
        with self._transactions.write() as session:
            if session.get(ApiTokenRow, key) is not None:
                session.merge(TokenUseRow(token=key, last=at))


class SqlEndedSessions:
    """The :class:`recdash.store.protocol.EndedSessionStore` of an SQL database."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def add(self, session: str, until: datetime, now: datetime) -> None:
        with self._transactions.write() as writing:
            writing.execute(delete(EndedSessionRow).where(EndedSessionRow.until < now))
            writing.merge(EndedSessionRow(id=session, until=until))

    def has(self, session: str) -> bool:
        def read(reading: Session) -> bool:
            return reading.get(EndedSessionRow, session) is not None

        return self._transactions.remembered(("ended session", session), read)


class SqlMetricLibrary:
    """The :class:`recdash.store.protocol.MetricLibraryStore` of an SQL database."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def all(self) -> list[dict[str, Any]]:
        def read(session: Session) -> list[dict[str, Any]]:
            rows = session.scalars(select(LibraryMetricRow).order_by(LibraryMetricRow.name))
            return [json.loads(row.facts) for row in rows]

        return [dict(facts) for facts in self._transactions.remembered("metric library", read)]

    def put(self, name: str, facts: Mapping[str, Any]) -> None:
        with self._transactions.write() as session:
            row = session.merge(LibraryMetricRow(name=name, facts=json.dumps(dict(facts))))
            seals = {audit.metric_key(name): seal(columns_of(row))}
            self._transactions.note(session, audit.DEFINE_METRIC, name, seals, facts=dict(facts))

    def remove(self, name: str) -> None:
        with self._transactions.write() as session:
            row = session.get(LibraryMetricRow, name)
            if row is not None:
                session.delete(row)
                self._transactions.note(session, audit.REMOVE_METRIC, name)


class SqlSavedViews(DeletableRows[SavedView]):
    """The :class:`recdash.store.protocol.SavedViewStore` of an SQL database."""

    kind = SAVED_VIEW
    order = (SavedViewRow.name,)

    def named(self, name: str) -> SavedView | None:
        return next(iter(self._list(name=name)), None)


class SqlEstimates(DeletableRows[KeptEstimate]):
    """The :class:`recdash.store.protocol.EstimateStore` of an SQL database."""

    kind = ESTIMATE
    order = (KeptEstimateRow.created.desc(), KeptEstimateRow.id)


class SqlAudit:
    """The :class:`recdash.store.protocol.AuditStore` of an SQL database."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def events(self, limit: int | None = None) -> list[AuditEvent]:
        with self._transactions.read() as session:
            return audit.events(session, limit)

    def last(self) -> str:
        return self._transactions.remembered("newest line of the log", audit.last)

    def purged(self, experiments: Sequence[str], runs: int, online_tests: int, views: int) -> None:
        with self._transactions.write() as session:
            counts = {"runs": runs, "online tests": online_tests, "saved views": views}
            details = {audit.PURGED_EXPERIMENTS: list(experiments), **counts}
            self._transactions.note(session, audit.PURGE, "store", None, **details)

    def purges_of(self, experiment: str) -> list[datetime]:
        def read(session: Session) -> list[datetime]:
            return audit.purges_of(session, experiment)

        return list(self._transactions.remembered(("purges of", experiment), read))

    def n_purges(self) -> int:
        return self._transactions.remembered("purges", audit.n_purges)

    def n_deletions(self) -> int:
        return self._transactions.remembered("deletions", audit.n_deletions)

    def breaks(self) -> list[int]:
        with self._transactions.read() as session:
            return audit.breaks(audit.events(session, None), self._transactions.key)

    def altered(self) -> list[str]:
        with self._transactions.read() as session:
            compared = replay(session, audit.events(session, None), self._transactions.key)
            return list(dict.fromkeys(mismatch.record for mismatch in compared.mismatches))

    def audited(self) -> AuditResult:
        with self._transactions.read() as session:
            wrong = everything_damaged(session, self._transactions.files, with_unneeded=True)
            damaged = starmap(mismatch_of, wrong)
            result = audited(session, self._transactions.key)
            altered = (mismatch for mismatch in result.mismatches if not mismatch.is_damaged)
            return replace(result, mismatches=(*damaged, *altered))


class SqlArtifacts:
    """The :class:`recdash.store.protocol.ArtifactStore` of an SQL database."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions, self._files = transactions, transactions.files

    def put(self, table: pa.Table | Iterable[pa.RecordBatch]) -> str:
        self._transactions.refuse_if_read_only()
        return self._files.put(table)

    def put_file(self, file: Path | bytes) -> str:
        self._transactions.refuse_if_read_only()
        return self._files.put_file(file)

    def apart(self, scratch: Path) -> AbstractContextManager[Artifacts]:
        self._transactions.refuse_if_read_only()
        return self._files.apart(scratch)

    def path(self, sha256: str) -> Path:
        return self._files.path(sha256)

    def table(self, sha256: str) -> pa.Table:
        return self._files.table(sha256)

    def remove_replaced(self) -> Garbage:
        return remove_replaced(self._transactions)

    def discard(self, is_unwanted: Callable[[pa.Table], bool]) -> Garbage:
        return discard(self._transactions, is_unwanted)

    def collect(self, older_than: timedelta = UNUSED_FOR) -> int:
        return self.garbage(older_than).n_files

    def garbage(self, older_than: timedelta = UNUSED_FOR, *, dry_run: bool = False) -> Garbage:
        return collect(self._transactions, older_than, dry_run=dry_run)
