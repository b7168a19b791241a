"""Rows in any order give what the same rows give when each user's stand together."""

from __future__ import annotations

import random
from typing import Any

import pytest
from small_tables import run, upload

from recdash.domain.hits import Hits
from recdash.engines import match, read_reference, ungrouped

Row = tuple[Any, Any, int]

TRUTH = [("u", "a"), ("u", "c"), ("v", "b"), ("w", "d")]
LISTS: list[Row] = [
    ("u", "a", 1), ("u", "b", 2), ("u", "c", 3), ("v", "c", 1), ("v", "b", 2), ("x", "a", 1), ("x", "d", 2),
]  # fmt: skip


def evaluated(
    rows: list[Row], depth: int = 100, truth: Any = TRUTH, **options: Any
) -> tuple[Hits, list[str]]:
    reference = read_reference(upload("truth", "user_id item_id", truth))
    hits, told = match(run("user_id item_id rank", rows, **options), reference, depth=depth)
    return hits, [str(notice) for notice in told]


def facts(hits: Hits) -> dict[str, Any]:
    """All that is found, with items by name: their codes depend on the order of the rows."""
    exposure = hits.exposure
    assert exposure is not None
    shown = {
        (kind, rank, exposure.items[item]): count
        for kind, counts in (("shown", exposure.shown), ("ended", exposure.ended))
        for rank, item, count in zip(
            counts.rank.tolist(), counts.item.tolist(), counts.count.tolist(), strict=True
        )
    }
    columns = (hits.user.tolist(), hits.rank.tolist(), hits.row.tolist(), hits.list_length.tolist())
    return {"hits": columns, "shown": shown, "n_lists": exposure.n_lists, "ledger": hits.ledger}


def shuffled(rows: list[Row], seed: int = 5) -> list[Row]:
    mixed = rows.copy()
    random.Random(seed).shuffle(mixed)
    return mixed


def never(*_: Any) -> Any:
    raise AssertionError("sorted")


IRREGULAR = {
    "an item twice in a list": [*LISTS, ("u", "a", 4)],
    "an item twice, beyond the depth": [*LISTS, ("u", "d", 4), ("u", "d", 5)],
    "a gap in the ranks": [*LISTS, ("v", "a", 9)],
    "ranks that begin late": [*LISTS, ("w", "a", 3), ("w", "d", 4)],
    "one long list": [*LISTS, *(("w", f"i{rank}", rank) for rank in range(1, 400)), ("w", "d", 400)],
    "a rank as large as can be": [*LISTS, ("w", "d", 2**40)],
}


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 5), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize("batch_rows", [2, 1000])
@pytest.mark.parametrize("depth", [2, 100])
@pytest.mark.parametrize("rows", [LISTS, *IRREGULAR.values()], ids=["plain lists", *IRREGULAR])
def test_scattered_rows_give_what_rows_by_user_give(
    rows: list[Row], depth: int, batch_rows: int, seeds: range
) -> None:
    grouped, told = evaluated(sorted(rows, key=lambda row: (row[0], row[2])), depth)
    for seed in seeds:
        scattered_, also_told = evaluated(shuffled(rows, seed), depth, batch_rows=batch_rows)
        assert facts(scattered_) == facts(grouped)
        assert also_told == told


@pytest.mark.parametrize("name", ["an item twice in a list", "an item twice, beyond the depth"])
def test_items_that_stand_twice_are_found_in_scattered_rows(name: str) -> None:
    hits, told = evaluated(shuffled(IRREGULAR[name]), depth=4)
    assert (hits.ledger.duplicates, hits.ledger.duplicate_users) == (1, 1)
    assert any("duplicate (user, item)" in notice for notice in told)


@pytest.mark.parametrize("name", ["a gap in the ranks", "ranks that begin late"])
def test_gaps_are_told_of_scattered_rows(name: str) -> None:
    _, told = evaluated(shuffled(IRREGULAR[name]))
    assert any("rank" in notice for notice in told)


@pytest.mark.parametrize("ranks", [(1, 1, 2), (2, 2, 3), (1, 1, 1), (1, 1, 3)])
def test_rows_on_one_rank_keep_the_order_of_the_file_and_are_told(ranks: tuple[int, int, int]) -> None:
    first, second, third = ranks  # in (1, 1, 3) as many rows as the highest rank says
    rows = [("u", "x", third), ("v", "b", 1), ("u", "c", first), ("v", "q", 2), ("u", "a", second)]
    hits, told = evaluated(rows)
    at_once = 1 if ranks == (1, 1, 1) else 0
    assert list(zip(hits.user.tolist(), hits.rank.tolist(), strict=True)) == [
        (0, 1 + at_once),
        (0, 2 + at_once),
        (1, 1),
    ]
    assert any("rank" in notice for notice in told)


def test_plain_ranks_place_the_rows_without_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.engines.matcher.sorted_blocks", never)
    hits, _ = evaluated(shuffled(LISTS), batch_rows=3)
    assert hits.rank.tolist() == [1, 3, 2]
    assert hits.ledger.without_truth == 1
    assert hits.ledger.rows == len(LISTS)


def test_many_small_blocks_of_placed_rows_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(user, f"i{(user * rank) % 37}", rank) for user in range(40) for rank in range(1, user % 9 + 2)]
    truth = [(user, f"i{item}") for user in range(35) for item in range(user % 5 + 1)]
    whole, _ = evaluated(shuffled(rows), truth=truth)
    monkeypatch.setattr(ungrouped, "_ROWS_PER_BLOCK", 10)
    parts, _ = evaluated(shuffled(rows), truth=truth)
    assert facts(parts) == facts(whole)


IDS = {
    "small numbers": lambda n: n,
    "numbers beyond any table": lambda n: n + 2**40,
    "negative numbers": lambda n: -n - 1,
    "text": lambda n: f"id-{n}",
    "text that is numbers": lambda n: f"{n:04d}",
}


@pytest.mark.parametrize("form", IDS.values(), ids=list(IDS))
@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_ids_of_any_form_are_placed(form: Any, batch_rows: int) -> None:
    rows = [(form(user), form(50 + (user + rank) % 11), rank) for user in range(20) for rank in range(1, 8)]
    truth = [(form(user), form(50 + user % 11 + 1)) for user in range(18)]
    grouped, _ = evaluated(rows, truth=truth)
    mixed, _ = evaluated(shuffled(rows), truth=truth, batch_rows=batch_rows)
    assert facts(mixed) == facts(grouped)
    assert mixed.user.tolist() == [user for user in range(18) if user != 10]
    assert set(mixed.rank.tolist()) == {1}
