"""Adds an experiment with runs, a baseline and an A/B test in processes that are killed.

``python killed_adds.py EMPTY FOLDER statements N…`` kills one process at each N-th statement of its writer;
``… moments N`` kills N of them at random moments. Each has a store of its own, a copy of the file EMPTY.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
from small_tables import sessions_of_two_variants
from sqlalchemy import Engine, event

from recdash.service import Workspace
from recdash.service.catalog.additions import Addition, NewTest
from recdash.store import open_store

USERS = ("u", "v", "w")
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [*"abc"]})
LISTS = pd.DataFrame({"user_id": USERS * 2, "item_id": [*"abcxyz"], "rank": [1, 1, 1, 2, 2, 2]})
RUNS = ("als", "ease", "popular")


def add(workspace: Workspace) -> None:
    """Stores the experiment in one go."""
    setup = workspace.experiments.read_setup("films", TRUTH, depth=2)
    prepared = []
    for place, name in enumerate(RUNS):
        items = LISTS["item_id"].tolist()
        lists = LISTS.assign(item_id=items[place:] + items[:place])
        prepared += workspace.runs.prepare(setup, lists, name=name)
    test = NewTest("March", {"sessions": sessions_of_two_variants()}, "A", links={"B": "als"})
    workspace.additions.store(
        Addition(None, setup, prepared, [{"tags": ("t",)}] * len(RUNS), "als", tests=(test,))
    )


def what_is_there(workspace: Workspace) -> list[object]:
    """Returns the runs, the baseline and the A/B tests of all experiments."""
    there: list[object] = []
    for experiment in workspace.experiments.all(archived=True):
        names = {run.id: run.name for run in workspace.runs.all(experiment.id, archived=True)}
        tests = workspace.online_tests.all(experiment.id)
        links = [{variant: names[run] for variant, run in test.links.items()} for test in tests]
        there.append((sorted(names.values()), names.get(experiment.baseline or ""), links))
    return there


COMPLETE = [(sorted(RUNS), "als", [{"B": "als"}])]


def at_statement(number: int) -> Callable[[], None]:
    """Returns a function that has its process die at the writer's statement with this number."""

    def watch() -> None:
        seen = 0

        def count(_conn: object, _cursor: object, statement: str, *_: object) -> None:
            nonlocal seen
            seen += statement.startswith(("INSERT", "UPDATE", "SAVEPOINT", "RELEASE"))
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)

        event.listen(Engine, "after_cursor_execute", count)

    return watch


def child(folder: Path, empty: Path, watch: Callable[[], None]) -> int:
    """Starts a process that adds to a store of its own, and returns its id."""
    folder.mkdir()
    shutil.copyfile(empty, folder / "recdash.db")
    process = os.fork()
    if process == 0:
        try:
            watch()
            add(Workspace(open_store(f"sqlite:///{folder / 'recdash.db'}")))
        finally:
            os._exit(0)
    return process


def main(empty: Path, folder: Path, how: str, *numbers: int) -> None:
    if how == "statements":
        for number in numbers:
            os.waitpid(child(folder / str(number), empty, at_statement(number)), 0)
        return
    begun = time.monotonic()
    os.waitpid(child(folder / "whole", empty, lambda: None), 0)
    takes = time.monotonic() - begun
    for number in range(numbers[0]):
        process = child(folder / str(number), empty, lambda: None)
        time.sleep(random.uniform(0, takes))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:]))
