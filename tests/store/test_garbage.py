"""What was deleted is gone, from tables and files; what nothing needs is collected, and nothing else."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from store_contract import a_curve, a_run, a_test, add_experiment

from recdash.domain.journal import Report, SavedView
from recdash.errors import NotFound, StoreError
from recdash.store import Store, open_store
from recdash.store.artifacts import Artifacts
from recdash.store.connections import Database, sqlite_driver
from recdash.store.tables import Kind

WORD = "Zebrafink"
"""A word that occurs in nothing but what is deleted."""


@pytest.fixture
def store(tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    shutil.copyfile(empty_database, tmp_path / "recdash.db")
    opened = open_store(f"sqlite:///{tmp_path / 'recdash.db'}")
    yield opened
    opened.close()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "artifacts").rglob("*.*") if path.name != "audit.key")


def places_of(word: str, folder: Path) -> list[str]:
    """The files in which the word occurs."""
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def age(folder: Path, hours: float) -> None:
    for path in files(folder):
        os.utime(path, (time.time() - hours * 3600,) * 2)


def test_nothing_of_a_deleted_run_stays_in_any_file(store: Store, tmp_path: Path) -> None:
    home = add_experiment(store)
    upload = store.artifacts.put_file(WORD.encode() * 100)
    for number in range(20):
        run = replace(a_run(home, f"run {number}", upload), note=WORD, params={"by": WORD})
        store.runs.add(run, [a_curve()])
    before = len(files(tmp_path))
    assert set(places_of(WORD, tmp_path)) == {"recdash.db-wal", f"{upload}.bin"}
    for run in store.runs.of_experiment(home.id):
        store.runs.delete(run.id)
    assert places_of(WORD, tmp_path) == []
    assert len(files(tmp_path)) == before - 1
    assert store.check() == []


def test_the_files_of_the_last_experiment_go_with_it(store: Store, tmp_path: Path) -> None:
    home = add_experiment(store)
    store.online_tests.add(a_test(store, home))
    store.runs.add(a_run(home, upload=store.artifacts.put(pa.table({"item_id": [3]}))), [])
    assert len(files(tmp_path)) == 3
    store.experiments.delete(home.id)
    assert files(tmp_path) == []


@pytest.mark.parametrize("error", [OSError("no access"), StoreError("busy"), TimeoutError("no connection")])
def test_what_cannot_be_tidied_after_a_deletion_is_logged(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    home = add_experiment(store)

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(Database, "truncate_wal", fail)
    store.experiments.delete(home.id)
    assert store.experiments.all() == []
    assert str(error) in caplog.text


def test_a_file_that_goes_away_while_files_are_collected_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = Artifacts(tmp_path)
    stored = artifacts.put_file(b"here")
    found = [tmp_path / "tmp" / "gone", artifacts.path(stored)]
    monkeypatch.setattr(artifacts, "_files", lambda: iter(found))
    assert artifacts.remove_unused(frozenset(), timedelta(days=-1)) == (1, 4)


def test_the_deletion_of_a_view_does_not_look_for_files(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = add_experiment(store)
    store.saved_views.add(SavedView("v", home.id, WORD, home.created, "ann", "leaderboard"))

    def fail(*_: object) -> None:
        raise AssertionError("files are looked for")

    monkeypatch.setattr("recdash.store.garbage.named_files", fail)
    monkeypatch.setattr(Artifacts, "remove_unused", fail)
    store.saved_views.delete("v")
    assert store.saved_views.of_experiment(home.id) == []
    assert (tmp_path / "recdash.db-wal").stat().st_size == 0


def test_a_deletion_reads_of_other_rows_only_which_files_they_need(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = add_experiment(store)
    shared = store.artifacts.put(pa.table({"item_id": [7]}))
    gone, *kept = [store.runs.add(a_run(home, f"run {n}", upload=shared), [a_curve()]) for n in range(5)]
    read: list[str] = []
    to_value = Kind.to_value

    def noted(kind: Kind, row: Any) -> Any:
        read.append(row.id)
        return to_value(kind, row)

    monkeypatch.setattr(Kind, "to_value", noted)
    store.runs.delete(gone.id)
    assert set(read) <= {home.id, gone.id}
    monkeypatch.undo()
    assert store.artifacts.table(shared).num_rows == 1
    for run in kept:
        store.runs.delete(run.id)
    with pytest.raises(NotFound):
        store.artifacts.path(shared)


@pytest.mark.parametrize("hits", ["{", "[]", '{"hits": 7}', '{"hits": "HEX"}'])
def test_a_deletion_removes_no_file_while_a_row_names_files_that_were_never_stored(
    store: Store, tmp_path: Path, hits: str
) -> None:
    home = add_experiment(store)
    damaged, gone = [
        store.runs.add(a_run(home, name, upload=store.artifacts.put_file(name.encode())), [])
        for name in ("als", "ease")
    ]
    with sqlite_driver().connect(tmp_path / "recdash.db") as raw:
        raw.execute("UPDATE run SET hits = ? WHERE id = ?", (hits.replace("HEX", "0" * 64), damaged.id))
    raw.close()
    store.runs.delete(gone.id)
    assert store.artifacts.path(str(gone.upload)).read_bytes() == b"ease"
    store.runs.delete(damaged.id)
    with pytest.raises(NotFound):
        store.artifacts.path(str(gone.upload))


def test_the_files_of_tests_and_reports_go_with_them(store: Store, tmp_path: Path) -> None:
    home = add_experiment(store)
    before = files(tmp_path)
    test = store.online_tests.add(a_test(store, home))
    document = store.artifacts.put_file(b"numbers")
    store.reports.add(Report("r", home.id, home.created, "ann", "Spring", document=document))
    store.online_tests.delete(test.id)
    store.reports.delete("r")
    assert files(tmp_path) == before


def test_what_a_failed_upload_left_is_collected_after_a_day(store: Store, tmp_path: Path) -> None:
    add_experiment(store)
    needed = files(tmp_path)
    store.artifacts.put_file(b"x" * 1000)
    assert store.artifacts.garbage().n_files == 0
    age(tmp_path, 25)
    counted = store.artifacts.garbage(dry_run=True)
    assert (counted.n_files, counted.n_bytes) == (1, 1000)
    assert store.artifacts.garbage() == counted
    assert files(tmp_path) == needed
    (event,) = store.audit.events(1)
    assert (event.action, dict(event.details)) == ("collect garbage", {"files": 1, "bytes": 1000})


def test_a_process_that_dies_between_rows_and_files_leaves_them_to_the_collection(
    store: Store, tmp_path: Path
) -> None:
    home = add_experiment(store)
    upload = store.artifacts.put(pa.table({"item_id": [3]}))
    run = store.runs.add(a_run(home, upload=upload), [])
    store.close()
    process = os.fork()
    if process == 0:
        try:
            mine = open_store(f"sqlite:///{tmp_path / 'recdash.db'}")
            mine._transactions.files.remove = lambda _: os.kill(os.getpid(), 9)  # type: ignore[attr-defined]
            mine.runs.delete(run.id)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == 9
    again = open_store(f"sqlite:///{tmp_path / 'recdash.db'}")
    assert (again.runs.of_experiment(home.id), again.check()) == ([], [])
    assert again.artifacts.path(upload).exists()
    age(tmp_path, 25)
    assert again.artifacts.garbage().n_files == 1
    again.close()


def test_a_new_database_collects_nothing_beside_files_of_a_lost_one(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'recdash.db'}")
    store.artifacts.put_file(b"x")
    age(tmp_path, 25)
    assert "nothing was ever stored" in store.artifacts.garbage().refused
    assert len(files(tmp_path)) == 1
    store.close()


def test_a_copy_of_the_database_keeps_its_files(store: Store, tmp_path: Path) -> None:
    home = add_experiment(store)
    upload = store.artifacts.put(pa.table({"item_id": [3]}))
    run = store.runs.add(a_run(home, upload=upload), [])
    store.close()
    shutil.copyfile(tmp_path / "recdash.db", tmp_path / "copy.db")
    copy, original = (open_store(f"sqlite:///{tmp_path / name}") for name in ("copy.db", "recdash.db"))
    original.runs.delete(run.id)
    assert copy.artifacts.table(str(copy.runs.get(run.id).upload)).num_rows == 1
    assert "another database" in original.artifacts.garbage().refused
    for opened in (copy, original):
        opened.close()


def test_a_deletion_that_fails_removes_no_file(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = add_experiment(store)
    run = store.runs.add(a_run(home, upload=store.artifacts.put(pa.table({"item_id": [3]}))), [])
    before = files(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr("recdash.store.garbage._forget", full)
    with pytest.raises(StoreError, match="disk is full"):
        store.runs.delete(run.id)
    assert files(tmp_path) == before
    assert store.runs.get(run.id) == run


def test_replaced_files_stay_if_the_change_that_replaced_them_fails(store: Store) -> None:
    home = add_experiment(store)
    old, new = (store.artifacts.put_file(content) for content in (b"old", b"new"))
    store.experiments.update(home.id, train=old)

    def change_and_fail() -> None:
        with store.transaction():
            store.experiments.update(home.id, train=new)
            store.artifacts.remove_replaced()
            raise StoreError("The disk is full.")

    with pytest.raises(StoreError, match="disk is full"):
        change_and_fail()
    assert store.experiments.get(home.id).train == old
    assert store.artifacts.path(old).read_bytes() == b"old"
    assert store.check() == []


def test_replaced_files_are_removed_once_and_their_rows_after_them(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = add_experiment(store)
    old, new = (store.artifacts.put_file(content) for content in (b"old", b"new"))
    store.experiments.update(home.id, train=old)
    store.experiments.update(home.id, train=new)
    removed: list[list[str]] = []
    remove = Artifacts.remove

    def noted(artifacts: Artifacts, hashes: Iterable[str]) -> None:
        removed.append(list(hashes))
        remove(artifacts, removed[-1])

    monkeypatch.setattr(Artifacts, "remove", noted)
    assert store.artifacts.remove_replaced().refused == ""
    assert removed == [[old]]
    assert store.artifacts.remove_replaced().refused == ""
    assert removed[1:] == [[]]
    assert store.check() == []


def test_a_file_that_the_disk_does_not_remove_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    home = add_experiment(store)
    stuck, other = (store.artifacts.put_file(name) for name in (b"stuck", b"other"))
    runs = [store.runs.add(a_run(home, f"run {upload}", upload), []) for upload in (stuck, other)]
    unlink = Path.unlink

    def refusing_unlink(path: Path, missing_ok: bool = False) -> None:
        if path.stem == stuck:
            raise PermissionError(1, "Operation not permitted", str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refusing_unlink)
    new = store.artifacts.put_file(b"new")
    for run in runs:
        store.runs.replace_scores(run.id, replace(run, upload=new), [])
    refused = store.artifacts.remove_replaced().refused
    assert stuck in refused
    assert "Operation not permitted" in refused
    with pytest.raises(NotFound):
        store.artifacts.path(other)
    assert store.artifacts.path(stuck).exists()
    monkeypatch.undo()
    assert store.artifacts.remove_replaced().refused == ""
    with pytest.raises(NotFound):
        store.artifacts.path(stuck)


def test_a_log_that_is_read_meanwhile_is_said_to_keep_what_was_replaced(store: Store, tmp_path: Path) -> None:
    home = add_experiment(store)
    run = store.runs.add(replace(a_run(home, "als"), note=WORD), [])
    reader = sqlite_driver().connect(tmp_path / "recdash.db", isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT note FROM run").fetchall() == [(WORD,)]
    store.runs.update(run.id, note="")
    assert "write-ahead log" in store.artifacts.remove_replaced().refused
    assert "recdash.db-wal" in places_of(WORD, tmp_path)
    reader.close()
    assert store.artifacts.remove_replaced().refused == ""
    assert places_of(WORD, tmp_path) == []
