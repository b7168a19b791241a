"""Stores that cannot be used, told in words."""

from __future__ import annotations

import errno
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from store_contract import add_experiment

from recdash.errors import StoreError
from recdash.store import open_store
from recdash.store.connections import sqlite_driver


@pytest.mark.parametrize("loss", ["DROP TABLE alembic_version", "DELETE FROM alembic_version"])
def test_a_database_that_lost_its_version_is_told_and_left_as_it_is(tmp_path: Path, loss: str) -> None:
    file = tmp_path / "recdash.db"
    with closing(open_store(f"sqlite:///{file}")) as store:
        home = add_experiment(store)
    connection = sqlite_driver().connect(file)
    with connection:
        connection.execute(loss)
    with pytest.raises(StoreError, match="alembic_version, which holds their version, is missing or empty"):
        open_store(f"sqlite:///{file}")
    assert connection.execute("SELECT id FROM experiment").fetchall() == [(home.id,)]
    connection.close()


def test_a_lock_file_of_another_user_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: Any = os.open

    def refused(path: Any, *how: Any, **more: Any) -> int:
        if str(path).endswith(".lock"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return int(opened(path, *how, **more))

    with closing(open_store(f"sqlite:///{tmp_path / 'recdash.db'}")) as store:
        monkeypatch.setattr(os, "open", refused)
        with pytest.raises(StoreError, match=r"recdash\.db\.lock cannot be opened: Permission denied"):
            add_experiment(store)
        monkeypatch.undo()
        assert store.experiments.all() == []
