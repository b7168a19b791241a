"""Which truth rows stand in a tie, and over which ranks their place is an accident."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import run, upload

from recdash.domain.hits import Hits
from recdash.engines import hits_from_tables, hits_to_tables, match, read_reference

Scores = list[tuple[str, str, float]]
WANTED = {"u": "abc", "v": "ad"}
TRUTH = read_reference(
    upload("truth", "user_id item_id", [(user, item) for user, items in WANTED.items() for item in items])
)


def hits_of(scores: Scores, **how: Any) -> Hits:
    return match(run("user_id item_id score", scores, batch_rows=4), TRUTH, **how)[0]


def ties_of(hits: Hits) -> dict[tuple[str, str], tuple[int, int]]:
    """{(user, item): (first rank, last rank)}"""
    found, truth = hits.ties, hits.truth
    assert found is not None
    return {
        (truth.users[user], truth.items[int(truth.item[row])]): (first, last)
        for user, row, first, last in zip(
            *(getattr(found, name).tolist() for name in ("user", "row", "first", "last")), strict=True
        )
    }


SCORES = [("u", "x", 0.9), ("u", "a", 0.5), ("u", "y", 0.5), ("u", "b", 0.5), ("u", "c", 0.1), ("v", "d", 1)]


def test_a_wanted_item_among_equal_scores_is_kept_with_the_ranks_of_its_tie() -> None:
    assert ties_of(hits_of(SCORES)) == {("u", "a"): (2, 4), ("u", "b"): (2, 4)}


def test_a_tie_that_crosses_the_depth_is_kept_whole() -> None:
    assert ties_of(hits_of(SCORES, depth=2)) == {("u", "a"): (2, 4), ("u", "b"): (2, 4)}


def test_a_tie_beyond_the_depth_is_not_kept() -> None:
    assert ties_of(hits_of(SCORES, depth=1)) == {}


def test_equal_scores_of_two_users_are_no_tie() -> None:
    assert ties_of(hits_of([("u", "a", 0.5), ("v", "a", 0.5)])) == {}


def test_a_repeated_item_is_no_tie_with_itself_and_takes_no_place_in_one() -> None:
    assert ties_of(hits_of([("u", "a", 0.5), ("u", "a", 0.5), ("v", "a", 1)])) == {}
    twice = [("u", "x", 0.5), ("u", "x", 0.5), ("u", "a", 0.5)]
    assert ties_of(hits_of(twice)) == {("u", "a"): (1, 2)}


def test_breaking_ties_by_item_leaves_them_the_same_ties() -> None:
    assert ties_of(hits_of(SCORES, ties="item_desc")) == ties_of(hits_of(SCORES))


def test_lists_that_are_ordered_by_rank_have_no_ties_to_speak_of() -> None:
    ranked = run("user_id item_id rank score", [("u", "a", 1, 0.5), ("u", "b", 2, 0.5)])
    assert match(ranked, TRUTH)[0].ties is None


def by_hand(scores: Mapping[str, Mapping[str, float]], depth: int) -> dict[tuple[str, str], tuple[int, int]]:
    found = {}
    for user, of_item in scores.items():
        for item, score in of_item.items():
            first = 1 + sum(other > score for other in of_item.values())
            last = sum(other >= score for other in of_item.values())
            if item in WANTED[user] and last > first and first <= depth:
                found[user, item] = (first, last)
    return found


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from("uv"),
        st.dictionaries(st.sampled_from("abcdxyz"), st.sampled_from([-1.0, 0.0, 2.0]), min_size=1),
        min_size=1,
    ),
    st.integers(1, 8),
    st.randoms(use_true_random=False),
)
def test_every_tie_is_found_whatever_the_order_of_the_rows(
    scores: dict[str, dict[str, float]], depth: int, chance: Any
) -> None:
    rows = [(user, item, score) for user, of_item in scores.items() for item, score in of_item.items()]
    chance.shuffle(rows)
    assert ties_of(hits_of(rows, depth=depth)) == by_hand(scores, depth)


@pytest.mark.parametrize("scores", [SCORES, [("u", "a", 1.0)]])
def test_ties_come_back_from_their_table(scores: Scores) -> None:
    hits = hits_of(scores)
    back = hits_from_tables(hits_to_tables(hits), hits.truth)
    assert ties_of(back) == ties_of(hits)
    assert back.ties is not None
    assert all(np.issubdtype(getattr(back.ties, name).dtype, np.integer) for name in ("user", "row"))


def test_hits_kept_before_ties_were_have_none() -> None:
    hits = hits_of(SCORES)
    tables = {name: table for name, table in hits_to_tables(hits).items() if name != "ties"}
    assert hits_from_tables(tables, hits.truth).ties is None
