"""Stored files: named by their hash, whole or absent, checked when read."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from store_contract import a_run, add_experiment

from recdash.errors import EvidenceDamaged, NotFound, Problem, StoreError, UploadError
from recdash.store import Store, open_store
from recdash.store.artifacts import Artifacts

TABLE = pa.table({"user_id": ["01", "2"], "item_id": [3, 4]})
NOW = timedelta(seconds=-60)  # an age that every file has, even one just written


@pytest.fixture
def artifacts(tmp_path: Path) -> Artifacts:
    return Artifacts(tmp_path / "artifacts")


def files_of(artifacts: Artifacts) -> list[Path]:
    return [path for path in artifacts.folder.rglob("*") if path.is_file()]


def damage(path: Path) -> None:
    """Turn one bit, and let the clock go on as it does between a write and a later damage."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))


# ── writing and reading ──────────────────────────────────────────────────────────────────────


def test_a_table_comes_back_as_it_was_from_a_file_named_by_its_hash(artifacts: Artifacts) -> None:
    sha256 = artifacts.put(TABLE)
    path = artifacts.path(sha256)
    assert artifacts.table(sha256) == TABLE
    assert hashlib.sha256(path.read_bytes()).hexdigest() == sha256
    assert path == artifacts.folder / sha256[:2] / f"{sha256}.parquet"
    assert artifacts.n_bytes(sha256) == path.stat().st_size


def test_a_table_is_compressed_with_zstd(artifacts: Artifacts) -> None:
    metadata = pq.read_metadata(artifacts.path(artifacts.put(TABLE)))
    assert metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_stream_of_batches_becomes_one_table(artifacts: Artifacts) -> None:
    batches = TABLE.to_batches(max_chunksize=1)
    assert len(batches) == 2
    assert artifacts.table(artifacts.put(iter(batches))) == TABLE


def test_text_codes_and_empty_tables_come_back_as_they_were(artifacts: Artifacts) -> None:
    coded = pa.table({"item_id": pa.array(["a", "b", "a"]).dictionary_encode()})
    for table in (coded, TABLE.slice(0, 0)):
        assert artifacts.table(artifacts.put(table)) == table


def test_the_same_content_is_stored_once(artifacts: Artifacts) -> None:
    assert artifacts.put(TABLE) == artifacts.put(TABLE)
    assert len(files_of(artifacts)) == 1


@pytest.mark.parametrize("content", [b"", b"user,item\n1,2\n", b"PAR1 and so on"])
def test_a_file_is_stored_byte_for_byte(artifacts: Artifacts, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "upload").write_bytes(content)
    sha256 = artifacts.put_file(tmp_path / "upload")
    assert sha256 == artifacts.put_file(content) == hashlib.sha256(content).hexdigest()
    assert artifacts.path(sha256).read_bytes() == content
    assert artifacts.path(sha256).suffix == (".parquet" if content.startswith(b"PAR1") else ".bin")


def test_a_stream_that_breaks_off_leaves_nothing(artifacts: Artifacts) -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise UploadError(Problem("bad-rank", "line 3", "'first' is not a rank", "Use whole numbers."))

    with pytest.raises(UploadError, match="'first' is not a rank"):
        artifacts.put(batches())
    assert files_of(artifacts) == []


def test_a_stream_without_a_batch_is_refused(artifacts: Artifacts) -> None:
    with pytest.raises(ValueError, match="no schema"):
        artifacts.put(iter([]))
    assert files_of(artifacts) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "artifacts").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="Cannot write to"):
        Artifacts(tmp_path / "artifacts").put(TABLE)


def test_a_full_disk_leaves_nothing_and_the_next_write_works(
    artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as disk:
        disk.setattr(os, "fsync", full)
        with pytest.raises(StoreError, match="No space left on device"):
            artifacts.put(TABLE)
    assert files_of(artifacts) == []
    assert artifacts.table(artifacts.put(TABLE)) == TABLE


def test_a_file_gets_its_name_only_when_it_is_on_the_disk(
    artifacts: Artifacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts.put(TABLE.slice(1))
    steps: list[str] = []
    for name in ("fsync", "link", "unlink"):
        real = getattr(os, name)

        def noted(*args: object, _name: str = name, _real: object = real, **kwargs: object) -> object:
            steps.append(_name)
            return _real(*args, **kwargs)

        monkeypatch.setattr(os, name, noted)
    artifacts.put(TABLE)
    assert steps[0] == "fsync"
    assert [steps[-3], *steps[-2:]] == ["link", "fsync", "unlink"]


# ── damage ───────────────────────────────────────────────────────────────────────────────────


def test_a_damaged_file_is_named_and_gives_no_table(artifacts: Artifacts) -> None:
    sha256 = artifacts.put(TABLE)
    assert artifacts.table(sha256) == TABLE
    damage(artifacts.path(sha256))
    for read in (artifacts.path, artifacts.table):
        with pytest.raises(EvidenceDamaged, match=f"{sha256}.parquet is damaged"):
            read(sha256)


def test_uploading_a_damaged_file_again_makes_it_whole(artifacts: Artifacts) -> None:
    sha256 = artifacts.put(TABLE)
    damage(artifacts.path(sha256))
    assert artifacts.put(TABLE) == sha256
    assert artifacts.table(sha256) == TABLE


def test_a_file_cut_short_is_damaged(artifacts: Artifacts) -> None:
    sha256 = artifacts.put(TABLE)
    os.truncate(artifacts.path(sha256), 10)
    with pytest.raises(EvidenceDamaged):
        artifacts.table(sha256)


def test_bytes_that_are_no_table_are_not_read_as_one(artifacts: Artifacts) -> None:
    with pytest.raises(EvidenceDamaged, match="as a table"):
        artifacts.table(artifacts.put_file(b"user,item\n"))


@pytest.mark.parametrize("what", ["file", "folder"])
def test_symbolic_links_are_not_followed(artifacts: Artifacts, tmp_path: Path, what: str) -> None:
    sha256 = artifacts.put(TABLE)
    path = artifacts.path(sha256)
    linked = path if what == "file" else path.parent
    linked.rename(tmp_path / "elsewhere")
    linked.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EvidenceDamaged, match=r"not a regular file|symbolic link"):
        artifacts.path(sha256)


def test_a_pipe_in_place_of_a_file_does_not_hang(artifacts: Artifacts) -> None:
    sha256 = artifacts.put(TABLE)
    path = artifacts.path(sha256)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(EvidenceDamaged, match="not a regular file"):
        artifacts.path(sha256)


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 64 + "\n", "a" * 64])
def test_a_name_that_is_not_a_stored_hash_is_not_found(artifacts: Artifacts, name: str) -> None:
    with pytest.raises(NotFound):
        artifacts.path(name)


# ── collecting ───────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{tmp_path / 'recdash.db'}")
    yield opened
    opened.close()


def age(path: Path, hours: float) -> None:
    then = time.time() - hours * 3600
    os.utime(path, (then, then))


def test_collecting_removes_only_what_nothing_needs_and_is_older_than_a_day(store: Store) -> None:
    needed = add_experiment(store).truth
    old, young = store.artifacts.put(pa.table({"a": [1]})), store.artifacts.put(pa.table({"a": [2]}))
    for sha256, hours in ((needed, 30), (old, 25), (young, 23)):
        age(store.artifacts.path(sha256), hours)
    assert store.artifacts.collect() == 1
    assert (store.artifacts.path(needed).exists(), store.artifacts.path(young).exists()) == (True, True)
    with pytest.raises(NotFound):
        store.artifacts.path(old)


def test_leftovers_of_a_writer_that_died_are_removed_and_strangers_are_left_alone(
    store: Store, tmp_path: Path
) -> None:
    add_experiment(store)
    (own,) = (tmp_path / "artifacts").glob("store-*")
    leftover, stranger = own / "tmp" / "0123", own / "ab" / "notes.txt"
    for path in (leftover, stranger):
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
        age(path, 25)
    assert store.artifacts.collect() == 0
    assert (leftover.exists(), stranger.exists()) == (False, True)


def test_putting_an_old_file_again_makes_it_young(store: Store) -> None:
    add_experiment(store)
    sha256 = store.artifacts.put(TABLE)
    age(store.artifacts.path(sha256), 25)
    store.artifacts.put(TABLE)
    assert store.artifacts.collect() == 0
    assert store.artifacts.table(sha256) == TABLE


def test_a_file_that_was_collected_can_be_stored_and_needed_again(store: Store) -> None:
    experiment = add_experiment(store)
    sha256 = store.artifacts.put(TABLE)
    assert store.artifacts.collect(older_than=NOW) == 1
    with pytest.raises(NotFound, match=sha256):
        store.runs.add(a_run(experiment, upload=sha256), [])
    assert store.artifacts.put(TABLE) == sha256
    store.runs.add(a_run(experiment, upload=sha256), [])
    assert store.artifacts.collect(older_than=NOW) == 0


def test_the_names_of_all_that_a_new_store_needs_are_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a power loss, a folder has the names that were in it when it was synchronised last."""
    durable: dict[int, set[str]] = {}
    fsync = os.fsync

    def recording_fsync(descriptor: int) -> None:
        fsync(descriptor)
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            durable[status.st_ino] = set(os.listdir(descriptor))

    monkeypatch.setattr(os, "fsync", recording_fsync)
    home = tmp_path / "new" / "data"
    store = open_store(f"sqlite:///{home / 'recdash.db'}")
    store.secret()
    store.artifacts.put(pa.table({"item_id": [1]}))
    store.close()
    of_sqlite = {path for path in home.iterdir() if path.name.startswith("recdash.db")}
    lost = [
        str(path.relative_to(tmp_path))
        for path in sorted(tmp_path.rglob("*"))
        if path not in of_sqlite and path.name not in durable.get(path.parent.stat().st_ino, ())
    ]
    assert {"audit.key", "secret.key"} <= {path.name for path in home.rglob("*.key")}
    assert lost == []
