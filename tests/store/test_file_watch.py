"""Files that were altered outside recdash are noticed; what the store's writers do is no alteration."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from recdash.service import Workspace
from recdash.store import open_store
from recdash.store.connections import sqlite_driver

TRUTH = pd.DataFrame({"user_id": ["ann", "bob"], "item_id": ["a", "b"]})
LISTS = TRUTH.assign(rank=1)


@pytest.fixture
def films(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(open_store(f"sqlite:///{tmp_path / 'recdash.db'}"))
    made = workspace.experiments.create("films", TRUTH)
    workspace.runs.add(made.id, LISTS, name="als")
    workspace.store.artifacts.path(str(made.truth))
    assert not workspace.store.has_altered_files()
    yield workspace
    workspace.store.close()


def truth_of(workspace: Workspace) -> Path:
    return workspace.store.artifacts.path(str(workspace.experiments.all()[0].truth))


def test_a_changed_row_is_noticed_once(films: Workspace, tmp_path: Path) -> None:
    with sqlite_driver().connect(tmp_path / "recdash.db") as raw:
        raw.execute("UPDATE curve SET value = zeroblob(length(value))")
    raw.close()
    assert [films.store.has_altered_files() for _ in range(3)] == [True, False, False]


def test_a_changed_page_of_the_database_is_noticed(films: Workspace, tmp_path: Path) -> None:
    with (tmp_path / "recdash.db").open("r+b") as file:
        file.seek(-1, 2)
        last = file.read(1)
        file.seek(-1, 2)
        file.write(bytes([last[0] ^ 1]))
    assert films.store.has_altered_files()


def test_a_changed_or_lost_table_is_noticed_once(films: Workspace) -> None:
    truth = truth_of(films)
    truth.write_bytes(truth.read_bytes()[:-1] + b"x")
    assert [films.store.has_altered_files() for _ in range(2)] == [True, False]
    (run,) = films.runs.all(films.experiments.all()[0].id)
    upload = films.store.artifacts.path(str(run.upload))
    assert not films.store.has_altered_files()
    upload.unlink()
    assert [films.store.has_altered_files() for _ in range(2)] == [True, False]


def test_what_this_process_or_another_writes_is_no_alteration(films: Workspace, tmp_path: Path) -> None:
    (made,) = films.experiments.all()
    films.runs.add(made.id, LISTS.assign(item_id=["b", "a"]), name="ease")
    assert not films.store.has_altered_files()
    films.runs.add(made.id, LISTS, name="als")  # stored already: its file gets a new time
    films.experiments.create("films again", TRUTH)
    assert not films.store.has_altered_files()
    other = Workspace(open_store(f"sqlite:///{tmp_path / 'recdash.db'}"))
    other.runs.add(made.id, LISTS.assign(item_id="a"), name="knn")
    other.store.close()
    assert not films.store.has_altered_files()
    for run in films.runs.all(made.id):
        films.store.artifacts.path(str(run.upload))
        films.runs.delete(run.id, run.name)
    assert not films.store.has_altered_files()
