"""Garbage collection: removes files that no stored value needs, at once after a deletion and later by age."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from recdash.errors import EvidenceDamaged, NotFound
from recdash.formatting.wording import many
from recdash.store.ownership import is_shared
from recdash.store.protocol import UNUSED_FOR, Garbage
from recdash.store.tables import KINDS, ArtifactRow, AuditEventRow, Json
from recdash.store.transactions import Transactions

if TYPE_CHECKING:
    import pyarrow as pa

    from recdash.store.artifacts import Artifacts

SHARED = "another database uses the same files; recdash check names it in the file 'databases'"
DAMAGED = "a damaged row does not say which files it needs; recdash check names it"
READ = "data was being read, so that the write-ahead log keeps old rows; recdash gc empties it"
UNFINISHED = (
    "{} that an addition is writing, or was writing when it was interrupted, may have it; a day later "
    "recdash gc removes what is left"
)
NEW = "nothing was ever stored in this database, so the files may be those of a lost one"


def used_files(session: Session) -> frozenset[str]:
    """Returns the sha256 of every file that any stored value needs, after verifying every row.

    Raises ``EvidenceDamaged`` if a row is damaged, as its files are unknown then.
    """
    kinds = [kind for kind in KINDS if kind.files]
    values = (kind.needs(kind.to_value(row)) for kind in kinds for row in session.scalars(select(kind.row)))
    return frozenset().union(*values)


def named_files(session: Session) -> frozenset[str]:
    """Returns the same as ``used_files``, but reads only the columns that name files.

    Raises ``EvidenceDamaged`` if they name none that was ever stored: every needed file is registered.
    """
    named: set[str] = set()
    for kind in KINDS:
        for field in kind.files:
            column = getattr(kind.row, field)
            is_mapping = isinstance(column.type, Json)
            for stored in session.scalars(select(column).where(column.is_not(None)).distinct()):
                try:
                    named.update(column.type.read(stored).values() if is_mapping else [stored])
                except (ValueError, TypeError, AttributeError, RecursionError):
                    raise EvidenceDamaged(DAMAGED) from None
    if not named <= set(session.scalars(select(ArtifactRow.sha256))):
        raise EvidenceDamaged(DAMAGED)
    return frozenset(named)


def collect(transactions: Transactions, older_than: timedelta, *, dry_run: bool = False) -> Garbage:
    """Removes files that nothing needs and that are older than ``older_than``, while no other writer can
    start to need one; with ``dry_run`` only counts them.
    """
    collected: list[Garbage] = []

    def finish() -> None:
        if not dry_run:
            transactions.database.truncate_wal()

    with transactions.write(then=finish) as session:
        used, why = _used(session, transactions, used_files)
        if used is None:
            return Garbage(refused=why)
        if not session.scalar(select(func.count()).select_from(AuditEventRow)):
            return Garbage(refused=NEW)
        if not dry_run:
            _forget(session, _unused(session, used))
        n_files, n_bytes = transactions.files.remove_unused(used, older_than, dry_run=dry_run)
        collected.append(Garbage(n_files, n_bytes))
        if n_files and not dry_run:
            transactions.note(session, "collect garbage", "store", files=n_files, bytes=n_bytes)
    return collected[0]


@contextmanager
def deleting(transactions: Transactions, *, has_files: bool = True) -> Iterator[Session]:
    """Yields a session that deletes rows. Files that only they needed are removed after the commit, before
    any other writer can start to need one; without ``has_files`` no files are looked for.

    Nothing of what was deleted stays in the write-ahead log.
    """
    removal = Removal(transactions)
    with transactions.write(then=removal.finish) as session:
        yield session
        session.flush()
        if has_files:
            removal.prepare(session)


def remove_replaced(transactions: Transactions) -> Garbage:
    """Removes the files that were needed once and that nothing needs any more, and says if it cannot.

    The rows of these files are deleted after them: if the process dies in between, the rows still name the
    files, and the next call removes them. Within ``together`` no file is removed, as the change that replaced
    it may be taken back.
    """
    removal = Removal(transactions)
    with transactions.write(then=removal.finish) as session:
        why = removal.find(session)
    if removal.is_finished:
        with transactions.write(then=removal.empty_log) as session:
            used, why = _used(session, transactions, named_files)
            if used is not None:
                _forget(session, _unused(session, used))
    return Garbage(refused=why or removal.refusal)


def discard(transactions: Transactions, is_unwanted: Callable[[pa.Table], bool]) -> Garbage:
    """Removes the files of any age that nothing needs and whose table ``is_unwanted``, such as those of an
    interrupted addition; one that is running stores them again. Says what cannot be read.
    """
    with transactions.read() as session:
        registered = frozenset(session.scalars(select(ArtifactRow.sha256)))
    files = transactions.files
    unneeded = [sha256 for sha256 in files.hashes() if sha256 not in registered]
    unwanted = [sha256 for sha256 in unneeded if _has_table(files, sha256, is_unwanted)]
    if unwanted:
        with transactions.write() as session:
            used, why = _used(session, transactions, named_files)
            if used is None:
                return Garbage(refused=why)
            files.remove(sha256 for sha256 in unwanted if sha256 not in used)
    n_unfinished = files.n_unfinished()
    return Garbage(refused=UNFINISHED.format(many(n_unfinished, "file")) if n_unfinished else "")


def _has_table(files: Artifacts, sha256: str, is_unwanted: Callable[[pa.Table], bool]) -> bool:
    """Returns whether a file has a table that ``is_unwanted``; False for another file, and if it is gone."""
    try:
        return is_unwanted(files.table(sha256))
    except (NotFound, EvidenceDamaged):
        return False


class Removal:
    """The removal of files that nothing needs any more, with all traces of deleted rows."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions
        self._gone: list[str] = []
        self._used: frozenset[str] | None = None
        self.is_finished = False
        self.refusal = ""
        """Why something of what was deleted is still there; empty if nothing is."""

    def find(self, session: Session) -> str:
        """Finds these files, and returns why that is impossible; "" if it is not."""
        self._used, why = _used(session, self._transactions, named_files)
        if self._used is not None:
            self._gone = _unused(session, self._used)
        return why

    def prepare(self, session: Session) -> None:
        """Finds these files, and deletes their rows."""
        self.find(session)
        _forget(session, self._gone)

    def finish(self) -> None:
        """Removes the files and empties the write-ahead log; to be called after the commit."""
        try:
            with self._alone():
                self._transactions.files.remove(self._gone)
                if self._used is not None:
                    self._transactions.files.remove_unused(self._used, UNUSED_FOR)
            self.empty_log()
        except Exception as error:
            self.refusal = str(error)
            raise
        self.is_finished = True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Sees to it that no other process starts to need a file in the block.

        With SQLite, this process still holds the lock file. The lock of a server ended with the transaction:
        another one is begun, and a file that another process needs since then stays.
        """
        database = self._transactions.database
        if database.file is not None:
            yield
            return
        with Session(database.writer) as session, session.begin():
            self._used, _ = _used(session, self._transactions, named_files)
            self._gone = [] if self._used is None else [sha for sha in self._gone if sha not in self._used]
            yield

    def empty_log(self) -> None:
        """Empties the write-ahead log, and says if a reader prevents that."""
        self.refusal = "" if self._transactions.database.truncate_wal() else READ


def _used(
    session: Session, transactions: Transactions, read: Callable[[Session], frozenset[str]]
) -> tuple[frozenset[str] | None, str]:
    """Returns the files that are needed, as ``read`` returns them, or None and why that is not known."""
    if is_shared(transactions.files.folder, transactions.database.place):
        return None, SHARED
    try:
        return read(session), ""
    except EvidenceDamaged:
        return None, DAMAGED


def _unused(session: Session, used: frozenset[str]) -> list[str]:
    """Returns the sha256 of the registered files that nothing needs any more."""
    return [sha256 for sha256 in session.scalars(select(ArtifactRow.sha256)) if sha256 not in used]


def _forget(session: Session, gone: Sequence[str]) -> None:
    """Deletes the rows of files, which are named by their sha256."""
    session.execute(delete(ArtifactRow).where(ArtifactRow.sha256.in_(gone)))
