"""A backup holds what the store had at one moment, and a restore brings it back or changes nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from alembic import command
from sqlalchemy import create_engine
from store_contract import a_curve, a_run, add_experiment

from recdash.errors import StoreBusy, StoreError
from recdash.store import Store, backup, connections, open_store, restore_store
from recdash.store.connections import sqlite_driver
from recdash.store.schema import alembic_config

Opened = Callable[..., Store]


@pytest.fixture
def data(tmp_path: Path, empty_database: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    shutil.copyfile(empty_database, folder / "recdash.db")
    return folder


@pytest.fixture
def opened() -> Iterator[Opened]:
    stores: list[Store] = []

    def open_it(folder: Path) -> Store:
        stores.append(open_store(url(folder)))
        return stores[-1]

    yield open_it
    for store in stores:
        store.close()


@pytest.fixture
def store(opened: Opened, data: Path) -> Store:
    """A store with an experiment of two runs."""
    made = opened(data)
    fill(made, "Films", 1, 2)
    return made


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'recdash.db'}"


def fill(store: Store, name: str, *values: int) -> None:
    home = add_experiment(store, name)
    for value in values:
        upload = store.artifacts.put(pa.table({"item_id": [value]}))
        store.runs.add(a_run(home, f"run {value}", upload), [a_curve()])


def content(store: Store) -> list[object]:
    """Everything that was stored, with the rows of each upload."""
    homes = store.experiments.all(archived=True)
    runs = [run for home in homes for run in store.runs.of_experiment(home.id, archived=True)]
    uploads = [store.artifacts.table(str(run.upload)).to_pydict() for run in runs]
    return [
        homes,
        runs,
        uploads,
        [list(curves) for curves in store.curves.of_runs([r.id for r in runs]).values()],
    ]


def files(folder: Path) -> dict[str, bytes]:
    """The content of all files but those that SQLite and the write lock make for themselves."""
    own = ("-wal", "-shm", ".lock", ".queue")
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(own)
    }


@pytest.mark.parametrize("name", ["kept", "kept.tar"])
def test_a_store_is_restored_from_its_backup(store: Store, opened: Opened, tmp_path: Path, name: str) -> None:
    before, secret = content(store), store.secret()
    target = tmp_path / "backups" / name
    done = store.back_up(target)
    assert (done.path, done.problems) == (target, ())
    assert store.audit.events(1)[0].action == "back up"
    restored = restore_store(target, url(tmp_path / "elsewhere"), who="ann")
    assert (restored.n_files, restored.aside, restored.missing) == (done.n_files, (), ())
    other = opened(tmp_path / "elsewhere")
    assert content(other) == before
    assert (other.check(), other.secret()) == ([], secret)
    assert [(event.who, event.action) for event in other.audit.events(1)] == [("ann", "restore backup")]


@pytest.mark.parametrize("name", ["kept", "kept.tar"])
def test_only_the_owner_can_read_a_backup_and_a_store(store: Store, tmp_path: Path, name: str) -> None:
    store.back_up(tmp_path / name)
    store.secret()
    restore_store(tmp_path / name, url(tmp_path / "new"))
    paths = [tmp_path / name, *(tmp_path / name).rglob("*"), *(tmp_path / "new").rglob("*")]
    loose = [path for path in paths if path.stat().st_mode & 0o077]
    assert loose == []


def test_a_store_is_backed_up_while_it_is_written(store: Store, opened: Opened, tmp_path: Path) -> None:
    stop, home = threading.Event(), store.experiments.all()[0]

    def write() -> None:
        number = 100
        while not stop.is_set():
            upload = store.artifacts.put(pa.table({"item_id": [number]}))
            added = store.runs.add(a_run(home, f"run {number}", upload), [a_curve()])
            if number % 3 == 0:
                store.runs.delete(added.id)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for number in range(4):
            store.back_up(tmp_path / f"kept {number}")
    finally:
        stop.set()
        writer.join()
    for number in range(4):
        restore_store(tmp_path / f"kept {number}", url(tmp_path / f"new {number}"))
        other = opened(tmp_path / f"new {number}")
        assert other.check() == []
        assert len(content(other)[1]) >= 2  # type: ignore[arg-type]


def test_what_is_deleted_while_a_backup_is_written_is_in_it_or_not(
    store: Store, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_one = backup._copy_artifact
    (run, *_) = store.runs.of_experiment(store.experiments.all()[0].id)

    def delete_first(artifacts: Any, sha256: str, folder: Path) -> None:
        monkeypatch.setattr(backup, "_copy_artifact", copy_one)
        path = store.artifacts.path(str(run.upload))
        store.runs.delete(run.id)
        store.artifacts.collect()
        path.unlink(missing_ok=True)
        copy_one(artifacts, sha256, folder)

    monkeypatch.setattr(backup, "_copy_artifact", delete_first)
    assert store.back_up(tmp_path / "kept").problems == ()
    restore_store(tmp_path / "kept", url(tmp_path / "new"))
    other = opened(tmp_path / "new")
    assert other.check() == []
    assert len(content(other)[1]) == 1  # type: ignore[arg-type]


def test_a_backup_has_no_files_of_what_was_deleted_meanwhile(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy_one = backup._copy_artifact

    def delete_after(artifacts: Any, sha256: str, folder: Path) -> None:
        monkeypatch.setattr(backup, "_copy_artifact", copy_one)
        copy_one(artifacts, sha256, folder)
        store.experiments.delete(store.experiments.all()[0].id)

    monkeypatch.setattr(backup, "_copy_artifact", delete_after)
    assert store.back_up(tmp_path / "kept").problems == ()
    assert [path for path in (tmp_path / "kept" / "artifacts").rglob("*") if path.is_file()] == []


def test_a_backup_that_the_log_could_not_be_told_of_is_whole(
    store: Any, opened: Opened, tmp_path: Path
) -> None:
    before, lock = content(store), store._transactions.database.write_lock
    lock.deadline = 0.05
    said = pytest.raises(StoreBusy, match="is whole, but the audit log has no line about it")
    with lock.hold(), ThreadPoolExecutor(1) as other, said:
        other.submit(store.back_up, tmp_path / "kept").result()
    restore_store(tmp_path / "kept", url(tmp_path / "elsewhere"))
    assert content(opened(tmp_path / "elsewhere")) == before


def test_what_the_store_has_lost_is_named_and_the_rest_is_backed_up(store: Store, tmp_path: Path) -> None:
    (run, *_) = store.runs.of_experiment(store.experiments.all()[0].id)
    store.artifacts.path(str(run.upload)).unlink()
    (problem,) = store.back_up(tmp_path / "kept").problems
    assert str(run.upload) in str(problem)
    assert restore_store(tmp_path / "kept", url(tmp_path / "new")).missing == (run.upload,)


@pytest.mark.parametrize(
    "error", [OSError(28, "disk is full"), sqlite_driver().OperationalError("database or disk is full")]
)
def test_a_backup_that_cannot_be_written_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(StoreError, match="exists already"):
        store.back_up(tmp_path / "there")
    before = files(tmp_path).keys()

    def full(*_: object) -> None:
        raise error

    monkeypatch.setattr(backup, "_copy_artifact", full)
    with pytest.raises(StoreError, match=r"kept cannot be written: .*disk is full\. Nothing was kept"):
        store.back_up(tmp_path / "kept")
    assert files(tmp_path).keys() == before
    fill(store, "Songs", 3)


# ── what is not restored ─────────────────────────────────────────────────────────────────────


def test_a_store_that_holds_data_is_replaced_only_if_that_is_asked_for_and_kept_aside(
    store: Store, opened: Opened, data: Path, tmp_path: Path
) -> None:
    store.back_up(tmp_path / "kept")
    old = content(store)
    fill(store, "Songs", 3)
    new = content(store)
    store.close()
    before = files(data)
    with pytest.raises(StoreError, match=r"already holds data.*--replace"):
        restore_store(tmp_path / "kept", url(data))
    assert files(data) == before
    (aside,) = restore_store(tmp_path / "kept", url(data), replace=True).aside
    assert content(opened(data)) == old
    assert content(opened(aside)) == new
    assert opened(aside).check() == opened(data).check() == []


def test_a_linked_database_is_replaced_where_it_lies(store: Store, opened: Opened, tmp_path: Path) -> None:
    store.back_up(tmp_path / "kept")
    real, data = tmp_path / "disk", tmp_path / "linked"
    opened(real).close()
    data.mkdir()
    (data / "recdash.db").symlink_to(real / "recdash.db")
    restore_store(tmp_path / "kept", url(data), data / "artifacts", replace=True)
    assert (data / "recdash.db").is_symlink()
    assert content(opened(data)) == content(store)


def test_writers_by_a_link_wait_for_those_of_the_database(opened: Opened, tmp_path: Path) -> None:
    real, data = tmp_path / "disk", tmp_path / "linked"
    real.mkdir()
    data.mkdir()
    (data / "recdash.db").symlink_to(real / "recdash.db")
    store = opened(data)
    fill(store, "Books", 7, 8)
    names = [path.name for path in tmp_path.rglob("*.lock")]
    assert names == ["recdash.db.lock"]
    assert (real / "recdash.db.lock").exists()
    assert {path.stat().st_mode & 0o077 for path in real.iterdir()} == {0}


def test_another_store_is_replaced_and_kept_aside_with_its_files(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    store.back_up(tmp_path / "kept")
    other = opened(tmp_path / "other")
    fill(other, "Books", 7, 8)
    theirs = content(other)
    other.close()
    (aside,) = restore_store(tmp_path / "kept", url(tmp_path / "other"), replace=True).aside
    assert content(opened(tmp_path / "other")) == content(store)
    assert content(opened(aside)) == theirs
    assert len(list((tmp_path / "other" / "artifacts").glob("store-*"))) == 1


def test_the_secret_of_a_backup_replaces_that_of_an_empty_store(
    store: Store, opened: Opened, tmp_path: Path
) -> None:
    secret = store.secret()
    store.back_up(tmp_path / "kept")
    empty = opened(tmp_path / "new")
    other = empty.secret().hex()
    empty.close()
    done = restore_store(tmp_path / "kept", url(tmp_path / "new"))
    assert (opened(tmp_path / "new").secret(), done.secret_left) == (secret, False)
    assert (done.aside[0] / "artifacts" / "secret.key").read_text().strip() == other


def test_the_secret_of_a_backup_without_stored_files_is_restored(opened: Opened, tmp_path: Path) -> None:
    empty = opened(tmp_path / "empty")
    secret = empty.secret()
    empty.back_up(tmp_path / "kept")
    restore_store(tmp_path / "kept", url(tmp_path / "new"))
    assert opened(tmp_path / "new").secret() == secret


def test_a_secret_that_other_stores_use_is_not_replaced(store: Store, tmp_path: Path) -> None:
    store.secret()
    store.back_up(tmp_path / "kept")
    stores = [open_store(url(tmp_path / name), tmp_path / "files") for name in ("one", "two")]
    secrets = [each.secret() for each in stores]
    stores[0].close()
    done = restore_store(tmp_path / "kept", url(tmp_path / "one"), tmp_path / "files")
    assert done.secret_left
    assert [each.secret() for each in stores] == secrets
    stores[1].close()


@pytest.mark.parametrize("step", ["recdash.store.backup._put_secret", "recdash.store.sql.SqlStore.open"])
def test_an_error_after_the_restore_says_that_it_is_done_and_where_the_old_store_is(
    store: Store, opened: Opened, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    store.back_up(tmp_path / "kept")
    old = content(store)
    fill(store, "Songs", 3)
    store.close()

    def fail(*_: object, **__: object) -> None:
        raise StoreError("Too busy.") if step.endswith("open") else OSError("Too busy.")

    with monkeypatch.context() as patched:
        patched.setattr(step, fail)
        with pytest.raises(StoreError, match=r"was restored.*Too busy.*before-restore-") as error:
            restore_store(tmp_path / "kept", url(data), replace=True)
    assert "as it was" not in str(error.value)
    assert content(opened(data)) == old


def test_a_store_that_is_open_is_not_replaced(store: Store, data: Path, tmp_path: Path) -> None:
    store.back_up(tmp_path / "kept")
    with pytest.raises(StoreError, match="Stop the dashboard first"):
        restore_store(tmp_path / "kept", url(data), replace=True)
    fill(store, "Songs", 3)
    assert store.check() == []


def test_a_store_with_a_rollback_journal_that_is_in_use_is_replaced_and_its_users_are_told(
    store: Store, opened: Opened, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not noticed that it is open. What was acknowledged before is in the store kept aside."""
    store.back_up(tmp_path / "kept")
    old = content(store)
    store.close()
    monkeypatch.setattr(connections, "file_system_of", lambda *_: "nfs4")
    user = opened(data)
    assert [notice.code for notice in user.notices] == ["rollback-journal"]
    acknowledged: list[str] = []

    refusals: list[str] = []

    def write() -> None:
        try:
            while True:
                name = f"Songs {len(acknowledged)}"
                fill(user, name, 1)
                acknowledged.append(name)
        except StoreError as error:
            refusals.append(str(error))

    writer = threading.Thread(target=write)
    writer.start()
    while writer.is_alive() and len(acknowledged) < 3:
        time.sleep(0.001)
    assert refusals == []
    (aside,) = restore_store(tmp_path / "kept", url(data), replace=True).aside
    writer.join()
    assert ["was replaced while it was open" in refusal for refusal in refusals] == [True]
    with pytest.raises(StoreError, match="was replaced while it was open"):
        user.experiments.all()
    restored = opened(data)
    assert (content(restored), restored.check()) == (old, [])
    kept = opened(aside)
    assert set(acknowledged) <= {experiment.name for experiment in kept.experiments.all()}
    assert kept.check() == []


@pytest.mark.parametrize("damaged", [None, b"", b"no database" * 1000])
@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_what_a_killed_process_left_beside_a_database_does_not_change_the_restored_one(
    store: Store, opened: Opened, data: Path, tmp_path: Path, damaged: bytes | None, end: str
) -> None:
    store.back_up(tmp_path / "kept")
    old = content(store)
    fill(store, "Songs", 3)
    left = (data / "recdash.db-wal").read_bytes()
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / f"recdash.db{end}").write_bytes(left)
    if damaged is not None:
        (tmp_path / "new" / "recdash.db").write_bytes(damaged)
    aside = restore_store(tmp_path / "kept", url(tmp_path / "new"), replace=True).aside
    other = opened(tmp_path / "new")
    assert content(other) == old
    assert other.check() == []
    if damaged is None:
        assert (aside[0] / f"recdash.db{end}").exists()


@pytest.mark.parametrize("name", ["kept", "kept.tar"])
@pytest.mark.parametrize("kind", ["database", "artifact", "lost artifact"])
def test_a_damaged_backup_changes_nothing(store: Store, tmp_path: Path, name: str, kind: str) -> None:
    store.back_up(tmp_path / "whole")
    folder = tmp_path / "whole"
    victim = folder / "recdash.db" if kind == "database" else next((folder / "artifacts").rglob("*.parquet"))
    content = victim.read_bytes()
    victim.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    if kind.startswith("lost"):
        victim.unlink()
    if name.endswith(".tar"):
        with tarfile.open(tmp_path / name, "w") as tar:
            tar.add(folder, ".", recursive=False)
            for path in folder.rglob("*"):
                tar.add(path, str(path.relative_to(folder)), recursive=False)
    else:
        folder.rename(tmp_path / name)
    with pytest.raises(StoreError, match=r"is damaged: 1 of its \d files"):
        restore_store(tmp_path / name, url(tmp_path / "new"))
    assert not (tmp_path / "new" / "recdash.db").exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": 3}, "newer recdash"),
        ({"schema": "9999"}, r"newer recdash \(schema 9999"),
        ({"files": {"../../evil": {"sha256": "0"}}}, "is damaged"),
        ({"files": {}}, "is damaged"),
        ({"files": {"recdash.db": {"sha256": "0", "bytes": "many"}}}, "manifest.json is not what was"),
        ({"created": None}, "manifest.json is not what was"),
        ({"created": "yesterday"}, "manifest.json is not what was"),
        ({"missing": 3}, "manifest.json is not what was"),
    ],
)
def test_a_backup_that_is_newer_or_not_ours_is_refused(
    store: Store, tmp_path: Path, change: dict[str, object], words: str
) -> None:
    store.back_up(tmp_path / "kept")
    file = tmp_path / "kept" / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(StoreError, match=words):
        restore_store(tmp_path / "kept", url(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_backup_of_an_older_schema_is_upgraded(store: Store, opened: Opened, tmp_path: Path) -> None:
    store.back_up(tmp_path / "kept")
    database, manifest = tmp_path / "kept" / "recdash.db", tmp_path / "kept" / "manifest.json"
    engine = create_engine(f"sqlite:///{database}")
    with engine.begin() as connection:
        command.downgrade(alembic_config(connection), "0007")
    engine.dispose()
    facts = json.loads(manifest.read_text()) | {"schema": "0007"}
    facts["files"]["recdash.db"]["sha256"] = hashlib.sha256(database.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(facts))
    restore_store(tmp_path / "kept", url(tmp_path / "new"))
    other = opened(tmp_path / "new")
    assert content(other) == content(store)
    assert other.check() == []


@pytest.mark.parametrize("kind", ["nothing", "text", "folder", "pipe"])
def test_what_is_no_backup_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "kept"
    if kind == "text":
        path.write_text("user_id,item_id\n")
    if kind == "folder":
        path.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    with pytest.raises(StoreError, match="is not a backup of recdash"):
        restore_store(path, url(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_a_backup_inside_the_store_is_refused(store: Store, data: Path, tmp_path: Path) -> None:
    (folder,) = (data / "artifacts").glob("store-*")
    (tmp_path / "link").symlink_to(folder)
    for target in (folder / "kept", folder / "new" / "kept.tar", tmp_path / "link" / "kept"):
        with pytest.raises(StoreError, match="is inside the store's folder"):
            store.back_up(target)
        assert not target.exists()


def test_links_in_a_backup_are_not_followed(store: Store, tmp_path: Path) -> None:
    store.back_up(tmp_path / "kept")
    victim = next((tmp_path / "kept" / "artifacts").rglob("*.parquet"))
    victim.rename(tmp_path / "outside")
    victim.symlink_to(tmp_path / "outside")
    with pytest.raises(StoreError, match="is damaged"):
        restore_store(tmp_path / "kept", url(tmp_path / "new"))


def test_of_postgresql_it_is_said_what_to_use(store: Store, tmp_path: Path) -> None:
    store.back_up(tmp_path / "kept")
    with pytest.raises(StoreError, match="pg_restore"):
        restore_store(tmp_path / "kept", "postgresql://user@host/name", tmp_path / "artifacts")


# ── a process that dies ──────────────────────────────────────────────────────────────────────


def test_a_store_that_is_replaced_is_kept_aside_on_the_disk_before(
    store: Store, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power loss, a folder has the names that were in it when it was synchronised last."""
    store.secret()
    store.back_up(tmp_path / "kept")
    store.close()
    durable: dict[int, set[str]] = {}
    fsync, rename = os.fsync, Path.replace
    lost: list[list[str]] = []

    def recording_fsync(descriptor: int) -> None:
        fsync(descriptor)
        if os.path.isdir(f"/proc/self/fd/{descriptor}"):  # noqa: PTH112 - a descriptor
            durable[os.fstat(descriptor).st_ino] = set(os.listdir(descriptor))

    def checking_rename(path: Path, target: Path) -> Path:
        if path.suffix == ".restore":
            (aside,) = data.glob("before-restore-*")
            kept = [aside, *aside.rglob("*")]
            lost.append([p.name for p in kept if p.name not in durable.get(p.parent.stat().st_ino, ())])
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", recording_fsync)
    monkeypatch.setattr(Path, "replace", checking_rename)
    restore_store(tmp_path / "kept", url(data), replace=True)
    assert lost == [[]]


@pytest.mark.parametrize("name", ["kept", "kept.tar"])
def test_what_a_killed_backup_left_is_removed_by_a_later_one(store: Store, tmp_path: Path, name: str) -> None:
    step = "_packed" if name.endswith(".tar") else "_sync_below"
    process = os.fork()
    if process == 0:
        try:
            setattr(backup, step, lambda *_, **__: os.kill(os.getpid(), 9))
            store.back_up(tmp_path / "to" / name)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == 9
    (left,) = (tmp_path / "to").iterdir()
    (tmp_path / "to" / ".mine.partial").touch()
    store.back_up(tmp_path / "to" / f"second-{name}")
    assert left.exists(), "it may be of a backup that is being written"
    for path in (left, tmp_path / "to" / ".mine.partial"):
        os.utime(path, (time.time() - 25 * 3600,) * 2)
    store.back_up(tmp_path / "to" / f"third-{name}")
    names = {path.name for path in (tmp_path / "to").iterdir()}
    assert names == {f"second-{name}", f"third-{name}", ".mine.partial"}


def test_what_another_persons_killed_backup_left_does_not_prevent_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = tmp_path / "to" / ".theirs.tar.0123abcd.partial.tar"
    left.parent.mkdir()
    left.touch()
    os.utime(left, (time.time() - 25 * 3600,) * 2)
    unlink = Path.unlink

    def refused(path: Path, *, missing_ok: bool = False) -> None:
        if path == left:  # as in a folder like /tmp, where each person removes their own files alone
            raise PermissionError(1, "Operation not permitted")
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", refused)
    store.back_up(tmp_path / "to" / "mine")
    assert {path.name for path in (tmp_path / "to").iterdir()} == {"mine", left.name}


STEPS = ("_copy", "_keep_aside", "_sync_below", "_remove_beside", "already_restored", "_put_secret")


@pytest.mark.parametrize("step", STEPS)
def test_a_restore_that_dies_leaves_the_old_store_or_the_new_one(
    store: Store, opened: Opened, data: Path, tmp_path: Path, step: str
) -> None:
    store.secret()
    store.back_up(tmp_path / "kept")
    old = content(store)
    fill(store, "Songs", 3)
    new = content(store)
    store.close()
    process = os.fork()
    if process == 0:
        try:
            setattr(backup, step, lambda *_, **__: os.kill(os.getpid(), 9))
            restore_store(tmp_path / "kept", url(data), replace=True)
        finally:
            os._exit(1)
    assert os.WTERMSIG(os.waitpid(process, 0)[1]) == 9
    again = opened(data)
    assert content(again) == (old if step in ("already_restored", "_put_secret") else new)
    assert again.check() == []
    again.close()
    restore_store(tmp_path / "kept", url(data), replace=True)
    assert content(opened(data)) == old
    left = [path.name for path in (*data.iterdir(), *(data / "artifacts").iterdir()) if path.name[0] == "."]
    assert left == []
