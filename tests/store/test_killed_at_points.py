"""A process that is killed at a named point of a write leaves all of it or nothing."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import killed_at_points
import pytest
from killed_at_points import POINTS

QUICK_POINTS = [
    "add: before the file has its name",
    "add: after the row of the run",
    "add: before the commit",
    *(point for point in POINTS if point.startswith("purge")),
]


def kill_at(folder: Path, n_kills: int, *points: str) -> None:
    root = Path(__file__).resolve().parents[2]
    paths = [str(root), str(root / "tests" / "support"), *sys.path]
    seed = str(random.randrange(10**6))
    command = [sys.executable, killed_at_points.__file__, str(folder), seed, str(n_kills), *points]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, f"seed {seed}: {done.stderr}"
    assert len(done.stdout.splitlines()) == len(points)


def test_a_process_killed_at_a_point_leaves_all_or_nothing(tmp_path: Path) -> None:
    """What was begun can then be done to its end, and a user who is purged is in no file."""
    kill_at(tmp_path, 1, *QUICK_POINTS)


@pytest.mark.long
@pytest.mark.parametrize("point", POINTS)
def test_200_processes_killed_at_a_point_leave_all_or_nothing(tmp_path: Path, point: str) -> None:
    kill_at(tmp_path, 200, point)
