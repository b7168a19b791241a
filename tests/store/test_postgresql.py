"""The store on PostgreSQL: the contract against a real server of our own, also when it dies."""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from alembic import command
from postgresql_server import PROGRAMS, Server, running_server
from sqlalchemy import create_engine, text
from store_contract import (
    Open,
    StoreContract,
    a_curve,
    a_run,
    add_experiment,
    counted_queries,
    with_older_log,
)

from recdash.domain.records import Run
from recdash.errors import StoreBusy, StoreError
from recdash.store import Store, connections, open_store, write_lock
from recdash.store.garbage import Removal
from recdash.store.schema import alembic_config
from recdash.store.sql import SqlStore

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (PROGRAMS / "initdb").exists(), reason="no PostgreSQL server on this machine"),
    pytest.mark.skipif(importlib.util.find_spec("psycopg") is None, reason="psycopg is not installed"),
]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_server() as started:
        yield started


@pytest.fixture
def database(server: Server, tmp_path: Path) -> str:
    """The URL of a fresh database."""
    name = tmp_path.name.lower().replace("-", "_")
    admin = create_engine(connections.parse_url(server.url()).url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f'DROP DATABASE IF EXISTS "{name}"'))
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    admin.dispose()
    return server.url(name)


@pytest.fixture
def open_again(database: str, tmp_path: Path) -> Iterator[Open]:
    opened: list[Store] = []

    def open_it(read_only: bool = False) -> Store:
        opened.append(open_store(database, tmp_path / "artifacts", read_only=read_only))
        return opened[-1]

    yield open_it
    for store in opened:
        store.close()


class TestPostgresql(StoreContract):
    """Everything that SQLite does."""


def test_the_migrations_make_the_tables_that_the_code_believes_in(open_again: Open, database: str) -> None:
    open_again()
    engine = create_engine(connections.parse_url(database).url)
    with engine.connect() as connection:
        command.check(alembic_config(connection))
    engine.dispose()


def test_a_reader_of_postgresql_cannot_write(open_again: Open, database: str) -> None:
    open_again()
    opened = connections.connect(connections.parse_url(database), read_only=True)
    assert opened.writer is None
    with (
        pytest.raises(StoreError, match="read-only transaction"),
        connections.translating_errors("here"),
        opened.reader.connect() as reader,
    ):
        reader.execute(text("DELETE FROM run"))
    opened.close()


def test_a_writer_elsewhere_that_never_ends_makes_the_store_busy(
    open_again: Open, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "DEADLINE_SECONDS", 1.0)
    store = open_again()
    experiment = add_experiment(store)
    engine = create_engine(connections.parse_url(database).url)
    with engine.connect() as elsewhere:
        elsewhere.execute(text(f"SELECT pg_advisory_xact_lock({connections.ADVISORY_LOCK})"))
        with pytest.raises(StoreBusy):
            store.experiments.update(experiment.id, note="x")
    engine.dispose()
    assert store.experiments.update(experiment.id, note="x").note == "x"
    assert write_lock.DEADLINE_SECONDS == 30


def test_the_same_question_is_read_again_only_after_a_commit(open_again: Open) -> None:
    store, elsewhere = open_again(), open_again()
    experiment = add_experiment(store)
    assert [home.name for home in store.experiments.all()] == ["Films"]
    with counted_queries() as statements:
        assert [home.name for home in store.experiments.all()] == ["Films"]
    assert statements == []
    elsewhere.experiments.update(experiment.id, name="Books")
    with counted_queries() as statements:
        assert [home.name for home in store.experiments.all()] == ["Books"]
    assert len(statements) == 1


def test_a_commit_is_seen_after_each_of_many_that_several_stores_make(open_again: Open) -> None:
    """Each writer reads its own commit at once, whatever the others remember and commit meanwhile."""
    stores = [open_again() for _ in range(3)]
    homes = [add_experiment(stores[0], f"of {number}") for number in range(3)]
    wrong: list[str] = []

    def write(number: int) -> None:
        mine, other = stores[number], stores[(number + 1) % 3]
        for turn in range(30):
            mine.experiments.update(homes[number].id, note=f"turn {turn}")
            seen = {home.id: home.note for home in other.experiments.all()}
            if seen[homes[number].id] != f"turn {turn}":
                wrong.append(f"{number} of turn {turn}: {seen[homes[number].id]}")

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert wrong == []


def test_a_connection_that_the_server_ended_is_opened_again(open_again: Open, database: str) -> None:
    store = open_again()
    experiment = add_experiment(store)
    assert len(store.experiments.all()) == 1
    engine = create_engine(connections.parse_url(database).url, isolation_level="AUTOCOMMIT")
    with engine.connect() as admin:
        admin.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    engine.dispose()
    assert [home.name for home in store.experiments.all()] == ["Films"]
    store.experiments.update(experiment.id, name="Books")
    assert [home.name for home in store.experiments.all()] == ["Books"]
    with counted_queries() as statements:
        assert len(store.experiments.all()) == 1
    assert statements == []


def test_text_that_postgresql_cannot_hold_is_refused(open_again: Open) -> None:
    with pytest.raises(StoreError, match="nothing was changed"):
        add_experiment(open_again(), "a \0 in the name")


def test_a_database_of_postgresql_and_one_of_sqlite_share_a_folder_and_lose_nothing(
    open_again: Open, database: str, tmp_path: Path
) -> None:
    """Each has an experiment; the second is asked what it means before it begins."""
    first = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    mine = add_experiment(first)
    with pytest.raises(StoreError, match="of another store"):
        open_again()
    store = open_store(database, tmp_path / "artifacts", found_artifacts="leave")
    add_experiment(store, "Songs")
    store.experiments.delete(store.experiments.all()[0].id)
    add_experiment(store, "Books")
    assert store.artifacts.collect(older_than=timedelta(seconds=-60)) == 0, "the same truth is needed again"
    assert first.artifacts.table(mine.truth).num_rows == 2
    first.experiments.delete(mine.id)
    first.experiments.add(replace(mine, truth=first.artifacts.put(pa.table({"item_id": [7]}))))
    assert first.artifacts.collect(older_than=timedelta(seconds=-60)) == 0, "it went with the experiment"
    assert store.artifacts.table(mine.truth).num_rows == 2
    for opened in (first, store):
        opened.close()


def test_a_file_stays_that_another_process_needs_since_its_last_need_ended(
    open_again: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = open_again(), open_again()
    assert isinstance(second, SqlStore)
    # another process has a lock of its own for its threads
    object.__setattr__(second._transactions.database, "write_lock", write_lock.WriteLock(None))
    films = add_experiment(first)
    finish = Removal.finish

    def finish_late(removal: Removal) -> None:
        second.experiments.add(replace(films, id=uuid4().hex, name="Songs"))
        finish(removal)

    monkeypatch.setattr(Removal, "finish", finish_late)
    first.experiments.delete(films.id)
    (songs,) = second.experiments.all()
    assert second.artifacts.table(songs.truth).num_rows == 2
    assert second.check() == []


def test_a_database_of_postgresql_without_checksums_is_upgraded_and_whole(
    open_again: Open, database: str
) -> None:
    store = open_again()
    home = add_experiment(store)
    store.runs.add(a_run(home), [a_curve()])
    before = store.runs.of_experiment(home.id)
    store.close()
    engine = create_engine(connections.parse_url(database).url)
    with_older_log(engine)
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0006")
    engine.dispose()
    again = open_again()
    assert (again.runs.of_experiment(home.id), again.check()) == (before, [])


def test_a_server_that_is_not_there_is_named_without_the_password(server: Server) -> None:
    with pytest.raises(StoreError, match=r"recdash:\*\*\*@127.0.0.1") as caught:
        open_store(f"postgresql://recdash:secret@127.0.0.1:{server.port + 1}/x")
    assert "secret" not in str(caught.value)


RESTARTS = 20


def test_a_server_that_restarts_in_mid_write_loses_nothing_and_doubles_nothing(
    open_again: Open, server: Server
) -> None:
    store = open_again()
    experiment = add_experiment(store)
    acknowledged: list[str] = []
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            run = a_run(experiment, f"run {len(acknowledged)}")
            acknowledged.append(add_until_acknowledged(store, run))

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for restart in range(1, RESTARTS + 1):
            while len(acknowledged) < 10 * restart:
                time.sleep(0.01)
            server.stop("immediate")
            server.start()
    finally:
        stop.set()
        writer.join()
    runs = store.runs.of_experiment(experiment.id)
    assert [run.name for run in runs] == acknowledged
    assert all(list(curves) == ["ndcg"] for curves in store.curves.of_runs([run.id for run in runs]).values())


def add_until_acknowledged(store: Store, run: Run) -> str:
    """Try again, as a person would, until the store says that it has the run."""
    while True:
        try:
            return store.runs.add(run, [a_curve()]).name
        except StoreError:
            time.sleep(0.01)


def test_a_backup_of_postgresql_is_left_to_its_own_tools(open_again: Open, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="pg_dump"):
        open_again().back_up(tmp_path / "kept")
    assert not (tmp_path / "kept").exists()
