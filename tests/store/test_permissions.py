"""A store that others could read is made private when it is opened; what is not its own stays as it is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from recdash.store import open_store
from recdash.store.permissions import tighten


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.fixture
def wide(tmp_path: Path) -> Iterator[Path]:
    """A store whose files and folders everybody may read."""
    store = open_store(f"sqlite:///{tmp_path / 'recdash.db'}", tmp_path / "files")
    store.artifacts.put_file(b"numbers")
    store.secret()
    store.close()
    tmp_path.chmod(0o755)
    for path in tmp_path.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return tmp_path


def reopen(folder: Path, *, read_only: bool = False) -> None:
    open_store(f"sqlite:///{folder / 'recdash.db'}", folder / "files", read_only=read_only).close()


def test_what_others_could_read_is_tightened(wide: Path) -> None:
    (own,) = (wide / "files").glob("store-*")
    reopen(wide)
    below = list(own.rglob("*"))
    assert {mode(path) for path in below if path.is_dir()} | {mode(own)} == {0o700}
    assert {mode(path) for path in below if path.is_file()} == {0o600}
    assert [path.read_bytes() for path in below if path.suffix == ".bin"] == [b"numbers"]
    assert mode(wide / "files" / "secret.key") == 0o600
    assert {mode(path) for path in wide.iterdir() if path.is_file()} == {0o600}


def test_folders_around_a_store_and_links_stay_as_they_are(wide: Path) -> None:
    elsewhere = wide / "elsewhere"
    elsewhere.write_text("x")
    elsewhere.chmod(0o644)
    (own,) = (wide / "files").glob("store-*")
    (own / "link").symlink_to(elsewhere)
    reopen(wide)
    assert [mode(path) for path in (wide, wide / "files", elsewhere)] == [0o755, 0o755, 0o644]


def test_a_reader_changes_nothing(wide: Path) -> None:
    reopen(wide, read_only=True)
    assert mode(wide / "recdash.db") == 0o644


def test_what_belongs_to_another_user_is_named(
    wide: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    reopen(wide)
    assert caplog.text == ""
    (wide / "recdash.db").chmod(0o640)
    monkeypatch.setattr(os, "chmod", refuse)
    monkeypatch.setattr(Path, "chmod", refuse)
    reopen(wide)
    (line,) = caplog.messages  # beside the database lie the files that SQLite makes while it is open
    assert line.startswith(f"Other users of this machine can open {wide / 'recdash.db'} and ")
    assert line.endswith(" more, which belong to another user.")


def test_a_store_without_a_file_and_a_folder_is_left_alone(tmp_path: Path) -> None:
    tighten(None, tmp_path / "none", tmp_path / "none" / "store")
    assert list(tmp_path.iterdir()) == []
