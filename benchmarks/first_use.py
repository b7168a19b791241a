"""What a person waits for and clicks: ``python -m benchmarks.first_use``.

Starts dashboards of its own, drives them with a Chromium, and prints as JSON: clicks and seconds of a person
who adds own files with unknown column names, or the A/B test of a shop, to an empty store; milliseconds of
the server's processor and milliseconds until the page rests for a click on k, tab or place of the demo;
whether the headline is on the first screen of a phone and at 200 %; how many places the header has.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from benchmarks.harness import ROOT
from recdash.report.formats.pdf import find_browser

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
)
RESTS = "[data-testid=stApp][data-test-script-state=notRunning][data-test-connection-state=CONNECTED]"
DESKTOP, PHONE, ZOOMED = (1280, 720), (390, 844), (640, 360)
"""Windows in CSS pixels; the last is the first at 200 %."""
PATIENCE_MS, START_S, SEED = 60_000, 60, 5
READERS, BOOKS = 400, 300


# ── a dashboard and who uses it ──────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Dashboard:
    """A server process of its own; ``began``: when it was started, by ``time.monotonic``."""

    url: str
    process: subprocess.Popen[bytes]
    began: float

    def cpu_ms(self) -> float:
        """Returns the processor time that the server has taken, in milliseconds."""
        return cpu_ms_of(self.process.pid)


def cpu_ms_of(pid: int) -> float:
    """Returns the processor time that a process has taken, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def dashboard(store: Path, port: int, *options: str) -> Iterator[Dashboard]:
    """A dashboard on the store of a folder, with further options of Streamlit, stopped at the end."""
    # as make does: a process that compiles all modules anew is not what a person starts
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment = usual | {
        "MALLOC_ARENA_MAX": "1",
        "RECDASH_DATABASE_URL": f"sqlite:///{store / 'recdash.db'}",
        "RECDASH_ARTIFACTS": str(store / "artifacts"),
    }
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}", *options]
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(url):
            if time.monotonic() - began > START_S:
                sys.exit("The dashboard did not start.")
            time.sleep(0.05)
        yield Dashboard(url, process, began)
    finally:
        process.terminate()
        process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=30) as answer:  # noqa: S310 - our own
            return bool(answer.status == 200)
    except OSError:  # not yet
        return False


@contextmanager
def chromium() -> Iterator[Browser]:
    """The machine's Chromium, or Playwright's own, closed at the end."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=list(FLAGS))
        yield browser
        browser.close()


@dataclass
class Person:
    """Someone at a browser whose clicks are counted: a chosen file or files count as one."""

    page: Page
    clicks: int = 0

    def click(self, target: Locator) -> None:
        target.first.click(timeout=PATIENCE_MS)
        self.clicks += 1

    def press(self, label: str) -> None:
        """Clicks the button whose label begins so."""
        self.click(self.page.locator("button:enabled").filter(has_text=label))

    def give(self, files: list[Path]) -> None:
        """Chooses files in the page's drop zone."""
        box = self.page.get_by_test_id("file-zone-input").first
        box.set_input_files([str(file) for file in files], timeout=PATIENCE_MS)
        self.clicks += 1

    def load_demo(self) -> None:
        """Loads the demo into an empty store, and waits for its recommendation.

        The page of an empty store asks *Which recommender should you ship?*: a click on it while the demo is
        loaded would stop the loading.
        """
        self.press("Load the demo")
        recommendation = self.page.get_by_role("heading", level=1, name=re.compile("^Ship "))
        recommendation.first.wait_for(timeout=PATIENCE_MS)

    def wait_for_headline(self) -> str:
        """Returns the page's h1 once the page rests."""
        headline = self.page.get_by_role("heading", level=1)
        headline.first.wait_for(timeout=PATIENCE_MS)
        rest(self.page)
        return headline.first.inner_text()


def rest(page: Page) -> None:
    """Waits until the script has run and its page is drawn."""
    page.wait_for_selector(RESTS, timeout=PATIENCE_MS)


# ── files of one's own ───────────────────────────────────────────────────────────────────────


def bookshop(folder: Path) -> list[Path]:
    """Writes a bookshop's sales and three lists of its recommenders; returns the files."""
    draw = random.Random(SEED)  # noqa: S311 - seeded samples are not secrets
    isbn = [f"978-{draw.randrange(10**9):09d}" for _ in range(BOOKS)]
    bought = {f"C{number:05d}": draw.sample(isbn, 6) for number in range(READERS)}
    sales = [(who, book, draw.randint(1, 3)) for who, books in bought.items() for book in books]
    files = [_write(folder / "sales_march.csv", ("customer", "isbn", "qty"), sales)]
    for name, share in (("bestsellers", 0.05), ("matrix_factorisation", 0.2), ("two_tower", 0.3)):
        rows = []
        for who, books in bought.items():
            hits = [book for book in books if draw.random() < share]
            shelf = list(dict.fromkeys([*hits, *draw.sample(isbn, 10)]))[:10]
            draw.shuffle(shelf)
            rows += [(who, book, place) for place, book in enumerate(shelf, start=1)]
        files.append(_write(folder / f"{name}.csv", ("customer", "isbn", "position"), rows))
    return files


def shop_test(folder: Path) -> list[Path]:
    """Writes the A/B test of a shop, one row per customer; returns its file."""
    draw = random.Random(SEED)  # noqa: S311 - seeded samples are not secrets
    rows = []
    for number in range(6000):
        group = draw.choice(("old", "new"))
        orders = int(draw.random() < (0.30 if group == "new" else 0.25))
        rows.append((f"C{number:05d}", group, orders, round(orders * draw.uniform(5, 60), 2)))
    return [_write(folder / "checkout_test.csv", ("customer", "group", "ordered", "revenue"), rows)]


def _write(file: Path, header: tuple[str, ...], rows: list[Any]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([header, *rows])
    return file


# ── what is measured ─────────────────────────────────────────────────────────────────────────


def demo_from_nothing(board: Dashboard, page: Page) -> Mapping[str, Any]:
    """From the start of a dashboard on an empty store to the first sentence of the demo."""
    person = Person(page)
    page.goto(board.url)
    person.load_demo()
    return {
        "seconds": round(time.monotonic() - board.began, 1),
        "clicks": person.clicks,
        "headline": person.wait_for_headline(),
    }


def own_files(board: Dashboard, page: Page, files: list[Path], store: str, view: str) -> Mapping[str, Any]:
    """From the page *Add data* to the result; ``store`` and ``view``: how the two buttons begin."""
    page.goto(f"{board.url}/upload")
    rest(page)
    person, began = Person(page), time.monotonic()
    person.give(files)
    person.press(store)
    person.press(view)
    page.wait_for_url(lambda url: "/upload" not in url, timeout=PATIENCE_MS)
    headline = person.wait_for_headline()
    return {"seconds": round(time.monotonic() - began, 1), "clicks": person.clicks, "headline": headline}


def costs_of_clicks(board: Dashboard, page: Page, rounds: int) -> Mapping[str, Any]:
    """Milliseconds of the server's processor, and until the page rests, of each kind of click; medians."""
    steps: Mapping[str, Callable[[int], None]] = {
        "k": lambda turn: _choose(page, "frame-metric-k", "5" if turn % 2 else "20"),
        "tab": lambda turn: page.locator(".st-key-tabs a").nth(1 if turn % 2 else 0).click(),
        "place": lambda turn: page.locator(".st-key-places a").nth(1 if turn % 2 else 2).click(),
    }
    page.goto(f"{board.url}/leaderboard")
    costs: dict[str, Any] = {}
    for name, step in steps.items():
        rest(page)
        cpu, waited = [], []
        for turn in range(2 + rounds):
            spent, began = board.cpu_ms(), time.monotonic()
            step(turn)
            page.wait_for_timeout(30)
            rest(page)
            waited.append(1000 * (time.monotonic() - began))
            page.wait_for_timeout(700)
            cpu.append(board.cpu_ms() - spent)
        costs[name] = {  # the first time of each of the two values is left out
            "cpu_ms": round(statistics.median(cpu[2:])),
            "ms_to_rest": round(statistics.median(waited[2:])),
        }
    return costs


def _choose(page: Page, popover: str, option: str) -> None:
    body = page.get_by_test_id("stPopoverBody")
    if not body.is_visible():
        page.locator(f".st-key-{popover} button").first.click()
    body.get_by_role("radio", name=option, exact=True).or_(
        body.get_by_role("button", name=option, exact=True)
    ).first.click()


def headline_on_first_screen(browser: Browser, url: str) -> Mapping[str, bool]:
    """Whether all of the h1 of the first page can be seen without scrolling."""
    seen = {}
    for name, (width, height) in {"desktop": DESKTOP, "phone": PHONE, "200 %": ZOOMED}.items():
        page = browser.new_page(viewport={"width": width, "height": height})
        page.goto(url)
        Person(page).wait_for_headline()
        box = page.get_by_role("heading", level=1).first.bounding_box()
        seen[name] = box is not None and box["y"] >= 0 and box["y"] + box["height"] <= height
        page.close()
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_use", description=__doc__)
    parser.add_argument("--port", type=int, default=8590)
    parser.add_argument("--rounds", type=int, default=8, help="clicks of each kind")
    chosen = parser.parse_args()
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary, chromium() as browser:
        folder = Path(temporary)

        def fresh() -> Page:
            return browser.new_page(viewport={"width": DESKTOP[0], "height": DESKTOP[1]})

        with dashboard(folder / "demo", chosen.port) as board:
            figures["demo from nothing"] = demo_from_nothing(board, fresh())
            figures["headline on the first screen"] = headline_on_first_screen(browser, board.url)
            figures["a click on the demo"] = costs_of_clicks(board, fresh(), chosen.rounds)
            page = fresh()
            page.goto(board.url)
            Person(page).wait_for_headline()
            rest(page)
            figures["places"] = page.locator(".st-key-places a").count()
        with dashboard(folder / "books", chosen.port) as board:
            evaluate, view = "Evaluate", "View recommendation"
            figures["own files to a ranking"] = own_files(board, fresh(), bookshop(folder), evaluate, view)
        with dashboard(folder / "shop", chosen.port) as board:
            figures["a shop's A/B test"] = own_files(board, fresh(), shop_test(folder), "Analyze", "View")
    print(json.dumps(figures, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main()
