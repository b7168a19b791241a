"""Lists of single users: as they were scored, wherever their rows stand in the stored upload."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from small_tables import run, upload

from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Order
from recdash.engines import Reference, match, read_reference
from recdash.engines.row_groups import FEW, RowGroups
from recdash.engines.user_lists import UserLists, read_lists

TRUTH = [("u1", "a"), ("u1", "b"), ("u2", "b"), ("u3", "c")]


def reference(rows: list[tuple[object, object]] = TRUTH) -> Reference:  # type: ignore[assignment]
    return read_reference(upload("truth", "user_id item_id", rows))


def shown(lists: UserLists, user: int) -> list[str]:
    return [lists.items[code] for code in lists.of(user).tolist()]


# ── the order ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wanted", [None, np.array([True, False, True])])
def test_lists_by_rank_whatever_the_order_of_the_rows(wanted: np.ndarray | None) -> None:
    rows = [("u1", "b", 2), ("u3", "c", 1), ("u1", "x", 3), ("u1", "a", 1)]
    lists = read_lists(run("user_id item_id rank", rows), reference(), depth=9, order="rank", wanted=wanted)
    assert (shown(lists, 0), shown(lists, 1), shown(lists, 2)) == (["a", "b", "x"], [], ["c"])


def test_only_who_is_wanted_is_read() -> None:
    rows = [("u1", "a", 1), ("u2", "b", 1)]
    only = np.array([False, True, False])
    lists = read_lists(run("user_id item_id rank", rows), reference(), depth=9, order="rank", wanted=only)
    assert (shown(lists, 0), shown(lists, 1)) == ([], ["b"])


def test_equal_ranks_are_settled_by_the_score() -> None:
    rows = [("u1", "x", 1, 0.1), ("u1", "a", 1, 0.9), ("u1", "b", 2, 0.5)]
    lists = read_lists(run("user_id item_id rank score", rows), reference(), depth=9, order="rank")
    assert shown(lists, 0) == ["a", "x", "b"]


def test_equal_scores_keep_the_order_of_the_file() -> None:
    rows = [("u1", "x", 0.5), ("u1", "a", 0.9), ("u1", "b", 0.5)]
    lists = read_lists(run("user_id item_id score", rows), reference(), depth=9, order="score")
    assert shown(lists, 0) == ["a", "x", "b"]


def test_an_item_stands_once_and_lists_end_at_the_depth() -> None:
    rows = [("u1", "a", 1), ("u1", "a", 2), ("u1", "b", 3), ("u1", "x", 4)]
    lists = read_lists(run("user_id item_id rank", rows), reference(), depth=2, order="rank")
    assert shown(lists, 0) == ["a", "b"]


def test_users_whom_the_truth_does_not_know_have_no_list_here() -> None:
    rows = [("stranger", "a", 1), ("u1", "a", 1), ("stranger", "b", 2)]
    for order in ("rank", "file"):
        lists = read_lists(run("user_id item_id rank", rows), reference(), depth=9, order=order)  # type: ignore[arg-type]
        assert lists.user.tolist() == [0]
        assert shown(lists, 0) == ["a"]


def test_a_run_without_any_of_the_users_has_no_lists() -> None:
    rows = run("user_id item_id rank", [("stranger", "a", 1)])
    nobody = np.zeros(3, dtype=bool)
    assert len(read_lists(rows, reference(), depth=9, order="rank", wanted=nobody).user) == 0


@pytest.mark.parametrize(("columns", "order"), [("rank", "rank"), ("score", "score"), ("", "file")])
def test_what_is_found_in_the_lists_is_what_was_scored(columns: str, order: Order) -> None:
    """200 users with random lists, duplicates and ties among them: every hit, at its rank."""
    random = np.random.default_rng(3)
    truth = [(u, int(i)) for u in range(200) for i in random.choice(60, 6, replace=False)]
    rows = [(u, int(random.integers(60)), *_place(random, n, columns)) for u in range(200) for n in range(12)]
    known = reference(truth)
    candidate = run(f"user_id item_id {columns}".strip(), [rows[n] for n in random.permutation(len(rows))])
    hits, _ = match(candidate, known, depth=10)
    lists = read_lists(candidate, known, depth=10, order=order)
    found = [
        (user, rank, code)
        for user in range(200)
        for rank, code in enumerate(lists.of(user).tolist(), start=1)
        if code in known.truth.item[known.truth.start[user] : known.truth.start[user + 1]]
    ]
    scored = zip(hits.user.tolist(), hits.rank.tolist(), known.truth.item[hits.row].tolist(), strict=True)
    assert found == list(scored)
    assert np.diff(lists.start).tolist() == hits.list_length[hits.list_length > 0].tolist()


def _place(random: np.random.Generator, n: int, columns: str) -> tuple[object, ...]:
    return {"rank": (n + 1,), "score": (float(random.integers(5)),), "": ()}[columns]


# ── two runs ─────────────────────────────────────────────────────────────────────────────────


def test_items_that_no_table_knows_are_the_same_in_two_runs() -> None:
    one = read_lists(
        run("user_id item_id", [("u1", "x"), ("u1", "a"), ("u1", "y")]), reference(), depth=9, order="file"
    )
    other = read_lists(
        run("user_id item_id", [("u1", "y"), ("u1", "z"), ("u1", "a")]), reference(), depth=9, order="file"
    )
    y, z, a = other.coded_as(one).tolist()
    assert [y, a] == [one.of(0).tolist()[2], one.of(0).tolist()[1]]
    assert z not in one.of(0)


# ── row groups ───────────────────────────────────────────────────────────────────────────────


def stored(path: Path, table: pa.Table, rows_in_group: int) -> Path:
    pq.write_table(table, path / "run.parquet", row_group_size=rows_in_group)
    return path / "run.parquet"


def lists_of(user: object, n: int = 4) -> list[tuple[object, str, int]]:
    return [(user, f"{user} {rank}", rank) for rank in range(1, n + 1)]


def as_table(rows: list[tuple[object, str, int]]) -> pa.Table:
    return pa.table(
        dict(zip(("user_id", "item_id", "rank"), map(list, zip(*rows, strict=True)), strict=True))
    )


def read(rows: Recommendations, known: Reference, user: int) -> list[str]:
    wanted = np.arange(known.truth.n_users) == user
    return shown(read_lists(rows, known, depth=9, order="rank", wanted=wanted), user)


@pytest.mark.parametrize("ids", [int, str])
def test_one_user_costs_the_row_groups_that_hold_the_user(tmp_path: Path, ids: type) -> None:
    """40 users of four rows in groups of ten rows: a user is in one group or on the edge of two."""
    users = [ids(n) for n in range(40)]
    rows = [row for user in users for row in lists_of(user)]
    known = reference([(user, "a") for user in users])
    groups = RowGroups(stored(tmp_path, as_table(rows), 10), known.users.copy())
    assert groups.n_groups == 16
    for user in (0, 2, 17, 39):
        found = groups.of(user, str(user))
        assert len(found) <= 2
        assert read(groups.lists_in(found), known, user) == [f"{user} {rank}" for rank in (1, 2, 3, 4)]


def test_a_user_between_others_ids_without_rows_is_in_no_list(tmp_path: Path) -> None:
    rows = [row for user in (1, 2, 3, 7, 8, 9) for row in lists_of(user)]
    known = reference([(user, "a") for user in range(10)])
    groups = RowGroups(stored(tmp_path, as_table(rows), 4), known.users.copy())
    assert read(groups.lists_in(groups.of(5, "5")), known, 5) == []


@pytest.mark.parametrize("rows_in_group", [2, 3])
def test_a_user_is_found_who_is_spelled_with_leading_zeros_in_the_truth(
    tmp_path: Path, rows_in_group: int
) -> None:
    rows = [row for user in range(1, 30) for row in lists_of(user, 3)]
    known = reference([(f"{user:04}", "a") for user in range(1, 30)])
    for table in (as_table(rows), as_table([(str(user), item, rank) for user, item, rank in rows])):
        groups = RowGroups(stored(tmp_path, table, rows_in_group), known.users.copy())
        assert read(groups.lists_in(groups.of(6, "0007")), known, 6) == ["7 1", "7 2", "7 3"]


def test_users_who_are_all_over_the_file_are_in_all_groups(tmp_path: Path) -> None:
    rows = sorted((row for user in range(20) for row in lists_of(f"u{user}", 12)), key=lambda row: row[2])
    known = reference([(f"u{user}", "a") for user in range(20)])
    groups = RowGroups(stored(tmp_path, as_table(rows), 20), known.users.copy())
    assert len(groups.of(3, "u3")) == 12 > FEW
