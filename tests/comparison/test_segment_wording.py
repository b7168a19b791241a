"""Headline, caption and flags of segments in words, from comparisons made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from recdash.comparison import ComparisonQuery, Terms
from recdash.comparison.query import Margin
from recdash.comparison.segment_wording import (
    about,
    finding,
    flag_sentence,
    shared_sentences,
    subtitle,
    why_in_no_segment,
)
from recdash.comparison.segments import EVERYBODY, SegmentComparison, compare_segments, flags
from recdash.domain.results import UserValues

N = 200
USERS = np.arange(N)
NOISE = np.tile([0.01, -0.01], N // 2)
"""Adds nothing to a mean over an even number of users."""


def compared(*by_part: tuple[int, float], terms: Terms | None = None) -> SegmentComparison:
    """``mine`` against a baseline of 1, in segments a, b … of so many users with so large a gain."""
    gains = np.concatenate([np.full(n, gain) for n, gain in by_part])
    base, mine = (UserValues(USERS, values, values) for values in (np.ones(N), 1 + gains + NOISE))
    ends = np.cumsum([0, *(n for n, _ in by_part)])
    inside = {
        name: {
            "base": base.of((first <= USERS) & (last > USERS)),
            "mine": mine.of((first <= USERS) & (last > USERS)),
        }
        for name, first, last in zip("abcd", ends, ends[1:], strict=False)
    }
    query = ComparisonQuery(("mine",), "base", "ndcg", 10, terms=terms or Terms())
    empty = SegmentComparison(query, "x", {}, {name: name for name in inside}, {}, 30)
    result = compare_segments(empty, {EVERYBODY: {"base": base, "mine": mine}, **inside})
    return replace(result, names={"base": "Popular", "mine": "EASE"})


@pytest.mark.parametrize(
    ("gains", "headline"),
    [
        (((100, 0.2), (100, -0.2)), "EASE is better for a and worse for b"),
        (((100, 0.2), (100, 0.2)), "EASE is better in every segment tested"),
        (((100, -0.2), (100, -0.2)), "EASE is worse for a and b and better in no segment"),
        (((100, 0.2), (100, 0.0)), "EASE is better for a and worse in no segment"),
        (((190, 0.0), (10, 1.0)), "EASE is not significantly different from Popular in any segment"),
    ],
)
def test_the_headline_says_where_a_run_is_better_and_where_worse(
    gains: tuple[tuple[int, float], ...], headline: str
) -> None:
    assert finding(compared(*gains)) == headline


@pytest.mark.parametrize(
    ("gains", "headline"),
    [
        (((100, 0.2), (100, -0.2)), "EASE is worse for b; better for a"),
        (((100, 0.2), (100, 0.2)), "EASE is better in every segment tested"),
        (((100, -0.2), (100, -0.2)), "EASE is worse in every segment tested"),
        (
            ((100, 0.2), (100, 0.0)),
            "EASE is worse in no segment; better for a, not significantly different for b",
        ),
        (((190, -0.2), (10, 1.0)), "EASE is worse for a"),
    ],
)
def test_the_headline_on_one_candidate_first_says_for_whom_it_is_worse(
    gains: tuple[tuple[int, float], ...], headline: str
) -> None:
    assert about(compared(*gains), "mine") == headline


def test_a_gain_over_all_users_alone_says_why_it_is_in_no_segment() -> None:
    alone = compared((100, 0.0017), (100, 0.0017), terms=Terms(margin=Margin(0.0)))
    assert alone.whole("mine").word == "better"
    assert why_in_no_segment(alone, "mine") == (
        "EASE is better over all users, though in no segment by itself: each segment has fewer users, and "
        "Holm corrects 2 differences."
    )
    assert not why_in_no_segment(compared((100, 0.2), (100, 0.2)), "mine")


def test_a_headline_of_several_candidates_says_significantly() -> None:
    """Neither is significantly better; one is worse for b."""
    worse, other = compared((100, -0.2), (100, 0.0)), compared((100, 0.0), (100, 0.0))
    cells = {(name, "other"): cell for (name, run), cell in other.cells.items() if run == "mine"}
    two = replace(worse, names={**worse.names, "other": "ALS"}, cells={**worse.cells, **cells})
    assert finding(two) == "No candidate is significantly better than Popular in any segment"
    assert finding(two, former=True) == "No candidate is better than Popular in any segment"


def test_the_caption_names_the_baseline_the_interval_and_the_correction() -> None:
    result = compared((100, 0.2), (100, -0.2))
    assert subtitle(result) == (
        "Change in nDCG@10 vs Popular, 95 % CI, Holm-corrected over 2 differences. Filled: significant. "
        "Grey: fewer than 30 users, not tested."
    )
    plain = subtitle(compared((100, 0.2), (100, -0.2), terms=Terms(correction="off")))
    assert "95 % CI, not corrected over 2 differences." in plain


@pytest.mark.parametrize(
    ("gains", "sentence"),
    [
        (  # 100 × 0.2 − 100 × 0.2 of 200 users
            ((100, 0.2), (100, -0.2)),
            (
                "EASE is not significantly different from Popular over all users (0.000): gains and losses "
                "cancel. It is better for a (+0.200, n = 100), and worse for b (−0.200, n = 100)."
            ),
        ),
        (  # 50 × 0.4 of 200 users, who are 50 of them
            ((50, 0.4), (150, 0.0)),
            (
                "EASE is better than Popular over all users (+0.100). All of the gain comes from a (+0.400, "
                "n = 50), 25.0 % of the users. No other segment improves significantly."
            ),
        ),
        (  # (60 × 1 − 140 × 0.1) of 200 users
            ((70, -0.1), (70, -0.1), (60, 1.0)),
            (
                "EASE is better than Popular over all users (+0.230), but worse in 2 of 3 segments: "
                "a (−0.100, n = 70) and b (−0.100, n = 70). The total follows c (+1.00, n = 60), 30.0 % of "
                "the users."
            ),
        ),
    ],
)
def test_a_flag_says_how_the_total_and_its_segments_differ(
    gains: tuple[tuple[int, float], ...], sentence: str
) -> None:
    result = compared(*gains)
    assert [flag_sentence(result, flag) for flag in flags(result)] == [sentence]


def together(**results: SegmentComparison) -> SegmentComparison:
    """The candidates of several comparisons against the same baseline as one comparison."""
    first = next(iter(results.values()))
    cells = {key: cell for key, cell in first.cells.items() if key[1] == "base"}
    for name, result in results.items():
        cells |= {(segment, name): cell for (segment, run), cell in result.cells.items() if run == "mine"}
    return replace(first, cells=cells, names={"base": "Popular", **{name: name for name in results}})


def test_candidates_that_lose_for_the_same_segment_share_a_sentence() -> None:
    """Only the first loses 90 % there and has a flag; the second loses 50 × 0.4 of (50 × 0.4 + 150 × 0.05)
    there, 73 %; the third loses everywhere alike.
    """
    first, second, third = (compared((50, -0.4), (150, other)) for other in (-0.005, -0.05, -0.4))
    result = together(first=first, second=second, third=third)
    assert [flag.run for flag in flags(result)] == ["first"]
    (sentence,) = shared_sentences(result, flags(result))
    assert sentence == (
        "first and second are worse than Popular over all users, mostly because of a (25.0 % of the "
        "users): 73 to 96 % of each loss comes from them."
    )
    alone = together(first=first, third=third)
    assert shared_sentences(alone, flags(alone)) == [flag_sentence(alone, *flags(alone))]


def test_all_candidates_with_the_same_loss_are_not_named() -> None:
    lost = compared((50, -0.4), (150, 0.0))
    result = together(**dict.fromkeys(("a", "b", "c", "d"), lost))
    (sentence,) = shared_sentences(result, flags(result))
    assert sentence == (
        "All four candidates are worse than Popular over all users, mostly because of a (25.0 % of the "
        "users): 100 % of each loss comes from them."
    )


def test_a_candidate_with_a_flag_of_its_own_keeps_its_sentence() -> None:
    """The second is worse for all users, for the same segment, but better for most of them."""
    second = compared((50, -0.9), (150, 0.1))
    result = together(first=compared((50, -0.4), (150, 0.0)), second=second)
    found = flags(result)
    assert [flag.kind for flag in found] == ["one segment", "outvoted"]
    assert shared_sentences(result, found) == [flag_sentence(result, flag) for flag in found]
