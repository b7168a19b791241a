"""Memory of a dashboard and clicks of other people while one person uploads a large CSV file.

``python -m benchmarks.large_upload`` makes the files (lists of 100 items of 210,000 users: 21 million rows,
590 MB, and their test set), starts a dashboard of its own with the demo, uploads and stores the files in a
Chromium and opens their experiment, clicks on tabs of the demo in another session meanwhile, and prints as
JSON: MiB by which the server grew at most, the peak MiB of the processes that read and score files, and the
milliseconds of the other session's clicks.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, ViewportSize

from benchmarks.first_use import DESKTOP, RESTS, Dashboard, Person, chromium, dashboard, rest
from benchmarks.harness import ROOT, resident
from benchmarks.workloads import make, workload

USERS = "210000"
MIB = 2**20
SAMPLE_S = 0.05
WARM_UP_S, PATIENCE_S = 15, 1200


@dataclass
class Memory:
    """The memory of a server and of the processes that it started, in MiB: peaks since ``restart``."""

    pid: int
    server: float = 0.0
    others: float = 0.0
    _over: threading.Event = field(default_factory=threading.Event)

    def restart(self) -> None:
        self.server = self.others = 0.0

    def now(self) -> float:
        return resident(self.pid) / MIB

    @contextmanager
    def watched(self) -> Iterator[None]:
        thread = threading.Thread(target=self._watch)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_S):
            self.server = max(self.server, self.now())
            self.others = max(self.others, sum(map(resident, descendants(self.pid))) / MIB)


def descendants(pid: int) -> list[int]:
    """Returns the processes that a process started, and those that they started."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [
            int(child) for task in threads for child in (task / "children").read_text("ascii").split()
        ]
    except OSError:
        return []
    return [*children, *(below for child in children for below in descendants(child))]


@dataclass
class Stage:
    """What one step of the upload did to the server, and to the clicks in another session."""

    name: str
    seconds: float
    grown: float
    others: float
    clicks: list[float]

    def row(self) -> dict[str, Any]:
        return {
            "stage": self.name,
            "seconds": round(self.seconds, 1),
            "server grew by MiB": round(self.grown),
            "other processes' peak MiB": round(self.others),
            "clicks": len(self.clicks),
            "median ms": round(statistics.median(self.clicks)) if self.clicks else None,
            "slowest ms": round(max(self.clicks)) if self.clicks else None,
        }


@dataclass
class Measurement:
    """Steps of a person in ``page`` while another one clicks in ``other``; ``before`` is the server's MiB
    after the first step.
    """

    memory: Memory
    other: Page
    before: float = 0.0
    stages: list[Stage] = field(default_factory=list)
    _turn: int = 0

    def step(self, name: str, is_over: Callable[[], bool]) -> None:
        """Clicks in the other session until the step is over."""
        self.memory.restart()
        began, clicks = time.monotonic(), []
        while True:
            over = is_over()
            clicks.append(self.click())
            if over:
                break
            if time.monotonic() - began > PATIENCE_S:
                raise SystemExit(f"{name}: not over after {PATIENCE_S} s")
            self.other.wait_for_timeout(300)
        self.before = self.before or self.memory.now()
        grown = self.memory.server - self.before
        self.stages.append(Stage(name, time.monotonic() - began, grown, self.memory.others, clicks))

    def click(self) -> float:
        """Returns the milliseconds until the page rests after a click on a tab."""
        self._turn += 1
        began = time.monotonic()
        self.other.locator(".st-key-tabs a").nth(1 if self._turn % 2 else 0).click()
        self.other.wait_for_timeout(30)
        rest(self.other)
        return 1000 * (time.monotonic() - began)


def upload(board: Dashboard, page: Page, other: Page, files: list[Path]) -> list[dict[str, Any]]:
    """Returns a row per step of an upload."""
    other.goto(board.url)
    Person(other).load_demo()
    page.goto(f"{board.url}/upload")
    rest(page)
    person, memory = Person(page), Memory(board.process.pid)
    with memory.watched():
        test = Measurement(memory, other)
        ready = time.monotonic() + WARM_UP_S
        test.step("before", lambda: time.monotonic() > ready)
        person.give(files)
        rows = page.locator("[class*=st-key-file_]")
        test.step("upload and look", lambda: rows.count() == len(files))
        button = page.locator("button:enabled").filter(has_text="Evaluate")
        test.step("check", lambda: button.count() > 0)
        person.click(button)
        view = page.locator("button:enabled").filter(has_text="View recommendation")
        test.step("score and store", lambda: view.count() > 0)
        page.wait_for_timeout(3000)
        test.step("afterwards", lambda: True)
        person.click(view)
        test.step(
            "open the experiment", lambda: "/upload" not in page.url and page.locator(RESTS).count() > 0
        )
    return [stage.row() for stage in test.stages]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_upload", description=__doc__)
    parser.add_argument("--port", type=int, default=8591)
    parser.add_argument("--users", default=USERS, help="users with a list of 100 items each")
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks" / ".cache")
    chosen = parser.parse_args()
    make(chosen.folder, chosen.users, ("csv",))
    load = workload(chosen.folder, chosen.users, "csv")
    with tempfile.TemporaryDirectory() as store, chromium() as browser:
        size = ViewportSize(width=DESKTOP[0], height=DESKTOP[1])
        page, other = (browser.new_context(viewport=size).new_page() for _ in range(2))
        with dashboard(Path(store), chosen.port) as board:
            rows = upload(board, page, other, [load.truth, load.lists])
    sizes = {file.name: round(file.stat().st_size / 1e6) for file in (load.truth, load.lists)}
    print(json.dumps({"MB": sizes, "stages": rows}, indent=2))


if __name__ == "__main__":
    main()
