"""The sign-flip test: against every combination of signs, and its interval against its own p-value."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import binom

from recdash.domain.kinds import Floats
from recdash.stats.sign_flips import p_value, ratio_interval


def over_all_signs(values: Floats) -> float:
    """Returns the two-sided p-value over all combinations of signs; a tie counts half."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(values))))
    sums, observed = np.abs(signs @ values), abs(values.sum())
    ties = np.isclose(sums, observed)
    return float(((sums > observed) & ~ties).mean() + ties.mean() / 2)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("whole", [True, False])
def test_the_p_value_is_that_over_all_combinations_of_signs(seed: int, whole: bool) -> None:
    chance = np.random.default_rng(seed)
    values = chance.integers(-3, 5, 14).astype(float) if whole else chance.normal(0.5, 2, 14)
    assert p_value(values) == pytest.approx(over_all_signs(values), abs=0.02)


def test_equal_signs_are_one_combination_on_either_side() -> None:
    assert p_value(np.array([3.0, 1.0, 2.0, 2.0, 5.0])) == pytest.approx(2**-5)  # 2 · ½ · 2⁻⁵
    assert p_value(np.array([-3.0, -1.0, 0.0, -2.0])) == pytest.approx(2**-3)


def test_an_even_sum_and_zeros_say_nothing() -> None:
    assert p_value(np.array([2.0, -2.0, 1.0, -1.0])) == 1.0
    assert p_value(np.zeros(5)) == 1.0


def test_a_large_sample_is_judged_as_by_the_normal_distribution() -> None:
    values = np.repeat([1.0, -1.0], [5098, 4902])  # 196 / √10,000 = 1.96 standard errors
    assert p_value(values) == pytest.approx(0.05, abs=0.0002)


@pytest.mark.parametrize("seed", range(20))
def test_the_interval_excludes_zero_exactly_if_p_is_below_five_percent(seed: int) -> None:
    chance = np.random.default_rng(seed)
    totals = chance.integers(1, 9, 40).astype(float)
    wins = chance.binomial(totals.astype(int), 0.62)
    differences = 2 * wins - totals
    ends = ratio_interval(differences, totals)
    assert ends is not None
    low, high = ends
    assert low <= differences.sum() / totals.sum() <= high
    assert (p_value(differences) < 0.05) == (low > 0 or high < 0)
    for end in ends:
        assert p_value(differences - end * totals) == pytest.approx(0.05, abs=1e-6)


def test_units_that_all_have_the_largest_ratio_leave_an_interval() -> None:
    # (1 − q)¹² = 0.05, so q = 0.2209: with more, 12 units without the other sign are too unlikely
    assert ratio_interval(np.full(12, 2.0), np.full(12, 2.0)) == pytest.approx((0.5582, 1.0), abs=1e-4)
    assert ratio_interval(np.full(12, -2.0), np.full(12, 2.0)) == pytest.approx((-1.0, -0.5582), abs=1e-4)


@pytest.mark.parametrize("n", [20, 30, 100])
@pytest.mark.parametrize(("common", "other"), [(1.0, -1.0), (0.0, 1.0), (0.5, -1.0), (0.5, 0.4)])
def test_few_units_that_differ_leave_an_interval_that_covers(n: int, common: float, other: float) -> None:
    intervals = {m: ratio_interval(np.repeat([common, other], [n - m, m]), np.ones(n)) for m in range(n + 1)}
    shown = {m: ends for m, ends in intervals.items() if ends is not None}  # none where all are alike
    for share in (0.01, 0.03, 0.05, 0.1, 0.2):
        truth = common + share * (other - common)
        chance = {m: binom.pmf(m, n, share) for m in shown}
        covered = sum(chance[m] for m, (low, high) in shown.items() if low <= truth <= high)
        # the worst is 0.932, where 5 to 15 of 100 units differ; 0.0 to 0.9 without the binomial share
        assert covered / sum(chance.values()) > 0.92


@pytest.mark.parametrize(("m", "n"), [(1, 40), (3, 40), (4, 200)])
def test_few_units_that_differ_have_the_mid_p_interval_of_a_binomial_share(m: int, n: int) -> None:
    ends = ratio_interval(np.repeat([1.0, -1.0], [n - m, m]), np.ones(n))
    assert ends is not None
    q = (1 - ends[0]) / 2
    assert binom.cdf(m - 1, n, q) + binom.pmf(m, n, q) / 2 == pytest.approx(0.025, abs=1e-6)
    assert ends[1] == 1.0


@pytest.mark.parametrize("n", range(3, 8))
def test_units_of_one_sign_exclude_zero_exactly_if_p_is_below_five_percent(n: int) -> None:
    ends = ratio_interval(np.ones(n), np.ones(n))
    assert (p_value(np.ones(n)) < 0.05) == (ends is not None and ends[0] > 0)


def test_an_end_that_is_not_rejected_is_the_largest_ratio() -> None:
    # Of 100 units, 3 differ from the ratio 1: the p-value of that is 2⁻³, so 1 is in the interval.
    numerators = np.repeat([5.0, 0.0], [97, 3])
    ends = ratio_interval(numerators, np.full(100, 5.0))
    assert ends is not None
    assert 0 < ends[0] < 0.97
    assert ends[1] == 1.0


def test_p_values_near_one_keep_their_digits_with_many_units() -> None:
    # Σ = 4 of a million units of size 1 and as many of size 2: z = 4 / √5,000,000 = 0.00179, whose two
    # tails are 1 − 2 · 0.00179 / √(2π) = 0.99857
    sizes = np.repeat([1.0, 2.0], 1_000_000)
    signs = np.tile([1.0, -1.0], 1_000_000)
    values = sizes * signs
    values[1], values[3] = 1.0, 1.0
    assert values.sum() == 4
    assert p_value(values) == pytest.approx(0.99857, abs=1e-5)


def test_too_few_units_reject_no_ratio() -> None:
    assert ratio_interval(np.array([1.0, -1.0]), np.array([1.0, 1.0])) is None


def test_units_of_one_ratio_say_nothing_of_others() -> None:
    totals = np.repeat([2.0, 4.0, 6.0], 10)
    assert ratio_interval(totals / 2, totals) is None
    assert ratio_interval(totals * 0.1, totals) is None
    assert ratio_interval(np.append(totals / 2, 1.0), np.append(totals, 4.0)) is not None


def test_a_few_units_with_most_of_the_total_count_for_few() -> None:
    # (3 · 40 + 60)² / (3 · 40² + 60) = 6.67 units, so 1 − q = 0.05^(1 / 6.67) and 2(1 − q) − 1 = 0.2761
    totals = np.repeat([40.0, 1.0], [3, 60])
    effective = 180**2 / 4860
    assert ratio_interval(totals, totals) == pytest.approx((2 * 0.05 ** (1 / effective) - 1, 1.0))


def test_the_order_of_units_changes_no_digit() -> None:
    chance = np.random.default_rng(3)
    totals = chance.random(500) + 1
    values = totals * chance.uniform(-1, 1, 500)
    order = chance.permutation(500)
    assert p_value(values) == p_value(values[order])
    assert ratio_interval(values, totals) == ratio_interval(values[order], totals[order])
