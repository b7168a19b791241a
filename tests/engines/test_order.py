"""The order of a list: by rank, score or file; ties, gaps, repeats, and rows that do not stand together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from small_tables import run, upload

from recdash.domain.hits import Hits
from recdash.domain.inputs import Recommendations
from recdash.engines import match, read_reference
from recdash.errors import InputError

USERS, ITEMS = "uvw", "abcdef"
EVERYTHING_WANTED = read_reference(upload("truth", "user_id item_id", [(u, i) for u in USERS for i in ITEMS]))


def rows(table: str) -> list[tuple[Any, ...]]:
    """``"u a 1, u b 2"`` → rows; numbers after the two ids."""
    cells = [row.split() for row in table.split(",")]
    return [
        (user, item, *(float(one) if "." in one or one == "nan" else int(one) for one in rest))
        for user, item, *rest in cells
    ]


def ranked(table: str, **how: Any) -> Recommendations:
    return run("user_id item_id rank", rows(table), **how)


def scored(table: str, **how: Any) -> Recommendations:
    return run("user_id item_id score", rows(table), **how)


def lists(hits: Hits) -> dict[str, str]:
    """The lists as the engine saw them: every item is in the truth, so that every row is a hit."""
    truth, seen = hits.truth, {}
    for user, rank, row in zip(hits.user.tolist(), hits.rank.tolist(), hits.row.tolist(), strict=True):
        shown = seen.setdefault(truth.users[user], [])
        shown.append(truth.items[int(truth.item[row])])
        assert rank == len(shown)
    return {user: "".join(shown) for user, shown in seen.items()}


def matched(candidate: Recommendations, **how: Any) -> tuple[dict[str, str], Hits, dict[str, str]]:
    """Lists, hits, and what was said by code."""
    hits, told = match(candidate, EVERYTHING_WANTED, **how)
    return lists(hits), hits, {notice.code: str(notice) for notice in told}


def order(candidate: Recommendations, **how: Any) -> dict[str, str]:
    return matched(candidate, **how)[0]


# ── by what ──────────────────────────────────────────────────────────────────────────────────


def test_the_rank_decides_whatever_the_order_of_the_rows() -> None:
    assert order(ranked("u b 2, u c 3, u a 1")) == {"u": "abc"}


def test_without_a_rank_the_higher_score_is_the_better() -> None:
    assert order(scored("u a 0.1, u b 0.3, u c 0.2")) == {"u": "bca"}


def test_negative_scores_are_scores() -> None:
    assert order(scored("u a -3.0, u b -1.0, u c -2.0")) == {"u": "bca"}


def test_scores_that_only_float64_tells_apart_are_no_ties() -> None:
    found, hits, told = matched(scored("u a 1.0, u b 1.0000000001"))
    assert (found, hits.ledger.tied_rows, told) == ({"u": "ba"}, 0, {})


def test_without_rank_and_score_the_order_of_the_file_is_the_list() -> None:
    assert order(run("user_id item_id", rows("u c, u a, v b"))) == {"u": "ca", "v": "b"}


BOTH = [("u", "a", 1, 0.1), ("u", "b", 2, 0.9)]


def test_the_rank_comes_before_the_score_unless_the_score_is_asked_for() -> None:
    candidate = run("user_id item_id rank score", BOTH)
    assert order(candidate) == {"u": "ab"}
    assert order(candidate, order="score") == {"u": "ba"}


def test_breaking_ties_by_item_without_ordering_by_score_is_said_to_do_nothing() -> None:
    _, hits, told = matched(ranked("u a 1, u b 2"), ties="item_desc")
    assert hits.order == "rank"
    assert "ties=item_desc has no effect: the lists are ordered by rank" in told["ties-without-score"]


@pytest.mark.parametrize(
    ("candidate", "asked", "said"),
    [
        (scored("u a 1.0"), "rank", "no rank column to order the lists by. Add a rank column"),
        (ranked("u a 1"), "score", "no score column to order the lists by. Add a score column"),
    ],
)
def test_an_order_without_its_column_is_refused(candidate: Recommendations, asked: Any, said: str) -> None:
    with pytest.raises(InputError) as caught:
        match(candidate, EVERYTHING_WANTED, order=asked)
    assert said in str(caught.value)


# ── ranks that are not 1, 2, 3 … ─────────────────────────────────────────────────────────────


def test_gaps_in_the_ranks_are_closed_and_said() -> None:
    found, _, told = matched(ranked("u a 1, u b 4, u c 9, v a 1, v b 2, w a 3"))
    assert found == {"u": "abc", "v": "ab", "w": "a"}
    assert "gaps in the ranks of 2 users" in told["rank-gaps"]


def test_of_equal_ranks_the_higher_score_goes_first() -> None:
    candidate = run(
        "user_id item_id rank score", [("u", "a", 1, 0.9), ("u", "b", 2, 0.1), ("u", "c", 2, 0.5)]
    )
    found, _, told = matched(candidate)
    assert found == {"u": "acb"}
    assert "duplicate ranks in the lists of 1 user" in told["duplicate-ranks"]


def test_of_equal_ranks_without_scores_the_earlier_row_goes_first() -> None:
    found, _, told = matched(ranked("u c 2, u b 2, u a 1"))
    assert (found, set(told)) == ({"u": "acb"}, {"duplicate-ranks"})


def test_regular_ranks_are_not_remarked_upon() -> None:
    assert matched(ranked("u a 1, u b 2, v a 1"))[2] == {}


# ── ties and missing scores ──────────────────────────────────────────────────────────────────

TIED = "u b 0.5, u d 0.5, u a 0.5, u c 0.9, v a 0.2, v b 0.1"


def test_equal_scores_keep_the_order_of_the_file() -> None:
    found, hits, told = matched(scored(TIED))
    assert found == {"u": "cbda", "v": "ab"}
    assert (hits.ledger.tied_rows, hits.ledger.tied_users) == (3, 1)
    assert "3 rows with ties in the score, in the lists of 1 user" in told["ties"]


def test_equal_scores_go_by_item_id_descending_where_that_was_asked_for() -> None:
    found, hits, _ = matched(scored(TIED), ties="item_desc")
    assert found == {"u": "cdba", "v": "ab"}
    assert (hits.ledger.tied_rows, hits.ledger.tied_users) == (3, 1)


def test_ids_are_compared_as_text_even_if_they_are_numbers() -> None:
    truth = read_reference(upload("truth", "user_id item_id", [(1, 9), (1, 10), (1, 100)]))
    candidate = run("user_id item_id score", [(1, 10, 1.0), (1, 100, 1.0), (1, 9, 1.0)])
    hits, _ = match(candidate, truth, ties="item_desc")
    assert [truth.truth.items[int(truth.truth.item[row])] for row in hits.row] == ["9", "100", "10"]


def test_a_rank_has_no_ties_to_break() -> None:
    found, hits, _ = matched(ranked("u a 1, u b 2"), ties="item_desc")
    assert (found, hits.ledger.tied_rows) == ({"u": "ab"}, None)


# ── repeats and depth ────────────────────────────────────────────────────────────────────────


def test_of_a_repeated_item_the_better_rank_counts_and_the_gap_is_closed() -> None:
    found, hits, told = matched(ranked("u a 1, u b 2, u a 3, u c 4, v a 1"))
    assert found == {"u": "abc", "v": "a"}
    assert (hits.ledger.duplicates, hits.ledger.duplicate_users) == (1, 1)
    assert "1 duplicate (user, item) rows in the lists of 1 user" in told["duplicate-pairs"]


def test_a_repeat_is_dropped_before_the_list_is_cut() -> None:
    found, hits, _ = matched(ranked("u a 1, u a 2, u b 3, u c 4"), depth=2)
    assert (found, hits.list_length.tolist()) == ({"u": "ab"}, [2, 0, 0])


def test_an_item_repeated_for_every_user_is_one_repeat_each() -> None:
    found, hits, _ = matched(ranked("u a 1, u a 2, v b 1, v a 2, v b 3, v b 4"))
    assert found == {"u": "a", "v": "ba"}
    assert (hits.ledger.duplicates, hits.ledger.duplicate_users) == (3, 2)


def test_the_same_item_in_two_lists_is_no_repeat() -> None:
    found, hits, _ = matched(ranked("u a 1, v a 1"))
    assert (found, hits.ledger.duplicates) == ({"u": "a", "v": "a"}, 0)


def test_nothing_below_the_depth_is_kept() -> None:
    found, hits, _ = matched(ranked("u a 1, u b 2, u c 3, v a 1"), depth=2)
    assert (found, hits.list_length.tolist()) == ({"u": "ab", "v": "a"}, [2, 1, 0])


# ── rows that come in pieces ─────────────────────────────────────────────────────────────────

INTERLEAVED = "u a 1, v c 1, u b 2, w a 1, v a 2, u c 3"


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 6])
def test_users_whose_rows_do_not_stand_together_have_one_list(batch_rows: int) -> None:
    assert order(ranked(INTERLEAVED, batch_rows=batch_rows)) == {"u": "abc", "v": "ca", "w": "a"}


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", ["rank", "score", "none"])
def test_a_list_may_be_cut_anywhere_by_a_batch(columns: str, batch_rows: int) -> None:
    table: Sequence[tuple[Any, ...]] = [
        ("u", "c", 1, 0.9),
        ("u", "a", 2, 0.8),
        ("u", "b", 3, 0.7),
        ("v", "b", 1, 0.9),
        ("v", "a", 2, 0.1),
    ]
    wanted = {"rank": (0, 1, 2), "score": (0, 1, 3), "none": (0, 1)}[columns]
    names = " ".join((["user_id", "item_id", "rank", "score"][place]) for place in wanted)
    candidate = run(names, [tuple(row[place] for place in wanted) for row in table], batch_rows=batch_rows)
    assert order(candidate) == {"u": "cab", "v": "ba"}


@pytest.mark.parametrize("batch_rows", [1, 2, 3])
def test_equal_ranks_on_both_sides_of_a_border_are_settled_by_the_score(batch_rows: int) -> None:
    table = [("u", "a", 1, 0.1), ("u", "b", 1, 0.2), ("u", "c", 1, 0.3), ("v", "a", 1, 0.5)]
    assert order(run("user_id item_id rank score", table, batch_rows=batch_rows)) == {"u": "cba", "v": "a"}


@pytest.mark.parametrize("batch_rows", [1, 2, 4])
def test_repeats_across_a_border_are_found(batch_rows: int) -> None:
    found, hits, _ = matched(ranked("u a 1, u b 2, u a 3, v a 1", batch_rows=batch_rows))
    assert (found, hits.ledger.duplicates) == ({"u": "ab", "v": "a"}, 1)


def test_scattered_rows_without_order_columns_keep_the_order_of_the_file() -> None:
    assert order(run("user_id item_id", rows("u c, v a, u a, v b"), batch_rows=1)) == {"u": "ca", "v": "ab"}


@pytest.mark.parametrize(("table", "passes"), [("u a 1, u b 2, u c 3, v a 1", 1), (INTERLEAVED, 2)])
def test_only_users_who_come_back_make_it_read_the_file_again(table: str, passes: int) -> None:
    candidate = ranked(table, batch_rows=2)
    started = []

    def batches(**how: Any) -> Iterator[pa.RecordBatch]:
        started.append(how)
        return candidate.batches(**how)

    match(replace(candidate, batches=batches), EVERYTHING_WANTED)
    assert len(started) == passes
    assert all(set(how["columns"]) == {"user_id", "item_id", "rank"} for how in started)
