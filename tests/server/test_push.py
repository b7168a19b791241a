"""A push of any size stays out of the server's memory, and one that was killed leaves nothing stored."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from web_house import SETTINGS

import recdash
from benchmarks.harness import resident
from recdash.client.connection import Server
from recdash.client.pushing import upload
from recdash.service import Workspace

MIB, GIB = 2**20, 2**30
LIMITS = {"RECDASH_MAX_UPLOAD_BYTES": str(2 * GIB), "RECDASH_UPLOAD_BUDGET_BYTES": str(8 * GIB)}


def workspace_of(running: Any) -> Workspace:
    return Workspace.open(f"sqlite:///{running.data / 'recdash.db'}", running.data / "artifacts")


def big_file(file: Path, size: int) -> Path:
    with file.open("wb") as content:
        for number in range(size // MIB):
            content.write(f"{number:08d}".encode() * (MIB // 8))
    return file


def grown_while_sending(running: Any, server: Server, file: Path) -> int:
    """By how many bytes the server's memory grows while it receives a file, after one of 64 MiB."""
    upload(server, big_file(file.with_name("first.csv"), 64 * MIB))
    before, most = resident(running.process.pid), [0]
    upload(server, file, lambda _: most.append(resident(running.process.pid)))
    return max(*most, resident(running.process.pid)) - before


@pytest.mark.long
def test_a_push_of_a_gibibyte_leaves_the_memory_flat(server: Callable[..., Any], tmp_path: Path) -> None:
    running = server(settings=SETTINGS | LIMITS)
    token = workspace_of(running).tokens.create("nightly", "editor").secret
    file = big_file(tmp_path / "large.csv", GIB)
    assert grown_while_sending(running, Server(running.url, token), file) < 64 * MIB
    (kept,) = running.data.glob("artifacts/uploads/*/*/large.csv")
    assert kept.stat().st_size == GIB


def test_a_killed_push_stores_nothing_and_continues(server: Callable[..., Any], tmp_path: Path) -> None:
    running = server(settings=SETTINGS | LIMITS)
    workspace = workspace_of(running)
    token = workspace.tokens.create("nightly", "editor").secret
    file = tmp_path / "run.csv"
    with file.open("w") as rows:
        rows.write("user_id,item_id,rank\n")
        for user in range(60_000):
            rows.writelines(f"user-{user},item-{user + rank},{rank}\n" for rank in range(1, 11))
    (tmp_path / "truth.csv").write_text(
        "user_id,item_id\n" + "".join(f"user-{user},item-{user + 1}\n" for user in range(60_000))
    )
    script = (
        "import recdash, sys\nfrom recdash.client import pushing\npushing.PART_BYTES = 2**20\n"
        "tell = lambda text: print(text, flush=True)\n"
        "recdash.connect(*sys.argv[1:3]).push('films', sys.argv[3:], tell=tell)"
    )
    command = [sys.executable, "-c", script, running.url, token, str(tmp_path / "truth.csv"), str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as pushing:
        assert pushing.stdout is not None
        for line in pushing.stdout:
            if line.startswith("Sending run.csv") and not line.endswith(" 0 %\n"):
                pushing.kill()
                break
    time.sleep(0.5)
    assert workspace.experiments.all() == []
    (kept,) = running.data.glob("artifacts/uploads/*/*/run.csv")
    assert 0 < kept.stat().st_size < file.stat().st_size
    told: list[str] = []
    stored = recdash.connect(running.url, token).push(
        "films", [tmp_path / "truth.csv", file], tell=told.append
    )
    assert [run["name"] for run in stored["runs"]] == ["run"]
    assert not [text for text in told if text.startswith("Sending truth.csv")]
    assert "Sending run.csv: 0 %" not in told
    assert not list(running.data.glob("artifacts/uploads/*/*/*.csv"))
    running.process.kill()
    running.process.wait()
