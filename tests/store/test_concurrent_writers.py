"""16 threads write while 16 read: no error, nothing lost, nothing half there."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from store_contract import a_curve, a_run, add_experiment, in_threads

from recdash.store import open_store

N = 16


@pytest.mark.parametrize("n_each", [3, pytest.param(40, marks=pytest.mark.long)])
def test_16_writers_and_16_readers_have_no_error_and_lose_nothing(
    tmp_path: Path, empty_database: Path, n_each: int
) -> None:
    """Each writer adds runs with curves; a reader sees a run with all its curves, and never fewer runs."""
    shutil.copyfile(empty_database, tmp_path / "recdash.db")
    store = open_store(f"sqlite:///{tmp_path / 'recdash.db'}")
    films = add_experiment(store)
    n_writing, n_reads = N, list[int]()
    ended = threading.Lock()

    def write(number: int) -> None:
        nonlocal n_writing
        try:
            for turn in range(n_each):
                store.runs.add(a_run(films, f"run {number}-{turn}"), [a_curve()])
        finally:
            with ended:
                n_writing -= 1

    def read() -> None:
        n_read = n_before = 0
        while n_writing:
            runs = store.runs.of_experiment(films.id)
            curves = store.curves.of_runs([run.id for run in runs])
            assert all(list(of_run) == ["ndcg"] for of_run in curves.values())
            assert len(runs) >= n_before
            n_before, n_read = len(runs), n_read + 1
        n_reads.append(n_read)

    in_threads(2 * N, lambda number: write(number) if number < N else read())
    runs = store.runs.of_experiment(films.id)
    assert {run.name for run in runs} == {f"run {n}-{turn}" for n in range(N) for turn in range(n_each)}
    assert [run.slot for run in runs] == list(range(N * n_each))
    assert len(n_reads) == N
    assert sum(n_reads) >= N
    assert store.check() == []
    store.close()
