"""The t of a skewed mean: how often it refutes the truth, by exact chances, and its agreement with itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from recdash.stats import paired_difference
from recdash.stats.all_pairs import compare_all_pairs
from recdash.stats.groups import MOST_GROUPS, grouped
from recdash.stats.ranks import rank_runs
from recdash.stats.skewed import SKEWED, skewness_of_mean, skewness_of_means, unskewed, with_skewness
from recdash.stats.sparse import StudentT


def gains_and_losses(n: int, losses: int, gain: float) -> tuple[np.ndarray, np.ndarray]:
    """Of n users so many lose 1, the others gain."""
    candidate, baseline = np.full(n, gain), np.zeros(n)
    candidate[:losses], baseline[:losses] = 0.0, 1.0
    return candidate, baseline


def refuted(n: int, share: float) -> np.ndarray:
    """[2] chances to find the candidate better and to find it worse, where this share loses what others gain.

    Binomial, each count with its exact chance: nothing is drawn.
    """
    found = np.zeros(2)
    mean, spread = n * share, (n * share * (1 - share)) ** 0.5
    for losses in range(int(mean - 5 * spread), int(mean + 5 * spread)):
        difference = paired_difference(*gains_and_losses(n, losses, share / (1 - share)), bound=1.0)
        assert isinstance(difference.method, StudentT)
        found += stats.binom.pmf(losses, n, share) * np.array([difference.low > 0, difference.high < 0])
    return found


def test_few_losses_against_many_gains_are_found_better_or_worse_in_one_of_forty() -> None:
    """Skewness −0.037: plain t finds 2.8 % better. The mean of several n, as counts are whole numbers."""
    assert np.mean([refuted(n, 0.05) for n in range(12_000, 12_400, 50)], axis=0) == pytest.approx(
        0.025, abs=5e-4
    )


@given(st.floats(-6, 6), st.floats(-0.05, 0.05))
def test_the_cubic_is_hall_s(t: float, skewness: float) -> None:
    """As Hall writes it: t + a·t²/3 + a²·t³/27 + a/6."""
    expected = t + skewness * t**2 / 3 + skewness**2 * t**3 / 27 + skewness / 6
    found = float(unskewed(np.array(t), np.array(skewness)))
    assert found == pytest.approx(expected if abs(skewness) > SKEWED else t, abs=1e-9)
    assert with_skewness(found, skewness) == pytest.approx(t, abs=1e-9)


@given(st.floats(-4, 4), st.sampled_from([-0.05, -0.006, 0.0, 0.02]))
def test_interval_p_and_equivalence_agree(t: float, skewness: float) -> None:
    """The interval at 1 − p ends at 0; that at 1 − 2p of two one-sided tests ends at the margin."""
    found = StudentT(5_000, t / 100, 0.01, skewness)
    if found.p < 0.95:
        assert min(map(abs, found.interval(1 - found.p))) == pytest.approx(0.0, abs=1e-9)
    widest = max(map(abs, found.interval(0.9)))
    assert found.p_beyond(widest) == pytest.approx(0.05)


def test_the_mirrored_difference_has_the_mirrored_interval() -> None:
    candidate, baseline = gains_and_losses(12_000, 620, 0.05)
    one, other = (
        paired_difference(*both, bound=1.0) for both in ((candidate, baseline), (baseline, candidate))
    )
    assert one.p == pytest.approx(other.p)
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low))
    assert one.method.name == "paired t-test, skewness removed"


def test_without_skewness_it_is_the_t_test() -> None:
    values = np.resize([1.0, -1.0, 0.0], 3_000)
    found = paired_difference(np.maximum(values, 0) + 0.03, np.maximum(-values, 0), bound=1.03)
    assert found.method.name == "paired t-test"
    assert found.p == pytest.approx(stats.ttest_1samp(values + 0.03, 0.0).pvalue)


def test_skewness_is_that_of_scipy_by_the_root_of_n() -> None:
    rng = np.random.default_rng(2)
    values = rng.exponential(size=500) * (rng.random(500) < 0.7)
    expected = stats.skew(values) / 500**0.5
    found = skewness_of_mean(values[values != 0], 500, float(values.mean()), float(values.std(ddof=1)))
    assert found == pytest.approx(expected)
    columns = np.column_stack([rng.random(500), values, values])
    columns[:, 1] += columns[:, 0]
    off = columns - columns.mean(axis=0)
    assert skewness_of_means(off)[0, 1] == pytest.approx(expected)
    assert skewness_of_means(off)[1, 0] == pytest.approx(-expected)
    assert skewness_of_means(off[:, [0, 0]]).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_many_runs_at_once_get_what_each_pair_gets() -> None:
    candidate, baseline = gains_and_losses(12_000, 620, 0.05)
    found = compare_all_pairs(np.column_stack([baseline, candidate]), bound=1.0)
    alone = paired_difference(candidate, baseline, bound=1.0)
    assert not found.sparse
    assert found.p()[0, 1] == pytest.approx(alone.p)
    assert found.interval(0, 1) == pytest.approx((alone.low, alone.high))
    assert found.interval(1, 0) == pytest.approx((-alone.high, -alone.low))


def test_ranks_allow_for_skewness() -> None:
    """The fewest losses that no longer tell gains from losses, though plain t does."""
    n, gain = 12_000, 0.05
    found = {
        count: paired_difference(*gains_and_losses(n, count, gain), bound=1.0) for count in range(510, 550)
    }
    losses = next(count for count, one in found.items() if one.p > 0.05)
    assert found[losses].t_p < 0.05
    for count, expected in ((losses, [1, 1]), (losses - 1, [1, 2])):
        runs = grouped(gains_and_losses(n, count, gain))
        assert rank_runs(runs, bound=1.0).rank.tolist() == expected


def test_groups_of_users_show_the_skewness_of_the_users() -> None:
    """Of 16,384 groups that of the mean is seen with an error of √6 / 16,384."""
    n = 3 * MOST_GROUPS
    candidate, baseline = gains_and_losses(n, n // 20, 0.05)
    order = np.random.default_rng(4).permutation(n)
    groups = grouped([baseline[order], candidate[order]])
    expected = stats.skew(candidate - baseline) / n**0.5
    assert skewness_of_means(groups.deviations)[0, 1] == pytest.approx(expected, abs=4 * 6**0.5 / MOST_GROUPS)
    assert abs(expected) > 20 * 6**0.5 / MOST_GROUPS
