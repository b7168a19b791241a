"""How much a server grows with 2,000 sessions and 500 uploads: ``python -m benchmarks.soak``.

Each session opens pages of the demo and leaves; in every fourth, somebody uploads a test set and two runs and
has them evaluated. What was uploaded is deleted afterwards, so that the store stays as large as it is.
Memory is read after the first hundred sessions and at the end, each time when the server has ended the
sessions of those who left. The server keeps a session that was left for 10 s, so that as many are there at
once in the first hundred as later; with Streamlit's 120 s, all of the first hundred would be there at once,
and later more, the faster the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.first_use import Dashboard, dashboard
from benchmarks.harness import resident
from benchmarks.sessions import PAGES, SEED, demo_store
from benchmarks.streamlit_client import PATIENCE_S, OpenPage, PageError
from recdash.domain.records import Experiment
from recdash.service import Workspace

PORT = 9138
AT_ONCE, N_FIRST, UPLOAD_EACH, N_STEPS = 8, 100, 4, 4
METRIC, KS = "ndcg", (5, 10)
"""Few questions, so that all answers are in the caches after the first hundred sessions: what grows then is
not a cache that fills.
"""
N_USERS, N_ITEMS = 200, 50
SECONDS_KEPT = 10
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_READINGS, LOOKS_UNTIL_SETTLED = 5, 8
"""Memory that has not fallen in so many readings has settled: twice the time between two looks of recdash."""
SECONDS_UNTIL_ENDED = SECONDS_KEPT + 30
"""recdash looks every 20 s for sessions that were left."""
GOAL_MB = 10


def files(name: str, chance: random.Random) -> dict[str, bytes]:
    """Returns a test set and two runs, other ones each time."""

    def table(columns: str, rows: list[str]) -> bytes:
        return "\n".join([columns, *rows, ""]).encode()

    def lists() -> list[str]:
        ranked = ((user, chance.sample(range(N_ITEMS), 10)) for user in range(N_USERS))
        return [f"u{user},i{item},{rank}" for user, items in ranked for rank, item in enumerate(items, 1)]

    truth = [f"u{user},i{chance.randrange(N_ITEMS)}" for user in range(N_USERS)]
    runs = {f"{run}.csv": table("user_id,item_id,rank", lists()) for run in ("als", "ease")}
    return {f"{name}.csv": table("user_id,item_id", truth), **runs}


@dataclass
class Soak:
    """Sessions on one dashboard, and what went wrong in them."""

    running: Dashboard
    workspace: Workspace
    demo: str
    n_uploads: int = 0
    errors: list[str] = field(default_factory=list)

    def session(self, number: int) -> None:
        """Opens pages and leaves."""
        chance = random.Random(SEED + number)  # noqa: S311 - no secrets
        try:
            with OpenPage(self.running.url) as page:
                for name in chance.sample(PAGES, 2):
                    page.turn_to(name, f"e={self.demo}&m={METRIC}&k={chance.choice(KS)}")
                if number % UPLOAD_EACH == 0:
                    self._upload(page, f"soak-{number}", chance)
        except (PageError, OSError, TimeoutError) as error:
            self.errors.append(f"session {number}: {type(error).__name__}: {error}")

    def _upload(self, page: OpenPage, name: str, chance: random.Random) -> None:
        page.turn_to("upload")
        page.give(files(name, chance))
        page.press("Evaluate 2 candidates")
        added = self._stored(name)
        page.run()  # the page then says that it is stored, and lets go of the files
        self.workspace.experiments.delete(added.id, name)
        self.n_uploads += 1

    def _stored(self, name: str) -> Experiment:
        """Returns the experiment once it is stored. Raises ``PageError`` after too long.

        What the page shows does not tell: a run of the script that began before the click may end after it.
        """
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            added = next((home for home in self.workspace.experiments.all() if home.name == name), None)
            if added is not None:
                return added
            time.sleep(SECONDS_BETWEEN_LOOKS)
        raise PageError(f"{name} was not stored")

    def run(self, numbers: range) -> float:
        """Has these sessions, some at once, and returns the server's memory in MB when they have ended."""
        with ThreadPoolExecutor(AT_ONCE) as people:
            list(people.map(self.session, numbers))
        time.sleep(SECONDS_UNTIL_ENDED)
        return self._settled_mb()

    def _settled_mb(self) -> float:
        """Returns the memory once it has not fallen for a while: on a busy machine the server ends sessions
        later.
        """
        least, n_equal = self._memory_mb(), 0
        while n_equal < LOOKS_UNTIL_SETTLED:
            time.sleep(SECONDS_BETWEEN_READINGS)
            memory = self._memory_mb()
            n_equal = n_equal + 1 if memory >= least else 0
            least = min(least, memory)
        return least

    def _memory_mb(self) -> float:
        return resident(self.running.process.pid) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--port", type=int, default=PORT)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        demo = demo_store(folder)
        workspace = Workspace.open(f"sqlite:///{folder / 'recdash.db'}", folder / "artifacts")
        with dashboard(folder, asked.port, f"--server.disconnectedSessionTTL={SECONDS_KEPT}") as running:
            soak = Soak(running, workspace, demo)
            known = soak.run(range(N_FIRST))
            print(f"{N_FIRST} sessions, {soak.n_uploads} uploads: {known:.1f} MB", flush=True)
            step = max((asked.sessions - N_FIRST) // N_STEPS, 1)
            for first in range(N_FIRST, asked.sessions, step):
                last = min(first + step, asked.sessions)
                memory = soak.run(range(first, last))
                grown = f"{memory - known:+.1f} MB since the first {N_FIRST} (goal {GOAL_MB})"
                print(f"{last:,} sessions, {soak.n_uploads} uploads: {memory:.1f} MB, {grown}", flush=True)
        workspace.store.close()
    print(f"{len(soak.errors)} errors; load of the machine at the end: {os.getloadavg()[1]:.1f}")
    for error in soak.errors[:10]:
        print(error)


if __name__ == "__main__":
    main()
