"""Another question to an open dashboard: ``python -m benchmarks.what_if [--runs 20] [--size M]``.

Stores so many candidates of the workload (its lists to rank 20, with a growing share of random items), opens
pages as a browser would, and prints the CPU milliseconds that a script run takes after each change of the
view: the first time, and when the same view is asked for again. The run includes what the test harness adds,
about 50 ms. ``--first`` takes the first views of the pages instead, in a process that has shown an experiment
of two candidates.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as app.py does

import numpy as np

from benchmarks.harness import ROOT, SHELL
from benchmarks.workloads import ITEMS, make, workload

DEPTH, SEED = 20, 7
FEW_USERS = "100"
PAGES = ("overview", "leaderboard", "metric_vs_k")
Step = tuple[str, Callable[[Any], Any]]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.what_if", description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--size", default="M")
    parser.add_argument("--first", action="store_true", help="take first views, not changes")
    parser.add_argument("--cache", type=Path, default=Path(__file__).parent / ".cache")
    return parser.parse_args()


def fill(space: Any, cache: Path, name: str, size: str, runs: int) -> str:
    """Stores the experiment once, and returns its id: the candidates stay in the cache."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    make(cache / "workloads", size, ("integers",))
    files = workload(cache / "workloads", size)
    known = [one.name for one in space.experiments.all()]
    experiment = (
        space.experiments.named(name)
        if name in known
        else space.experiments.create(name, files.truth, depth=DEPTH)
    )
    there = {run.name for run in space.runs.all(experiment.id)}
    rows = pq.read_table(files.lists, columns=["user_id", "item_id"])
    user, item = rows["user_id"].to_numpy(), rows["item_id"].to_numpy()
    begins = np.flatnonzero(np.r_[True, user[1:] != user[:-1]])
    rank = 1 + np.arange(len(user)) - np.repeat(begins, np.diff(np.r_[begins, len(user)]))
    user, item, rank = (of[rank <= DEPTH] for of in (user, item, rank))
    rng = np.random.default_rng(SEED)
    for place in range(runs):
        swapped = rng.random(len(item)) < 0.02 * place
        own = np.where(swapped, rng.integers(0, ITEMS, len(item)), item)
        if f"Candidate {place:02d}" not in there:
            table = pa.table({"user_id": user, "item_id": own, "rank": rank})
            space.runs.add(experiment.id, table, name=f"Candidate {place:02d}")
    return str(experiment.id)


def steps() -> Iterator[Step]:
    yield "nothing", lambda app: app
    yield "k", lambda app: app.number_input(key="frame-any-k").set_value(7)
    yield "k, seen before", lambda app: app.number_input(key="frame-any-k").set_value(10)
    yield "metric", lambda app: app.selectbox(key="frame-metric").set_value("recall")
    yield "baseline", _another_baseline
    yield "threshold", lambda app: app.selectbox(key="frame-threshold").set_value("3")


def _another_baseline(app: Any) -> Any:
    box = app.selectbox(key="frame-baseline")
    return box.set_value(next(one for one in app.multiselect(key="frame-candidates").value))


def measure(page: str, experiment: str) -> Iterator[tuple[str, float]]:
    """CPU milliseconds of a script run after each change, in one session."""
    app = opened(experiment)
    app.run()
    if page != "overview":
        app.switch_page(str(ROOT / "pages" / f"{page}.py")).run()
    for label, change in steps():
        start = time.process_time()
        change(app).run()
        yield label, 1000 * (time.process_time() - start)
        if app.exception:
            raise SystemExit(f"{page}, {label}: {app.exception}")


def first_views(experiment: str) -> Iterator[tuple[str, float]]:
    """CPU milliseconds of the first view of each page, one after the other, in one session."""
    app = opened(experiment)
    for page in PAGES:
        start = time.process_time()
        (app if page == "overview" else app.switch_page(str(ROOT / "pages" / f"{page}.py"))).run()
        yield page, 1000 * (time.process_time() - start)
        if app.exception:
            raise SystemExit(f"{page}: {app.exception}")


def opened(experiment: str) -> Any:
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(SHELL), default_timeout=600)
    app.query_params["e"] = experiment
    return app


def main(asked: argparse.Namespace) -> None:
    store = asked.cache / f"what-if-{asked.size}-{asked.runs}"
    store.mkdir(parents=True, exist_ok=True)
    os.environ["RECDASH_DATABASE_URL"] = f"sqlite:///{store.resolve() / 'recdash.db'}"
    os.environ["RECDASH_ARTIFACTS"] = str(store.resolve() / "artifacts")
    import recdash

    space = recdash.open()
    experiment = fill(space, asked.cache, "what if", asked.size, asked.runs)
    if asked.first:
        list(first_views(fill(space, asked.cache, "two candidates", FEW_USERS, 2)))
        print("| first view of | CPU ms |\n|---|---:|")
        for page, milliseconds in first_views(experiment):
            print(f"| {page} | {milliseconds:.0f} |")
        return
    found = {page: dict(measure(page, experiment)) for page in PAGES}
    print("| CPU ms after a change of | " + " | ".join(found) + " |")
    print("|---|" + "---:|" * len(found))
    for label, _ in steps():
        print(f"| {label} | " + " | ".join(f"{of[label]:.0f}" for of in found.values()) + " |")


if __name__ == "__main__":
    main(arguments())
