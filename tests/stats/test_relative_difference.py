"""The interval of a relative difference, against the closed form of Fieller and in simulated samples."""

from __future__ import annotations

from math import inf, sqrt

import numpy as np
import pytest
from scipy.stats import t

from recdash.stats.relative_difference import difference_from_share, relative_interval


def fieller(candidate: np.ndarray, baseline: np.ndarray, level: float) -> tuple[float, float]:
    """The ratios r for which the mean of c − r·b is within t standard errors of 0, less 1: the roots of
    (c̄ − r b̄)² = t² (s_cc − 2 r s_cb + r² s_bb) / n.
    """
    n = len(candidate)
    (cc, cb), (_, bb) = np.cov(candidate, baseline) * t.ppf(0.5 + level / 2, n - 1) ** 2 / n
    own, base = candidate.mean(), baseline.mean()
    a, b, c = base**2 - bb, own * base - cb, own**2 - cc
    root = sqrt(b**2 - a * c)
    return (b - root) / a - 1, (b + root) / a - 1


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_interval_of_unbounded_values_is_fiellers(level: float) -> None:
    rng = np.random.default_rng(1)
    baseline = rng.gamma(2, 1, 300)
    candidate = 0.9 * baseline + rng.normal(0, 0.5, 300)
    assert relative_interval(candidate, baseline, level) == pytest.approx(
        fieller(candidate, baseline, level), abs=1e-7
    )


def test_the_interval_ends_where_the_paired_difference_from_a_share_begins_to_include_0() -> None:
    rng = np.random.default_rng(2)
    baseline, candidate = rng.beta(1, 3, (2, 500))
    low, high = relative_interval(candidate, baseline, 0.95, 1.0)
    for end, side in ((low, "low"), (high, "high")):
        paired = difference_from_share(candidate, baseline, 1 + end, 0.95, 1.0)
        assert getattr(paired, side) == pytest.approx(0, abs=1e-6)


def test_a_lost_metric_ends_at_minus_100_percent() -> None:
    low, high = relative_interval(np.zeros(500), np.full(500, 0.5), 0.95, 1.0)
    assert low == -1
    assert -1 < high < -0.9


def test_a_baseline_that_may_be_0_has_no_upper_end() -> None:
    baseline, candidate = np.zeros(40), np.zeros(40)
    baseline[0] = candidate[:20] = 1
    low, high = relative_interval(candidate, baseline, 0.95, 1.0)
    assert 0 < low < 19
    assert high == inf


def test_the_interval_misses_the_true_relative_difference_in_at_most_one_of_20_samples() -> None:
    """Hits of both runs depend on the user: c is 0.9 times as likely as b, so that the truth is −10 %."""
    rng = np.random.default_rng(3)
    tries, missed = 400, 0
    for _ in range(tries):
        chance, luck = rng.beta(2, 3, 400), rng.random((2, 400))
        baseline, candidate = (luck[0] < chance) * 1.0, (luck[1] < 0.9 * chance) * 1.0
        low, high = relative_interval(candidate, baseline, 0.95, 1.0)
        missed += not low <= -0.1 <= high
    assert missed / tries <= 0.05 + 2 * sqrt(0.05 * 0.95 / tries)
