"""Damage of what is stored: told by name, never shown as another number, and others are shown beside it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from store_contract import a_curve, a_run, a_test, add_experiment, of_seeds

from recdash.domain.journal import Entry
from recdash.domain.records import Run
from recdash.domain.results import Curve, Unavailable
from recdash.errors import EvidenceDamaged, NameTaken, NotFound
from recdash.store import Store, open_store
from recdash.store.connections import sqlite_driver


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "recdash.db"


@pytest.fixture
def store(file: Path) -> Iterator[Store]:
    opened = open_store(f"sqlite:///{file}")
    yield opened
    opened.close()


def change(file: Path, statement: str, **values: str) -> None:
    """As damage does: behind the back of the store, by the SQLite that the store uses too."""
    connection = sqlite_driver().connect(file)
    with connection:
        assert connection.execute(statement, values).rowcount == 1
    connection.close()


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """als and ease of one experiment, each with the curves ndcg and recall."""
    home = add_experiment(store)
    made = [dataclasses.replace(a_run(home, name), ledger={"counted": 7}) for name in ("als", "ease")]
    return [store.runs.add(run, [a_curve("ndcg"), a_curve("recall")]) for run in made]


# ── rows ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "damage",
    [
        "ledger = '{\"counted\": 9}'",
        "name = 'alt'",
        "slot = 7",
        "ledger = '{\"counted\": '",
        "created = 'x026-03-01 12:00:00'",
        "hits = CAST(x'7bff7d' AS TEXT)",
        "notices = '[1]'",
        "checksum = 'f' || checksum",
        "archived = '2026-03-01 12:00:00.000000'",
    ],
)
def test_a_damaged_run_is_named_and_the_others_are_listed(
    store: Store, runs: list[Run], file: Path, damage: str
) -> None:
    change(file, f"UPDATE run SET {damage} WHERE id = :id", id=runs[0].id)  # noqa: S608
    assert [run.name for run in store.runs.of_experiment(runs[0].experiment, archived=True)] == ["ease"]
    (problem,) = store.damaged(runs[0].experiment)
    assert (problem.place.split()[0], problem.code) == ("run", "damaged")
    assert "Upload it again" in problem.fix
    assert store.damaged("another experiment") == []
    with pytest.raises(EvidenceDamaged, match="damaged"):
        store.runs.get(runs[0].id)


def test_what_is_whole_again_is_no_longer_told(store: Store, runs: list[Run], file: Path) -> None:
    change(file, "UPDATE run SET note = 'x' WHERE id = :id", id=runs[0].id)
    store.runs.of_experiment(runs[0].experiment)
    assert len(store.damaged()) == 1
    change(file, "UPDATE run SET note = '' WHERE id = :id", id=runs[0].id)
    assert store.runs.of_experiment(runs[0].experiment) == runs
    assert store.damaged() == []


def test_what_is_replaced_or_deleted_is_no_longer_told(store: Store, runs: list[Run], file: Path) -> None:
    als, ease = runs
    for run in runs:
        change(file, "UPDATE run SET note = 'x' WHERE id = :id", id=run.id)
    assert (store.runs.of_experiment(als.experiment), len(store.damaged())) == ([], 2)
    again = store.runs.add(a_run(store.experiments.get(als.experiment), "als"), [a_curve("ndcg")])
    (problem,) = store.damaged()
    assert problem.place == "run 'ease'"
    store.runs.delete(ease.id)
    assert (store.damaged(), store.runs.of_experiment(als.experiment)) == ([], [again])


def test_a_curve_that_went_with_its_run_is_no_longer_told(store: Store, runs: list[Run], file: Path) -> None:
    change(file, "UPDATE curve SET metric = 'mdcg' WHERE metric = 'ndcg' AND run = :id", id=runs[0].id)
    store.curves.metrics([run.id for run in runs])
    assert len(store.damaged(runs[0].experiment)) == 1
    store.runs.delete(runs[0].id)
    assert store.damaged(runs[0].experiment) == []


def test_a_damaged_online_test_is_replaced_by_the_one_of_its_name(
    store: Store, runs: list[Run], file: Path
) -> None:
    home = store.experiments.get(runs[0].experiment)
    first, other = (store.online_tests.add(a_test(store, home, name)) for name in ("March", "April"))
    with pytest.raises(NameTaken):
        store.online_tests.add(a_test(store, home, "March"))
    change(file, "UPDATE online_test SET results = '[{}]' WHERE id = :id", id=first.id)
    assert (store.online_tests.of_experiment(home.id), len(store.damaged(home.id))) == ([other], 1)
    again = store.online_tests.add(a_test(store, home, "March"))
    assert {test.id for test in store.online_tests.of_experiment(home.id)} == {again.id, other.id}
    assert (store.damaged(home.id), store.check()) == ([], [])
    assert [deed.target for deed in store.audit.events() if deed.action == "replace damaged online test"] == [
        first.id
    ]


def test_no_file_is_collected_while_a_row_does_not_say_what_it_needs(
    store: Store, runs: list[Run], file: Path
) -> None:
    change(file, "UPDATE run SET hits = '{' WHERE id = :id", id=runs[0].id)
    upload = store.artifacts.put(pa.table({"item_id": [7]}))
    ever = timedelta(seconds=-60)
    assert store.artifacts.collect(older_than=ever) == 0
    store.runs.delete(runs[0].id)
    assert store.artifacts.collect(older_than=ever) == 1
    with pytest.raises(NotFound):
        store.artifacts.path(upload)


def test_no_write_gives_damage_a_checksum_that_holds(store: Store, runs: list[Run], file: Path) -> None:
    change(file, "UPDATE run SET ledger = '{}' WHERE id = :id", id=runs[0].id)
    with pytest.raises(EvidenceDamaged):
        store.runs.update(runs[0].id, note="n")
    change(file, "UPDATE experiment SET note = 'x'")
    for write in (
        lambda: store.experiments.update(runs[0].experiment, note="n"),
        lambda: store.runs.add(a_run(dataclasses.replace(store_home(runs)), "svd"), []),
        lambda: store.runs.delete(runs[1].id),
    ):
        with pytest.raises(EvidenceDamaged):
            write()
    assert store.experiments.all() == []


def store_home(runs: list[Run]) -> Run:
    """What ``a_run`` needs of an experiment: its id."""
    return dataclasses.replace(runs[0], id=runs[0].experiment)


def test_every_change_through_the_store_leaves_rows_whole(store: Store, runs: list[Run]) -> None:
    home = store.experiments.update(runs[0].experiment, baseline=runs[0].id, note="n", settings={"k": 1})
    test = store.online_tests.add(a_test(store, home, links={"B": runs[0].id}))
    store.runs.update(runs[1].id, tags=("new",), name="EASE")
    store.online_tests.update(test.id, results=({"lift": 1.5},))
    store.journal.add(Entry("e1", home.id, home.created, "ann", "comment", text="x"))
    store.runs.delete(runs[0].id)
    assert [run.name for run in store.runs.of_experiment(home.id)] == ["EASE"]
    assert (store.online_tests.of_experiment(home.id)[0].links, store.experiments.get(home.id).baseline) == (
        {},
        None,
    )
    assert store.damaged() == []


@pytest.mark.parametrize("table", ["online_test", "entry"])
def test_what_else_is_damaged_is_left_out_and_told(
    store: Store, runs: list[Run], file: Path, table: str
) -> None:
    home = store.experiments.get(runs[0].experiment)
    store.online_tests.add(a_test(store, home))
    store.journal.add(Entry("e1", home.id, home.created, "ann", "comment", text="x"))
    change(file, f"UPDATE {table} SET created = '2020-01-01 00:00:00.000000'")  # noqa: S608
    assert (len(store.online_tests.of_experiment(home.id)), len(store.journal.of_experiment(home.id))) == (
        (0, 1) if table == "online_test" else (1, 0)
    )
    assert len(store.damaged(home.id)) == 1


@pytest.mark.parametrize(
    "damage", ["ledger = '{}'", "name = '3'", "replicate_of = (SELECT id FROM run WHERE name = 'ease')"]
)
def test_a_candidate_without_one_of_its_replicates_is_damaged(
    store: Store, runs: list[Run], file: Path, damage: str
) -> None:
    facts = {"replicates": {"kind": "seeds", "noun": "seed", "labels": ["1", "2"]}}
    home = store.experiments.get(runs[0].experiment)
    svd = dataclasses.replace(a_run(home, "svd"), provenance=facts)
    below = [dataclasses.replace(a_run(home, label), ledger={"rows": 1}) for label in ("1", "2")]
    store.runs.add(svd, [], [(one, []) for one in below])
    assert len(store.runs.of_experiment(home.id)) == 3
    change(file, f"UPDATE run SET {damage} WHERE id = :id", id=below[1].id)  # noqa: S608
    assert [run.name for run in store.runs.of_experiment(home.id)] == ["als", "ease"]
    assert any("'svd'" in problem.place for problem in store.damaged(home.id))


# ── curves ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "damage",
    [
        "value = x'0000000000000040' || substr(value, 9)",
        "std_error = x'0000000000000040' || substr(std_error, 9)",
        "n_users = 8",
        "depth = 4",
        "value = 'text'",
        "checksum = ''",
    ],
)
def test_a_damaged_curve_is_absent_and_says_so(
    store: Store, runs: list[Run], file: Path, damage: str
) -> None:
    change(file, f"UPDATE curve SET {damage} WHERE run = :id AND metric = 'ndcg'", id=runs[0].id)  # noqa: S608
    result = store.curves.of_runs([run.id for run in runs])
    damaged = result[runs[0].id].pop("ndcg")
    assert isinstance(damaged, Unavailable)
    assert "damaged" in damaged.reason
    assert all(isinstance(curve, Curve) for curves in result.values() for curve in curves.values())
    assert sum(map(len, result.values())) == 3


def test_a_curve_of_another_name_is_no_curve(store: Store, runs: list[Run], file: Path) -> None:
    change(file, "UPDATE curve SET metric = 'mdcg' WHERE run = :id AND metric = 'ndcg'", id=runs[0].id)
    assert store.curves.metrics([runs[0].id]) == {runs[0].id: ("recall",)}
    (problem,) = store.damaged(runs[0].experiment)
    assert problem.place == "mdcg of run 'als'"
    assert isinstance(store.curves.of_runs([runs[0].id])[runs[0].id]["mdcg"], Unavailable)


# ── the log ──────────────────────────────────────────────────────────────────────────────────


def test_a_line_of_the_log_that_cannot_be_read_breaks_the_chain_there(
    store: Store, runs: list[Run], file: Path
) -> None:
    assert len(runs) == 2
    assert store.audit.breaks() == []
    change(file, "UPDATE deed SET details = '{' WHERE number = 2")
    assert store.audit.breaks() == [2]
    change(file, "UPDATE deed SET at = 'x' WHERE number = 3")
    assert store.audit.breaks() == [2, 3]


def test_a_damaged_candidate_of_seeds_stays_when_another_is_added(store: Store, file: Path) -> None:
    """Neither has an upload of its own to be known by."""
    home = add_experiment(store)
    damaged = store.runs.add(of_seeds(a_run(home), "1"), [], [(a_run(home, "1"), [])])
    change(file, "UPDATE run SET ledger = '{\"counted\": 9}' WHERE replicate_of = :id", id=damaged.id)
    store.runs.add(of_seeds(a_run(home, "ease"), "1"), [], [(a_run(home, "1"), [])])
    assert store.runs.get(damaged.id) == damaged
