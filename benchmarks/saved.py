"""A question to a dashboard that has the run but not the answer.

``python -m benchmarks.saved store FOLDER LISTS TRUTH CATALOGUE`` stores a run; ``… ask FOLDER`` then asks for
definitions that were not computed with it, every k, and prints the CPU seconds that the answer took: those of
the call alone, because a dashboard that is open has started long ago.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import recdash

NEW_DEFINITIONS = (
    "ndcg(gain=exp)", "ndcg(gain=binary)", "map(norm=min)", "mrr(sum=all)", "precision(over=list)",
    "f1(average=users)",
)  # fmt: skip


def workspace(folder: Path) -> recdash.Workspace:
    return recdash.open(f"sqlite:///{folder / 'recdash.db'}", str(folder / "artifacts"))


def store(folder: Path, lists: str, truth: str, catalogue: str) -> None:
    space = workspace(folder)
    experiment = space.experiments.create("benchmark", Path(truth), catalogue=Path(catalogue))
    space.runs.add(experiment.id, Path(lists), name="us")


def ask(folder: Path) -> float:
    """CPU seconds from the question to the answer; what was stored is asked first, as a page does."""
    space = workspace(folder)
    (experiment,) = space.experiments.all()
    runs = [run.id for run in space.runs.all(experiment.id)]
    space.scores.curves(runs, ["ndcg"])
    start = time.process_time()
    answer = space.scores.curves(runs, NEW_DEFINITIONS)
    seconds = time.process_time() - start
    if answer["metric"].nunique() != len(NEW_DEFINITIONS):
        raise SystemExit("not every definition was answered")
    return seconds


def main(action: str, folder: str, *files: str) -> None:
    if action == "store":
        store(Path(folder), *files)
    else:
        print(json.dumps({"cpu": ask(Path(folder))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
