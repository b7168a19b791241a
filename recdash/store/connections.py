"""Connections to a database: its driver, engines and pragmas, the lock for writers, and a check of the file.

Writers share one connection and start with BEGIN IMMEDIATE; readers have their own connections, which cannot
write. Everything here is set up once per database; ``sql.py`` only knows :class:`Database`.
"""

from __future__ import annotations

import importlib
import logging
import os
import sqlite3
import weakref
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import ConnectionPoolEntry

from recdash.errors import Problem, StoreError
from recdash.settings import DATA_FOLDER
from recdash.store.artifacts import make_private
from recdash.store.write_lock import DEADLINE_SECONDS, WriteLock, busy, write_lock_of, write_lock_of_file

logger = logging.getLogger(__name__)
Answer = TypeVar("Answer")

WRITER_BUSY_SECONDS = 30
READER_BUSY_SECONDS = 5
CHECKPOINT_SECONDS = 1
N_READERS = 16
MOST_ANSWERS = 5_000
PRAGMAS = (
    "synchronous=FULL",
    "foreign_keys=ON",
    "trusted_schema=OFF",
    "cell_size_check=ON",
    "secure_delete=ON",
    "temp_store=MEMORY",
    "cache_size=-16000",
    "mmap_size=0",
    "wal_autocheckpoint=1000",
    f"journal_size_limit={64 * 2**20}",
)
NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "ceph", "glusterfs", "afs")

# Any number works if all versions of recdash use the same one.
ADVISORY_LOCK = 7_238_112_041

ENDED_TRANSACTIONS = "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_snapshot()::text END"
"""Which transactions have ended; null on a standby server, whose snapshots do not list the running ones."""
CONNECT_SECONDS = 10


class Remembered:
    """An answer, which the first thread that needs it reads; the others wait for it meanwhile."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._value: Any = None
        self._is_read = False

    def get(self, read: Callable[[], Answer]) -> Answer:
        with self._lock:
            if not self._is_read:
                self._value = read()
                self._is_read = True
            answer: Answer = self._value
            return answer


class ClosingPool(QueuePool):
    """A pool that, once it was disposed of, closes each connection that is returned to it.

    Another thread was reading meanwhile, or waited for a connection. A plain pool keeps such a connection
    open, with the file, until Python's collector finds the pool.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._is_disposed = False

    def dispose(self) -> None:
        self._is_disposed = True
        super().dispose()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        # without a lock: the collector may return a connection in a thread that has the lock of the queue,
        # for which a thread that closes the pool waits
        was_disposed = self._is_disposed
        if was_disposed:
            record.close()
        super()._do_return_conn(record)
        if self._is_disposed and not was_disposed:  # this one may be open
            super().dispose()


class UntilCommit:
    """Remembers answers until anybody commits, this process or another.

    SQLite counts the commits of other connections and tells the number in 4 µs; the shortest query through
    SQLAlchemy takes 200, a list of runs 600, and a page asks some 60 of them on each click. PostgreSQL tells
    which transactions have ended (``query``), and two reads with the same answer see the same rows. If the
    answer is null, nothing is remembered.

    After a commit all open pages ask the same again, at once: each question is read by one of them.
    """

    def __init__(
        self,
        connect: Callable[[], Any] | None = None,
        query: str = "PRAGMA data_version",
        errors: Callable[[], type[Exception]] = lambda: sqlite_driver().Error,
    ) -> None:
        self._connect, self._query, self._errors = connect, query, errors
        self._connection: Any = None
        self._n_connections = 0
        self._known: tuple[Hashable, dict[Hashable, Remembered]] = (None, {})
        self._lock = Lock()

    def __call__(self, question: Hashable, read: Callable[[], Answer]) -> Answer:
        """Returns what ``read`` returns, or returned before to the same question. It must not be changed.

        ``read`` must not ask another question here: two threads could wait for each other.
        """
        if self._connect is None:
            return read()
        try:
            count = self._count(self._connect)  # before anything is read: answers may be newer, never older
        except self._errors():  # such as a lock; the reader waits for it, or says why it cannot
            return read()
        if count is None:
            return read()
        known = self._known
        if known[0] != count or len(known[1]) >= MOST_ANSWERS:
            self._known = known = count, {}
        return known[1].setdefault(question, Remembered()).get(read)

    def _count(self, connect: Callable[[], Any]) -> Hashable:
        with self._lock:
            if self._connection is None:
                self._connection = connect()
                # What another connection counts cannot be compared: the server may be another one.
                self._n_connections += 1
            try:
                count = self._connection.execute(self._query).fetchone()[0]
            except self._errors():
                if getattr(self._connection, "closed", False):  # by a server that was restarted
                    self._connection = None
                raise
            return None if count is None else (self._n_connections, count)

    def dispose(self) -> None:
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None


@dataclass(frozen=True)
class Database:
    """An open database, whose connections are closed when nothing uses it any more.

    ``writer`` is None if it is read-only. ``check`` raises ``StoreError`` if its file was replaced or
    removed.
    """

    place: str
    reader: Engine
    writer: Engine | None
    write_lock: WriteLock
    check: Callable[[], None]
    until_commit: UntilCommit = field(default_factory=UntilCommit)
    notices: tuple[Problem, ...] = ()
    file: Path | None = None
    """The file of an SQLite database; None for a server."""

    def __post_init__(self) -> None:
        weakref.finalize(self, _dispose, self.reader, self.writer, self.until_commit)

    def truncate_wal(self) -> bool:
        """Moves the write-ahead log into the database file and empties it; only for SQLite. Returns whether
        it is empty.

        Readers may delay that by a second; if they still read, it is left to the next deletion.
        """
        if self.file is None or self.writer is None:
            return True
        with self.write_lock.counted(), self.writer.connect() as connection:
            driver: Any = connection.connection.driver_connection
            _set(driver, (f"busy_timeout={CHECKPOINT_SECONDS * 1000}",))
            is_busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            _set(driver, (f"busy_timeout={WRITER_BUSY_SECONDS * 1000}",))
        return not is_busy

    def close_idle_readers(self) -> None:
        """Closes the readers' connections that are not in use, with the pages that each has in memory; new
        ones are opened when they are needed.
        """
        self.reader.dispose()

    def close(self) -> None:
        _dispose(self.reader, self.writer, self.until_commit)


def _dispose(*parts: Engine | UntilCommit | None) -> None:
    for part in parts:
        if part is not None:
            part.dispose()


@dataclass(frozen=True)
class DatabaseUrl:
    """A valid database URL. ``file`` is the path of an SQLite database, None for a server."""

    url: URL
    file: Path | None

    @property
    def artifacts(self) -> Path:
        """Returns the default folder of stored files, which is next to the database file.

        For a server it is in the data folder of the working directory.
        """
        return (self.file.parent if self.file else Path.cwd() / DATA_FOLDER) / "artifacts"


def parse_url(text: str) -> DatabaseUrl:
    """Returns a valid database URL.

    Raises ``StoreError``, which names the supported forms, for any other text.
    """
    try:
        url = make_url(text)
    except ArgumentError:
        raise _unusable(text) from None
    if url.drivername in ("postgresql", "postgresql+psycopg"):
        return DatabaseUrl(url.set(drivername="postgresql+psycopg"), None)
    if url.drivername != "sqlite" or url.host or url.query or url.database in (None, "", ":memory:"):
        raise _unusable(url.render_as_string(hide_password=True))
    return DatabaseUrl(url, Path(str(url.database)).absolute())


def _unusable(url: str) -> StoreError:
    return StoreError(
        f"The database URL '{url}' cannot be used. Give sqlite:///FILE or postgresql://user@host/name."
    )


def connect(url: DatabaseUrl, read_only: bool) -> Database:
    """Opens a database. A missing SQLite file is created unless ``read_only``. Raises ``StoreError``."""
    return _postgresql(url.url, read_only) if url.file is None else _sqlite(url.file, read_only)


# ── SQLite ───────────────────────────────────────────────────────────────────────────────────


def wal_is_safe(version: tuple[int, ...]) -> bool:
    """Returns whether this version of SQLite is free of the bug that corrupts WAL databases.

    The bug can occur when a second connection makes a checkpoint.
    """
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51) or (3, 44, 6) <= version < (3, 45)


def sqlite_driver() -> Any:
    """Returns the driver of the standard library, or pysqlite3 if only its SQLite is safe with WAL."""
    if wal_is_safe(sqlite3.sqlite_version_info):
        return sqlite3
    try:
        bundled = importlib.import_module("pysqlite3.dbapi2")
    except ImportError:
        return sqlite3
    return bundled if wal_is_safe(bundled.sqlite_version_info) else sqlite3


def file_system_of(path: Path, mounts: str) -> str:
    """Returns the type of the file system of ``path``, from ``mounts``, the text of /proc/self/mounts.

    "unknown" if no line matches.
    """
    rows = [line.split() for line in mounts.splitlines()]
    holding = [(len(row[1]), row[2]) for row in rows if len(row) > 2 and path.is_relative_to(row[1])]
    return max(holding, default=(0, "unknown"))[1]


def _on_network(path: Path) -> bool:
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return file_system_of(path.resolve(), mounts).startswith(NETWORK_FILE_SYSTEMS)


def _sqlite(file: Path, read_only: bool) -> Database:
    driver = sqlite_driver()
    safe = wal_is_safe(driver.sqlite_version_info)
    wal = safe and not _on_network(file)
    if not read_only:
        _create(file)
    if not file.is_file():
        raise StoreError(f"There is no database file at {file}.")
    if safe and not wal and not read_only:
        _leave_wal(driver, file)
    writer = None if read_only else _sqlite_engine(driver, file, 1, _writer_set_up(wal), "BEGIN IMMEDIATE")
    set_up = _reader_set_up(safe)

    def counting_commits() -> Any:
        connection = _opened(driver, file)
        set_up(connection)
        return connection

    return Database(
        place=str(file),
        reader=_sqlite_engine(driver, file, N_READERS, set_up, "BEGIN"),
        writer=writer,
        write_lock=write_lock_of_file(file),
        check=_watch(file),
        until_commit=UntilCommit(counting_commits),
        notices=() if wal else (_slow_journal(file, driver.sqlite_version, safe),),
        file=file,
    )


def _leave_wal(driver: Any, file: Path) -> None:
    """Switches a database that was moved to a network file system from WAL to a rollback journal.

    Only a single connection can do that, so it happens before readers have theirs.
    """
    only = _opened(driver, file)
    try:
        _set(only, (f"busy_timeout={READER_BUSY_SECONDS * 1000}", "journal_mode=DELETE"))
    finally:
        only.close()


def _create(file: Path) -> None:
    try:
        make_private(file.parent)
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise StoreError(f"The database file {file} cannot be opened: {error.strerror}.") from error


def _watch(file: Path) -> Callable[[], None]:
    """Returns a function that raises ``StoreError`` if ``file`` is no longer the file that it is now."""
    opened = file.stat()

    def check() -> None:
        try:
            now = file.stat()
        except OSError:
            raise StoreError(f"The database file {file} is gone. Put it back, or restart recdash.") from None
        if (now.st_dev, now.st_ino) != (opened.st_dev, opened.st_ino):
            raise StoreError(f"The database file {file} was replaced while it was open. Restart recdash.")

    return check


def _slow_journal(file: Path, version: str, safe: bool) -> Problem:
    why = (
        "is on a network file system"
        if safe
        else f"is used through SQLite {version}, whose WAL can lose data"
    )
    fix = "Keep it on a local disk" if safe else "Install pysqlite3"
    notice = Problem(
        "rollback-journal", f"database {file}", f"it {why}", f"{fix} for faster reading beside writes."
    )
    logger.info("%s", notice)
    return notice


SetUp = Callable[[Any], None]


def _opened(driver: Any, file: Path) -> Any:
    """Returns a new connection.

    isolation_level=None: the driver starts no transactions of its own. mode=rw: a missing file is an error,
    never a new empty database.
    """
    opened = driver.connect(
        f"{file.as_uri()}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    # Text that damage made undecodable is returned as bytes: the row's checksum reveals it, and other
    # rows stay readable.
    opened.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    return opened


def _sqlite_engine(driver: Any, file: Path, size: int, set_up: SetUp, begin: str) -> Engine:
    engine = create_engine(
        "sqlite://",
        module=driver,
        creator=partial(_opened, driver, file),
        poolclass=ClosingPool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=DEADLINE_SECONDS,
    )
    event.listen(engine, "connect", lambda dbapi, _record: set_up(dbapi))
    event.listen(engine, "begin", lambda conn: _execute(conn, begin))
    return engine


def _execute(connection: Connection, statement: str) -> None:
    connection.exec_driver_sql(statement)


def _writer_set_up(wal: bool) -> SetUp:
    def set_up(dbapi: Any) -> None:
        dbapi.execute(f"PRAGMA busy_timeout={WRITER_BUSY_SECONDS * 1000}")
        _set(dbapi, PRAGMAS)
        dbapi.execute(f"PRAGMA journal_mode={'WAL' if wal else 'DELETE'}").fetchall()

    return set_up


def _reader_set_up(safe: bool) -> SetUp:
    def set_up(dbapi: Any) -> None:
        dbapi.execute(f"PRAGMA busy_timeout={READER_BUSY_SECONDS * 1000}")
        _set(dbapi, (*PRAGMAS, "query_only=ON"))
        if not safe and dbapi.execute("PRAGMA journal_mode").fetchone() == ("wal",):
            raise StoreError(
                "This database is in WAL mode, which the SQLite of this Python can damage. Install pysqlite3."
            )

    return set_up


def _set(dbapi: Any, pragmas: tuple[str, ...]) -> None:
    for pragma in pragmas:
        dbapi.execute(f"PRAGMA {pragma}").fetchall()


# ── PostgreSQL ───────────────────────────────────────────────────────────────────────────────


def _postgresql(url: URL, read_only: bool) -> Database:
    try:
        importlib.import_module("psycopg")
    except ImportError:
        raise StoreError("PostgreSQL needs the package psycopg: pip install 'psycopg[binary]'.") from None
    place = url.render_as_string(hide_password=True)
    reader = _postgresql_engine(url, N_READERS, isolation_level="REPEATABLE READ", postgresql_readonly=True)
    return Database(
        place=place,
        reader=reader,
        writer=None if read_only else _postgresql_writer(url),
        write_lock=write_lock_of(place, None),
        check=lambda: None,
        until_commit=UntilCommit(partial(_unpooled, reader, url), ENDED_TRANSACTIONS, _postgresql_error),
    )


def _postgresql_error() -> type[Exception]:
    error: type[Exception] = importlib.import_module("psycopg").Error
    return error


def _unpooled(engine: Engine, url: URL) -> Any:
    """Returns a connection that is never within a transaction, so that each query sees the newest state."""
    arguments, options = engine.dialect.create_connect_args(url)
    return engine.dialect.connect(*arguments, **options, autocommit=True, connect_timeout=CONNECT_SECONDS)


def _postgresql_engine(url: URL, size: int, **options: Any) -> Engine:
    return create_engine(
        url,
        poolclass=ClosingPool,
        pool_size=size,
        max_overflow=0,
        pool_timeout=DEADLINE_SECONDS,
        pool_pre_ping=True,
        execution_options=options,
        connect_args={"connect_timeout": CONNECT_SECONDS},
    )


def _postgresql_writer(url: URL) -> Engine:
    engine = _postgresql_engine(url, 1)

    def lock(connection: Connection) -> None:
        # The lock between processes and machines, which is released when the transaction ends.
        _execute(connection, f"SET LOCAL lock_timeout = '{int(DEADLINE_SECONDS)}s'")
        _execute(connection, f"SELECT pg_advisory_xact_lock({ADVISORY_LOCK})")

    event.listen(engine, "begin", lock)
    return engine


# ── errors ───────────────────────────────────────────────────────────────────────────────────

LOCK_NOT_AVAILABLE = "55P03"
DAMAGED = ("malformed", "is not a database")
"""What SQLite says of a damaged file."""


@contextmanager
def translating_errors(place: str) -> Iterator[None]:
    """Raises ``StoreBusy`` or ``StoreError`` with the database's name in place of errors of its driver."""
    try:
        yield
    except PoolTimeoutError:
        raise busy() from None
    except DBAPIError as error:
        raise _translated(place, error.orig) from error
    except sqlite_driver().Error as error:  # of a connection that is used without SQLAlchemy
        raise _translated(place, error) from error
    except UnicodeError as error:
        raise StoreError(f"This text cannot be stored: {error}") from error


def _translated(place: str, cause: BaseException | None) -> StoreError:
    if getattr(cause, "sqlstate", None) == LOCK_NOT_AVAILABLE or "is locked" in str(cause):
        return busy()
    text = str(cause).strip()
    fix = " Restore it from a backup." if any(words in text for words in DAMAGED) else ""
    return StoreError(f"The database {place} could not be used; nothing was changed: {text}.{fix}")
