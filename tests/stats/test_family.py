"""Differences judged together: corrections, the intervals that go with them, and the word."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from recdash.stats import Paired, benjamini_hochberg, holm, judge, paired_difference, required_users
from recdash.stats.family import Correction, corrected, levels, significant
from recdash.stats.sparse import StudentT


def of(mean: float, error: float, n: int = 10_001) -> Paired:
    """A difference with this mean and standard error."""
    values = np.tile([mean - 1, mean + 1], n // 2 + 1)[:n]
    sd = error * n**0.5
    spread = mean + (values - values.mean()) / values.std(ddof=1) * sd
    return paired_difference(spread, np.zeros(n))


P = np.array([0.01, 0.04, 0.03, 0.005])


def test_holm_by_hand() -> None:
    """Ascending 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1; never less than the one before."""
    assert holm(P).tolist() == pytest.approx([3 * 0.01, 2 * 0.03, 2 * 0.03, 4 * 0.005])


def test_benjamini_hochberg_by_hand() -> None:
    """Ascending, times 4/1, 4/2, 4/3, 4/4; never more than the one after."""
    assert benjamini_hochberg(P).tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])


p_values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(p_values)
def test_benjamini_hochberg_is_that_of_scipy(p: list[float]) -> None:
    expected = scipy_stats.false_discovery_control(p, method="bh")
    assert benjamini_hochberg(np.array(p)) == pytest.approx(expected)


@given(p_values)
def test_holm_lies_between_nothing_and_bonferroni(p: list[float]) -> None:
    found = holm(np.array(p))
    assert (found >= p).all()
    assert (found <= np.minimum(np.array(p) * len(p), 1) + 1e-12).all()


@pytest.mark.parametrize("correction", ["holm", "bh", "off"])
@settings(max_examples=60)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=8))
def test_a_corrected_interval_excludes_zero_exactly_where_the_corrected_p_is_small(
    correction: str, means: list[float]
) -> None:
    family = [of(mean, error=1.0, n=200) for mean in means]
    for one in judge(family, correction):  # type: ignore[arg-type]
        if abs(one.p - 0.05) > 1e-9:
            assert one.corrected.excludes_zero == (one.p <= 0.05)


def test_equal_p_values_share_the_level_of_the_first_of_them() -> None:
    """Of four, three are significant and equal: each is tested at 5 %/4. The last is tested at 5 %."""
    p = np.array([0.001, 0.2, 0.001, 0.001])
    assert (1 - levels(p)).tolist() == pytest.approx([0.05 / 4, 0.05, 0.05 / 4, 0.05 / 4])
    former = (1 - levels(p, "holm in order")).tolist()
    assert former == pytest.approx([0.05 / 4, 0.05, 0.05 / 3, 0.05 / 2])
    assert corrected(p).tolist() == corrected(p, "holm in order").tolist()


few_p_values = st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.3]), min_size=1, max_size=12)


@given(few_p_values, st.randoms(use_true_random=False))
def test_the_levels_do_not_depend_on_the_order_of_the_differences(p: list[float], random: Random) -> None:
    order = list(range(len(p)))
    random.shuffle(order)
    assert levels(np.array(p)[order]).tolist() == levels(np.array(p))[order].tolist()


@given(few_p_values)
def test_intervals_of_equal_p_values_hold_together(p: list[float]) -> None:
    """By Bonferroni's inequality: the chances of each to miss its true difference add up to 5 % at most."""
    misses = 1 - levels(np.array(p))
    for value in set(p):
        assert misses[np.array(p) == value].sum() <= 0.05 + 1e-12


@pytest.mark.parametrize(("correction", "chance"), [("holm", 0.951), ("holm in order", 0.883)])
def test_the_later_levels_would_be_too_low_for_equal_p_values(correction: Correction, chance: float) -> None:
    """All of six independent intervals hold with the product of their levels: (1 − 0.05/6)⁶ = 0.951, but
    (1 − 0.05/6) · (1 − 0.05/5) · … · (1 − 0.05) = 0.883.
    """
    assert np.prod(levels(np.zeros(6), correction)) == pytest.approx(chance, abs=5e-4)


def test_significant_is_what_the_correction_leaves() -> None:
    """Of 0.01, 0.03, 0.04 and one without p: times 3, 2, 1 by Holm; times 3/1, 3/2, 3/3 by BH."""
    p = np.array([0.01, np.nan, 0.03, 0.04])
    assert corrected(p, "holm").tolist() == pytest.approx([0.03, np.nan, 0.06, 0.06], nan_ok=True)
    assert significant(p).tolist() == [True, False, False, False]
    assert significant(p, "bh").tolist() == significant(p, "off").tolist() == [True, False, True, True]
    assert significant(p, "off", level=0.98).tolist() == [True, False, False, False]
    assert significant(np.array([])).tolist() == []


def test_a_family_of_one_is_not_corrected() -> None:
    (alone,) = judge([of(0.02, 0.01)])
    assert alone.p == alone.paired.p
    assert (alone.corrected.low, alone.corrected.high) == (alone.paired.low, alone.paired.high)


def test_the_same_difference_is_settled_alone_and_not_among_twenty() -> None:
    one = of(0.021, 0.01)
    assert judge([one])[0].word == "better"
    assert judge([one] + [of(0.0, 0.01)] * 19)[0].word == "not settled"
    assert judge([one] + [of(0.0, 0.01)] * 19, "off")[0].word == "better"


@pytest.mark.parametrize(
    ("mean", "error", "margin", "word"),
    [
        (0.05, 0.01, 0.0, "better"),  # 0.030 to 0.070
        (-0.05, 0.01, 0.0, "worse"),
        (0.01, 0.01, 0.0, "not settled"),  # −0.010 to 0.030
        (0.01, 0.01, 0.04, "tie"),
        (0.01, 0.01, 0.02, "not settled"),  # it leaves the margin
        (0.05, 0.01, 0.08, "tie"),  # not zero, but too small to matter
        (0.05, 0.01, 0.06, "better"),
    ],
)
def test_the_word_follows_the_interval_and_the_margin(
    mean: float, error: float, margin: float, word: str
) -> None:
    (found,) = judge([of(mean, error)], margins=[margin])
    assert found.word == word


def test_a_single_user_takes_no_part_in_the_correction() -> None:
    lonely = paired_difference(np.array([1.0]), np.array([0.0]))
    known, other = judge([of(0.05, 0.01), lonely])
    assert known.p == known.paired.p
    assert np.isnan(other.p)
    assert other.word == "not settled"
    assert other.more_users is None


def test_what_is_settled_needs_no_more_users() -> None:
    assert judge([of(0.05, 0.01)])[0].more_users == 0


def test_so_many_more_users_give_the_power_that_is_promised() -> None:
    """(1.96 + 0.84)² · sd² / mean² users in all, for 80 % power at 5 %."""
    (found,) = judge([of(0.01, 0.01, n=10_001)])
    sd = 0.01 * 10_001**0.5
    needed = ((1.959964 + 0.841621) * sd / 0.01) ** 2
    assert found.more_users == pytest.approx(needed - 10_001, abs=2)


def test_a_tie_may_need_fewer_users_than_a_difference() -> None:
    (without,) = judge([of(0.001, 0.01)])
    (within,) = judge([of(0.001, 0.01)], margins=[0.015])
    assert within.word == "not settled"
    assert within.more_users is not None
    assert without.more_users is not None
    assert within.more_users < without.more_users


@pytest.mark.parametrize(("mean", "margin"), [(0.0, 0.1), (0.01, 0.1), (0.05, 0.0), (0.08, 0.1)])
def test_so_many_users_settle_it_in_four_of_five_tries(mean: float, margin: float) -> None:
    """1,000 experiments with as many users as were asked for, drawn around the difference that was seen."""
    seen = Paired(50, mean, 1.0, 0.5, 0, 0, 0, method=StudentT(50, mean, 1.0 / 50**0.5))
    n = required_users(seen, margin)
    assert n is not None
    rng = np.random.default_rng(11)
    tries = (paired_difference(rng.normal(mean, 1.0, n), np.zeros(n)) for _ in range(1_000))
    settled = [judge([one], margins=[margin])[0].word for one in tries]
    wanted = "tie" if margin - mean > mean else "better"
    assert settled.count(wanted) / 1_000 == pytest.approx(0.8, abs=0.04)  # three standard errors
    assert settled.count("not settled") / 1_000 <= 0.24


def test_a_tie_at_zero_needs_room_for_both_ends_of_the_interval() -> None:
    """Each end leaves the margin in one of ten tries: (1.96 + 1.28)² / 0.1²."""
    seen = Paired(50, 0.0, 1.0, 0.5, 0, 0, 0, method=StudentT(50, 0.0, 1.0 / 50**0.5))
    assert required_users(seen, 0.1) == pytest.approx((1.959964 + 1.281552) ** 2 / 0.01, abs=1)


@given(st.integers(30, 80), st.floats(-3, 3), st.floats(0.01, 3))
def test_the_t_test_is_that_of_scipy(n: int, mean: float, sd: float) -> None:
    rng = np.random.default_rng(n)
    values = mean + sd * rng.standard_normal(n)
    expected = scipy_stats.ttest_1samp(values, 0.0)
    found = paired_difference(values, np.zeros(n))
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    ends = expected.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high))


def same(n: int, by: float = 0.1, bound: float | None = 1.0) -> Paired:
    """Of n users each differs by the same."""
    return paired_difference(np.full(n, by), np.zeros(n), bound=bound)


@pytest.mark.parametrize("n", [2, 40, 200])
def test_differences_without_a_bound_and_without_a_spread_prove_nothing(n: int) -> None:
    found = same(n, bound=None)
    assert np.isnan([found.p, found.low, found.high]).all()
    assert (found.sd, found.wins) == (0.0, n)
    (judged,) = judge([found], "off")
    assert (judged.word, judged.more_users) == ("not settled", None)


def test_a_difference_of_which_nothing_is_known_leaves_the_others_their_correction() -> None:
    known, other = judge([of(0.05, 0.01), same(2, bound=None)])
    assert known.p == known.paired.p
    assert np.isnan(other.p)


def test_small_gains_of_all_users_are_a_gain_when_there_are_many_users() -> None:
    """A loss of 1 that was not seen among 8 users would undo their gains of 0.1; among 80 it would not."""
    assert judge([same(8)])[0].word == "not settled"
    assert judge([same(80)])[0].word == "better"


@pytest.mark.parametrize(("n", "word"), [(2, "not settled"), (500, "tie")])
def test_runs_that_are_alike_are_a_tie_only_where_enough_users_say_so(n: int, word: str) -> None:
    """Of 500 users at most 1 − 0.025^(1/500) = 0.73 % differ unseen; of two, 84 %."""
    (found,) = judge([same(n, by=0.0)], margins=[0.01])
    assert (found.word, found.p) == (word, 1.0)
    assert judge([same(n, by=0.0)], margins=[0.0])[0].word == "not settled"


def test_where_lower_is_better_a_fall_is_an_improvement() -> None:
    words = [replace(judge([of(mean, 0.01)])[0], lower_is_better=True).word for mean in (-0.05, 0.05, 0.01)]
    assert words == ["better", "worse", "not settled"]


def test_the_effect_size_is_the_mean_in_standard_deviations() -> None:
    found = paired_difference(np.array([1.0, 3.0]), np.array([0.0, 0.0]))
    assert found.effect_size == pytest.approx(2 / 2**0.5)
