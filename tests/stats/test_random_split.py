"""Tests of random splits: all of them by enumeration, many of them by scipy, and exact tables."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from recdash.domain.kinds import Floats
from recdash.stats.random_split import MOST_DISTINCT, RandomSplits, binned, p_value


def skewed(seed: int, n: int, zeros: float = 0.3) -> Floats:
    rng = np.random.default_rng(seed)
    return rng.lognormal(0, 1, n) * (rng.random(n) >= zeros)


def mid_p(totals: Floats, total: float) -> float:
    """The share of splits with a larger total, and half of those with the same one."""
    larger = (totals > total + 1e-9).mean()
    return float(larger + (np.abs(totals - total) <= 1e-9).mean() / 2)


@pytest.mark.parametrize(("n", "size"), [(16, 8), (17, 5), (17, 12)])
@pytest.mark.parametrize("seed", range(4))
def test_tails_are_those_of_all_splits(seed: int, n: int, size: int) -> None:
    """Near the ends of a 95 % interval, within half a percentage point."""
    values = skewed(seed, n)
    totals = np.array([values[list(chosen)].sum() for chosen in combinations(range(n), size)])
    splits = RandomSplits(values, size)
    for quantile in (0.01, 0.025, 0.975, 0.99):
        total = float(np.quantile(totals, quantile, method="nearest"))
        tail = stats.norm.sf(splits.deviate(total))
        assert tail == pytest.approx(mid_p(totals, total), abs=0.008), quantile


@pytest.mark.parametrize(("n", "size"), [(200, 20), (300, 150), (5_000, 500)])
def test_p_is_that_of_scipys_random_permutations(n: int, size: int) -> None:
    """Its error with 20,000 permutations of a p of .05 is .0031 (two standard errors)."""
    values = skewed(1, n)
    for shift in (0.3, 0.6):
        error = np.std(values) * np.sqrt(1 / size + 1 / (n - size))
        second = values[:size] - values[:size].mean() + values[size:].mean() + 4 * shift * error
        expected = stats.permutation_test(
            (second, values[size:]), lambda a, b, axis: a.mean(axis) - b.mean(axis), vectorized=True,
            n_resamples=19_999, batch=500, rng=np.random.default_rng(0),
        ).pvalue  # fmt: skip
        assert p_value(values[size:], second) == pytest.approx(expected, abs=0.01 + 0.1 * expected)


def test_zeros_and_ones_have_the_mid_p_of_the_hypergeometric_distribution() -> None:
    values = np.repeat([1.0, 0.0], [12, 48])
    splits, chance = RandomSplits(values, 20), stats.hypergeom(60, 12, 20)
    for ones in range(1, 12):
        expected = chance.sf(ones) + chance.pmf(ones) / 2
        assert stats.norm.sf(splits.deviate(ones)) == pytest.approx(expected, rel=0.15, abs=5e-3)


def test_the_largest_total_has_half_the_probability_of_its_splits() -> None:
    """All 3 values above 0 are among 5 of 12 users in C(9, 2) of C(12, 5) splits."""
    splits = RandomSplits(np.array([0.0] * 9 + [1.0, 2.0, 5.0]), 5)
    assert stats.norm.sf(splits.deviate(8.0)) == pytest.approx(comb(9, 2) / comb(12, 5) / 2)
    assert stats.norm.cdf(splits.deviate(0.0)) == pytest.approx(comb(9, 5) / comb(12, 5) / 2)


def test_larger_totals_have_larger_deviates_without_a_step_near_the_middle() -> None:
    values = skewed(2, 60)
    splits, middle = RandomSplits(values, 20), 20 * values.mean()
    deviates = [splits.deviate(middle + distance) for distance in np.linspace(-6, 6, 601)]
    steps = np.diff(deviates)
    assert steps.min() > 0
    assert steps.max() < 5 * np.median(steps)


def test_equal_values_and_groups_that_change_places() -> None:
    assert p_value(np.full(5, 0.1), np.full(7, 0.1)) == 1.0
    first, second = skewed(3, 30), skewed(4, 50) * 1.5
    assert p_value(first, second) == pytest.approx(p_value(second, first), rel=1e-6)
    assert p_value(first[::-1], second[::-1]) == p_value(first, second)
    assert p_value(1e6 * first, 1e6 * second) == pytest.approx(p_value(first, second), rel=1e-6)


def test_bins_keep_sums_and_squares_and_change_no_tail() -> None:
    values = skewed(5, 20_000)
    values = (values - values.mean()) / values.std()
    value, weight = binned(values)
    assert len(value) < MOST_DISTINCT
    assert weight.sum() == pytest.approx(20_000)
    assert weight @ value == pytest.approx(0.0, abs=1e-6)
    assert weight @ value**2 == pytest.approx(20_000)
    assert weight @ value**3 == pytest.approx((values**3).sum(), rel=1e-3)


def test_equal_groups_are_told_apart_in_5_percent_of_the_tries_however_skewed_and_uneven() -> None:
    """Twenty of 200 users: 5 % and three standard errors of 2,000 tries are 3.5 to 6.5 %."""
    rng = np.random.default_rng(6)
    tries = (rng.lognormal(0, 1.5, 200) * (rng.random(200) < 0.6) for _ in range(2_000))
    called = np.mean([p_value(values[20:], values[:20]) < 0.05 for values in tries])
    assert 0.035 < called < 0.065
