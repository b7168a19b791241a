"""How alike two lists are: worked by hand, then laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recdash.stats.list_overlap import ManyLists, in_common, overlap, rank_biased_overlap


def lists(*many: list[int]) -> ManyLists:
    start = np.cumsum([0, *map(len, many)])
    return ManyLists(start, np.array([item for one in many for item in one], dtype=np.int64))


# ── by hand ──────────────────────────────────────────────────────────────────────────────────


def test_items_in_common_are_counted_at_every_depth() -> None:
    """1 meets at rank 2 (it is second in the other), 2 too; 3 and 4 never."""
    assert in_common(lists([1, 2, 3]), lists([2, 1, 4]), 4).tolist() == [[0, 2, 2, 2]]


def test_overlap_is_the_share_of_common_items_within_k() -> None:
    a, b = lists([1, 2, 3, 4], [1, 2]), lists([2, 9, 1, 8], [3, 4])
    assert overlap(a, b, 3).tolist() == [[0, 1 / 2, 2 / 3], [0, 0, 0]]


def test_a_short_list_is_held_against_the_longer_one() -> None:
    assert overlap(lists([1, 2]), lists([1, 2, 3, 4]), 4)[:, 3].tolist() == [2 / 4]
    assert overlap(lists([1, 2]), lists([2, 1]), 10)[:, 9].tolist() == [1.0]
    assert np.isnan(overlap(lists([]), lists([]), 5)).all()


def test_rank_biased_overlap_of_two_places_by_hand() -> None:
    """Agreement is 0 at depth 1 and 2 / 2 at depth 2, and goes on as it ends: (1 − p)/p · p² + p²."""
    found = rank_biased_overlap(lists([1, 2]), lists([2, 1]), p=0.9)
    assert found.tolist() == [pytest.approx((1 - 0.9) / 0.9 * 0.9**2 + 0.9**2)]


def test_rank_biased_overlap_of_lists_of_uneven_length_by_hand() -> None:
    """S = 1; L = 2, 1, 3. X = 0, 1, 1 at depths 1, 2, 3; s = 1, l = 3, X_s = 0."""
    p = 0.5
    by_hand = (1 - p) / p * (1 / 2 * p**2 + 1 / 3 * p**3) + (1 - 0) / 3 * p**3
    assert rank_biased_overlap(lists([1]), lists([2, 1, 3]), p).tolist() == [pytest.approx(by_hand)]


def test_the_missing_places_of_a_short_list_agree_as_its_end_does() -> None:
    """S = 1; L = 1, 2. X = 1, 1: depth 2 agrees in 1/2, and X_s (d − s) / (s d) = 1/2 is guessed."""
    p = 0.5
    by_hand = (1 - p) / p * (1 * p + 1 / 2 * p**2 + 1 * (2 - 1) / (1 * 2) * p**2) + (0 / 2 + 1) * p**2
    assert rank_biased_overlap(lists([1]), lists([1, 2]), p).tolist() == [pytest.approx(by_hand)]
    assert by_hand == 1.0


def test_an_empty_list_has_no_rank_biased_overlap() -> None:
    assert np.isnan(rank_biased_overlap(lists([], [1]), lists([1], [1]))).tolist() == [True, False]


# ── laws ─────────────────────────────────────────────────────────────────────────────────────

RANKED = st.lists(st.integers(0, 12), min_size=1, max_size=9, unique=True)


@given(RANKED, RANKED)
def test_both_measures_lie_between_none_and_all_and_do_not_mind_who_is_first(
    a: list[int], b: list[int]
) -> None:
    for measure in (lambda x, y: overlap(x, y, 5)[:, 4], rank_biased_overlap):
        there, back = measure(lists(a), lists(b))[0], measure(lists(b), lists(a))[0]
        assert there == pytest.approx(back)
        assert -1e-12 <= there <= 1 + 1e-12


@given(RANKED)
def test_a_list_is_wholly_like_itself_and_unlike_one_of_strangers(items: list[int]) -> None:
    same, strangers = lists(items), lists([item + 100 for item in items])
    assert rank_biased_overlap(same, same)[0] == pytest.approx(1)
    assert rank_biased_overlap(same, strangers)[0] == 0
    assert overlap(same, same, 3)[0].tolist() == [1, 1, 1]


@given(st.lists(st.tuples(RANKED, RANKED), min_size=1, max_size=6))
def test_many_pairs_at_once_are_as_each_by_itself(pairs: list[tuple[list[int], list[int]]]) -> None:
    a, b = lists(*(one for one, _ in pairs)), lists(*(other for _, other in pairs))
    alone = [rank_biased_overlap(lists(one), lists(other))[0] for one, other in pairs]
    assert rank_biased_overlap(a, b).tolist() == pytest.approx(alone)


@given(RANKED, st.integers(1, 8))
def test_a_change_further_up_the_list_makes_it_less_alike(items: list[int], place: int) -> None:
    """Of two lists that differ in one item, that with the difference further up is less alike."""
    if place >= len(items):
        return
    first, later = items.copy(), items.copy()
    first[place - 1], later[place] = 100, 100
    a = lists(items)
    assert rank_biased_overlap(a, lists(first))[0] < rank_biased_overlap(a, lists(later))[0]
