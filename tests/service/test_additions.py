"""An experiment with its runs, baseline and A/B test is stored as a whole, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import killed_writers
import pandas as pd
import pytest
from killed_writers import COMPLETE, DECIDED, what_is_there
from small_tables import sessions_of_two_variants
from sqlalchemy import Engine, event

from recdash.errors import InputError, UnknownName
from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.service.catalog.additions import Addition
from recdash.service.online.tests import NewTest
from recdash.store import open_store, restore_store


class Stop(BaseException):
    """As Streamlit's Stop and Rerun: no error that anything expects."""


WRITES = ("INSERT", "UPDATE", "SAVEPOINT", "RELEASE")


def is_stopped_at(number: int, act: Callable[[], object], writes: str | tuple[str, ...] = WRITES) -> bool:
    """Returns whether ``act`` has as many statements that begin like ``writes``; it is stopped at the
    last of them.
    """
    seen = 0

    def count(_conn: object, _cursor: object, statement: str, *_: object) -> None:
        nonlocal seen
        seen += statement.startswith(writes)
        if seen == number:
            raise Stop

    event.listen(Engine, "after_cursor_execute", count)
    try:
        act()
    except Stop:
        return True
    finally:
        event.remove(Engine, "after_cursor_execute", count)
    return False


def test_an_add_that_is_stopped_at_any_statement_stores_nothing(workspace: Workspace) -> None:
    number = 1
    while is_stopped_at(number, lambda: killed_writers.add(workspace)):
        assert what_is_there(workspace) == []
        assert workspace.store.audit.events() == []
        number += 7
    assert number > 30
    assert what_is_there(workspace) == COMPLETE
    assert workspace.audit.check() == []


@pytest.mark.parametrize("statement", ["INSERT INTO online_test", "INSERT INTO entry", "INSERT INTO report"])
def test_a_demo_that_is_stopped_stores_nothing(workspace: Workspace, statement: str) -> None:
    assert is_stopped_at(1, workspace.demo.load, statement)
    assert (workspace.experiments.all(archived=True), workspace.store.audit.events()) == ([], [])


def completing(workspace: Workspace, *names: str) -> Addition:
    """Returns an experiment with a run that serves one of three users, which is completed for the others."""
    train = pd.DataFrame({"user_id": ["u", "v", "w"], "item_id": ["b", "a", "b"]})
    setup = workspace.experiments.read_setup("films", killed_writers.TRUTH, train=train, depth=2)
    few = workspace.runs.prepare(setup, killed_writers.LISTS.query("user_id == 'u'"), name="few")
    return Addition(None, setup, few, [{"tags": ("t",)}], completed=names)


def test_a_run_is_stored_with_its_completion_or_not_at_all(workspace: Workspace) -> None:
    addition = completing(workspace, "few")
    assert is_stopped_at(2, lambda: workspace.additions.store(addition), "INSERT INTO run")
    assert (workspace.experiments.all(), workspace.store.audit.events()) == ([], [])
    added = workspace.additions.store(addition)
    (few,), (completed,) = added.runs, added.completed
    assert (completed.run.name, completed.run.ledger["without_list"]) == ("few + popular for the rest", 0)
    assert completed.run.fallback == {
        "of": few.run.id, "name": "few", "upload": few.run.upload, "with": "popular", "users": 2,
    }  # fmt: skip


def test_a_completion_stored_with_its_run_is_the_one_of_the_stored_run(workspace: Workspace) -> None:
    added = workspace.additions.store(completing(workspace, "few"))
    alone = workspace.runs.add_fallback(added.runs[0].run.id)
    again = workspace.additions.store(completing(workspace, "few"))
    assert [done.already_there for done in (alone, *again.runs, *again.completed)] == [True] * 3
    assert alone.run == added.completed[0].run == again.completed[0].run


def test_a_stored_run_is_completed_by_its_own_id_also_when_it_is_given_again(workspace: Workspace) -> None:
    (few,) = workspace.additions.store(completing(workspace)).runs
    (completed,) = workspace.additions.store(completing(workspace, "few")).completed
    assert completed.run.fallback is not None
    assert completed.run.fallback["of"] == few.run.id


def test_an_unknown_run_to_complete_is_named_and_nothing_is_stored(workspace: Workspace) -> None:
    with pytest.raises(UnknownName, match=r"No run is called 'als'\. Known: few"):
        workspace.additions.store(completing(workspace, "als"))
    assert workspace.experiments.all() == []


def kill_writers(folder: Path, empty: Path, acts: str, how: str, *numbers: int) -> None:
    root = Path(__file__).resolve().parents[2]
    paths = [str(root), str(root / "tests" / "support"), *sys.path]
    subprocess.run(
        [sys.executable, killed_writers.__file__, str(empty), str(folder), acts, how, *map(str, numbers)],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )


def stores_of(folder: Path) -> Iterator[list[object]]:
    """What is in the store of each process that was killed, after the next start."""
    for data in sorted(folder.iterdir()):
        store = open_store(f"sqlite:///{data / 'recdash.db'}", found_artifacts="leave")
        try:
            workspace = Workspace(store)
            yield what_is_there(workspace)
            assert workspace.audit.check() == []
        finally:
            store.close()
        assert_backup_is_whole(data)


def assert_backup_is_whole(data: Path) -> None:
    """A backup that has its name has everything."""
    backup = data / killed_writers.BACKUP
    if not backup.exists():
        return
    url = f"sqlite:///{data / 'restored' / 'recdash.db'}"
    restore_store(backup, url)
    restored = open_store(url)
    try:
        assert what_is_there(Workspace(restored)) == COMPLETE
        assert restored.check() == []
    finally:
        restored.close()


OUTCOMES = {
    "add": ([], COMPLETE),
    "delete": (COMPLETE, []),
    "decide": (COMPLETE, DECIDED),
    "migrate": (COMPLETE, COMPLETE),
    "back up": (COMPLETE, COMPLETE),
    "restore": ([], COMPLETE),
}
"""What is in the store before and after each act."""


def test_a_process_killed_in_mid_add_leaves_nothing(empty_database: Path, tmp_path: Path) -> None:
    kill_writers(tmp_path / "killed", empty_database, "add", "statements", 40)
    assert list(stores_of(tmp_path / "killed" / "add")) == [[]]


def test_processes_killed_at_random_moments_leave_all_or_nothing(
    empty_database: Path, tmp_path: Path
) -> None:
    kill_writers(tmp_path / "killed", empty_database, ",".join(OUTCOMES), "moments", 2)
    for act, (before, after) in OUTCOMES.items():
        *there, whole = stores_of(tmp_path / "killed" / act)
        assert (len(there), whole) == (2, after)
        assert all(found in (before, after) for found in there)


@pytest.mark.long
@pytest.mark.parametrize("act", OUTCOMES)
def test_a_process_killed_at_any_of_200_moments_leaves_all_or_nothing(
    empty_database: Path, tmp_path: Path, act: str
) -> None:
    kill_writers(tmp_path / "killed", empty_database, act, "moments", 200)
    *there, whole = stores_of(tmp_path / "killed" / act)
    before, after = OUTCOMES[act]
    assert (len(there), whole) == (200, after)
    assert all(found in (before, after) for found in there)
    assert there.count(before) > 20


def test_a_file_that_is_deleted_with_other_data_meanwhile_is_stored_again(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed_writers.add(workspace)
    (films,) = workspace.experiments.all()
    transaction = workspace.store.transaction

    def later() -> AbstractContextManager[None]:
        monkeypatch.undo()
        workspace.store.experiments.delete(films.id)
        return transaction()

    monkeypatch.setattr(workspace.store, "transaction", later)
    killed_writers.add(workspace)
    assert what_is_there(workspace) == COMPLETE
    assert [experiment.id for experiment in workspace.experiments.all()] != [films.id]
    assert workspace.audit.check() == []


@pytest.mark.parametrize("kind", ["online_tests", "runs", "reports"])
def test_what_is_added_alone_is_stored_if_its_file_is_deleted_meanwhile(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    killed_writers.add(workspace)
    (films,) = workspace.experiments.all()
    reports, today = Reports(workspace), workspace.now()
    monkeypatch.setattr(Workspace, "now", lambda _: today)
    question = reports.question(films.id)

    def add() -> None:
        if kind == "online_tests":
            workspace.online_tests.add(films.id, "April", {"sessions": sessions_of_two_variants()})
        elif kind == "runs":
            workspace.runs.add_references(films.id, "oracle")
        else:
            reports.make(question, [], author="ann")

    store, kept = workspace.store, getattr(workspace.store, kind)
    transaction = store.transaction
    add()
    before = {value.id for value in kept.of_experiment(films.id)}

    def later() -> AbstractContextManager[None]:
        monkeypatch.setattr(store, "transaction", transaction)
        for key in before:
            kept.delete(key)
        return transaction()

    monkeypatch.setattr(store, "transaction", later)
    add()
    (added,) = kept.of_experiment(films.id)
    assert added.id not in before
    assert workspace.audit.check() == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"tests": (NewTest("March", {"sessions": sessions_of_two_variants()}, "none"),)}, "none"),
        ({"baseline": "none", "replaces_baseline": True}, "none"),
        ({"tests": (NewTest("\n", {"sessions": sessions_of_two_variants()}, "A"),)}, "name"),
    ],
)
def test_nothing_is_stored_if_a_part_is_refused(
    workspace: Workspace, changed: dict[str, Any], named: str
) -> None:
    setup = workspace.experiments.read_setup("films", killed_writers.TRUTH, depth=2)
    prepared = workspace.runs.prepare(setup, killed_writers.LISTS, name="als")
    with pytest.raises(InputError, match=named):
        workspace.additions.store(Addition(None, setup, prepared, [{}], **changed))
    assert what_is_there(workspace) == []
    assert workspace.store.audit.events() == []
