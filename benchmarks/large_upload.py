"""Memory of a dashboard and clicks of other people while one person uploads a large CSV file.

``python -m benchmarks.large_upload`` makes the files (lists of 100 items of 210,000 users: 21 million rows,
590 MB, and their test set), starts a dashboard of its own with the demo, uploads and stores the files in a
Chromium and opens their experiment, turns the pages of the demo in another session meanwhile, and prints as
JSON: MiB by which the server grew at most, the peak MiB of the processes that read and score files, and the
milliseconds of the other session's clicks.

The other session is a light client (``streamlit_client``), timed until the server has run the page, since
another person's browser draws on a machine of its own. With ``--drawn`` it is a second Chromium on the same
cores, timed until its page rests.
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
from itertools import cycle
from pathlib import Path
from typing import Any, Protocol

from playwright.sync_api import Browser, Page, ViewportSize

from benchmarks.first_use import DESKTOP, RESTS, Dashboard, Person, chromium, dashboard, rest
from benchmarks.harness import ROOT, resident
from benchmarks.sessions import PAGES, demo_store
from benchmarks.streamlit_client import OpenPage
from benchmarks.workloads import make, workload

USERS = "210000"
MIB = 2**20
SAMPLE_S, BETWEEN_CLICKS_S = 0.05, 0.3
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


class Visitor(Protocol):
    """Another person, who has the demo open."""

    def click(self) -> None:
        """Turns to another page, and returns once it is there."""


class Listener:
    """A visitor whose pages are not drawn."""

    def __init__(self, page: OpenPage, demo: str) -> None:
        self._page, self._demo, self._names = page, demo, cycle(PAGES)

    def click(self) -> None:
        self._page.turn_to(next(self._names), f"e={self._demo}")


class Viewer:
    """A visitor at a Chromium."""

    def __init__(self, page: Page) -> None:
        self._page, self._tabs = page, cycle((1, 0))

    def click(self) -> None:
        self._page.locator(".st-key-tabs a").nth(next(self._tabs)).click()
        self._page.wait_for_timeout(30)
        rest(self._page)


@dataclass
class Measurement:
    """Steps of a person at ``page`` while a visitor clicks; ``before`` is the server's MiB after the first
    step.
    """

    memory: Memory
    page: Page
    visitor: Visitor
    before: float = 0.0
    stages: list[Stage] = field(default_factory=list)

    def step(self, name: str, is_over: Callable[[], bool]) -> None:
        """Lets the visitor click until the step is over."""
        self.memory.restart()
        began, clicks = time.monotonic(), []
        while True:
            over = is_over()
            clicks.append(self._click())
            if over:
                break
            if time.monotonic() - began > PATIENCE_S:
                raise SystemExit(f"{name}: not over after {PATIENCE_S} s")
            self.page.wait_for_timeout(1000 * BETWEEN_CLICKS_S)
        self.before = self.before or self.memory.now()
        grown = self.memory.server - self.before
        self.stages.append(Stage(name, time.monotonic() - began, grown, self.memory.others, clicks))

    def _click(self) -> float:
        """Returns the milliseconds of a click."""
        began = time.monotonic()
        self.visitor.click()
        return 1000 * (time.monotonic() - began)


def upload(board: Dashboard, page: Page, visitor: Visitor, files: list[Path]) -> list[dict[str, Any]]:
    """Returns a row per step of an upload."""
    page.goto(f"{board.url}/upload")
    rest(page)
    person, memory = Person(page), Memory(board.process.pid)
    with memory.watched():
        test = Measurement(memory, page, visitor)
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


@contextmanager
def visitor_of(url: str, demo: str, browser: Browser | None) -> Iterator[Visitor]:
    """A visitor of the demo, at a browser if there is one."""
    if browser is None:
        with OpenPage(url) as client:
            yield Listener(client, demo)
    else:
        page = _page_of(browser)
        page.goto(f"{url}/?e={demo}")
        rest(page)
        yield Viewer(page)


def _page_of(browser: Browser) -> Page:
    return browser.new_page(viewport=ViewportSize(width=DESKTOP[0], height=DESKTOP[1]))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.large_upload", description=__doc__)
    parser.add_argument("--port", type=int, default=8591)
    parser.add_argument("--users", default=USERS, help="users with a list of 100 items each")
    parser.add_argument("--drawn", action="store_true", help="the other session is a Chromium too")
    parser.add_argument("--folder", type=Path, default=ROOT / "benchmarks" / ".cache")
    chosen = parser.parse_args()
    make(chosen.folder, chosen.users, ("csv",))
    load = workload(chosen.folder, chosen.users, "csv")
    with tempfile.TemporaryDirectory() as store, chromium() as browser:
        demo = demo_store(Path(store))
        with (
            dashboard(Path(store), chosen.port) as board,
            visitor_of(board.url, demo, browser if chosen.drawn else None) as visitor,
        ):
            rows = upload(board, _page_of(browser), visitor, [load.truth, load.lists])
    sizes = {file.name: round(file.stat().st_size / 1e6) for file in (load.truth, load.lists)}
    print(json.dumps({"MB": sizes, "stages": rows}, indent=2))


if __name__ == "__main__":
    main()
