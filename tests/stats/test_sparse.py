"""Tests of few users: exact probabilities by enumeration, and scipy where it has the test."""

from __future__ import annotations

from itertools import product
from math import comb, isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from recdash.stats import judge, paired_difference
from recdash.stats.bounded import WeightedMean
from recdash.stats.sparse import (
    FEW_CARRY,
    FEW_DIFFER,
    FEW_DISCORDANT,
    LEAST_SQUARES,
    BoundedMean,
    PairedProportions,
    StudentT,
    Unknown,
    clopper_pearson,
    method_for,
    sparse_pairs,
)


def chance(n: int, wins: int, losses: int, win: float, lose: float) -> float:
    """That of n users so many win and lose."""
    ways = comb(n, wins) * comb(n - wins, losses)
    return ways * win**wins * lose**losses * (1 - win - lose) ** (n - wins - losses)


def outcomes(n: int) -> list[tuple[int, int]]:
    return [(wins, losses) for wins, losses in product(range(n + 1), repeat=2) if wins + losses <= n]


# ── yes or no ────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 40), st.integers(0, 40))
def test_p_is_that_of_the_exact_binomial_test(wins: int, losses: int) -> None:
    found = PairedProportions(100, wins, losses, 1.0).p
    expected = stats.binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
    assert found == pytest.approx(expected)


@given(st.integers(0, 30), st.integers(0, 30), st.floats(0.5, 0.999))
def test_the_interval_of_a_share_is_that_of_scipy(count: int, more: int, level: float) -> None:
    n = count + more
    if n:
        expected = stats.binomtest(count, n).proportion_ci(level, "exact")
        assert clopper_pearson(count, n, level) == pytest.approx((expected.low, expected.high), abs=1e-9)
    else:
        assert clopper_pearson(0, 0, level) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
@pytest.mark.parametrize(("win", "lose"), [(0.01, 0.01), (0.1, 0.1), (0.5, 0.5), (0.05, 0.01), (0.3, 0.0)])
def test_the_interval_of_yes_or_no_outcomes_misses_the_truth_in_one_of_twenty_at_most(
    n: int, win: float, lose: float
) -> None:
    """Every outcome that n users can have, with its exact chance: nothing is drawn."""
    missed = sum(
        chance(n, *outcome, win, lose)
        for outcome in outcomes(n)
        for low, high in [PairedProportions(n, *outcome, 1.0).interval(0.95)]
        if not low <= win - lose <= high
    )
    assert missed <= 0.05


@given(st.integers(0, 30), st.integers(0, 30), st.floats(0.8, 0.999))
def test_the_interval_excludes_zero_exactly_where_p_is_small(wins: int, losses: int, level: float) -> None:
    for method in (
        PairedProportions(100, wins, losses, 1.0),
        BoundedMean(100, np.repeat([0.4, -0.4], [wins, losses]), 1.0),
    ):
        low, high = method.interval(level)
        if abs(method.p - (1 - level)) > 1e-6:
            assert (low > 0 or high < 0) == (method.p < 1 - level)


# ── between two bounds ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [2, 6, 12])
@pytest.mark.parametrize(
    ("win", "by", "lose"),  # the mean is win·by − lose·1
    [(0.2, 0.1, 0.02), (0.5, 0.1, 0.05), (0.9, 0.1, 0.09), (0.05, 1.0, 0.05), (0.4, 0.5, 0.0)],
)
def test_rare_large_losses_do_not_make_many_small_gains_significant(
    n: int, win: float, by: float, lose: float
) -> None:
    """The interval misses the true mean in one of twenty at most, though most samples show no loss."""
    missed = 0.0
    for wins, losses in outcomes(n):
        low, high = BoundedMean(n, np.repeat([by, -1.0], [wins, losses]), 1.0).interval(0.95)
        missed += chance(n, wins, losses, win, lose) * (not low <= win * by - lose <= high)
    assert missed <= 0.05


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (8, 1), (12, 3), (30, 15), (60, 30)])
def test_of_wins_and_losses_of_the_largest_size_p_is_that_of_the_exact_test(wins: int, losses: int) -> None:
    found = BoundedMean(100, np.repeat([1.0, -1.0], [wins, losses]), 1.0).p
    exact = stats.binomtest(wins, wins + losses).pvalue
    assert exact <= found <= 1.025 * exact


@pytest.mark.parametrize(("n", "gain"), [(5, 0.5), (40, 0.1), (300, 0.02)])
def test_p_of_equal_gains_by_hand(n: int, gain: float) -> None:
    """n gains g weigh less than one loss of 1: E exp(−g·E₁)ⁿ = (1 / (1 + g))ⁿ."""
    assert BoundedMean(n, np.full(n, gain), 1.0).p == pytest.approx(2 / (1 + gain) ** n, rel=0.025)


def test_p_is_the_chance_of_random_weights() -> None:
    rng = np.random.default_rng(4)
    differences = rng.uniform(-0.4, 0.6, 40)
    weighted = rng.exponential(size=(200_000, 41)) @ np.append(differences, -1.0)
    assert BoundedMean(90, differences, 1.0).p == pytest.approx(2 * np.mean(weighted <= 0), rel=0.05)


@pytest.mark.parametrize("n", [60, 80])
@pytest.mark.parametrize("lose", [1.5, 3.0])
def test_a_rare_loss_from_the_first_rank_against_gains_at_the_thirtieth_is_not_shipped(
    n: int, lose: float
) -> None:
    """Half of the users gain 1/30, so many of n lose 1: however they fall, the true mean is 0 or less."""
    lost = lose / n
    gain = min(1 / 30, lost / 0.5)
    wrong = 0.0
    for losses in range(12):
        for wins in range(n + 1 - losses):
            weight = chance(n, wins, losses, 0.5, lost)
            if weight > 1e-5:
                one = np.zeros(n)
                one[:wins], one[n - losses :] = gain, -1.0
                wrong += weight * (paired_difference(1 + one, np.ones(n), bound=1.0).low > 0)
    assert wrong <= 0.025


@settings(max_examples=30)
@given(
    st.integers(2, 6),
    st.lists(st.floats(-1, 1), min_size=3, max_size=3, unique=True),
    st.lists(st.floats(0.01, 1), min_size=3, max_size=3),
)
def test_few_users_of_any_three_differences_refute_the_true_mean_in_one_of_forty_at_most(
    n: int, values: list[float], weights: list[float]
) -> None:
    """Every outcome with its exact chance, on either side."""
    shares = np.array(weights) / sum(weights)
    mean, wrong = float(shares @ values), np.zeros(2)
    for counts in product(range(n + 1), repeat=3):
        if sum(counts) == n:
            seen = np.repeat(values, counts)
            refuted = [
                WeightedMean(of, 0, 1.0).chance_of_at_most(truth) < 0.025
                for of, truth in ((seen, mean), (-seen, -mean))
            ]
            wrong += stats.multinomial.pmf(counts, n, shares) * np.array(refuted)
    assert (wrong <= 0.025 + 1e-9).all()


def test_the_same_in_other_units_is_the_same() -> None:
    rng = np.random.default_rng(3)
    differences = rng.uniform(-0.2, 0.6, 12)
    small, large = BoundedMean(40, differences, 1.0), BoundedMean(40, 10 * differences, 10.0)
    assert large.p == pytest.approx(small.p)
    assert large.interval(0.9) == pytest.approx(tuple(10 * end for end in small.interval(0.9)))


# ── which method ─────────────────────────────────────────────────────────────────────────────


def method(differences: np.ndarray, n: int, *, binary: bool = False, bound: float | None = 1.0) -> type:
    padded = np.concatenate([differences, np.zeros(n - len(differences))])
    sd = float(padded.std(ddof=1)) if n > 1 else float("nan")
    return type(method_for(differences, n, float(padded.mean()), sd, bound, binary=binary))


def graded(differ: int) -> np.ndarray:
    return np.resize([0.3, -0.3, 0.25, -0.2, 0.15], differ)


def test_the_t_test_needs_differences_that_add_up_to_enough_of_the_largest() -> None:
    """Users who differ by 0.5 have Σd² = 0.25 each."""
    assert method(np.resize([0.5, -0.5], 4 * LEAST_SQUARES), 9_000) is StudentT
    assert method(np.resize([0.5, -0.5], 4 * LEAST_SQUARES - 1), 9_000) is BoundedMean
    assert method(np.resize([0.5, -0.5], 4 * LEAST_SQUARES), 9_000, bound=2.0) is BoundedMean


def test_few_yes_or_no_outcomes_that_differ_are_counted() -> None:
    assert method(np.resize([1.0, -1.0, 1.0], LEAST_SQUARES), 500, binary=True) is StudentT
    assert method(np.resize([1.0, -1.0, 1.0], FEW_DISCORDANT), 500, binary=True) is BoundedMean
    assert method(np.resize([1.0, -1.0, 1.0], FEW_DISCORDANT - 1), 500, binary=True) is PairedProportions


def test_without_a_bound_few_users_say_nothing() -> None:
    assert method(graded(FEW_DIFFER - 1), 500, bound=None) is Unknown
    assert method(graded(FEW_DIFFER), 500, bound=None) is StudentT
    assert method(np.full(200, 0.5), 200, bound=None) is Unknown  # no spread


def test_without_a_bound_the_t_test_needs_a_spread_that_no_few_users_carry() -> None:
    """300 users gain 0.01 and f lose 1: (300·0.0001 + f)² / (300·1e-8 + f), about f."""
    few, enough = (np.append(np.full(300, 0.01), np.full(f, -1.0)) for f in (FEW_CARRY - 1, FEW_CARRY + 1))
    assert method(few, 400, bound=None) is Unknown
    assert method(enough, 400, bound=None) is StudentT


def test_one_user_says_nothing() -> None:
    assert method(np.ones(1), 1) is Unknown


# ── what was wrong ───────────────────────────────────────────────────────────────────────────


def test_two_users_without_a_hit_are_no_tie() -> None:
    nothing = np.zeros(2)
    (found,) = judge([paired_difference(nothing, nothing, bound=1.0)], margins=[0.01])
    assert found.word == "not settled"
    assert found.paired.method.p_beyond(0.01) == 1.0


def test_ten_users_who_all_gain_leave_an_interval() -> None:
    """p = 2·2⁻¹⁰; at least 0.025^(1/10) = 0.69 of all differ, as many of these gain."""
    found = paired_difference(np.ones(10), np.zeros(10), bound=1.0)
    assert found.p == pytest.approx(2 / 1024)
    assert found.low == pytest.approx(0.025**0.1 * (2 * 0.025**0.1 - 1))


@pytest.mark.parametrize("n", [10, 20, 50])
def test_a_candidate_three_times_better_is_never_called_a_tie(n: int) -> None:
    """Hit rates of 1 % and 3 %: whatever these users show, ±1 % of the rate cannot be ruled in."""
    for wins, losses in outcomes(4):
        candidate, baseline = np.zeros(n), np.zeros(n)
        candidate[:wins], baseline[n - losses :] = 1.0, 1.0
        (found,) = judge(
            [paired_difference(candidate, baseline, bound=1.0)], margins=[0.01 * baseline.mean()]
        )
        assert found.word != "tie"


def test_equivalence_agrees_with_the_interval_of_twice_the_level() -> None:
    """Two one-sided tests at 5 % hold where the 90 % interval lies inside the margin."""
    found = paired_difference(
        *(np.resize(of, 400).astype(float) for of in ([0, 1, 0, 1], [0, 1, 0, 1])), bound=1.0
    )
    low, high = found.at(0.9).low, found.at(0.9).high
    assert found.method.p_beyond(high) == pytest.approx(0.05, abs=1e-6)
    assert low == pytest.approx(-high)
    assert isnan(paired_difference(np.ones(3), np.zeros(3)).method.p_beyond(0.1))


def test_equivalence_of_bounded_values_agrees_with_their_interval() -> None:
    """Of many graded differences and of few: the end of the 90 % interval is where its side has p = 5 %."""
    for values in (np.linspace(-0.2, 0.3, 50), np.repeat([0.4, -0.1, 0.0], [2, 1, 47])):
        found = paired_difference(np.maximum(values, 0), np.maximum(-values, 0), bound=1.0)
        assert isinstance(found.method, BoundedMean)
        widest = max(-found.at(0.9).low, found.at(0.9).high)
        assert found.method.p_beyond(widest) == pytest.approx(0.05, abs=1e-6)
        assert found.method.p_beyond(0.9 * widest) > 0.05


# ── many runs at once ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [40, 400])
def test_pairs_of_many_runs_get_the_method_of_each_pair(n: int) -> None:
    """Some columns differ for nobody, for few, for many; two are yes or no."""
    rng = np.random.default_rng(n)
    base = rng.random(n) * (rng.random(n) < 0.5)
    few = base.copy()
    few[: n // 20] = 1.0
    hits, more_hits = ((rng.random(n) < share).astype(float) for share in (0.1, 0.2))
    columns = np.column_stack([base, base, few, rng.random(n), hits, more_hits, np.zeros(n)])
    found = sparse_pairs(columns, n, 1.0)
    for row, column in product(range(columns.shape[1]), repeat=2):
        if row < column:
            alone = paired_difference(columns[:, column], columns[:, row], bound=1.0).method
            assert isinstance(found.get((row, column), StudentT(1, 0.0, 1.0)), type(alone))
            if (row, column) in found:
                assert found[row, column].p == pytest.approx(alone.p)
    assert {type(one) for one in found.values()} == {PairedProportions, BoundedMean}
