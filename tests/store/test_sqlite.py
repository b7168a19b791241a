"""The store on SQLite: the contract with each driver, files that go away, processes, deaths."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool
from store_contract import (
    Open,
    StoreContract,
    a_curve,
    a_run,
    add_experiment,
    assert_same_curve,
    counted_queries,
    in_threads,
)

from recdash.errors import StoreBusy, StoreError
from recdash.store import Store, connections, new_id, open_store
from recdash.store.connections import (
    PRAGMAS,
    ClosingPool,
    UntilCommit,
    file_system_of,
    sqlite_driver,
    translating_errors,
    wal_is_safe,
)
from recdash.store.write_lock import WriteLock, write_lock_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "recdash.db"


@pytest.fixture
def open_again(database: Path) -> Iterator[Open]:
    opened: list[Store] = []

    def open_it(read_only: bool = False) -> Store:
        opened.append(open_store(f"sqlite:///{database}", read_only=read_only))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


class TestDefaultDriver(StoreContract):
    """The driver that this Python would choose. Each test begins with a copy of an empty store."""

    @pytest.fixture(autouse=True)
    def _on_a_copy(self, empty_database: Path, database: Path) -> None:
        database.parent.mkdir()
        shutil.copyfile(empty_database, database)


@pytest.fixture(scope="module")
def empty_standard_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of an empty store that the standard driver made."""
    file = tmp_path_factory.mktemp("standard") / "recdash.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "pysqlite3.dbapi2", None)
        open_store(f"sqlite:///{file}").close()
    return file


@pytest.mark.skipif(sqlite_driver() is sqlite3, reason="it is the default of this Python")
class TestStandardDriver(StoreContract):
    """The driver of a Python without pysqlite3. Each test begins with a copy of an empty store."""

    @pytest.fixture(autouse=True)
    def _without_pysqlite3(
        self, empty_standard_database: Path, database: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        database.parent.mkdir()
        shutil.copyfile(empty_standard_database, database)
        monkeypatch.setitem(sys.modules, "pysqlite3.dbapi2", None)


# ── driver and set-up ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ((3, 40, 1), False), ((3, 44, 5), False), ((3, 44, 6), True), ((3, 45, 0), False),
        ((3, 50, 6), False), ((3, 50, 7), True), ((3, 51, 0), False), ((3, 51, 2), False),
        ((3, 51, 3), True), ((3, 53, 4), True),
    ],
)  # fmt: skip
def test_wal_is_used_only_by_a_fixed_sqlite(version: tuple[int, int, int], safe: bool) -> None:
    assert wal_is_safe(version) is safe


def test_without_a_fixed_sqlite_the_journal_is_rolled_back_and_a_notice_says_so(
    open_again: Open, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "wal_is_safe", lambda _version: False)
    store = open_again()
    add_experiment(store)
    (notice,) = store.notices
    assert notice.fix == "Install pysqlite3 for faster reading beside writes."
    assert journal_mode(database) == "delete"


def test_with_a_fixed_sqlite_the_journal_is_wal(
    open_again: Open, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "wal_is_safe", lambda _version: True)
    store = open_again()
    assert store.notices == ()
    assert journal_mode(database) == "wal"


def test_a_network_file_system_gets_no_wal(
    open_again: Open, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "wal_is_safe", lambda _version: True)
    monkeypatch.setattr(connections, "file_system_of", lambda *_: "nfs4")
    (notice,) = open_again().notices
    assert notice.found == "it is on a network file system"
    assert journal_mode(database) == "delete"


def test_a_wal_database_is_not_read_with_an_sqlite_that_can_damage_it(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "wal_is_safe", lambda _version: True)
    open_again().close()
    monkeypatch.setattr(connections, "wal_is_safe", lambda _version: False)
    with pytest.raises(StoreError, match="Install pysqlite3"):
        open_again(read_only=True)


def test_a_wal_database_that_is_moved_to_a_network_file_system_is_written_without_wal(
    open_again: Open, database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "wal_is_safe", lambda _version: True)
    store = open_again()
    films = add_experiment(store)
    store.close()
    assert journal_mode(database) == "wal"
    monkeypatch.setattr(connections, "file_system_of", lambda *_: "nfs4")
    assert open_again().experiments.update(films.id, note="moved").note == "moved"
    assert journal_mode(database) == "delete"


def journal_mode(database: Path) -> object:
    connection = sqlite3.connect(database)
    try:
        return connection.execute("PRAGMA journal_mode").fetchone()[0]
    finally:
        connection.close()


def test_the_file_system_is_that_of_the_innermost_mount() -> None:
    mounts = "/dev/sda / ext4 rw 0 0\nserver:/x /home nfs4 rw 0 0\ntmpfs /home/me/tmp tmpfs rw 0 0\n"
    paths = ("/var/a.db", "/home/me/a.db", "/home/me/tmp/a.db", "/homes/a.db")
    assert [file_system_of(Path(path), mounts) for path in paths] == ["ext4", "nfs4", "tmpfs", "ext4"]


def test_every_connection_has_the_pragmas_and_readers_cannot_write(database: Path) -> None:
    opened = connections.connect(connections.parse_url(f"sqlite:///{database}"), read_only=False)
    assert opened.writer is not None
    try:
        for engine, query_only in ((opened.writer, 0), (opened.reader, 1)):
            with engine.connect() as connection:
                names = ("synchronous", "foreign_keys", "trusted_schema", "cell_size_check", "mmap_size")
                values = [connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in names]
                assert values == [2, 1, 0, 1, 0]
                assert connection.exec_driver_sql("PRAGMA query_only").scalar() == query_only
    finally:
        opened.close()
    assert "synchronous=FULL" in PRAGMAS


def test_connections_of_readers_are_closed_once_idle_and_opened_again(open_again: Open) -> None:
    """Each has up to 16 MB of pages in memory, and as many stay open as were once in use at a time."""
    store = open_again()
    films = add_experiment(store)
    reader = store._transactions.database.reader
    with reader.connect(), reader.connect():
        pass
    assert reader.pool.checkedin() == 2
    with reader.connect() as in_use:
        store.close_idle_readers()
        assert in_use.exec_driver_sql("SELECT 1").scalar() == 1
        driver = in_use.connection.driver_connection
    assert driver is not None
    with pytest.raises(sqlite_driver().ProgrammingError, match="closed database"):
        driver.execute("SELECT 1")
    assert reader.pool.checkedin() == 0
    assert [found.id for found in store.experiments.all()] == [films.id]


def test_a_reader_that_connects_while_its_pool_is_closed_leaves_no_connection_open(open_again: Open) -> None:
    """As a thread does that waits for a connection meanwhile."""
    store = open_again()
    pool = store._transactions.database.reader.pool
    store.close_idle_readers()
    connection = pool.connect()
    driver = connection.driver_connection
    connection.close()
    assert driver is not None
    with pytest.raises(sqlite_driver().ProgrammingError, match="closed database"):
        driver.execute("SELECT 1")


def a_pool() -> ClosingPool:
    return ClosingPool(partial(sqlite3.connect, ":memory:", check_same_thread=False), pool_size=1)


def test_a_connection_that_comes_back_while_its_pool_is_closed_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = a_pool().connect()
    driver = connection.driver_connection
    put_back = QueuePool._do_return_conn

    def put_back_late(own: QueuePool, record: ConnectionPoolEntry) -> None:
        own.dispose()
        put_back(own, record)

    monkeypatch.setattr(QueuePool, "_do_return_conn", put_back_late)
    connection.close()
    assert driver is not None
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        driver.execute("SELECT 1")


def test_a_connection_that_is_collected_while_the_queue_is_locked_blocks_no_thread() -> None:
    pool: Any = a_pool()
    connection = pool.connect()
    closer = threading.Thread(target=pool.dispose, daemon=True)

    def collect() -> None:
        with pool._pool.mutex:
            closer.start()
            while not pool._is_disposed:
                time.sleep(0.001)
            connection.close()

    collector = threading.Thread(target=collect, daemon=True)
    collector.start()
    collector.join(5)
    closer.join(5)
    assert not collector.is_alive()
    assert not closer.is_alive()


@pytest.mark.parametrize(
    "url", ["sqlite://", "sqlite:///:memory:", "sqlite:///a.db?mode=ro", "mysql://h/d", "films.db", ""]
)
def test_a_url_that_cannot_be_used_is_named_with_those_that_can(url: str) -> None:
    with pytest.raises(StoreError, match="Give sqlite:///FILE or postgresql://"):
        open_store(url)


def test_a_password_is_not_shown() -> None:
    with pytest.raises(StoreError) as caught:
        open_store("mysql://me:secret@host/name")
    assert "secret" not in str(caught.value)


# ── files that are not what they should be ───────────────────────────────────────────────────


def test_a_read_only_store_is_not_created(open_again: Open, database: Path) -> None:
    with pytest.raises(StoreError, match="There is no database file"):
        open_again(read_only=True)
    assert not database.parent.exists()


def test_a_database_that_is_moved_away_is_noticed_and_not_created_anew(
    open_again: Open, database: Path
) -> None:
    store = open_again()
    experiment = add_experiment(store)
    database.rename(database.with_name("moved.db"))
    for use in (store.experiments.all, lambda: store.experiments.update(experiment.id, note="x")):
        with pytest.raises(StoreError, match="is gone"):
            use()
    assert not database.exists()


def test_a_database_that_comes_back_is_used_again(open_again: Open, database: Path) -> None:
    store = open_again()
    experiment = add_experiment(store)
    moved = database.rename(database.with_name("moved.db"))
    with pytest.raises(StoreError):
        store.experiments.all()
    moved.rename(database)
    assert store.experiments.all() == [experiment]


def test_a_database_that_is_replaced_is_noticed(open_again: Open, database: Path) -> None:
    store = open_again()
    add_experiment(store)
    copy = database.with_name("copy.db")
    copy.write_bytes(database.read_bytes())
    copy.replace(database)
    with pytest.raises(StoreError, match="was replaced"):
        store.experiments.all()


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(open_again: Open, database: Path) -> None:
    database.parent.mkdir()
    database.write_text("user_id,item_id\n" * 100)
    with pytest.raises(StoreError, match="file is not a database"):
        open_again()
    assert database.read_text() == "user_id,item_id\n" * 100


def test_a_folder_in_place_of_the_database_is_named(open_again: Open, database: Path) -> None:
    database.mkdir(parents=True)
    with pytest.raises(StoreError, match=r"recdash\.db cannot be opened"):
        open_again()


def test_a_database_cut_short_gives_an_error_and_no_numbers(open_again: Open, database: Path) -> None:
    store = open_again()
    add_experiment(store)
    store.close()
    with database.open("r+b") as file:
        file.truncate(4096 * 3)
    with pytest.raises(StoreError, match="malformed"):
        open_again().experiments.all()


def test_text_that_is_not_unicode_is_refused(open_again: Open) -> None:
    with pytest.raises(StoreError, match="cannot be stored"):
        add_experiment(open_again(), "half a \ud83c pair")


# ── the write lock ───────────────────────────────────────────────────────────────────────────


def test_writers_go_first_come_first_served() -> None:
    lock, order = WriteLock(None), []
    starts = [threading.Event() for _ in range(5)]

    def wait_for_a_turn(number: int) -> None:
        starts[number].set()
        with lock.hold():
            order.append(number)

    threads = [threading.Thread(target=wait_for_a_turn, args=(number,)) for number in range(5)]
    with lock.hold():
        for number, thread in enumerate(threads):
            thread.start()
            starts[number].wait()
            while len(lock._line._waiting) <= number:
                time.sleep(0.001)
    for thread in threads:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("between_processes", [False, True])
def test_who_waits_too_long_is_told_and_the_line_goes_on(tmp_path: Path, between_processes: bool) -> None:
    lock = tmp_path / "lock" if between_processes else None
    first = WriteLock(lock)
    second = WriteLock(lock, deadline=0.05) if between_processes else first
    first.deadline = 0.05
    with first.hold(), pytest.raises(StoreBusy):
        in_threads(1, lambda _: second.hold().__enter__())
    with second.hold():
        pass


def test_stores_on_one_file_share_one_gate() -> None:
    assert write_lock_of("a", None) is write_lock_of("a", None)
    assert write_lock_of("a", None) is not write_lock_of("b", None)


def test_a_write_that_fails_leaves_the_gate_open(open_again: Open) -> None:
    store = open_again()
    experiment = add_experiment(store)
    with pytest.raises(KeyboardInterrupt), store._transactions.write():
        raise KeyboardInterrupt
    assert store.experiments.update(experiment.id, note="after").note == "after"


# ── several processes ────────────────────────────────────────────────────────────────────────

CHILD = """
import os, signal, sys
import numpy as np, pyarrow as pa
from datetime import datetime, UTC
from recdash.domain.records import Run
from recdash.domain.results import Curve
from recdash.store import new_id, open_store
url, experiment, name, count = sys.argv[1:5]
store = open_store(url)
k = np.arange(1, 4)
def curves():
    return [Curve(metric, k, k / 10, k / 100, 7) for metric in ("map", "ndcg", "recall")]
def add(number):
    upload = store.artifacts.put(pa.table({"item_id": [number]}))
    run = Run(new_id(), experiment, f"{name}-{number}", datetime.now(UTC), 0, upload, {"hits": upload}, {})
    store.runs.add(run, curves())
    print(run.name, flush=True)
"""
ADD_ALL = CHILD + "\nfor number in range(int(count)):\n    add(number)\nstore.close()\n"


def child(code: str, database: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, f"sqlite:///{database}", *arguments]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


# ── what was read is remembered until anybody commits ────────────────────────────────────────


def test_what_was_read_is_not_read_again_until_somebody_writes(open_again: Open) -> None:
    store = open_again()
    films = add_experiment(store)
    run = store.runs.add(a_run(films))
    before = store.runs.of_experiment(films.id), store.runs.get(run.id), store.audit.last()
    with counted_queries() as statements:
        assert (store.runs.of_experiment(films.id), store.runs.get(run.id), store.audit.last()) == before
    assert statements == []
    store.runs.update(run.id, name="ease")
    assert [found.name for found in store.runs.of_experiment(films.id)] == ["ease"]
    assert store.audit.last() != before[2]


def test_threads_that_ask_the_same_at_once_have_it_read_once(open_again: Open) -> None:
    store = open_again()
    add_experiment(store)
    all_ask = threading.Barrier(8)

    def ask(_: int) -> None:
        all_ask.wait()
        assert [home.name for home in store.experiments.all()] == ["Films"]

    with counted_queries() as statements:
        in_threads(8, ask)
    assert len(statements) == 1


def test_nothing_is_remembered_where_commits_cannot_be_told() -> None:
    remembered = UntilCommit(lambda: sqlite3.connect(":memory:", check_same_thread=False), "SELECT NULL")
    answers = count()
    assert [remembered("next", lambda: next(answers)) for _ in range(3)] == [0, 1, 2]
    remembered.dispose()


def test_what_one_thread_failed_to_read_the_next_one_reads() -> None:
    remembered, n_asked = UntilCommit(NeverCommitted), 0
    fails = threading.Barrier(2)

    def fail_once() -> int:
        nonlocal n_asked
        n_asked += 1
        if n_asked == 1:
            fails.wait()
            raise StoreError("Too busy.")
        return n_asked

    def ask(number: int) -> None:
        if number == 0:
            with pytest.raises(StoreError):
                remembered("how many", fail_once)
        else:
            fails.wait()
            assert remembered("how many", fail_once) == 2

    in_threads(2, ask)
    assert remembered("how many", fail_once) == 2


class NeverCommitted:
    """A connection that counts no commits of others."""

    def execute(self, _: str) -> NeverCommitted:
        return self

    def fetchone(self) -> tuple[int]:
        return (7,)


RENAME = """
import sys
from recdash.store import open_store
open_store(sys.argv[1]).experiments.update(sys.argv[2], name="Books")
"""


def test_what_another_process_writes_is_seen_at_once(database: Path, open_again: Open) -> None:
    store = open_again()
    films = add_experiment(store)
    before = store.audit.last()
    assert store.experiments.get(films.id).name == "Films"
    other = child(RENAME, database, films.id)
    other.communicate()
    assert other.returncode == 0
    assert store.experiments.get(films.id).name == "Books"
    assert [found.name for found in store.experiments.all()] == ["Books"]
    assert store.audit.last() != before


def test_what_is_changed_in_the_file_without_recdash_is_seen(database: Path, open_again: Open) -> None:
    store = open_again()
    films = add_experiment(store)
    assert store.experiments.all() == [films]
    with sqlite_driver().connect(database) as raw:
        raw.execute("UPDATE experiment SET name = 'Books'")
    raw.close()
    assert store.experiments.all() == []  # its checksum is wrong
    assert [problem.code for problem in store.damaged()] == ["damaged"]


def test_what_a_transaction_took_back_was_never_remembered(open_again: Open) -> None:
    store = open_again()
    films = add_experiment(store)

    def rename_and_fail() -> None:
        with store.transaction():
            store.experiments.update(films.id, name="Books")
            assert [found.name for found in store.experiments.all()] == ["Books"]
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rename_and_fail()
    assert store.experiments.all() == [films]


def test_a_list_that_was_changed_by_who_got_it_is_as_it_was_for_the_next(open_again: Open) -> None:
    store = open_again()
    films = add_experiment(store)
    store.experiments.all().clear()
    assert store.experiments.all() == [films]


def test_writers_in_two_processes_and_this_one_lose_nothing(open_again: Open, database: Path) -> None:
    store = open_again()
    experiment = add_experiment(store)
    children = [child(ADD_ALL, database, experiment.id, name, "15") for name in ("a", "b")]
    for process in children:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun to write
    while any(process.poll() is None for process in children):
        store.runs.add(a_run(experiment, new_id()), [a_curve()])
        store.runs.of_experiment(experiment.id)
    for process in children:
        process.communicate()
    assert [process.returncode for process in children] == [0, 0]
    runs = store.runs.of_experiment(experiment.id)
    assert {run.name for run in runs} >= {f"{name}-{number}" for name in "ab" for number in range(15)}
    assert [run.slot for run in runs] == list(range(len(runs)))


def test_two_processes_may_create_the_store_at_once(open_again: Open, database: Path) -> None:
    code = "import sys\nfrom recdash.store import open_store\nopen_store(sys.argv[1]).close()\n"
    children = [child(code, database) for _ in range(2)]
    for process in children:
        process.communicate()
    assert [process.returncode for process in children] == [0, 0]
    assert open_again().experiments.all() == []


def assert_whole(store: Store, experiment: str, names: set[str]) -> None:
    """Exactly these runs are there, each with every curve and a file that matches its hash."""
    runs = store.runs.of_experiment(experiment)
    curves = store.curves.of_runs([run.id for run in runs])
    assert {run.name for run in runs} == names
    for run in runs:
        assert list(curves[run.id]) == ["map", "ndcg", "recall"]
        assert_same_curve(curves[run.id]["ndcg"], a_curve())
        assert store.artifacts.table(run.hits["hits"]).num_rows == 1


@pytest.mark.long
def test_a_writer_killed_at_any_moment_loses_nothing_it_acknowledged(
    open_again: Open, database: Path
) -> None:
    store = open_again()
    experiment = add_experiment(store)
    acknowledged: set[str] = set()
    for number in range(50):
        writer = child(ADD_ALL, database, experiment.id, f"w{number}", "100000")
        assert writer.stdout is not None
        for _ in range(number % 10):
            writer.stdout.readline()
        time.sleep(number / 1000)
        acknowledged |= set(kill(writer).split())
        names = {run.name for run in store.runs.of_experiment(experiment.id)}
        assert acknowledged <= names
    assert_whole(store, experiment.id, {run.name for run in store.runs.of_experiment(experiment.id)})


def kill(writer: subprocess.Popen[str]) -> str:
    writer.send_signal(signal.SIGKILL)
    return writer.communicate()[0]


def test_nothing_is_remembered_while_commits_cannot_be_counted() -> None:
    class Locked:
        def execute(self, _: str) -> None:
            raise sqlite_driver().OperationalError("database is locked")

    answers = iter((1, 2))
    remembered = UntilCommit(Locked)
    assert [remembered("how many", lambda: next(answers)) for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(
    ("words", "error"), [("database is locked", StoreBusy), ("disk is full", StoreError)]
)
def test_errors_of_the_driver_itself_name_the_database(words: str, error: type[StoreError]) -> None:
    with pytest.raises(error), translating_errors("recdash.db"):
        raise sqlite_driver().OperationalError(words)
