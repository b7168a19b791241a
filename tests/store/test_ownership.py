"""Two databases over one folder: neither removes what is the other's, and a lost one is not made anew."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from alembic import command
from sqlalchemy import create_engine
from store_contract import a_run, add_experiment, with_older_log

from recdash.errors import StoreError
from recdash.store import Store, open_store, secret
from recdash.store.schema import alembic_config

NOW = timedelta(seconds=-60)  # an age that every file has, even one just written


def opened(folder: Path, name: str, **how: object) -> Store:
    return open_store(f"sqlite:///{folder / name}.db", folder / "artifacts", **how)


def files(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in (folder / "artifacts").rglob("*.parquet")}


def fill(store: Store, *values: int) -> list[str]:
    """An experiment with a run of each value's upload; the uploads' names."""
    home = add_experiment(store)
    uploads = [store.artifacts.put(pa.table({"item_id": [value]})) for value in values]
    for value, upload in zip(values, uploads, strict=True):
        store.runs.add(a_run(home, f"run {value}", upload), [])
    return uploads


def empty(store: Store) -> None:
    """Have everything of a store unused, and collect it."""
    for experiment in store.experiments.all(archived=True):
        store.experiments.delete(experiment.id)
    add_experiment(store, "other")
    store.artifacts.collect(older_than=NOW)


def test_nothing_of_the_other_is_ever_removed(tmp_path: Path) -> None:
    first = opened(tmp_path, "first")
    uploads = fill(first, *range(35))
    before = files(tmp_path)
    second = opened(tmp_path, "second", found_artifacts="leave")
    fill(second, *range(30, 40))  # some of the same content
    empty(second)
    assert before.items() <= files(tmp_path).items()
    theirs = files(tmp_path).keys() - before.keys()
    empty(first)
    assert theirs <= files(tmp_path).keys(), "nor the other way round"
    assert not any(upload in str(path) for path in files(tmp_path) for upload in uploads[:30])
    first.close()
    second.close()


@pytest.mark.parametrize("emptied", ["copy", "recdash"])
def test_a_copy_of_a_database_and_its_original_remove_nothing(tmp_path: Path, emptied: str) -> None:
    """A backup that is opened beside the store has its id, and so its folder."""
    original = opened(tmp_path, "recdash")
    fill(original, 1, 2)
    original.close()
    shutil.copy(tmp_path / "recdash.db", tmp_path / "copy.db")
    stores = {name: opened(tmp_path, name) for name in ("recdash", "copy")}
    for value, store in enumerate(stores.values(), start=10):
        upload = store.artifacts.put(pa.table({"item_id": [value]}))
        home = store.experiments.get(store.experiments.all()[0].id)
        store.runs.add(a_run(home, f"run {value}", upload), [])
    before = files(tmp_path)
    empty(stores[emptied])
    assert before.items() <= files(tmp_path).items()
    for store in stores.values():
        assert store.check() == []
        store.close()
    (tmp_path / "copy.db").unlink()
    alone = opened(tmp_path, "recdash")
    empty(alone)
    assert len(files(tmp_path)) < len(before), "where the copy is gone, what nobody needs is removed"
    alone.close()


def test_what_a_database_that_cannot_be_looked_at_uses_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be in a folder that is somebody else's: that is no sign that it is gone."""
    closed = tmp_path / "closed"
    closed.mkdir()
    original = opened(tmp_path, "recdash")
    fill(original, 1, 2)
    original.close()
    shutil.copy(tmp_path / "recdash.db", closed / "copy.db")
    open_store(f"sqlite:///{closed / 'copy.db'}", tmp_path / "artifacts").close()
    stat = os.stat

    def refused(path: Any, *args: Any, **options: Any) -> os.stat_result:
        if not isinstance(path, int) and Path(os.fsdecode(path)).is_relative_to(closed):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return stat(path, *args, **options)

    again = opened(tmp_path, "recdash")
    before = files(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", refused)
        empty(again)
    assert before.items() <= files(tmp_path).items()
    again.close()


@pytest.mark.parametrize("moved", ["shutil.move", "shutil.copytree"])
def test_a_store_that_was_moved_or_copied_with_its_files_collects(tmp_path: Path, moved: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    store = opened(first, "recdash")
    fill(store, 1, 2)
    store.close()
    {"shutil.move": shutil.move, "shutil.copytree": shutil.copytree}[moved](first, second)
    again = opened(second, "recdash")
    before = files(second)
    empty(again)
    assert len(files(second)) < len(before)
    again.close()


@pytest.mark.parametrize("make", [lambda _: None, Path.touch])
def test_a_database_that_is_lost_is_not_made_anew_beside_its_files(tmp_path: Path, make: object) -> None:
    store = opened(tmp_path, "recdash")
    fill(store, 1, 2)
    store.close()
    database, backup = tmp_path / "recdash.db", tmp_path / "backup.db"
    shutil.move(database, backup)
    make(database)
    before = files(tmp_path)
    with pytest.raises(StoreError, match="holds 3 files of another store") as caught:
        opened(tmp_path, "recdash")
    for told in ("recdash.db", str(tmp_path / "artifacts"), "RECDASH_FOUND_ARTIFACTS=leave", "adopt"):
        assert told in str(caught.value)
    assert files(tmp_path) == before
    assert database.exists() == (make is Path.touch), "it is not even made"
    shutil.move(backup, database)
    again = opened(tmp_path, "recdash")
    assert len(again.runs.of_experiment(again.experiments.all()[0].id)) == 2
    again.close()


def test_a_new_store_that_leaves_files_alone_is_not_asked_again(tmp_path: Path) -> None:
    first = opened(tmp_path, "first")
    (upload,) = fill(first, 1)
    opened(tmp_path, "second", found_artifacts="leave").close()
    second = opened(tmp_path, "second")
    with pytest.raises(StoreError):
        second.artifacts.table(upload)
    first.close()
    second.close()


def test_a_new_store_may_have_the_files_too(tmp_path: Path) -> None:
    first = opened(tmp_path, "first")
    (upload,) = fill(first, 1)
    second = opened(tmp_path, "second", found_artifacts="adopt")
    assert second.artifacts.table(upload) == first.artifacts.table(upload)
    empty(second)
    with pytest.raises(StoreError):
        second.artifacts.table(upload)
    assert first.artifacts.table(upload).num_rows == 1
    first.close()
    second.close()


def before_ids(folder: Path, name: str) -> None:
    """As a recdash left it whose stores had no ids: all files in one folder."""
    root = folder / "artifacts"
    for file in list(root.glob("store-*/??/*")):
        (root / file.parent.name).mkdir(exist_ok=True)
        file.rename(root / file.parent.name / file.name)
    for own in root.glob("store-*"):
        shutil.rmtree(own)
    engine = create_engine(f"sqlite:///{folder / name}.db")
    with_older_log(engine)
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0006")
    engine.dispose()


def test_a_start_that_ends_while_files_are_linked_is_made_good_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened(tmp_path, "first")
    uploads = fill(first, 1, 2, 3)
    link, n_linked = os.link, 0

    def until_the_second(source: Any, target: Any, **how: Any) -> None:
        nonlocal n_linked
        n_linked += 1
        if n_linked > 1:
            raise KeyboardInterrupt
        link(source, target, **how)

    monkeypatch.setattr(os, "link", until_the_second)
    with pytest.raises(KeyboardInterrupt):
        opened(tmp_path, "second", found_artifacts="adopt")
    monkeypatch.undo()
    second = opened(tmp_path, "second", found_artifacts="adopt")
    empty(first)
    assert [second.artifacts.table(upload).num_rows for upload in uploads] == [1, 1, 1]
    assert not list((tmp_path / "artifacts").glob("linking-*"))
    first.close()
    second.close()


def test_an_older_store_has_its_own_files_and_leaves_those_of_others(tmp_path: Path) -> None:
    """Two stores of the time before ids, over one folder, with some files in common."""
    old = {}
    for name, values in {"first": (1, 2, 3), "second": (3, 4)}.items():
        store = opened(tmp_path, name, found_artifacts="leave")
        old[name] = fill(store, *values)
        store.close()
        before_ids(tmp_path, name)
    reader = open_store(f"sqlite:///{tmp_path / 'first'}.db", tmp_path / "artifacts")
    before = files(tmp_path)
    empty(reader)
    assert {path: data for path, data in before.items() if "store-" not in str(path)}.items() <= files(
        tmp_path
    ).items()
    reader.close()
    second = opened(tmp_path, "second")
    assert [second.artifacts.table(upload)["item_id"].to_pylist() for upload in old["second"]] == [[3], [4]]
    (own,) = [
        path for path in (tmp_path / "artifacts").glob("store-*") if any(path.glob(f"*/{old['second'][1]}*"))
    ]
    assert len(list(own.rglob("*.parquet"))) == 3, "two uploads and the truth"
    second.close()


def test_an_older_store_whose_files_cannot_be_linked_reads_them_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of another user, or a file system without links: the system refuses."""
    store = opened(tmp_path, "first")
    (upload,) = fill(store, 1)
    store.close()
    before_ids(tmp_path, "first")

    def refused(source: Path, _target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(source))

    monkeypatch.setattr("os.link", refused)
    again = opened(tmp_path, "first")
    assert again.artifacts.table(upload)["item_id"].to_pylist() == [1]
    assert again.check() == []
    again.close()


def test_without_links_the_first_of_two_processes_creates_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second begins just before the first has named its file."""
    file = tmp_path / "audit.key"
    kept: dict[str, str] = {}

    def refused(source: Path, _target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(source))

    def create(text: str) -> None:
        secret.create_private(file, text)
        kept[text] = file.read_text()

    second = threading.Thread(target=create, args=("second",))
    replace = Path.replace

    def meanwhile(path: Path, target: Path) -> Path:
        if not second.ident:
            second.start()
            second.join(timeout=0.3)
        return replace(path, target)

    monkeypatch.setattr("os.link", refused)
    monkeypatch.setattr(Path, "replace", meanwhile)
    create("first")
    second.join()
    assert kept == {"first": "first", "second": "first"}
    assert [path.name for path in tmp_path.iterdir()] == ["audit.key"]


OPEN_AND_PUT = """
import sys
import pyarrow as pa
from recdash.store import open_store
folder, value = sys.argv[1], int(sys.argv[2])
store = open_store(f"sqlite:///{folder}/recdash.db", f"{folder}/artifacts")
store.artifacts.put(pa.table({"item_id": [value]}))
store.close()
"""


def test_processes_that_open_a_new_store_at_once_agree_on_its_id(tmp_path: Path) -> None:
    lines = [[sys.executable, "-c", OPEN_AND_PUT, str(tmp_path), str(value)] for value in range(2)]
    workers = [subprocess.Popen(line, stderr=subprocess.PIPE, text=True) for line in lines]
    assert [worker.communicate()[1] for worker in workers] == ["", ""]
    assert len(list((tmp_path / "artifacts").glob("store-*"))) == 1
    assert len(files(tmp_path)) == 2


@pytest.mark.parametrize("id_", ["", "../../elsewhere"])
def test_an_id_that_is_damaged_is_said(tmp_path: Path, id_: str) -> None:
    from recdash.store.connections import sqlite_driver

    opened(tmp_path, "recdash").close()
    connection = sqlite_driver().connect(tmp_path / "recdash.db")
    with connection:
        connection.execute("UPDATE store SET id = ?", [id_])
    connection.close()
    with pytest.raises(StoreError, match="its store id is missing"):
        opened(tmp_path, "recdash")
