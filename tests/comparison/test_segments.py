"""Runs against a baseline in every segment: words, shares, and what the whole does not show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recdash.comparison import ComparisonQuery, Margin, Terms
from recdash.comparison.segments import EVERYBODY, SegmentComparison, compare_segments, flags
from recdash.domain.results import UserValues

N = 200
USERS = np.arange(N)
NOISE = np.tile([0.01, -0.01], N // 2)
"""Adds nothing to a mean over an even number of users."""
QUERY = ComparisonQuery(("mine", "bare"), "base", "ndcg", 10)


def of_users(values: np.ndarray, users: np.ndarray = USERS) -> UserValues:
    return UserValues(users, values.astype(float), values.astype(float))


def compared(
    base: UserValues,
    mine: UserValues,
    cuts: dict[str, np.ndarray],
    least: int = 30,
    terms: Terms | None = None,
) -> SegmentComparison:
    """``mine`` against ``base`` in segments of users, given as masks over all of them."""
    inside = {
        one: {"base": base.of(mask[base.users]), "mine": mine.of(mask[mine.users])}
        for one, mask in cuts.items()
    }
    titles = {cut: cut for cut in cuts}
    empty = SegmentComparison(replace(QUERY, terms=terms or Terms()), "x", {}, titles, {}, least)
    return compare_segments(empty, {EVERYBODY: {"base": base, "mine": mine}, **inside})


def parts(*sizes: int) -> dict[str, np.ndarray]:
    """``a``, ``b`` …: the first so many users, the next, and so on."""
    ends = np.cumsum((0, *sizes))
    return {
        name: (first <= USERS) & (last > USERS)
        for name, first, last in zip("abcd", ends, ends[1:], strict=False)
    }


def gained(*by_part: tuple[int, float]) -> UserValues:
    """Values above a baseline of 1: so many users with so much."""
    return of_users(1.0 + np.concatenate([np.full(n, gain) for n, gain in by_part]) + NOISE)


OTHER_NOISE = np.tile([0.01, 0.01, -0.01, -0.01], N // 4)
FLAT = of_users(np.ones(N))


# ── cells ────────────────────────────────────────────────────────────────────────────────────


def test_each_segment_has_its_own_means_difference_and_word() -> None:
    result = compared(FLAT, gained((150, 0.2), (50, -0.1)), parts(150, 50))
    a, b, whole = (result.cells[one, "mine"] for one in ("a", "b", EVERYBODY))
    assert (a.n, a.value, a.difference, a.word) == (150, pytest.approx(1.2), pytest.approx(0.2), "better")
    assert (b.n, b.value, b.difference, b.word) == (50, pytest.approx(0.9), pytest.approx(-0.1), "worse")
    assert (whole.difference, whole.word) == (pytest.approx((150 * 0.2 - 50 * 0.1) / 200), "better")
    assert result.cells["a", "base"].value == 1.0
    assert result.cells["a", "base"].pair is None


def test_the_same_difference_of_two_runs_has_the_same_interval() -> None:
    mine = gained((150, 0.2), (50, -0.1))
    inside = {"base": FLAT, "mine": mine, "bare": mine}
    empty = SegmentComparison(QUERY, "x", {}, {"a": "a"}, {}, 30)
    result = compare_segments(empty, {EVERYBODY: inside, "a": inside})
    pairs = [result.cells[one, run].pair for one in (EVERYBODY, "a") for run in ("mine", "bare")]
    assert len({pair.interval for pair in pairs if pair}) == 1


def test_few_users_are_not_judged_but_their_difference_is_told() -> None:
    mine = gained((160, 0.2), (40, 0.5))
    result = compared(FLAT, mine, parts(160, 40), least=41)
    cell = result.cells["b", "mine"]
    assert (cell.word, cell.why, cell.n_shared) == (None, "too few users", 40)
    assert cell.difference == pytest.approx(0.5)
    assert compared(FLAT, mine, parts(160, 40), least=40).cells["b", "mine"].word == "better"


def test_one_user_is_never_judged() -> None:
    result = compared(FLAT, gained((199, 0.2), (1, 0.5)), parts(199, 1), least=1)
    assert result.cells["b", "mine"].why == "too few users"


def test_all_judged_segments_are_one_family_and_the_whole_is_not_in_it() -> None:
    rng = np.random.default_rng(2)
    result = compared(FLAT, of_users(1 + 0.1 + rng.normal(size=N)), parts(80, 70, 40, 10))
    judged = [result.cells[one, "mine"].pair for one in "abc"]
    smallest = min((pair for pair in judged if pair), key=lambda pair: pair.paired.p)
    whole = result.cells[EVERYBODY, "mine"].pair
    assert smallest.judged.p == pytest.approx(min(1.0, 3 * smallest.paired.p))
    assert whole is not None
    assert whole.judged.p == whole.paired.p


def test_without_a_correction_p_stays_as_it_is() -> None:
    rng = np.random.default_rng(2)
    mine = of_users(1 + rng.normal(size=N))
    pair = compared(FLAT, mine, parts(100, 100), terms=Terms(correction="off")).cells["a", "mine"].pair
    assert pair is not None
    assert pair.judged.p == pair.paired.p


def test_a_run_without_the_metric_has_empty_cells() -> None:
    empty = SegmentComparison(QUERY, "x", {}, {"a": "a"}, {}, 30)
    result = compare_segments(empty, {one: {"base": FLAT, "bare": None} for one in (EVERYBODY, "a")})
    assert (result.cells["a", "bare"].n, result.cells["a", "bare"].word) == (0, None)
    assert flags(result) == []


def test_a_segment_in_which_nobody_counts_says_so() -> None:
    result = compared(FLAT, gained((200, 0.2)), parts(200, 0))
    assert result.cells["b", "mine"].why == "no user counts"


def test_shares_of_users_and_of_the_difference_add_up() -> None:
    """0.75 × 0.2 of 0.125 and 0.25 × −0.1 of it."""
    result = compared(FLAT, gained((150, 0.2), (50, -0.1)), parts(150, 50))
    assert result.is_additive("mine")
    assert [result.share(one, "mine") for one in "ab"] == [0.75, 0.25]
    assert [result.contribution(one, "mine") for one in "ab"] == [pytest.approx(1.2), pytest.approx(-0.2)]


def test_users_in_two_segments_do_not_add_up() -> None:
    result = compared(FLAT, gained((200, 0.2)), {"a": USERS < 150, "b": USERS > 50})
    assert not result.is_additive("mine")


# ── what the whole does not show ─────────────────────────────────────────────────────────────


def kinds(found: SegmentComparison) -> list[tuple[str, tuple[str, ...]]]:
    return [(flag.kind, flag.segments) for flag in flags(found)]


def test_the_same_everywhere_raises_no_flag() -> None:
    assert kinds(compared(FLAT, gained((100, 0.2), (100, 0.3)), parts(100, 100))) == []


def test_a_large_gain_of_few_that_outweighs_the_loss_of_most() -> None:
    """140 lose 0.1 each, 60 gain 1: together +46 over 200 users."""
    result = compared(FLAT, gained((70, -0.1), (70, -0.1), (60, 1.0)), parts(70, 70, 60))
    assert result.cells[EVERYBODY, "mine"].word == "better"
    assert kinds(result) == [("outvoted", ("a", "b"))]


def test_a_large_loss_of_few_that_outweighs_the_gain_of_most() -> None:
    result = compared(FLAT, gained((140, 0.1), (60, -1.0)), parts(140, 60))
    assert result.cells[EVERYBODY, "mine"].word == "worse"
    assert kinds(result) == [("outvoted", ("a",))]


def test_where_most_agree_with_the_whole_there_is_no_flag() -> None:
    result = compared(FLAT, gained((120, 0.3), (80, -0.1)), parts(120, 80))
    assert result.with_word("mine", "worse") == ["b"]
    assert kinds(compared(FLAT, gained((60, 0.3), (60, 0.3), (80, -0.1)), parts(60, 60, 80))) == []


def test_gain_and_loss_that_hide_each_other() -> None:
    result = compared(FLAT, gained((100, 0.2), (100, -0.2)), parts(100, 100))
    assert result.cells[EVERYBODY, "mine"].word == "not settled"
    assert kinds(result) == [("cancelled", ("a", "b"))]


def test_a_whole_gain_from_one_segment() -> None:
    """50 of 200 users gain 0.4; the others tie within 1 %."""
    result = compared(FLAT, gained((50, 0.4), (150, 0.0)), parts(50, 150))
    assert result.contribution("a", "mine") == pytest.approx(1.0)
    assert kinds(result) == [("one segment", ("a",))]


def test_a_gain_that_a_small_second_segment_may_share_is_not_one_segments() -> None:
    """The second is not settled, but a quarter of the gain is its: 100 × 0.3 of 100 × 0.3 + 100 × 0.1."""
    wild = np.where(USERS >= 100, np.tile([1.0, -1.0], N // 2), 0.0)
    mine = of_users(1 + np.r_[np.full(100, 0.3), np.full(100, 0.1)] + wild + NOISE)
    result = compared(FLAT, mine, parts(100, 100))
    assert result.with_word("mine", "not settled") == ["b"]
    assert kinds(result) == []


def test_a_segment_that_is_nearly_everybody_is_no_news() -> None:
    assert kinds(compared(FLAT, gained((185, 0.4), (15, 0.0)), parts(185, 15), least=10)) == []


def test_means_over_different_users_may_order_the_runs_against_every_segment() -> None:
    """In each segment mine is 0.1 below; but three in four of its users are where values are high."""
    high = USERS < 100
    base = of_users(np.where(high, 1.0, 0.2) + NOISE + OTHER_NOISE)
    there = np.r_[0:90, 100:130]
    mine = of_users((np.where(high, 0.9, 0.1) + NOISE)[there], there)
    result = compared(base, mine, {"high": high, "low": ~high})
    assert result.cells[EVERYBODY, "mine"].value == pytest.approx((90 * 0.9 + 30 * 0.1) / 120)
    assert result.cells[EVERYBODY, "base"].value == pytest.approx(0.6)
    assert result.with_word("mine", "worse") == ["high", "low"]
    assert kinds(result) == [("reversed", ("high", "low"))]


def test_two_judged_segments_of_many_do_not_speak_for_all() -> None:
    """In a and b, 35 users each, mine is 0.1 below; it is 1 above for 130 users in segments of 10."""
    judged = USERS < 70
    base, gain = of_users(np.ones(N)), np.where(judged, -0.1, 1.0) + NOISE
    mine = of_users((1 + gain)[:-1], USERS[:-1])
    small = {f"s{first}": (first <= USERS) & (first + 10 > USERS) for first in range(70, 200, 10)}
    result = compared(base, mine, {"a": USERS < 35, "b": judged & (USERS >= 35), **small})
    assert result.cells[EVERYBODY, "mine"].word == "better"
    assert result.with_word("mine", "worse") == list(result.judged("mine")) == ["a", "b"]
    assert kinds(result) == []


def test_items_segments_that_all_say_better_where_the_whole_does_not() -> None:
    base = of_users(np.ones(N))
    wild = of_users(1 + np.tile([2.0, -2.0], N // 2))
    better = of_users(1.3 + NOISE)
    empty = SegmentComparison(QUERY, "x", {}, {"a": "a", "b": "b"}, {}, 30, of_items=True)
    inside = {one: {"base": base, "mine": better} for one in "ab"}
    result = compare_segments(empty, {EVERYBODY: {"base": base, "mine": wild}, **inside})
    assert kinds(result) == [("outvoted", ("a", "b"))]


def test_items_of_one_segment_only_are_told_where_the_others_are_settled() -> None:
    empty = SegmentComparison(QUERY, "x", {}, {"a": "a", "b": "b"}, {}, 30, of_items=True)
    better, same = of_users(1.3 + NOISE), of_users(1 + NOISE / 10)
    whole = {"base": FLAT, "mine": better}
    result = compare_segments(empty, {EVERYBODY: whole, "a": whole, "b": {"base": FLAT, "mine": same}})
    assert result.cells["b", "mine"].word == "tie"
    assert kinds(result) == [("one segment", ("a",))]


def test_the_margin_makes_ties() -> None:
    mine = gained((100, 0.2), (100, 0.004))
    within = compared(FLAT, mine, parts(100, 100)).cells["b", "mine"].word
    without = compared(FLAT, mine, parts(100, 100), terms=Terms(Margin(0.0))).cells["b", "mine"].word
    assert (within, without) == ("tie", "better")
