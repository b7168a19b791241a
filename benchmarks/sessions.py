"""How long clicks take while 50 people use one dashboard: ``python -m benchmarks.sessions``.

Each person has a page of the demo open and, after some 15 s each time, turns to another page or chooses
another metric or k. What is timed is the time from the click until the server has run the page; a browser
draws it in some 100 ms more. The pages are open in light clients (``streamlit_client``), which take no time
from the server.

By default the dashboard is one process, on a store of its own. ``--url`` names one that runs already and has
the demo, such as several processes behind nginx: with ``--experiment``, the cookie that signs in, and the ids
of the processes whose processor time is counted.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.first_use import cpu_ms_of, dashboard
from benchmarks.streamlit_client import OpenPage, PageError
from recdash.service import Workspace

PORT, SEED = 9137, 7
PAGES = ("experiments", "", "review", "leaderboard", "metric-vs-k", "tradeoffs", "segments", "ab-results")
METRICS, MOST_K = ("ndcg", "recall", "precision"), 20
GOAL_S = 1.5


@dataclass(frozen=True)
class Target:
    """A dashboard with the demo. ``pids`` are its processes."""

    url: str
    experiment: str
    pids: tuple[int, ...] = ()
    headers: dict[str, str] = field(default_factory=dict)

    def cpu_ms(self) -> float:
        """Returns the processor time that its processes have taken, in milliseconds."""
        return sum(map(cpu_ms_of, self.pids))


@dataclass
class Clicks:
    """The seconds that each click took, and what went wrong."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def use(self, target: Target, until: float, think_s: float, chance: random.Random) -> None:
        """Uses the dashboard as one person until this time."""
        try:
            time.sleep(chance.uniform(0, think_s))
            with OpenPage(target.url, headers=target.headers) as page:
                while time.monotonic() < until:
                    query = f"e={target.experiment}&m={chance.choice(METRICS)}&k={chance.randint(1, MOST_K)}"
                    begun = time.monotonic()
                    page.turn_to(chance.choice(PAGES), query)
                    self.seconds.append(time.monotonic() - begun)
                    time.sleep(chance.uniform(0.5, 1.5) * think_s)
        except (PageError, OSError, TimeoutError) as error:
            self.errors.append(f"{type(error).__name__}: {error}")


def demo_store(folder: Path) -> str:
    """Stores the demo, and returns the id of its experiment."""
    workspace = Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts")
    workspace.demo.load()
    (demo,) = workspace.experiments.all()
    workspace.store.close()
    return demo.id


@contextmanager
def target_of(asked: argparse.Namespace) -> Iterator[Target]:
    """The dashboard that runs already, or one that runs until the end of the block."""
    if asked.url:
        headers = {"cookie": asked.cookie} if asked.cookie else {}
        yield Target(asked.url, asked.experiment, tuple(asked.pid), headers)
        return
    with tempfile.TemporaryDirectory() as folder:
        demo = demo_store(Path(folder))
        with dashboard(Path(folder), asked.port) as running:
            yield Target(running.url, demo, (running.process.pid,))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--think", type=float, default=15, help="seconds between two clicks of a person")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--url", help="a dashboard that runs already")
    parser.add_argument("--experiment", help="the id of its demo")
    parser.add_argument("--cookie", help="the cookie that signs in there")
    parser.add_argument("--pid", type=int, action="append", default=[], help="a process of it")
    asked = parser.parse_args()
    clicks = Clicks()
    with target_of(asked) as target:
        with OpenPage(target.url, headers=target.headers) as first:  # what the first page needs is loaded
            first.turn_to("", f"e={target.experiment}")
        cpu_ms, until = target.cpu_ms(), time.monotonic() + 60 * asked.minutes
        chances = [random.Random(SEED + number) for number in range(asked.people)]  # noqa: S311 - no secrets
        people = [
            threading.Thread(target=clicks.use, args=(target, until, asked.think, chance))
            for chance in chances
        ]
        for person in people:
            person.start()
        for person in people:
            person.join()
        cpu_ms = target.cpu_ms() - cpu_ms
    if len(clicks.seconds) < 2:
        sys.exit("\n".join(clicks.errors))
    *_, p95 = statistics.quantiles(clicks.seconds, n=20)
    median, slowest = statistics.median(clicks.seconds), max(clicks.seconds)
    print(f"{asked.people} people, {len(clicks.seconds):,} clicks, {len(clicks.errors)} errors")
    print(f"median {median:.2f} s, p95 {p95:.2f} s (goal {GOAL_S}), slowest {slowest:.2f} s")
    print(f"{cpu_ms / len(clicks.seconds):.0f} ms of the processor per click")
    print(f"load of the machine at the end: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores")
    for error in clicks.errors[:10]:
        print(error)


if __name__ == "__main__":
    main()
