"""Writers that are killed: they add an experiment with runs, a baseline and an A/B test, delete it, decide on
it, upgrade its database, back it up, or restore a backup.

``python killed_writers.py EMPTY FOLDER ACTS statements N…`` kills one process at each N-th statement of its
writer; ``… moments N`` kills N of them at random moments. ACTS are one or several, as ``add,delete``. Each
process has a store of its own, which begins as a copy of the file EMPTY.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
from small_tables import sessions_of_two_variants
from sqlalchemy import Engine, create_engine, event

from recdash.service import Workspace
from recdash.service.catalog.additions import Addition
from recdash.service.online.tests import NewTest
from recdash.store import open_store, restore_store
from recdash.store.schema import alembic_config

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
    """Returns the runs, the baseline, the A/B tests and the number of decisions of all experiments."""
    there: list[object] = []
    for experiment in workspace.experiments.all(archived=True):
        names = {run.id: run.name for run in workspace.runs.all(experiment.id, archived=True)}
        tests = workspace.online_tests.all(experiment.id)
        links = [{variant: names[run] for variant, run in test.links.items()} for test in tests]
        decisions = len(workspace.journal.decisions(experiment.id))
        there.append((sorted(names.values()), names.get(experiment.baseline or ""), links, decisions))
    return there


COMPLETE: list[object] = [(sorted(RUNS), "als", [{"B": "als"}], 0)]
DECIDED: list[object] = [(sorted(RUNS), "als", [{"B": "als"}], 1)]


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


def delete(workspace: Workspace) -> None:
    (films,) = workspace.experiments.all()
    workspace.experiments.delete(films.id, films.name)


def decide(workspace: Workspace) -> None:
    """Records a decision, with the numbers of today as its evidence."""
    (films,) = workspace.experiments.all()
    als = next(run for run in workspace.runs.all(films.id) if run.name == "ease")
    query = workspace.queries.of(films.id, [als.id], films.baseline, "ndcg", 2)
    workspace.decisions.decide(films.id, "inconclusive", run_id=als.id, text="Three users.", query=query)


def back_up(workspace: Workspace) -> None:
    file = workspace.store._transactions.database.file  # type: ignore[attr-defined]
    workspace.maintenance.back_up(file.with_name(BACKUP))


ACTS: Mapping[str, Callable[[Workspace], None]] = {
    "add": add, "delete": delete, "decide": decide, "back up": back_up,
}  # fmt: skip
BACKUP = "backup.tar"
FIRST = "0005"
"""The schema from which ``migrate`` upgrades."""


def opened(folder: Path) -> Workspace:
    return Workspace(open_store(f"sqlite:///{folder / 'recdash.db'}"))


def begin(act: str, folder: Path, empty: Path) -> None:
    """Makes the store on which processes act: an empty one to add to, else a complete one."""
    folder.mkdir()
    shutil.copyfile(empty, folder / "recdash.db")
    if act == "add":
        return
    workspace = opened(folder)
    add(workspace)
    if act == "restore":
        back_up(workspace)
        delete(workspace)
    if act == "migrate":
        from alembic import command
        from store_contract import with_older_log

        engine = create_engine(f"sqlite:///{folder / 'recdash.db'}")
        with_older_log(engine)
        with engine.begin() as connection:
            command.downgrade(alembic_config(connection), FIRST)
        engine.dispose()


def child(act: str, start: Path, folder: Path, watch: Callable[[], None]) -> int:
    """Starts a process that acts on a copy of the store in ``start``, and returns its id when it begins."""
    shutil.copytree(start, folder)
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            workspace = opened(folder) if act in ACTS else None
            watch()
            os.write(writing, b"x")
            if act == "restore":
                restore_store(folder / BACKUP, f"sqlite:///{folder / 'recdash.db'}", replace=True)
            elif workspace is None:
                opened(folder)
            else:
                ACTS[act](workspace)
        finally:
            os._exit(0)
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    return process


def main(empty: Path, folder: Path, acts: str, how: str, *numbers: int) -> None:
    folder.mkdir(exist_ok=True)
    for act in acts.split(","):
        kill(empty, folder / act, act, how, *numbers)


def kill(empty: Path, folder: Path, act: str, how: str, *numbers: int) -> None:
    start = folder.with_name(f"{folder.name} start")
    # A process of its own: pyarrow's threads do not survive a fork.
    maker = os.fork()
    if maker == 0:
        done = False
        try:
            begin(act, start, empty)
            done = True
        finally:
            os._exit(not done)
    if os.waitpid(maker, 0)[1]:
        raise SystemExit(f"the store for '{act}' could not be made")
    folder.mkdir(exist_ok=True)
    if how == "statements":
        for number in numbers:
            os.waitpid(child(act, start, folder / str(number), at_statement(number)), 0)
        return
    begun = time.monotonic()
    process = child(act, start, folder / "whole", lambda: None)
    os.waitpid(process, 0)
    takes = time.monotonic() - begun
    for number in range(numbers[0]):
        process = child(act, start, folder / str(number), lambda: None)
        begun, moment = time.monotonic(), random.uniform(0, takes)
        while (passed := time.monotonic() - begun) < moment:
            if os.waitpid(process, os.WNOHANG)[0]:
                takes = passed  # it took less time than the first, for which the machine was busier
                break
            time.sleep(0.0005)
        else:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], *map(int, sys.argv[5:]))
