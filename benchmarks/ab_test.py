"""An A/B test from its file to its results: ``python -m benchmarks.ab_test [--users 300000]``.

Invents a test with known effects (300,000 users make about a million sessions), writes its sessions as
Parquet and as CSV and its exposures and events as Parquet, and prints CPU seconds and peak memory of whole
processes: ``recdash online``, and a dashboard that stores the file and opens the page A/B results, as a
browser would. Of the dashboard the seconds count from when it has started.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.harness import ROOT, SHELL, Cost, measure

SEED, PATIENCE_S = 11, 600


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ab_test", description=__doc__)
    parser.add_argument("--users", type=int, default=300_000)
    parser.add_argument("--cache", type=Path, default=Path(__file__).parent / ".cache")
    parser.add_argument("--make", type=Path, help="(for its own use) write the files into this folder")
    parser.add_argument("--show", type=Path, help="(for its own use) open the page of this file of sessions")
    return parser.parse_args()


def make(folder: Path, users: int) -> None:
    """The files of the test."""
    from pyarrow import csv
    from pyarrow import parquet as pq

    from recdash.demo.ab_tests import simulate

    folder.mkdir(parents=True, exist_ok=True)
    for name, table in simulate(users, SEED, events=True).tables().items():
        pq.write_table(table, folder / f"{name}.parquet")
    csv.write_csv(pq.read_table(folder / "sessions.parquet"), folder / "sessions.csv")


def show(sessions: Path) -> None:
    """Start a dashboard, store the file, open its results, and print what that took."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as app.py does
    with tempfile.TemporaryDirectory() as folder:
        os.environ["RECDASH_DATABASE_URL"] = f"sqlite:///{folder}/recdash.db"
        os.environ["RECDASH_ARTIFACTS"] = f"{folder}/artifacts"
        app = _started()
        from recdash.ui.app import state

        begun = time.process_time()
        space = state.workspace()
        home = space.experiments.create("a test", b"user_id,item_id\n1,1\n")
        space.online_tests.add(home.id, "a million", {"sessions": sessions})
        stored = time.process_time()
        app.switch_page(str(ROOT / "pages" / "ab_results.py")).run()
        if app.exception or not any((one.key or "").startswith("ab-") for one in app.number_input):
            raise SystemExit(f"A/B results: {app.exception or 'nothing is shown'}")
        shown = time.process_time()
        print(json.dumps({"stored": stored - begun, "shown": shown - stored}))


def _started() -> Any:
    """A dashboard on its first page, with the libraries that the first test would load."""
    import tea_tasting  # noqa: F401
    from streamlit.testing.v1 import AppTest

    return AppTest.from_file(str(SHELL), default_timeout=PATIENCE_S).run()


def commands(folder: Path) -> Iterator[tuple[str, list[str]]]:
    online = [sys.executable, "-m", "recdash", "online", "--format", "json"]
    logs = ["--exposures", str(folder / "exposures.parquet"), "--events", str(folder / "events.parquet")]
    own = [sys.executable, "-m", "benchmarks.ab_test", "--show"]
    yield "recdash online, sessions as Parquet", [*online, "--sessions", str(folder / "sessions.parquet")]
    yield "recdash online, sessions as CSV", [*online, "--sessions", str(folder / "sessions.csv")]
    yield "recdash online, exposures and events", [*online, *logs]
    yield "stored, and the page A/B results opened, Parquet", [*own, str(folder / "sessions.parquet")]
    yield "stored, and the page A/B results opened, CSV", [*own, str(folder / "sessions.csv")]


def _seconds(cost: Cost) -> str:
    """Of a command the whole process; of a dashboard what came after its start."""
    if '"stored"' not in cost.output:
        return f"{cost.cpu:.2f}"
    took = json.loads(cost.output.splitlines()[-1])
    return f"{sum(took.values()):.2f} ({took['stored']:.2f} to store, {took['shown']:.2f} to show)"


def main(asked: argparse.Namespace) -> None:
    folder = asked.cache / f"ab-test-{asked.users}"
    if not (folder / "sessions.csv").exists():  # made in a process of its own: nobody inherits its memory
        again = [
            sys.executable,
            "-m",
            "benchmarks.ab_test",
            "--make",
            str(folder),
            "--users",
            str(asked.users),
        ]
        subprocess.run(again, cwd=ROOT, check=True)
    print("| task | CPU s | peak MiB |\n|---|---:|---:|")
    for task, command in commands(folder.resolve()):
        cost = measure(command, PATIENCE_S)
        found = cost.problem or f"{_seconds(cost)} | {cost.peak:.0f}"
        print(f"| {task} | {found} |", flush=True)


if __name__ == "__main__":
    asked = arguments()
    if asked.show:
        show(asked.show)
    elif asked.make:
        make(asked.make, asked.users)
    else:
        main(asked)
