"""Two browsers and a terminal write at once, while a third browser reads: no error, nothing lost."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import browser_tabs
import pytest
from browser_tabs import give, open_page, press, settle
from conftest import CHROMIUM_ARGS, ROOT, is_replaced_download, recdash_environment
from journey_tables import HALF, PERFECT, TRUTH, as_csv
from playwright.sync_api import ConsoleMessage, FilePayload, Page, expect, sync_playwright
from store_contract import in_threads

from recdash.report.formats.pdf import find_browser
from recdash.service import Workspace

pytestmark = pytest.mark.browser

READ = "films"
"""The experiment that is read; nobody changes it."""
PAGES = ("leaderboard", "runs", "metric-vs-k", "review")
FILES = ("--truth", "truth.csv", "--run", "perfect=perfect.csv", "--run", "half=half.csv")


def terminal(data: Path, *arguments: str) -> None:
    """Calls recdash in a process of its own, which must succeed."""
    command = [sys.executable, "-m", "recdash", *arguments]
    environment = recdash_environment(data) | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=data, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@contextmanager
def browser_tab(errors: list[str]) -> Iterator[Page]:
    """A tab in a browser of this thread; what it writes to the console as an error is added to ``errors``."""

    def note(message: ConsoleMessage) -> None:
        if message.type == "error" and not is_replaced_download(message):
            errors.append(message.text)

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=CHROMIUM_ARGS)
        browser_tabs.follow(browser)
        tab = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
        tab.on("console", note)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        yield tab
        browser.close()


def upload_experiment(tab: Page, url: str, name: str) -> None:
    """Adds an experiment with two runs on the page Add data."""

    def file(name: str, content: bytes) -> FilePayload:
        return {"name": name, "mimeType": "text/csv", "buffer": content}

    open_page(tab, f"{url}/upload", tab.get_by_role("heading", name="Add your data", exact=True))
    runs = file("perfect.csv", as_csv(PERFECT)), file("half.csv", as_csv(HALF))
    give(tab, file(f"{name}.csv", TRUTH), *runs)
    press(tab, "Evaluate 2 candidates")
    expect(tab.get_by_text(f"Evaluated 2 candidates in {name}")).to_be_visible()


def read_pages(tab: Page, url: str, home: str) -> None:
    """Opens each page of an experiment once."""
    for page in PAGES:
        open_page(tab, f"{url}/{page}?e={home}")
        settle(tab)
        assert tab.get_by_test_id("stException").count() == 0
        if page == "leaderboard":
            row = tab.locator("table.rd-board tbody tr").filter(has_text="perfect").first
            assert "1.00" in row.inner_text()


@dataclass
class AtOnce:
    """Three writers and a reader that begin together. The writers write for some seconds, and the reader
    reads until they have ended.
    """

    seconds: int
    errors: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    n_read: int = 0
    _begin: threading.Barrier = field(default_factory=lambda: threading.Barrier(4))
    _n_ended: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def write(self, prefix: str, add: Callable[[str], None]) -> None:
        """Adds experiments, at least one."""
        try:
            self._begin.wait()
            end = time.monotonic() + self.seconds
            for turn in count():
                add(f"{prefix}{turn}")
                self.added.append(f"{prefix}{turn}")
                if time.monotonic() >= end:
                    return
        finally:
            with self._lock:
                self._n_ended += 1

    def read(self, read: Callable[[], None]) -> None:
        self._begin.wait()
        while self.n_read == 0 or self._n_ended < 3:
            read()
            self.n_read += 1


def stored(data: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Returns {name: id} of the experiments, and {name: names of its runs}."""
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    homes = {home.name: home.id for home in workspace.experiments.all()}
    runs = {name: sorted(run.name for run in workspace.runs.all(home)) for name, home in homes.items()}
    workspace.store.close()
    return homes, runs


@pytest.mark.parametrize("seconds", [0, pytest.param(120, marks=pytest.mark.long)])
def test_two_browsers_and_a_terminal_write_while_a_third_browser_reads(
    server: Callable[..., Any], seconds: int
) -> None:
    running = server()
    data: Path = running.data
    for name, content in (("truth", TRUTH), ("perfect", as_csv(PERFECT)), ("half", as_csv(HALF))):
        (data / f"{name}.csv").write_bytes(content)
    terminal(data, "add", "--experiment", READ, *FILES)
    homes, _ = stored(data)
    at_once = AtOnce(seconds)

    def write_in_browser(prefix: str) -> None:
        with browser_tab(at_once.errors) as tab:
            at_once.write(prefix, lambda name: upload_experiment(tab, running.url, name))

    def write_in_terminal(prefix: str) -> None:
        at_once.write(prefix, lambda name: terminal(data, "add", "--experiment", name, *FILES))

    def read_in_browser(_: str) -> None:
        with browser_tab(at_once.errors) as tab:
            at_once.read(lambda: read_pages(tab, running.url, homes[READ]))

    people = {"a": write_in_browser, "b": write_in_browser, "c": write_in_terminal, "r": read_in_browser}
    in_threads(len(people), lambda number: [*people.values()][number]([*people][number]))
    assert at_once.errors == []
    assert "Traceback" not in running.log.read_text()
    assert stored(data)[1] == {name: ["half", "perfect"] for name in (READ, *at_once.added)}
    terminal(data, "check")
    terminal(data, "verify", "--all")
    print(f"{len(at_once.added)} experiments added, {at_once.n_read} times all pages read")  # noqa: T201
