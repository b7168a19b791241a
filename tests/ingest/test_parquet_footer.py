"""A footer is read in a fork of the process; a fork that does not begin is replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

READ = """
import os, sys, time
from recdash.errors import UploadError
from recdash.ingest import reader
from recdash.ingest.formats import parquet_footer

parquet_footer.SECONDS_TO_FORK = 0.3
left = [None] * int(sys.argv[2])
os.register_at_fork(
    after_in_child=lambda: time.sleep(30 if left else 0), after_in_parent=lambda: left and left.pop()
)
try:
    (run,) = reader.read_recommendations(sys.argv[1])
    print(sum(batch.num_rows for batch in run.batches()), len(left))
except UploadError as error:
    print(error)
"""
"""Reads a run while the first so many forks stand still; prints its rows, and how many were still to come."""


def read_with_still_forks(folder: Path, n_still: int) -> str:
    path = folder / "run.parquet"
    pq.write_table(pa.table({"user": ["a", "a", "b"], "item": [1, 2, 1], "score": [0.9, 0.8, 0.7]}), path)
    command = [sys.executable, "-c", READ, str(path), str(n_still)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=25).stdout.strip()


@pytest.mark.parametrize("n_still", [0, 1, 4])
def test_a_fork_that_stands_still_is_replaced(tmp_path: Path, n_still: int) -> None:
    assert read_with_still_forks(tmp_path, n_still) == "3 0"


def test_a_file_of_which_no_fork_begins_is_refused_in_words(tmp_path: Path) -> None:
    assert "its reader did not start" in read_with_still_forks(tmp_path, 99)
