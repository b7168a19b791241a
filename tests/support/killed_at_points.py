"""Processes that are killed at a named point of what they do to a store.

``python killed_at_points.py FOLDER SEED N POINT…`` kills N processes at each point, each with a copy of a
store of random size, and at a random one of the moments at which it passes the point. After each death it
looks at what is stored, and then has another process do the same to its end. It raises AssertionError for
anything half there.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import Engine, event
from sqlalchemy.engine.default import DefaultDialect
from store_contract import NOON

from recdash.domain.records import Experiment, Run
from recdash.domain.results import Curve
from recdash.errors import NotFound
from recdash.service import Workspace
from recdash.store import Store, backup, open_store, restore_store
from recdash.store.artifacts import Artifacts
from recdash.store.connections import Database

HOME, ADDED, DELETED, LATER = "films", "added", "run 0", "later"
GONE = "Zebrafink-7"
METRICS = ("map", "ndcg", "recall")
N_KILLS_PER_STORE = 20
Watch = Callable[[Callable[[], None]], None]
"""Has a function called whenever this process passes a point."""


def before(owner: Any, name: str) -> Watch:
    def watch(call: Callable[[], None]) -> None:
        real = getattr(owner, name)

        def called(*args: Any, **options: Any) -> Any:
            call()
            return real(*args, **options)

        setattr(owner, name, called)

    return watch


def after(owner: Any, name: str) -> Watch:
    def watch(call: Callable[[], None]) -> None:
        real = getattr(owner, name)

        def called(*args: Any, **options: Any) -> Any:
            result = real(*args, **options)
            call()
            return result

        setattr(owner, name, called)

    return watch


def after_statement(start: str) -> Watch:
    def watch(call: Callable[[], None]) -> None:
        def look(_conn: object, _cursor: object, statement: str, *_: object) -> None:
            if statement.startswith(start):
                call()

        event.listen(Engine, "after_cursor_execute", look)

    return watch


def before_commit(call: Callable[[], None]) -> None:
    _at_commits(call, lambda: None)


def after_commit(call: Callable[[], None]) -> None:
    _at_commits(lambda: None, call)


def _at_commits(before_it: Callable[[], None], after_it: Callable[[], None]) -> None:
    """Calls the functions at each commit of a connection that can write."""
    commit = DefaultDialect.do_commit

    def committed(dialect: DefaultDialect, connection: Any) -> None:
        writes = not connection.execute("PRAGMA query_only").fetchone()[0]
        if writes:
            before_it()
        commit(dialect, connection)
        if writes:
            after_it()

    DefaultDialect.do_commit = committed  # type: ignore[method-assign]


@dataclass(frozen=True)
class Point:
    """A point of an act. ``leaves`` is what must be stored after a death there, if that is certain."""

    act: str
    watch: Watch
    leaves: str = "either"


POINTS = {
    "add: before the file is on the disk": Point("add", before(os, "fsync"), "before"),
    "add: before the file has its name": Point("add", before(os, "link"), "before"),
    "add: after the file has its name": Point("add", after(os, "link"), "before"),
    "add: after the row of the run": Point("add", after_statement("INSERT INTO run"), "before"),
    "add: after the rows of the curves": Point("add", after_statement("INSERT INTO curve"), "before"),
    "add: before the commit": Point("add", before_commit, "before"),
    "add: after the commit": Point("add", after_commit, "after"),
    "delete: before the commit": Point("delete", before_commit, "before"),
    "delete: before the files are removed": Point("delete", before(Artifacts, "remove"), "after"),
    "restore: before a file is copied": Point("restore", before(backup, "_copy"), "before"),
    "restore: before the store is kept aside": Point("restore", before(backup, "_keep_aside"), "before"),
    "restore: before the logs are removed": Point("restore", before(backup, "_remove_beside"), "before"),
    "restore: before the name is on the disk": Point("restore", before(backup, "already_restored"), "after"),
    "restore: before the secret is put": Point("restore", before(backup, "_put_secret"), "after"),
    "purge: before a commit": Point("purge", before_commit),
    "purge: after a commit": Point("purge", after_commit, "after"),
    "purge: before a file is removed": Point("purge", before(os, "unlink")),
    "purge: before the log is emptied": Point("purge", before(Database, "truncate_wal"), "after"),
}


def url(folder: Path) -> str:
    return f"sqlite:///{folder / 'recdash.db'}"


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    store = open_store(url(folder))
    try:
        yield store
    finally:
        store.close()


# ── what is stored ───────────────────────────────────────────────────────────────────────────


def add_run(store: Store, key: str, n_rows: int, depth: int) -> None:
    upload = store.artifacts.put(pa.table({"item_id": [key] * n_rows}))
    params = {"rows": str(n_rows), "depth": str(depth)}
    run = Run(key, HOME, key, NOON, 0, upload, {"hits": upload}, {}, params=params)
    k = np.arange(1, depth + 1)
    store.runs.add(run, [Curve(metric, k, k / 10, k / 100, 7) for metric in METRICS])


def names_of_whole_runs(store: Store) -> list[str]:
    """Returns the names of all runs, each of which has its file and its curves."""
    runs = store.runs.of_experiment(HOME, archived=True)
    curves = store.curves.of_runs([run.id for run in runs])
    for run in runs:
        assert tuple(curves[run.id]) == METRICS, run.name
        table = store.artifacts.table(str(run.upload))
        assert table["item_id"].to_pylist() == [run.name] * int(run.params["rows"]), run.name
        for curve in curves[run.id].values():
            assert isinstance(curve, Curve), curve
            np.testing.assert_array_equal(curve.value, np.arange(1, int(run.params["depth"]) + 1) / 10)
    assert store.check() == []
    return sorted(run.name for run in runs)


def fill_with_runs(act: str, folder: Path, chance: random.Random) -> None:
    with opened(folder) as store:
        store.secret()
        store.experiments.add(Experiment(HOME, HOME, NOON, truth=None))
        for number in range(chance.randint(1, 5)):
            add_run(store, f"run {number}", chance.randint(1, 5_000), chance.randint(1, 100))
        if act == "restore":
            store.back_up(folder / "kept")
            add_run(store, LATER, chance.randint(1, 5_000), 10)


def tables_with_user(store: Store) -> list[bool]:
    """Returns for each table of the experiment whether the user is in it; the runs were scored on them."""
    (home,) = store.experiments.all()
    runs = store.runs.of_experiment(home.id)
    uploads = [home.truth, *(run.upload for run in runs)]
    curves = store.curves.of_runs([run.id for run in runs], ["ndcg"])
    n_users = [of_run["ndcg"].n_users for of_run in curves.values()]  # type: ignore[union-attr]
    n_truth_users = home.settings["truth_users"]
    assert n_users == [n_truth_users] * len(runs)
    assert store.check() == []
    return [GONE in store.artifacts.table(str(sha))["user_id"].to_pylist() for sha in uploads]


def fill_with_users(folder: Path, chance: random.Random) -> None:
    users = [GONE, *(f"u{number}" for number in range(chance.randint(1, 500)))]
    truth = pd.DataFrame({"user_id": users, "item_id": "a"})
    with opened(folder) as store:
        workspace = Workspace(store)
        home = workspace.experiments.create(HOME, truth, depth=2)
        for name in range(chance.randint(1, 4)):
            items = [chance.choice("abc") for _ in users]
            lists = pd.DataFrame({"user_id": users, "item_id": items, "rank": 1})
            workspace.runs.add(home.id, lists, name=f"run {name}")


def places_of_user(folder: Path) -> list[str]:
    """Returns the files in which the user still is."""
    return [path.name for path in folder.rglob("*") if path.is_file() and _has_user(path)]


def _has_user(path: Path) -> bool:
    if path.suffix != ".parquet":
        return GONE.encode() in path.read_bytes()
    table = pq.read_table(path)
    return any(GONE in map(str, column.to_pylist()) for column in table.columns)


# ── the acts ─────────────────────────────────────────────────────────────────────────────────


def begin(act: str, folder: Path, chance: random.Random) -> None:
    """Makes the store on which the act is done."""
    folder.mkdir()
    if act == "purge":
        fill_with_users(folder, chance)
    else:
        fill_with_runs(act, folder, chance)


def do(act: str, folder: Path) -> None:
    """Does the act. It may be done again after a death."""
    if act == "restore":
        restore_store(folder / "kept", url(folder), replace=True)
        return
    with opened(folder) as store:
        if act == "add":
            add_run(store, ADDED, 3_000, 20)
        elif act == "delete":
            with suppress(NotFound):
                store.runs.delete(DELETED)
        else:
            Workspace(store).purge.user(GONE)


def state(act: str, folder: Path) -> str:
    """Returns "before" or "after", as the store is before or after the act; fails if it is half done."""
    with opened(folder) as store:
        if act == "purge":
            has_user = set(tables_with_user(store))
            assert len(has_user) == 1, "the user is in some of the tables"
            return "before" if has_user == {True} else "after"
        names = names_of_whole_runs(store)
    is_after = {"add": ADDED in names, "delete": DELETED not in names, "restore": LATER not in names}
    return "after" if is_after[act] else "before"


def check_end(act: str, folder: Path) -> None:
    """Does the act again, and looks at its end."""
    do(act, folder)
    assert state(act, folder) == "after"
    if act == "purge":
        assert places_of_user(folder) == []


# ── deaths ───────────────────────────────────────────────────────────────────────────────────


def in_process(work: Callable[[], None]) -> int:
    """Does the work in a process of its own, and returns the signal that ended it, 0 for none.

    Raises AssertionError if the work failed. pyarrow's threads do not survive a fork, so that this process
    must use none.
    """
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a process must not go on as its parent
            sys.excepthook(*sys.exc_info())
            os._exit(1)
    status = os.waitpid(process, 0)[1]
    died_of = os.WTERMSIG(status)
    assert died_of or status == 0, "what was done in a process failed"
    return died_of


def count_passes(point: Point, folder: Path, result: Path) -> None:
    """Does the act to its end, and writes how often it passes the point."""
    passes: list[None] = []
    point.watch(lambda: passes.append(None))
    do(point.act, folder)
    result.write_text(str(len(passes)))


def die_at(point: Point, folder: Path, number: int) -> None:
    """Does the act until it passes the point for the time with this number."""
    passes: list[None] = []

    def count() -> None:
        passes.append(None)
        if len(passes) == number:
            os.kill(os.getpid(), signal.SIGKILL)

    point.watch(count)
    do(point.act, folder)


def check_after_death(point: Point, folder: Path) -> None:
    left = state(point.act, folder)
    assert point.leaves in (left, "either"), f"{left} where {point.leaves} is certain"
    check_end(point.act, folder)


def kill(folder: Path, point: Point, n_kills: int, chance: random.Random) -> None:
    """Kills processes with a store of random size, each at a random pass of the point."""
    folder.mkdir()
    start = folder / "start"
    assert in_process(partial(begin, point.act, start, chance)) == 0
    shutil.copytree(start, folder / "whole")
    assert in_process(partial(count_passes, point, folder / "whole", folder / "passes")) == 0
    n_passes = int((folder / "passes").read_text())
    for number in range(n_kills):
        copy = folder / str(number)
        shutil.copytree(start, copy)
        assert in_process(partial(die_at, point, copy, chance.randint(1, n_passes))) == signal.SIGKILL
        assert in_process(partial(check_after_death, point, copy)) == 0
        shutil.rmtree(copy)


def main(folder: Path, seed: int, n_kills: int, *names: str) -> None:
    chance = random.Random(seed)
    open_store(url(folder)).close()  # each process would import again what is imported on opening a store
    for name in names:
        for first in range(0, n_kills, N_KILLS_PER_STORE):
            n_here = min(N_KILLS_PER_STORE, n_kills - first)
            kill(folder / str(first), POINTS[name], n_here, chance)
            shutil.rmtree(folder / str(first))
        sys.stdout.write(f"{n_kills} processes killed, nothing lost or half there: {name}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])
