"""Users drawn again, and pairs swapped: against the analytic answers and by counting every order."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from recdash.stats import (
    bootstrap,
    differences,
    grouped,
    paired_difference,
    permutation,
    wilcoxon,
)
from recdash.stats.groups import MOST_GROUPS
from recdash.stats.resampling import resampled_means

RNG = np.random.default_rng(7)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _drawn_alike_in_any_order() -> None:
    RNG.bit_generator.state = START


FIRST_LESS_SECOND = np.array([[0, 1]])


def test_few_users_are_drawn_one_by_one() -> None:
    values = RNG.random(100)
    found = grouped([values])
    assert found.sums[:, 0].tolist() == values.tolist()
    assert set(found.sizes.tolist()) == {1.0}


def test_of_many_users_groups_are_drawn_and_none_is_lost() -> None:
    n = 2 * MOST_GROUPS + 5
    values = RNG.random(n)
    found = grouped([values, 2 * values])
    assert len(found.sizes) == MOST_GROUPS
    assert found.sizes.sum() == n
    assert found.means.tolist() == pytest.approx([values.mean(), 2 * values.mean()])
    assert found.sums[0, 0] == pytest.approx(values[[0, MOST_GROUPS, 2 * MOST_GROUPS]].sum())


@pytest.mark.parametrize("n", [50, 3 * MOST_GROUPS + 1])
def test_the_covariance_of_the_means_is_that_of_the_values_over_n(n: int) -> None:
    first = RNG.random(n)
    values = np.column_stack([first, first + RNG.random(n)])
    found = grouped(values.T).covariance_of_means()
    tolerance = 1e-12 if n < MOST_GROUPS else 0.1
    assert found == pytest.approx(np.cov(values.T) / n, rel=tolerance)


@pytest.mark.parametrize("n", [2_000, pytest.param(3 * MOST_GROUPS, marks=pytest.mark.long)])
def test_the_bootstrap_interval_is_within_2_percent_of_the_analytic_one(n: int) -> None:
    values = RNG.exponential(size=n) * (RNG.random(n) < 0.3)
    expected = paired_difference(values, np.zeros(n))
    (low,), (high,) = bootstrap(grouped([values, np.zeros(n)]), FIRST_LESS_SECOND)
    width = expected.high - expected.low
    assert low == pytest.approx(expected.low, abs=0.02 * width)
    assert high == pytest.approx(expected.high, abs=0.02 * width)


def test_the_same_users_are_drawn_for_every_column() -> None:
    values = RNG.random(300)
    means = resampled_means(grouped([values, values + 1]), draws=50)
    assert (means[:, 1] - means[:, 0]).tolist() == pytest.approx([1.0] * 50)


def test_draws_are_the_same_each_time() -> None:
    groups = grouped([RNG.random(40)])
    assert (resampled_means(groups, 30) == resampled_means(groups, 30)).all()
    assert (resampled_means(groups, 30) != resampled_means(groups, 30, seed=1)).any()


def test_all_pairs_of_runs_are_those_of_their_differences_one_by_one() -> None:
    """More pairs than are worked out at once; each as if it stood alone with a run of zeros."""
    runs = [RNG.random(40) * (RNG.random(40) < 0.5) for _ in range(24)]
    pairs = np.array([(b, a) for a, b in combinations(range(24), 2)])
    lows, highs = bootstrap(grouped(runs), pairs, draws=300)
    p = permutation(grouped(runs), pairs, draws=300)
    assert len(pairs) == 24 * 23 / 2 > 256
    for at in (0, 100, 275):
        b, a = pairs[at]
        alone = grouped([differences(runs[b], runs[a]), np.zeros(40)])
        (low,), (high,) = bootstrap(alone, FIRST_LESS_SECOND, draws=300)
        assert (lows[at], highs[at]) == pytest.approx((low, high), abs=1e-14)
        assert p[at] == permutation(alone, FIRST_LESS_SECOND, draws=300)[0]


def test_equal_runs_have_a_bootstrap_interval_of_nothing() -> None:
    values = RNG.random(100)
    (low,), (high,) = bootstrap(grouped([values, values + 1e-15]), FIRST_LESS_SECOND, draws=100)
    assert (low, high) == (0.0, 0.0)


def test_permutation_counts_every_order_of_six_users() -> None:
    """Of the 64 ways to swap labels, so many give a mean at least as far from 0."""
    changes = np.array([0.5, -0.1, 0.4, 0.3, 0.2, -0.3])
    seen = abs(changes.sum())
    as_far = sum(abs(np.dot(signs, changes)) >= seen - 1e-12 for signs in product((-1, 1), repeat=6))
    (found,) = permutation(grouped([changes, np.zeros(6)]), FIRST_LESS_SECOND, draws=200_000)
    assert found == pytest.approx(as_far / 64, abs=0.004)


def test_permutation_of_no_change_is_1_and_never_0() -> None:
    level = RNG.random(500)
    assert permutation(grouped([level, level]), FIRST_LESS_SECOND, draws=99).tolist() == [1.0]
    assert permutation(grouped([level + 1, level]), FIRST_LESS_SECOND, draws=99).tolist() == [1 / 100]


def test_wilcoxon_of_no_change_is_1() -> None:
    assert wilcoxon(np.ones(4), np.ones(4)) == 1.0


def test_wilcoxon_of_five_gains_is_two_of_32_orders() -> None:
    assert wilcoxon(np.array([0.1, 0.2, 0.3, 0.4, 0.5]), np.zeros(5)) == pytest.approx(2 / 32)


def test_equivalence_is_two_one_sided_tests() -> None:
    from scipy import stats as scipy_stats

    values = 0.01 + 0.1 * RNG.standard_normal(400)
    above = scipy_stats.ttest_1samp(values, -0.03, alternative="greater").pvalue
    below = scipy_stats.ttest_1samp(values, 0.03, alternative="less").pvalue
    found = paired_difference(values, np.zeros(400)).method.p_beyond(0.03)
    assert found == pytest.approx(max(above, below), rel=1e-6)


def test_rounding_is_no_change() -> None:
    assert differences(np.array([0.1 + 0.2]), np.array([0.3])).tolist() == [0.0]


# ── how often chance is called a difference ──────────────────────────────────────────────────


def test_a_run_against_itself_is_rejected_in_4_to_6_of_100_tries() -> None:
    """2,000 halves of shuffled users against the other halves, with the values of a real-looking metric."""
    values = RNG.beta(0.4, 3, 1_000) * (RNG.random(1_000) < 0.4)
    rejected = 0
    for _ in range(2_000):
        shuffled = RNG.permutation(values)
        rejected += paired_difference(shuffled[:500], shuffled[500:]).p < 0.05
    assert 0.04 <= rejected / 2_000 <= 0.06


def test_holm_keeps_the_chance_of_a_single_false_finding_among_five_candidates() -> None:
    from recdash.stats import judge

    families = 2_000
    found = 0
    for _ in range(families):
        baseline = RNG.exponential(size=150)
        runs = [baseline + 0.5 * RNG.standard_normal(150) for _ in range(5)]
        judged = judge([paired_difference(run, baseline) for run in runs])
        found += any(one.word != "not settled" for one in judged)
    assert found / families <= 0.06
    assert found / families >= 0.02  # it is not merely silent
