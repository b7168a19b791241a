"""One statistic of a variant against the control: p, intervals of lift and difference, and power."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

from recdash.domain.kinds import Floats
from recdash.online import OnlineMetric, OnlineRules
from recdash.online.analysis import comparison
from recdash.online.analysis.choice import of_users
from recdash.online.analysis.comparison import (
    RateComparison,
    SplitComparison,
    WelchComparison,
    WithoutLift,
    users_for_normal,
)
from recdash.online.analysis.pair_values import PairValues, pair_values
from recdash.online.analysis.power import smallest_lift, users_for
from recdash.online.counts import Count, difference_interval, score_p_value

TIME = OnlineMetric("time", "Time", "", "", "time")
PER_SESSION = OnlineMetric("time", "Time", "", "", "time", "sessions")
BOUGHT = OnlineMetric("bought", "Bought", "", "", "time")


def pair(
    seed: int, n: tuple[int, int], *, ratio: bool = False, earlier: bool = False, lift: float = 0.0
) -> PairValues:
    """Watch time with a heavy tail, 30 % of users without any."""
    rng = np.random.default_rng(seed)
    users, code = sum(n), np.repeat([0, 1], n)
    level = rng.lognormal(0, 1, users)
    sessions = 1.0 + rng.poisson(2, users)
    time = level * rng.lognormal(0, 0.7, users) * (rng.random(users) < 0.7) * np.where(code == 1, 1 + lift, 1)
    before = {"time": level * rng.lognormal(0, 0.5, users), "sessions": 1.0 + rng.poisson(2, users)}
    metric = PER_SESSION if ratio else TIME
    totals = {"time": time, "sessions": sessions}
    return pair_values(metric, totals, before if earlier else {}, code, 0, 1)


# ── one statistic ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("n", [(15, 15), (90, 10), (300, 300)])
def test_p_is_below_the_level_exactly_where_both_intervals_exclude_no_effect(
    n: tuple[int, int], ratio: bool, earlier: bool
) -> None:
    told = set()
    for seed in range(12):
        users = pair(seed, n, ratio=ratio, earlier=earlier, lift=0.3 * (seed % 4))
        for tested in (SplitComparison(users), WelchComparison(*users.sides())):
            for level in (0.8, 0.95):
                excludes = tested.p < 1 - level
                for estimate in (tested.lift(level), tested.difference(level)):
                    if estimate.low is not None and estimate.high is not None:
                        assert (estimate.low > 0 or estimate.high < 0) == excludes
                        assert estimate.low <= (estimate.value or 0.0) <= estimate.high
                        told.add(excludes)
    assert told == {True, False}


def test_the_p_of_few_users_of_a_ratio_is_that_of_all_splits() -> None:
    """By enumeration of the 12,870 splits of 16 users; half of the probability of ties counts."""
    compared = 0
    for seed in range(12):
        users = pair(seed, (8, 8), ratio=True, lift=3.0)
        rest = users.numerator - users.numerator.sum() / users.denominator.sum() * users.denominator
        totals = np.array([rest[list(chosen)].sum() for chosen in combinations(range(16), 8)])
        total = rest[users.is_variant].sum()
        tails = [(side * totals > side * total + 1e-9).mean() + 0.5 / len(totals) for side in (1, -1)]
        if 2 * min(tails) < 0.2:
            compared += 1
            assert SplitComparison(users).p == pytest.approx(2 * min(tails), abs=0.015), seed
    assert compared > 3


def test_the_ends_of_the_interval_are_the_lifts_that_the_test_just_rejects() -> None:
    users = pair(4, (60, 30))
    lift = SplitComparison(users).lift(0.95)
    for end in (lift.low, lift.high):
        scaled = np.where(users.is_variant, users.numerator / (1 + (end or 0.0)), users.numerator)
        assert SplitComparison(PairValues(scaled, users.denominator, users.is_variant)).p == pytest.approx(
            0.05, rel=1e-4
        )
    difference = SplitComparison(users).difference(0.95)
    for end in (difference.low, difference.high):
        shifted = np.where(users.is_variant, users.numerator - (end or 0.0), users.numerator)
        assert SplitComparison(PairValues(shifted, users.denominator, users.is_variant)).p == pytest.approx(
            0.05, rel=1e-4
        )


def test_a_variant_with_twice_the_values_has_twice_the_interval() -> None:
    users = pair(5, (200, 40), earlier=False)
    twice = PairValues(
        np.where(users.is_variant, 2 * users.numerator, users.numerator), users.denominator, users.is_variant
    )
    one, other = SplitComparison(users).lift(0.95), SplitComparison(twice).lift(0.95)
    for end, of_twice in zip(one[:3], other[:3], strict=True):
        assert 1 + (of_twice or 0.0) == pytest.approx(2 * (1 + (end or 0.0)), rel=1e-6)


def test_the_order_of_users_changes_no_number() -> None:
    users = pair(6, (150, 50), ratio=True, earlier=True)
    order = np.random.default_rng(0).permutation(200)
    assert users.covariate is not None
    again = PairValues(
        users.numerator[order], users.denominator[order], users.is_variant[order], users.covariate[order]
    )
    for first, second in (
        (SplitComparison(users), SplitComparison(again)),
        (WelchComparison(*users.sides()), WelchComparison(*again.sides())),
    ):
        assert first.p == second.p
        assert first.lift(0.95)[:4] == pytest.approx(second.lift(0.95)[:4], rel=1e-7)
        assert first.difference(0.95)[:4] == pytest.approx(second.difference(0.95)[:4], rel=1e-7)


def test_equal_variants_are_told_apart_in_5_percent_of_small_lopsided_tests() -> None:
    """Twenty of 200 users: 5 % and three standard errors of 600 tries are 2.3 to 7.7 %."""
    called = np.mean([(of_users(TIME, pair(seed, (180, 20))).shown.p or 1) < 0.05 for seed in range(600)])
    assert 0.023 < called < 0.077


# ── Welch and Fieller ────────────────────────────────────────────────────────────────────────


def gamma_pair(seed: int, n: tuple[int, int]) -> PairValues:
    values = np.random.default_rng(seed).gamma(9, 1, sum(n))
    return pair_values(TIME, {"time": values}, {}, np.repeat([0, 1], n), 0, 1)


def test_many_users_with_little_skewness_have_welchs_t() -> None:
    """A gamma distribution of shape 9 has the skewness 2/3, so that Kohavi's rule asks for 158 users."""
    users = gamma_pair(1, (900, 400))
    assert users_for_normal(users) == comparison.LARGE
    shown = of_users(TIME, users).shown
    expected = stats.ttest_ind(
        users.numerator[users.is_variant], users.numerator[~users.is_variant], equal_var=False
    )
    assert shown.method == "Welch's t"
    assert shown.p == pytest.approx(expected.pvalue, rel=1e-9)
    ends = expected.confidence_interval(0.95)
    assert shown.difference(0.95)[1:3] == pytest.approx((ends.low, ends.high))


def test_at_the_ends_of_fiellers_interval_t_is_at_its_level() -> None:
    shown = of_users(TIME, gamma_pair(2, (900, 400))).shown
    assert isinstance(shown, WelchComparison)
    critical = stats.t.ppf(0.975, shown._df)
    for end in shown.lift(0.95)[1:3]:
        ratio = 1 + (end or 0.0)
        error = math.sqrt(shown.variant.squared_error + ratio**2 * shown.control.squared_error)
        assert abs(shown.variant.value - ratio * shown.control.value) / error == pytest.approx(critical)


def test_splits_and_welch_agree_where_both_are_valid() -> None:
    for seed in range(5):
        users = gamma_pair(seed, (900, 400))
        assert SplitComparison(users).p == pytest.approx(WelchComparison(*users.sides()).p, abs=0.01)


# ── rates ────────────────────────────────────────────────────────────────────────────────────


def test_the_score_test_of_rates_is_pearsons_without_its_last_user() -> None:
    control, variant = Count(30, 200), Count(50, 210)
    statistic = stats.chi2_contingency([[30, 170], [50, 160]], correction=False).statistic * 409 / 410
    assert score_p_value(control, variant) == pytest.approx(stats.chi2.sf(statistic, 1))


@pytest.mark.parametrize("counts", [(Count(3, 40), Count(9, 35)), (Count(0, 20), Count(5, 20))])
def test_at_the_ends_of_the_interval_of_a_difference_the_score_is_at_its_level(
    counts: tuple[Count, Count],
) -> None:
    """The likeliest rates with this difference are searched for instead of solving their equation."""
    control, variant = counts
    total = control.n + variant.n
    for end in difference_interval(*counts, 0.95):

        def unlikely(rate: float, end: float = end) -> float:
            rates = np.clip([rate - end, rate], 1e-12, 1 - 1e-12)
            ones, n = np.array([control.successes, variant.successes]), np.array([control.n, variant.n])
            return -float(ones @ np.log(rates) + (n - ones) @ np.log1p(-rates))

        bounds = max(0.0, end), min(1.0, 1 + end)
        rate = minimize_scalar(unlikely, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x
        variance = rate * (1 - rate) / variant.n + (rate - end) * (1 - rate + end) / control.n
        distance = variant.rate - control.rate - end
        assert abs(distance) / math.sqrt(variance * total / (total - 1)) == pytest.approx(1.959964, rel=1e-4)


def test_rates_have_p_and_intervals_of_one_test() -> None:
    for successes in range(20, 60):
        tested = RateComparison(Count(40, 400), Count(successes, 300), is_exact=False)
        excludes = tested.p < 0.05
        for estimate in (tested.lift(0.95), tested.difference(0.95)):
            assert (estimate.low > 0 or estimate.high < 0) == excludes  # type: ignore[operator]


# ── withheld, with a reason ──────────────────────────────────────────────────────────────────


def test_thirty_users_are_compared_if_the_split_is_even_and_otherwise_the_reason_is_given() -> None:
    assert of_users(TIME, pair(1, (15, 15))).shown.p is not None
    shown = of_users(TIME, pair(1, (27, 3))).shown
    assert (shown.p, shown.lift(0.95).low) == (None, None)
    assert shown.lift(0.95).note == "3 users of the variant: a valid interval needs about 10 users"


def test_a_few_users_who_differ_call_nothing_and_rule_out_a_loss_of_all_others() -> None:
    """Of 200 users on each side one has 2 and the others 1; a loss of 2 % would be one of every user."""
    values = np.ones(400)
    values[[199, 399]] = 2.0
    shown = of_users(TIME, pair_values(TIME, {"time": values}, {}, np.arange(400) // 200, 0, 1)).shown
    lift = shown.lift(0.95)
    assert (lift.value, shown.p) == (pytest.approx(0.0), pytest.approx(1.0))
    assert -0.02 < lift.low < 0 < lift.high < 0.02  # type: ignore[operator]


def test_a_control_of_0_is_judged_by_the_difference() -> None:
    values = np.concatenate([np.zeros(40), np.random.default_rng(1).lognormal(0, 1, 40)])
    shown = of_users(TIME, pair_values(TIME, {"time": values}, {}, np.arange(80) // 40, 0, 1)).shown
    assert isinstance(shown, WithoutLift)
    assert shown.lift(0.95)[:3] == (None, None, None)
    assert "the control is 0" in shown.lift(0.95).note
    assert shown.difference(0.95).low > 0  # type: ignore[operator]
    assert (shown.p or 1) < 0.05


def test_a_control_near_0_has_a_difference_and_no_upper_end_of_the_lift() -> None:
    """Two of 40 users of the control are above 0: they would be in one group in every fourth split."""
    rng = np.random.default_rng(2)
    values = np.concatenate([[1.0, 1.5], np.zeros(38), rng.lognormal(0, 1, 40)])
    shown = of_users(TIME, pair_values(TIME, {"time": values}, {}, np.arange(80) // 40, 0, 1)).shown
    lift = shown.lift(0.95)
    assert (lift.low, lift.note) == (None, comparison.NO_UPPER_END)
    assert shown.difference(0.95).low > 0  # type: ignore[operator]


# ── pre-test values ──────────────────────────────────────────────────────────────────────────


def test_pre_test_values_that_explain_the_metric_make_the_interval_narrower() -> None:
    chosen = of_users(TIME, pair(7, (500, 500), earlier=True))
    assert chosen.plain is not None
    widths = [
        math.log1p(one.lift(0.95).high or 0) - math.log1p(one.lift(0.95).low or 0) for one in chosen[:2]
    ]
    assert widths[0] < widths[1]


def test_pre_test_values_that_explain_nothing_are_not_used_and_it_says_so() -> None:
    users = pair(8, (100, 100), earlier=True)
    assert users.covariate is not None
    shuffled = np.random.default_rng(1).permutation(users.covariate)
    chosen = of_users(TIME, PairValues(users.numerator, users.denominator, users.is_variant, shuffled))
    assert chosen.plain is None
    assert chosen.note.startswith("not adjusted for pre-test behaviour")


def test_an_adjusted_lift_is_never_below_minus_100_percent() -> None:
    """Pre-test values that differ by variant far more than the metric would subtract more than it is."""
    rng = np.random.default_rng(0)
    code, within = np.repeat([0, 1], 60), rng.normal(0, 3, 120)
    totals = {"time": np.abs(4 + 3 * within + rng.normal(0, 1, 120))}
    users = pair_values(TIME, totals, {"time": 20 + within + 6 * code}, code, 0, 1)
    low = of_users(TIME, users).shown.lift(0.95).low
    assert low is None or low >= -1


# ── power ────────────────────────────────────────────────────────────────────────────────────


def test_the_smallest_lift_has_the_variance_of_each_variant() -> None:
    """(1.96 + .84) standard errors of the difference, in relation to the control."""
    users = gamma_pair(3, (900, 400))
    control, variant = (users.numerator[side] for side in (~users.is_variant, users.is_variant))
    error = math.sqrt(control.var(ddof=1) / 900 + variant.var(ddof=1) / 400)
    shown = of_users(TIME, users).shown
    expected = (1.959964 + 0.841621) * error / control.mean()
    assert smallest_lift(shown) == pytest.approx(expected, rel=1e-6)
    assert users_for(shown, 1_300, expected / 2) == pytest.approx(3 * 1_300, abs=2)
    assert users_for(shown, 1_300, 2 * expected) == 0


@pytest.mark.parametrize("n", [(200, 200), (900, 100)])
def test_the_smallest_lift_is_found_in_four_of_five_tests(n: tuple[int, int]) -> None:
    """80 % and three standard errors of 200 tries are 71 to 89 %."""
    called = []
    for seed in range(200):
        users = pair(seed, n)
        least = smallest_lift(SplitComparison(users)) or 0.0
        more: Floats = np.where(users.is_variant, (1 + least) * users.numerator, users.numerator)
        called.append(SplitComparison(PairValues(more, users.denominator, users.is_variant)).p < 0.05)
    assert 0.71 < np.mean(called) < 0.89


# ── tests stored before ──────────────────────────────────────────────────────────────────────


def test_tests_stored_before_keep_their_method() -> None:
    assert not OnlineRules().delta_method
    before = OnlineRules(bot_clicks=5, delta_method=True, clock_min=None)
    assert OnlineRules.of_stored({"bot_clicks": 5}) == before
    stored = OnlineRules(bot_clicks=5).as_dict()
    assert OnlineRules.of_stored(stored) == OnlineRules(bot_clicks=5)


@pytest.mark.parametrize("unit", [1e-150, 1e110])
def test_skewness_does_not_depend_on_the_unit_of_values(unit: float) -> None:
    values, side = np.array([0.0, 1.0, 2.0, 9.0] * 3), np.arange(12) % 2 == 0
    pair = PairValues(values * unit, np.ones(12), side)
    expected = stats.skew(values)  # both variants together
    assert comparison.skewness(pair) == pytest.approx(expected)
