"""Small tests, sparse outcomes, lopsided splits: a valid interval, or none and the reason."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from online_results import results_of_upload
from scipy import stats

from recdash import ab_test
from recdash.domain.inputs import Upload
from recdash.online import OnlineMetric, OnlineResults, OnlineRow, OnlineRules
from recdash.online.agreement.agreement import quadrant
from recdash.online.analysis import grouped_lifts, judgement
from recdash.online.analysis.lift import arm, arms, chosen_lift, lift, with_shared_variance
from recdash.online.analysis.results import of_users
from recdash.online.counts import Count, p_value, ratio_interval
from recdash.online.logs.sessions import per_user
from recdash.online.validity import MANY_LOOKS, ONE_LOOK
from recdash.stats.sparse import clopper_pearson

BOUGHT = OnlineMetric("bought", "Bought", "", "", "bought")
TIME = OnlineMetric("time", "Time", "", "", "time")
RATE = replace(BOUGHT, high=1.0)
SUMMARY = replace(TIME, numerator="value")
"""Of a table that was added up."""


def of_rates(*counts: tuple[int, int]) -> OnlineResults:
    names = ["control", "new"]
    columns = {
        "variant": names, "metric": ["bought"] * 2, "n": [n for _, n in counts],
        "successes": [successes for successes, _ in counts], "trials": [n for _, n in counts],
    }  # fmt: skip
    return results_of_upload(Upload("aggregates", "test.csv", pa.table(columns), {}))


def of_count(count: Count) -> Any:
    """Aggregates of users who each have 0 or 1."""
    ones = np.repeat([1.0, 0.0], [count.successes, count.n - count.successes])
    return arms({"bought": ones}, np.zeros(count.n, dtype=np.int64))[0]


def new(found: OnlineResults) -> OnlineRow:
    return next(row for row in found.rows if row.variant == "new")


# ── rates of few successes ───────────────────────────────────────────────────────────────────


def test_no_success_of_20_against_5_of_20_has_a_score_interval_and_fishers_p() -> None:
    """The interval is that of statsmodels 0.14: confint_proportions_2indep(method="score")."""
    row = new(of_rates((5, 20), (0, 20)))
    assert (row.lift, row.lift_low) == (-1.0, -1.0)
    assert row.lift_high == pytest.approx(0.70484732383 - 1)
    assert row.p == pytest.approx(2 * math.comb(20, 5) / math.comb(40, 5))  # all five on one side
    assert row.word == "worse"
    assert "score interval" in row.note


def test_the_score_interval_is_that_of_another_library() -> None:
    """statsmodels 0.14 for 9 of 35 against 3 of 40."""
    assert ratio_interval(Count(3, 40), Count(9, 35), 0.95) == pytest.approx((1.09222869451, 11.1794973680))


def test_at_the_ends_of_the_score_interval_the_score_test_is_at_its_level() -> None:
    """Of equal rates it is Pearson's chi-square times (N − 1)/N: p at a ratio of 1 is .05 at an end of 1."""
    control, variant = Count(7, 30), Count(16, 30)
    chi2 = stats.chi2_contingency([[7, 23], [16, 14]], correction=False).statistic * 59 / 60
    level = 1 - float(stats.chi2.sf(chi2, 1))
    assert ratio_interval(control, variant, level)[0] == pytest.approx(1.0, abs=1e-9)


def test_a_control_without_a_success_has_no_lift_and_is_judged_by_the_difference() -> None:
    """All five successes on one side: p = 2 · C(20, 5) / C(40, 5) = .047; with four it is .106."""
    row = new(of_rates((0, 20), (5, 20)))
    assert (row.lift, row.lift_low, row.word) == (None, None, "better")
    assert row.p == pytest.approx(2 * math.comb(20, 5) / math.comb(40, 5))
    assert "the control is 0" in row.note
    assert row.difference == 0.25
    assert 0 < row.difference_low < 0.25 < row.difference_high  # type: ignore[operator]
    row = new(of_rates((0, 20), (4, 20)))
    assert (row.difference, row.difference_low, row.word) == (0.2, 0.0, "not settled")


def test_two_users_of_each_variant_settle_nothing() -> None:
    for control, variant in (((1, 2), (2, 2)), ((2, 2), (0, 2)), ((2, 2), (2, 2)), ((1, 2), (1, 2))):
        row = new(of_rates(control, variant))
        assert row.word == "not settled", (control, variant)
        assert row.lift_low < 0 < row.lift_high  # type: ignore[operator]


def test_the_exact_interval_of_a_rate_is_that_of_clopper_and_pearson() -> None:
    low, high = clopper_pearson(0, 20, 0.95)
    assert (low, high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    result = stats.binomtest(3, 40).proportion_ci(0.95, method="exact")
    assert clopper_pearson(3, 40, 0.95) == pytest.approx((result.low, result.high))
    row = new(of_rates((5, 20), (0, 20)))
    assert (row.ci_low, row.ci_high) == pytest.approx((0.0, high))


def test_a_rate_with_no_failure_at_all_is_compared_by_its_failures() -> None:
    row = new(of_rates((10_000, 10_000), (9_950, 10_000)))
    assert row.word == "worse"
    assert row.lift_low < -0.005 < row.lift_high < 0  # type: ignore[operator]


def small_tables(most: int) -> Iterator[tuple[Count, Count]]:
    """All tables of 2 to ``most`` users on each side whose control has a success."""
    for n, other_n in itertools.product(range(2, most + 1), repeat=2):
        for successes, others in itertools.product(range(1, n + 1), range(other_n + 1)):
            yield Count(successes, n), Count(others, other_n)


@pytest.mark.parametrize("level", [0.95, 0.975])
def test_an_interval_excludes_no_lift_exactly_where_its_p_is_below_the_level(level: float) -> None:
    """In every small table, so that whoever reads the interval says what the word says."""
    told = set()
    for counts in small_tables(most=5):
        result = lift(RATE, *(of_count(count) for count in counts), level)
        assert result.low is not None, counts
        assert result.p is not None, counts
        excludes = result.low > 0 or result.high < 0  # type: ignore[operator]
        assert excludes == (result.p < (1 - level) * (1 - 1e-9)), counts
        assert result.low <= result.value <= result.high, counts  # type: ignore[operator]
        told.add(excludes)
    assert told == {True, False}


def test_a_lift_that_is_not_settled_is_neither_won_nor_lost_online() -> None:
    """Four successes on one side of 2,000 users: p is 2 · C(1000, 4) / C(2000, 4) = .125."""
    row = new(of_rates((4, 1000), (0, 1000)))
    assert row.p == pytest.approx(2 * math.comb(1000, 4) / math.comb(2000, 4))
    assert row.word == "not settled"
    assert (row.lift_low, row.lift_high) == (-1.0, 0.0)
    assert quadrant(0.01, 0.02, row.lift_low, row.lift_high) == "undecided"


def test_a_p_that_equals_the_level_settles_nothing() -> None:
    """One success of 200 users is among the five of the control in one of 40: p = 2/40."""
    result = lift(RATE, of_count(Count(1, 5)), of_count(Count(0, 195)))
    assert result.p == pytest.approx(0.05)
    assert result.high == 0.0
    assert judgement.word(RATE, result, result.p) == "not settled"


def test_the_interval_of_a_mean_reaches_no_lift_where_its_p_does_not_exclude_it() -> None:
    """The interval is that of the logarithm, p that of the difference: near .05 they differ by a hair."""
    control, told = arm(20, 1.0, 0.01), set()
    for percent in range(30, 100):
        variant = arm(20, 1 + percent / 100, 2.0)
        result = lift(SUMMARY, control, variant)
        assert result.p is not None
        if result.p > 0.05:
            assert result.low <= 0 <= result.high  # type: ignore[operator]
        told.add(result.low == 0.0)
    assert told == {True, False}


def test_days_and_segments_reach_no_lift_where_their_p_does_not_exclude_it() -> None:
    code, told = np.repeat([0, 1], 20), set()
    noise = np.tile([-1.0, 1.0], 20) * np.repeat([0.1, 1.4], 20)
    for percent in range(50, 130):
        values = 1 + noise + code * percent / 100
        sums = grouped_lifts.added_up(values, None, code, 2)
        result, alone = (
            grouped_lifts.lifts(TIME, sums[:1], sums[1:]),
            lift(TIME, *arms({"time": values}, code)),
        )
        assert (result.low[0], result.high[0]) == pytest.approx(alone[1:3])
        told.add(bool(result.low[0] == 0.0))
    assert told == {True, False}


@pytest.mark.parametrize(
    ("n", "rate"), [((5, 5), 0.5), ((20, 20), 0.1), ((200, 20), 0.1), ((300, 300), 0.01)]
)
def test_equal_rates_of_few_users_are_hardly_ever_told_apart(n: tuple[int, int], rate: float) -> None:
    """The exact chance of a wrong claim, summed over all outcomes that are not impossibly rare."""
    wrong = 0.0
    likely = [np.flatnonzero(stats.binom.pmf(np.arange(size + 1), size, rate) > 1e-5) for size in n]
    for first in likely[0]:
        for second in likely[1]:
            counts = Count(int(first), n[0]), Count(int(second), n[1])
            if first and p_value(*counts) <= 0.05:
                low, high = ratio_interval(*counts, 0.95)
                chance = stats.binom.pmf(first, n[0], rate) * stats.binom.pmf(second, n[1], rate)
                wrong += chance * (not low <= 1 <= high)
    assert wrong < 0.05


def test_many_successes_have_the_interval_of_the_delta_method() -> None:
    row = new(of_rates((300, 1000), (350, 1000)))
    assert row.note == ""
    error = math.sqrt(0.7 / 0.3 / 999 + 0.65 / 0.35 / 999)
    half = stats.t.ppf(0.975, 1997) * error
    assert row.lift_high == pytest.approx(math.exp(math.log(35 / 30) + half) - 1, rel=1e-3)


def test_users_of_zeros_and_ones_are_a_rate_whatever_table_they_come_from() -> None:
    values = np.array([1] * 5 + [0] * 15 + [0] * 20, dtype=float)
    control, variant = arms({"bought": values}, np.repeat([0, 1], 20))
    result = lift(BOUGHT, control, variant)
    assert result[:2] == (-1.0, -1.0)
    assert result[2:4] == pytest.approx((0.70484732383 - 1, p_value(Count(5, 20), Count(0, 20))))
    counts = arms({"bought": 2 * values}, np.repeat([0, 1], 20))
    assert lift(BOUGHT, *counts).low is None


@pytest.mark.parametrize(
    ("control", "variant", "missing"),
    [
        ((20, 900), (0, 100), "the variant has no success yet"),
        ((990, 1000), (300, 300), "the variant has no failure yet"),
        ((300, 300), (990, 1000), "the control has no failure yet"),
    ],
)
def test_a_smaller_variant_whose_users_are_all_alike_is_judged_and_says_what_it_lacks(
    control: tuple[int, int], variant: tuple[int, int], missing: str
) -> None:
    table = pa.table({
        "variant": ["control", "new"], "metric": ["bought"] * 2, "n": [control[1], variant[1]],
        "successes": [control[0], variant[0]], "trials": [control[1], variant[1]],
    })  # fmt: skip
    planned = {"control": control[1], "new": variant[1]}
    row = new(ab_test(aggregates=table, rules=OnlineRules(split=planned)))
    assert row.lift == pytest.approx(variant[0] / variant[1] / (control[0] / control[1]) - 1)
    assert row.lift_low < row.lift_high  # type: ignore[operator]
    assert (row.sequence_low, row.sequence_note) == (None, missing)
    assert row.word != "not judged"


def test_users_who_are_all_alike_get_the_variance_of_a_far_larger_variant() -> None:
    """Of clicks by views too, where each of the few users clicks once in every two views."""
    ratio = OnlineMetric("rate", "Rate", "", "", "clicks", "views")
    views = np.array([2.0, 4.0, 6.0, 8.0])
    few = {"clicks": views / 2, "views": views}
    many = {"clicks": np.arange(40) % 5.0, "views": np.full(40, 5.0)}
    both = {name: np.concatenate([many[name], few[name]]) for name in few}
    sides = with_shared_variance(ratio, *arms(both, np.repeat([0, 1], [40, 4])))
    assert sides[1].ratio_var("clicks", "views") == pytest.approx(sides[0].ratio_var("clicks", "views"))


# ── means of few users ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("n", [2, 3, 9])
def test_a_mean_of_too_few_users_has_no_interval_and_says_from_when_on(n: int) -> None:
    rng = np.random.default_rng(n)
    result = lift(TIME, *arms({"time": rng.gamma(20, 1, 2 * n)}, np.repeat([0, 1], n)))
    assert (result.low, result.p) == (None, None)
    assert f"{n} users of the control: a valid interval needs about {ONE_LOOK.users} users" == result.note


def test_users_who_differ_too_much_have_no_interval_and_the_reason_says_how_many_it_takes() -> None:
    """A relative error of 30 % takes (variance / mean²) / 0.09 users: 100 / 0.09 = 1,112."""
    result = lift(SUMMARY, arm(100, 1.0, 100.0), arm(100, 1.0, 50.0))
    assert result.low is None
    assert result.note == "100 users of the control: a valid interval needs about 1,200 users"
    assert lift(SUMMARY, arm(1_200, 1.0, 100.0), arm(1_200, 1.0, 50.0)).low is not None


def test_a_variant_of_users_who_are_all_alike_has_no_interval() -> None:
    result = lift(SUMMARY, arm(2_000, 1.03, 0.03), arm(20, 1.0, 0.0))
    assert (result.low, result.note) == (
        None,
        "all users of the variant are equal, so there is no interval",
    )


def test_of_a_far_smaller_variant_users_differ_at_least_as_those_of_the_larger() -> None:
    few, many = arm(50, 2.0, 0.5), arm(5_000, 2.0, 4.0)
    assert lift(SUMMARY, many, few)[1:4] == pytest.approx(lift(SUMMARY, many, arm(50, 2.0, 4.0))[1:4])
    spread = arm(50, 2.0, 9.0)  # its own spread is larger
    assert lift(SUMMARY, many, spread)[1:4] != pytest.approx(lift(SUMMARY, many, few)[1:4])
    alike = arm(5_000, 2.0, 0.5), arm(4_000, 2.0, 4.0)  # neither is far smaller
    welch = stats.ttest_ind_from_stats(2.0, 2.0, 4_000, 2.1, math.sqrt(0.5), 5_000, equal_var=False)
    assert lift(SUMMARY, alike[1], arm(5_000, 2.1, 0.5)).p == pytest.approx(welch.pvalue)


def test_rare_extra_visits_that_a_small_variant_has_not_had_yet_are_no_loss() -> None:
    """One user in 100 comes twice: of 100 users in the small variant a third of the tries have nobody."""
    rng, wrong, tries = np.random.default_rng(3), 0, 300
    code = np.repeat([0, 1], [9_900, 100])
    for _ in range(tries):
        result = lift(TIME, *arms({"time": 1.0 + (rng.random(10_000) < 0.01)}, code))
        wrong += result.p is not None and result.p <= 0.05
    assert wrong / tries < 0.05  # 37 % without the spread of the larger variant


def test_days_and_segments_have_the_same_intervals_and_the_same_reasons() -> None:
    rng = np.random.default_rng(4)
    for n in ((8, 40), (400, 40), (40, 400)):
        code = np.repeat([0, 1], n)
        values = rng.gamma(2, 3, len(code))
        sums = grouped_lifts.added_up(values, None, code, 2)
        result, alone = (
            grouped_lifts.lifts(TIME, sums[:1], sums[1:]),
            lift(TIME, *arms({"time": values}, code)),
        )
        if alone.low is None:
            assert result.note[0] == "too few users for a valid interval"
            assert np.isnan(result.low[0])
        else:
            assert (result.low[0], result.high[0], result.p[0]) == pytest.approx(alone[1:4])


def test_days_and_segments_take_the_same_users_for_alike() -> None:
    """Between two limits that were different: a variance of 1e-10 of the squared mean is rounding."""
    values = 1.0 + np.tile([-1e-5, 1e-5], 40) + np.repeat([0.0, 0.1], 40)
    code = np.repeat([0, 1], 40)
    sums = grouped_lifts.added_up(values, None, code, 2)
    assert "are equal" in str(grouped_lifts.lifts(TIME, sums[:1], sums[1:]).note[0])
    assert "are equal" in lift(TIME, *arms({"time": values}, code)).note


# ── looking again and again ──────────────────────────────────────────────────────────────────


def timed(n: tuple[int, int], seed: int = 0) -> OnlineRow:
    rng = np.random.default_rng(seed)
    code = np.repeat([0, 1], n)
    table = pa.table(
        {"unit_id": np.arange(len(code)), "session_id": np.arange(len(code)), "clicks": np.ones(len(code)),
         "variant": np.array(["control", "new"])[code].tolist(), "watch_s": 60 * rng.gamma(2, 3, len(code))}
    )  # fmt: skip
    result = of_users(per_user(table, OnlineRules(split={"control": n[0], "new": n[1]})),
                     rules=OnlineRules(split={"control": n[0], "new": n[1]}))  # fmt: skip
    return next(row for row in result.rows if (row.metric, row.variant) == ("session_watch_time", "new"))


def test_an_interval_for_many_looks_is_not_shown_before_it_is_valid_and_says_when_it_will_be() -> None:
    early, lopsided, valid = timed((199, 199)), timed((5_000, 150)), timed((200, 200))
    for row, n in ((early, 199), (lopsided, 150)):
        assert row.lift_low is not None
        assert (row.sequence_low, row.sequence_high) == (None, None)
        assert f"{n} users of the" in row.sequence_note
        assert f"needs about {MANY_LOOKS.users} users" in row.sequence_note
    assert valid.sequence_low < valid.lift_low  # type: ignore[operator]
    assert valid.sequence_note == ""


def test_a_rate_of_few_successes_has_no_interval_for_many_looks() -> None:
    row = new(of_rates((20, 1000), (30, 1000)))
    assert row.lift_low is not None
    assert row.sequence_low is None
    assert "needs about" in row.sequence_note


# ── what users did before ────────────────────────────────────────────────────────────────────


def cuped(seed: int, n: int, related: float, level: float = 10.0) -> list[Any]:
    """Aggregates of control and variant whose users' values follow the time before by ``related``."""
    rng = np.random.default_rng(seed)
    earlier = rng.normal(level, 3, 2 * n)
    time = level + related * (earlier - level) + rng.normal(0, 3, 2 * n)
    return arms({"time": time, "before_time": earlier}, np.repeat([0, 1], n))


def test_where_the_time_before_makes_the_interval_wider_the_plain_lift_is_shown_and_said() -> None:
    """With ten unrelated users on a side, chance makes some adjusted intervals wider."""
    told = 0
    for seed in range(40):
        sides = cuped(seed, n=12, related=0.0)
        shown, plain = chosen_lift(TIME, *sides)
        adjusted, without = lift(TIME, *sides, adjusted=True), lift(TIME, *sides)
        if adjusted.high - adjusted.low >= without.high - without.low:  # type: ignore[operator]
            told += 1
            assert (shown[:4], plain) == (without[:4], None)
            assert "would make the interval wider" in shown.note
        else:
            assert (shown, plain) == (adjusted, without)
    assert told > 3


def test_where_the_adjusted_lift_would_fall_below_minus_100_percent_the_plain_one_is_shown() -> None:
    """Within a variant time follows the time before threefold, and the variants differ in that by twice its
    spread: the coefficient is 3 · 9 / (9 + 9) = 1.5, and the variant's mean of 4 loses 1.5 · 3 = 4.5.
    """
    rng, group = np.random.default_rng(0), np.repeat([0, 1], 300)
    within = rng.normal(0, 3, 600)
    sides = arms(
        {"time": 4 + 3 * within + rng.normal(0, 1, 600), "before_time": 20 + within + 6 * group}, group
    )
    assert lift(TIME, *sides, adjusted=True).low is None
    shown, plain = chosen_lift(TIME, *sides)
    assert (shown[:4], plain) == (lift(TIME, *sides)[:4], None)
    assert shown.low is not None
    assert "CUPED has no interval above −100 %" in shown.note


def test_where_the_time_before_helps_it_is_used() -> None:
    shown, plain = chosen_lift(TIME, *cuped(1, n=200, related=1.0))
    assert plain is not None
    assert shown.high - shown.low < plain.high - plain.low  # type: ignore[operator]
    assert shown.note == ""


def test_a_row_with_the_plain_lift_instead_says_so() -> None:
    rng = np.random.default_rng(2)
    n = 400
    unit, arm_of = np.arange(n), np.array(["control", "new"])[np.arange(n) % 2].tolist()
    now, past = 1_762_000_000, 1_760_000_000
    tables = [
        pa.table({"unit_id": unit, "session_id": start + unit, "variant": arm_of, "clicks": np.ones(n),
                  "start_ts": np.full(n, start), "watch_s": rng.gamma(3, 200, n)})
        for start in (now, past)
    ]  # fmt: skip
    users = per_user(pa.concat_tables(tables), OnlineRules(starts="2025-10-31"))
    result = [
        next(row for row in of_users(replace(users, before={
            **users.before, "watch_min": rng.permutation(users.before["watch_min"])})).rows
            if (row.metric, row.variant) == ("session_watch_time", "new"))
        for _ in range(20)
    ]  # fmt: skip
    unadjusted = [row for row in result if not row.is_adjusted]
    assert unadjusted
    assert all("not adjusted for pre-test behaviour" in row.note for row in unadjusted)
    assert all(row.p is not None and row.narrower is None for row in unadjusted)


def test_a_rate_is_found_to_differ_only_where_the_score_interval_says_so_too() -> None:
    """Every table of 25 and 60 users: no p of at most 5 % beside an interval that holds 1."""
    for successes, others in product(range(1, 26), range(61)):
        counts = Count(successes, 25), Count(others, 60)
        if p_value(*counts) <= 0.05:
            low, high = ratio_interval(*counts, 0.95)
            assert not low < 1 < high, counts
