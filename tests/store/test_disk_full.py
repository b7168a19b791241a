"""A full disk: what does not fit is taken back, readers go on, and the next write works without a restart.

The limit of the size of a file stands in for it: it needs no rights, and no byte beyond it is written.
"""

from __future__ import annotations

import os
import resource
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from store_contract import a_curve, a_run, add_experiment, in_threads

from recdash.domain.records import Experiment
from recdash.domain.results import Curve
from recdash.errors import StoreError
from recdash.store import Store, open_store, restore_store


@pytest.fixture
def store(tmp_path: Path, empty_database: Path) -> Iterator[Store]:
    (tmp_path / "data").mkdir()
    shutil.copyfile(empty_database, tmp_path / "data" / "recdash.db")
    opened = open_store(f"sqlite:///{tmp_path / 'data' / 'recdash.db'}")
    yield opened
    opened.close()


@pytest.fixture
def films(store: Store) -> Experiment:
    return add_experiment(store)


@contextmanager
def no_file_beyond(n_bytes: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def long_curve() -> Curve:
    k = np.arange(1, 20_001)
    return Curve("ndcg", k, k / 20_001, k / 50_000, 7)


def names(store: Store, films: Experiment) -> list[str]:
    return [run.name for run in store.runs.of_experiment(films.id)]


def test_a_file_that_does_not_fit_leaves_nothing(store: Store, films: Experiment, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    content = os.urandom(200_000)
    with no_file_beyond(100_000), pytest.raises(StoreError, match="Cannot write to"):
        store.artifacts.put_file(content)
    assert [path for path in sorted(tmp_path.rglob("*")) if path.is_file() and path not in before] == []
    assert store.artifacts.path(store.artifacts.put_file(content)).read_bytes() == content
    assert store.artifacts.table(str(films.truth)).num_rows == 2


def test_rows_that_do_not_fit_are_taken_back_and_readers_go_on(
    store: Store, films: Experiment, tmp_path: Path
) -> None:
    store.runs.add(a_run(films, "als"), [a_curve()])
    events = store.audit.events()
    run = a_run(films, "ease")
    log = tmp_path / "data" / "recdash.db-wal"
    read: list[list[str]] = []
    size = log.stat().st_size if log.exists() else 0
    with no_file_beyond(size + 50_000):
        for _ in range(3):
            with pytest.raises(StoreError, match="nothing was changed"):
                store.runs.add(run, [long_curve()])
            in_threads(4, lambda _: read.append(names(store, films)))
    assert read == [["als"]] * 12
    assert store.audit.events() == events
    store.runs.add(run, [long_curve()])
    assert names(store, films) == ["als", "ease"]
    assert store.check() == []


@pytest.mark.parametrize("name", ["kept", "kept.tar"])
def test_a_backup_that_does_not_fit_leaves_nothing(
    store: Store, films: Experiment, tmp_path: Path, name: str
) -> None:
    store.runs.add(a_run(films, "als"), [long_curve()])
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with no_file_beyond(100_000), pytest.raises(StoreError, match=r"cannot be written.*Nothing was kept"):
        store.back_up(tmp_path / name)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == before
    assert names(store, films) == ["als"]
    store.back_up(tmp_path / name)
    url = f"sqlite:///{tmp_path / 'again' / 'recdash.db'}"
    restore_store(tmp_path / name, url)
    again = open_store(url)
    assert names(again, films) == ["als"]
    again.close()


def test_a_restore_that_does_not_fit_leaves_the_store_as_it_was(
    store: Store, films: Experiment, tmp_path: Path
) -> None:
    store.runs.add(a_run(films, "als"), [long_curve()])
    store.back_up(tmp_path / "kept")
    store.runs.add(a_run(films, "ease"), [])
    store.close()
    url = f"sqlite:///{tmp_path / 'data' / 'recdash.db'}"
    with no_file_beyond(100_000), pytest.raises(StoreError, match="The store is as it was"):
        restore_store(tmp_path / "kept", url, replace=True)
    again = open_store(url)
    assert (names(again, films), again.check()) == (["als", "ease"], [])
    again.close()
