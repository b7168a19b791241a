"""What a lift means: goals as one family, guardrails by their margin, CUPED, and health that blocks them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from recdash.errors import InputError
from recdash.online import METRICS, OnlineMetric, OnlineResults, OnlineRow, OnlineRules
from recdash.online.analysis import health, judgement
from recdash.online.analysis.lift import Estimate, arms, can_adjust, lift, log_ratio
from recdash.online.analysis.results import of_users
from recdash.online.logs.sessions import per_user
from recdash.online.metrics import check
from recdash.online.users import OnlineUsers, Removed

GOAL = OnlineMetric("time", "Time", "min", "", "watch_min", "sessions")
GUARD = replace(GOAL, role="guardrail", margin=0.02)


def row(found: OnlineResults, metric: str, variant: str = "new") -> OnlineRow:
    (one,) = [row for row in found.rows if (row.metric, row.variant) == (metric, variant)]
    return one


def sessions(seed: int, n: int = 3_000, effect: float = 0.0, variants: tuple[str, ...] = ("control", "new"),
             earlier: bool = False) -> pa.Table:  # fmt: skip
    """A session or two of each user in the test's days, ``effect`` on the watching of all but the control."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(n), 1 + rng.poisson(1, n))
    arm = (unit % len(variants)).astype(int)
    taste = rng.gamma(2, 300, n)
    start = 1_762_000_000 + rng.integers(0, 10 * 86_400, len(unit))
    watch = taste[unit] * rng.gamma(4, 0.25, len(unit)) * (1 + effect * (arm > 0))
    table = {"unit_id": unit, "session_id": np.arange(len(unit)), "variant": np.array(variants)[arm].tolist(),
             "start_ts": start, "clicks": rng.poisson(1, len(unit)), "watch_s": watch}  # fmt: skip
    if earlier:
        past = pa.table({**table, "session_id": np.arange(len(unit)) + len(unit),
                         "start_ts": start - 20 * 86_400, "watch_s": taste[unit]})  # fmt: skip
        return pa.concat_tables([past, pa.table(table)])
    return pa.table(table)


STARTS = "2025-10-31"  # the day before the sessions above


def test_variants_with_the_same_lift_have_the_same_corrected_interval() -> None:
    twins = sessions(1, effect=0.3, n=2_000).to_pandas()
    again = twins[twins["variant"] == "new"].assign(
        variant="twin",
        unit_id=lambda rows: rows["unit_id"] + 10_000,
        session_id=lambda rows: rows["session_id"] + 10**6,
    )
    users = per_user(pa.Table.from_pandas(pd.concat([twins, again]), preserve_index=False))
    found = of_users(users, "control", metrics=[GOAL])
    new, twin = row(found, "time"), row(found, "time", "twin")
    assert (new.word, new.p) == ("better", twin.p)
    both = (twin.corrected_low, twin.corrected_high)
    assert (new.corrected_low, new.corrected_high) == pytest.approx(both)


# ── words ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("low", "high", "p", "up", "down"),
    [
        (0.01, 0.03, 0.01, "better", "worse"),
        (-0.03, -0.01, 0.01, "worse", "better"),
        (-0.01, 0.03, 0.20, "not settled", "not settled"),
    ],
)
def test_a_goal_is_won_or_lost_in_its_own_direction(
    low: float, high: float, p: float, up: str, down: str
) -> None:
    result = Estimate((low + high) / 2, low, high, p)
    assert judgement.word(GOAL, result, p) == up
    assert judgement.word(replace(GOAL, direction="down"), result, p) == down


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.01, 0.03, "holds"),
        (-0.019, -0.001, "holds"),  # certainly worse, and certainly by less than 2 %
        (-0.03, 0.01, "not settled"),
        (-0.05, -0.021, "broken"),
        (-0.05, -0.02, "not settled"),
    ],
)
def test_a_guardrail_holds_where_a_loss_of_the_margin_is_excluded(low: float, high: float, word: str) -> None:
    assert judgement.word(GUARD, Estimate(0.0, low, high, 0.5), 0.5) == word
    turned = Estimate(0.0, -high, -low, 0.5)
    assert judgement.word(replace(GUARD, direction="down"), turned, 0.5) == word


def test_without_an_interval_nothing_is_settled() -> None:
    alone = Estimate(0.5, note="a variant with one user has no interval")
    assert judgement.word(GOAL, alone, None) == "not settled"


def test_a_loss_is_no_gain_because_its_interval_reaches_further_up() -> None:
    # One user of the variant watched 300 videos: the interval of a loss of 71 % ends above +96 %.
    result = Estimate(-0.71, -0.96, 1.06, 0.015)
    assert judgement.word(GOAL, result, 0.015) == "not settled"


def test_how_many_users_settle_it_is_asked_at_the_level_of_the_family() -> None:
    result = of_users(per_user(sessions(21, effect=0.035, variants=("control", *"abcdefgh"))))
    open_ones = [row for row in result.rows if row.word == "not settled" and row.role == "goal"]
    assert open_ones
    assert all(row.more_users is None or row.more_users >= 1 for row in open_ones)


def test_a_guardrail_needs_users_to_exclude_its_margin_and_not_to_find_a_change() -> None:
    users = per_user(sessions(22, n=1_500))
    loose, tight = (
        row(of_users(users, metrics=[replace(GUARD, margin=margin)]), "time") for margin in (0.06, 0.03)
    )
    assert (loose.word, tight.word) == ("not settled", "not settled")
    low, high = math.log1p(tight.lift_low or 0), math.log1p(tight.lift_high or 0)
    ratio, error = math.log1p(tight.lift or 0), (high - low) / 2 / stats.norm.ppf(0.975)
    needed = 1_500 * ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * error / (ratio - math.log(0.97))) ** 2
    assert tight.more_users == math.ceil(needed) - 1_500
    assert loose.more_users < tight.more_users  # type: ignore[operator]


def arms_of_both(users: OnlineUsers) -> list[Any]:
    order = [users.variants.index(name) for name in ("control", "new")]
    result = arms(users.totals, users.variant)
    return [result[code] for code in order]


def test_all_goals_of_all_variants_are_one_family_and_guardrails_stand_alone() -> None:
    result = of_users(per_user(sessions(1, variants=("control", "a", "b"), effect=0.03)))
    goals = [one for one in result.rows if one.role == "goal" and not one.is_control]
    raw = sorted(goal.p or 1 for goal in goals)
    assert len(goals) == 2 * 2  # engagement and watch time; there are no videos
    steps = np.maximum.accumulate([min(1.0, p * (len(raw) - at)) for at, p in enumerate(raw)])
    assert sorted(goal.p_corrected or 1 for goal in goals) == pytest.approx(steps.tolist())
    guards = [one for one in result.rows if one.role == "guardrail" and not one.is_control]
    assert [guard.p_corrected for guard in guards] == [guard.p for guard in guards]
    off = of_users(per_user(sessions(1, variants=("control", "a", "b"), effect=0.03)), correction="off")
    assert [one.p_corrected for one in off.rows] == [one.p for one in off.rows]


def test_the_corrected_interval_excludes_no_lift_where_the_corrected_p_is_small() -> None:
    for seed in range(6):
        result = of_users(per_user(sessions(seed, variants=("control", "a", "b"), effect=0.05)))
        for one in result.rows:
            if one.role == "goal" and one.p_corrected is not None and abs(one.p_corrected - 0.05) > 0.003:
                excludes = one.corrected_low > 0 or one.corrected_high < 0  # type: ignore[operator]
                assert excludes == (one.p_corrected < 0.05), one
                assert one.word == ("not settled" if not excludes else "better" if one.lift > 0 else "worse")  # type: ignore[operator]


# ── numbers ──────────────────────────────────────────────────────────────────────────────────


def test_a_row_says_what_its_value_is_made_of() -> None:
    users = per_user(sessions(2))
    one, new = row(of_users(users), "session_watch_time"), users.variant == users.variants.index("new")
    assert one.numerator == pytest.approx(users.totals["watch_min"][new].sum())
    assert one.denominator == users.totals["sessions"][new].sum()
    assert one.value == pytest.approx(one.numerator / one.denominator)  # type: ignore[operator]


def test_the_log_ratio_has_the_error_of_the_delta_method() -> None:
    rng = np.random.default_rng(0)
    top, below = rng.gamma(2, 1, (2, 800)), 1.0 + rng.poisson(2, (2, 800))
    totals = {"watch_min": top.ravel(), "sessions": below.ravel()}
    control, variant = arms(totals, np.repeat([0, 1], 800))
    result = log_ratio(GOAL, control, variant)
    ratios = top.sum(axis=1) / below.sum(axis=1)
    residual = (top - ratios[:, None] * below) / below.mean(axis=1, keepdims=True)
    error = math.sqrt(((residual.var(axis=1, ddof=1) / 800) / ratios**2).sum())
    assert result == pytest.approx((math.log(ratios[1] / ratios[0]), error), rel=1e-9)


def test_the_interval_that_may_be_peeked_at_holds_the_one_that_may_not() -> None:
    one = row(of_users(per_user(sessions(3))), "session_watch_time")
    assert one.sequence_low < one.lift_low < one.lift < one.lift_high < one.sequence_high  # type: ignore[operator]


def test_the_interval_for_many_looks_does_not_depend_on_the_users_that_came() -> None:
    # Tuned to a plan, it is narrowest in relation to the other one when the plan is reached.
    def width(n: int, planned: int | None) -> float:
        users = per_user(sessions(3, n=n))
        one = row(of_users(users, rules=OnlineRules(planned_users=planned)), "session_watch_time")
        return math.log((1 + one.sequence_high) / (1 + one.sequence_low)) / math.log(  # type: ignore[operator]
            (1 + one.lift_high) / (1 + one.lift_low)  # type: ignore[operator]
        )

    assert width(2_000, 2_000) < width(2_000, None)  # 10,000 are taken where nobody planned
    assert width(2_000, 2_000) == pytest.approx(width(4_000, 4_000), rel=0.002)
    assert width(4_000, None) < width(2_000, None)


def test_a_metric_too_small_beside_its_error_has_no_interval_and_a_reason() -> None:
    code = np.repeat([0, 1], 100)
    for seed in range(300):
        net = np.random.default_rng(seed).normal(0, 100, 200)
        control, variant = arms({"net": net}, code)
        result = lift(OnlineMetric("net", "Net", "", "", "net", low=None), control, variant)
        assert result.low is None or -1 < result.low <= result.high < math.inf  # type: ignore[operator]
        assert (result.low is None) == bool(result.note)


# ── what users did before ────────────────────────────────────────────────────────────────────


def test_what_users_did_before_makes_the_interval_narrower_and_the_plain_one_stays_to_see() -> None:
    users = per_user(sessions(4, effect=0.05, earlier=True), OnlineRules(starts=STARTS))
    one = row(of_users(users), "session_watch_time")
    without = row(of_users(replace(users, before={})), "session_watch_time")
    assert (one.plain_lift, one.plain_low, one.plain_high) == (
        without.lift,
        without.lift_low,
        without.lift_high,
    )
    width, plain = one.lift_high - one.lift_low, without.lift_high - without.lift_low  # type: ignore[operator]
    assert width < 0.8 * plain
    assert one.narrower == pytest.approx(1 - width / plain)
    assert one.value == without.value  # what a variant had is shown as it was
    assert without.narrower is None


def test_the_adjusted_difference_is_that_of_a_regression_on_the_time_before() -> None:
    # A mean per user: CUPED with the pooled coefficient of y on x.
    rng = np.random.default_rng(1)
    x, code = rng.gamma(3, 1, 4_000), np.repeat([0, 1], 2_000)
    y = x * rng.gamma(5, 0.2, 4_000) * (1 + 0.1 * code)
    metric = OnlineMetric("plays", "Plays", "", "", "plays")
    sides = arms({"plays": y, "before_plays": x}, code)
    result = lift(metric, *sides, adjusted=can_adjust(metric, *sides))
    centred = [values - np.array([values[code == c].mean() for c in (0, 1)])[code] for values in (x, y)]
    theta = (centred[0] @ centred[1]) / (centred[0] @ centred[0])
    means = [y[code == c].mean() - theta * (x[code == c].mean() - x.mean()) for c in (0, 1)]
    assert result.value == pytest.approx(means[1] / means[0] - 1, rel=1e-3)


def test_a_test_that_nobody_came_to_has_no_lift_however_much_was_done_before() -> None:
    table = sessions(4)
    late = pa.table({"unit_id": table["unit_id"], "variant": table["variant"],
                     "ts": np.full(len(table), 1_800_000_000.0)})  # fmt: skip
    result = of_users(per_user(table, OnlineRules(), late))
    assert {one.note for one in result.rows if one.metric == "session_watch_time"} == {
        "there are no sessions"
    }


def test_a_time_before_that_nobody_varies_in_or_that_a_metric_lacks_changes_nothing() -> None:
    code = np.repeat([0, 1], 50)
    plays = np.arange(100.0)
    metric = OnlineMetric("plays", "Plays", "", "", "plays")
    assert not can_adjust(metric, *arms({"plays": plays}, code))
    assert not can_adjust(metric, *arms({"plays": plays, "before_plays": np.zeros(100)}, code))
    assert not can_adjust(metric, *arms({"plays": plays, "before_plays": np.ones(100)}, code))
    assert can_adjust(metric, *arms({"plays": plays, "before_plays": plays % 7}, code))


# ── health ───────────────────────────────────────────────────────────────────────────────────


def test_a_planned_split_is_what_users_are_held_against() -> None:
    users = {"control": 2_000, "new": 1_000}
    assert health.sample_ratio(users)[1][0].code == "sample-ratio-mismatch"
    p, result = health.sample_ratio(users, {"control": 2, "new": 1})
    assert (p, result) == (1.0, ())
    p, _ = health.sample_ratio({"control": 1_950, "new": 1_050}, {"control": 2, "new": 1})
    assert p == pytest.approx(float(stats.chisquare([1_950, 1_050], [2_000, 1_000]).pvalue))


def test_small_random_splits_raise_false_alarms_no_more_often_than_stated() -> None:
    """All splits of 30 users, of whom 3 are expected in the new variant: χ² alarms in .00202 of the tests."""
    chances = stats.binom.pmf(range(31), 30, 0.1)
    alarms = [bool(health.sample_ratio({"control": 30 - new, "new": new}, {"control": 9, "new": 1})[1])
              for new in range(31)]  # fmt: skip
    assert 0 < chances @ alarms <= 0.001
    of_chi_square = [stats.chisquare([30 - new, new], [27, 3]).pvalue < 0.001 for new in range(31)]
    assert chances @ of_chi_square > 0.002


def test_few_users_of_one_of_three_variants_are_tested_exactly() -> None:
    p, _ = health.sample_ratio({"control": 20, "new": 8, "newer": 2}, {"control": 8, "new": 1, "newer": 1})
    exact = [stats.binomtest(count, 30, share).pvalue for count, share in ((20, 0.8), (8, 0.1), (2, 0.1))]
    assert p == pytest.approx(3 * min(exact))


@pytest.mark.parametrize(
    "split",
    [
        {"control": 1},
        {"control": 1, "new": 0},
        {"control": 1, "old": 1},
        {"control": 1, "new": math.nan},
        {"control": 1, "new": math.inf},
    ],
)
def test_a_split_that_does_not_name_each_variant_is_refused(split: dict[str, float]) -> None:
    with pytest.raises(InputError, match="planned split"):
        health.sample_ratio({"control": 10, "new": 10}, split)


def test_a_broken_split_judges_nothing() -> None:
    table = sessions(5, effect=0.3)
    new = np.array(table["variant"].to_pylist()) == "new"
    lost = table.filter(pa.array(~new | (np.array(table["unit_id"]) % 5 > 0)))
    result = of_users(per_user(lost))
    assert result.health.blocked
    assert {one.word for one in result.rows if not one.is_control} == {"not judged"}
    assert row(result, "session_watch_time").p < 0.001  # type: ignore[operator]


def test_machines_in_one_variant_are_named() -> None:
    users = per_user(sessions(6))
    some = Removed("bots", "", "users", {"control": 2, "new": 40})
    warned = of_users(replace(users, removed=(some,))).health.warnings
    assert [(one.code, one.place) for one in warned] == [("bots-uneven", "variant 'new'")]
    alike = Removed("bots", "", "users", {"control": 20, "new": 22})
    assert of_users(replace(users, removed=(alike,))).health.warnings == ()


def test_a_variant_that_started_later_is_noticed() -> None:
    table = sessions(7)
    start = np.array(table["start_ts"])
    late = start + np.where(np.array(table["variant"].to_pylist()) == "new", 3 * 86_400, 0)
    result = of_users(per_user(table.set_column(3, "start_ts", pa.array(late))))
    assert "uneven-days" in {warning.code for warning in result.health.warnings}
    assert of_users(per_user(table)).health.warnings == ()


def test_a_test_of_less_than_a_week_says_so() -> None:
    table = sessions(8)
    short = table.filter(pa.array(np.array(table["start_ts"]) < 1_762_000_000 + 3 * 86_400))
    assert "few-days" in {notice.code for notice in of_users(per_user(short)).notices}
    assert "few-days" not in {notice.code for notice in of_users(per_user(table)).notices}


# ── metrics of one's own ─────────────────────────────────────────────────────────────────────


def test_a_metric_of_ones_own_is_a_ratio_of_any_two_totals() -> None:
    users = per_user(sessions(9))
    own = OnlineMetric("clicks_per_session", "Clicks", "", "", "clicks", "sessions", direction="down")
    one = row(of_users(users, metrics=[*METRICS, own]), "clicks_per_session")
    new = users.variant == users.variants.index("new")
    ratio = users.totals["clicks"][new].sum() / users.totals["sessions"][new].sum()
    assert one.value == pytest.approx(ratio)
    assert one.direction == "down"


@pytest.mark.parametrize(
    ("metric", "code"),
    [
        (replace(GOAL, numerator="plays"), "unknown-total"),
        (replace(GOAL, denominator="visits"), "unknown-total"),
        (replace(GOAL, name=" "), "no-name"),
        (replace(GUARD, margin=None), "no-margin"),
        (replace(GUARD, margin=2.0), "bad-margin"),
    ],
)
def test_a_metric_that_cannot_be_is_refused_with_the_reason(metric: OnlineMetric, code: str) -> None:
    with pytest.raises(InputError) as caught:
        check(metric, ["watch_min", "sessions"])
    assert [problem.code for problem in caught.value.problems] == [code]
