"""The server's memory does not grow with the files that it receives, and a killed server leaves none."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from web_house import SETTINGS, House, Tab, ask, opened

from benchmarks.harness import resident
from recdash.service import Workspace

MIB = 2**20
SIZE, PART = 60 * MIB, 10 * MIB
LIMITS = {"RECDASH_MAX_UPLOAD_BYTES": str(SIZE), "RECDASH_UPLOAD_BUDGET_BYTES": str(2 * SIZE)}


def house_of(running: Any) -> House:
    workspace = Workspace.open(f"sqlite:///{running.data / 'recdash.db'}", running.data / "artifacts")
    return House(running.url, workspace, {}, "", "")


def at_rest(pid: int) -> int:
    """Bytes in memory once the server has loaded what it loads in the background after its start."""
    last = [0, MIB, 2 * MIB, 3 * MIB]
    while max(last) - min(last) >= MIB:
        time.sleep(0.5)
        last = [*last[1:], resident(pid)]
    return last[-1]


def send(house: House, tab: Tab, path: str, offset: int) -> None:
    headers = {**tab.headers, "upload-offset": str(offset)}
    answer = ask(house, path, headers, method="PATCH", body=b"x" * PART)
    assert json.loads(answer.body) == {"received": offset + PART}


def test_a_large_file_stays_out_of_memory_and_goes_with_a_killed_server(
    server: Callable[..., Any],
) -> None:
    running = server(settings=SETTINGS | LIMITS)
    house = house_of(running)
    with opened(house, "editor") as tab:
        path = f"/uploads/{tab.session}/{json.loads(tab.announce(SIZE).body)['id']}"
        send(house, tab, path, 0)  # what only the first part takes
        before = at_rest(running.process.pid)
        grown = []
        for offset in range(PART, SIZE, PART):
            send(house, tab, path, offset)
            grown.append(resident(running.process.pid) - before)
        assert max(grown) < SIZE / 3
        (file,) = running.data.glob("artifacts/uploads/*/*/f.csv")
        assert file.stat().st_size == SIZE
        running.process.kill()
        running.process.wait()
    assert file.exists()
    server(data=running.data, settings=SETTINGS)
    assert not file.exists()
    assert house.workspace.experiments.all() == []
