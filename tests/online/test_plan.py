"""The analysis plan of an A/B test: its values, the sample size that follows, and what differs in a test."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import recdash
from recdash.errors import InputError
from recdash.online import OnlineMetric
from recdash.online.analysis.analysed_test import AnalysedTest
from recdash.online.analysis.next_step import headline, next_steps
from recdash.online.analysis.plan_check import PlanCheck, PlannedTest, check_plan
from recdash.online.analysis.sample import SampleSummary, summarise
from recdash.online.plan import (
    AnalysisPlan,
    Baseline,
    PlanHistory,
    PlanVersion,
    days_needed,
    users_needed,
    with_sample_size,
)
from recdash.online.rules import OnlineRules

PLAN = AnalysisPlan("orders", guardrails={"visits": 0.1}, effect=0.1, users=400, days=7)
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
BEFORE = BEGIN - timedelta(days=10)


# ── values ───────────────────────────────────────────────────────────────────────────────────


def test_a_plan_is_the_same_from_its_json() -> None:
    plan = replace(PLAN, split={"a": 2.0, "b": 1.0}, covariates=("before",), test="March", looks=3)
    assert AnalysisPlan.of_facts({**plan.as_dict(), "of_a_later_release": 1}) == plan


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"primary": " "}, "no primary metric"),
        ({"guardrails": {"visits": 0.0}}, "the margin is 0"),
        ({"guardrails": {"visits": 1.0}}, "the margin is 1"),
        ({"guardrails": {"orders": 0.1}}, "the primary metric, too"),
        ({"effect": 0.0}, "effect"),
        ({"effect": math.nan}, "effect"),
        ({"power": 1.0}, "power"),
        ({"users": 0}, "users"),
        ({"days": -1}, "days"),
        ({"looks": 0}, "looks"),
        ({"split": {"a": 1.0}}, "split"),
        ({"split": {"a": 1.0, "b": 0.0}}, "split"),
    ],
)
def test_impossible_values_are_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(PLAN, **wrong).check()  # type: ignore[arg-type]


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InputError) as error:
        replace(PLAN, effect=-1.0, power=0.1, looks=0).check()
    assert [problem.code for problem in error.value.problems] == ["bad-effect", "bad-power", "bad-number"]


def test_changes_are_told_in_words() -> None:
    later = replace(PLAN, primary="revenue", guardrails={"visits": 0.2}, days=14)
    assert PLAN.changes(later) == [
        ("primary", "orders", "revenue"),
        ("guardrails", "visits (10 %)", "visits (20 %)"),
        ("days", "7 days", "14 days"),
    ]


# ── sample size ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("ratio", [1.0, 0.5, 3.0])
@pytest.mark.parametrize("power", [0.8, 0.9])
@pytest.mark.parametrize(
    ("baseline", "effect"),
    [(Baseline(3.0, 5.0), 0.05), (Baseline.of_rate(0.04), 0.1), (Baseline.of_rate(0.5), 0.02)],
)
def test_the_sample_has_the_power(baseline: Baseline, effect: float, power: float, ratio: float) -> None:
    n = users_needed(baseline, effect, power, ratio)
    control, variant = n / (1 + ratio), n * ratio / (1 + ratio)
    other = baseline.mean * (1 + effect)
    variance = other * (1 - other) if baseline.is_rate else baseline.std_dev**2
    error = math.sqrt(baseline.std_dev**2 / control + variance / variant)
    # the probability that the difference is above the critical value of the z-test
    assert norm.sf(norm.ppf(0.975) - effect * baseline.mean / error) == pytest.approx(power, abs=2e-3)


def test_a_known_sample_size() -> None:
    # (1.95996 + 0.84162)² · (.1 · .9 + .11 · .89) / .01² = 14,748.1 users a variant
    assert users_needed(Baseline.of_rate(0.1), 0.1) == 2 * 14749


def test_days_are_full_weeks() -> None:
    assert days_needed(1000, 100) == 14  # 10 days
    assert days_needed(1000, 1000 / 7) == 7
    # of three variants 2 : 1 : 1, the control and one variant get three quarters: 1000 / 75 = 13.3 days
    assert days_needed(1000, 100, (2, 1, 1)) == 14
    assert days_needed(1100, 100, (2, 1, 1)) == 21


def test_what_is_given_is_not_computed() -> None:
    baseline = Baseline(3.0, 5.0, users_per_day=100)
    assert with_sample_size(replace(PLAN, users=None, days=None), baseline).days is not None
    assert with_sample_size(PLAN, baseline) == PLAN
    assert with_sample_size(replace(PLAN, users=None, days=None), Baseline(3.0, 5.0)).days is None


@pytest.mark.parametrize(
    ("baseline", "effect", "message"),
    [
        (Baseline(0.0, 1.0), 0.1, "mean above 0"),
        (Baseline(3.0, 0.0), 0.1, "standard deviation"),
        (Baseline.of_rate(1.0), 0.1, "share"),
        (Baseline.of_rate(0.8), 0.3, "becomes 1.04"),
        (Baseline(3.0, 1.0, users_per_day=0), 0.1, "users per day"),
        (Baseline(3.0, 1.0), None, "needs one"),
    ],
)
def test_no_sample_size_follows_from_the_impossible(
    baseline: Baseline, effect: float | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        with_sample_size(replace(PLAN, users=None, effect=effect), baseline)


# ── a test and its plan ──────────────────────────────────────────────────────────────────────


def made(n: int = 400, days: int = 7, gain: float = 0.3, **columns: object) -> AnalysedTest:
    """A test of ``n`` users with orders and visits, who were first seen on the days from 2 March on."""
    rng, variant = np.random.default_rng(4), np.tile(["control", "new"], n // 2)
    table = pd.DataFrame(
        {
            "unit_id": range(n),
            "variant": variant,
            "start_ts": [
                f"{BEGIN + timedelta(days=user // 2 % days):%Y-%m-%d}T12:00:00Z" for user in range(n)
            ],
            "session_id": range(n),
            "orders": rng.poisson(np.where(variant == "new", 2 * (1 + gain), 2)),
            "visits": 10 + rng.poisson(1, n),
            **columns,
        }
    )
    metrics = [
        OnlineMetric("orders", "Orders", "", "", "orders"),
        OnlineMetric("visits", "Visits", "", "", "visits", role="guardrail", margin=0.1),
    ]
    return recdash.ab_test(sessions=table, metrics=metrics)


def sample_of(test: AnalysedTest) -> SampleSummary:
    assert test.source.users is not None
    return summarise(test.source.users)


def history(*plans: tuple[datetime, AnalysisPlan]) -> PlanHistory:
    return PlanHistory(
        tuple(
            PlanVersion(f"p{place}", plan, created, "Ann", "because" if place else "")
            for place, (created, plan) in enumerate(plans)
        )
    )


def checked(test: AnalysedTest, *plans: tuple[datetime, AnalysisPlan], **facts: object) -> PlanCheck:
    planned = PlannedTest(test, OnlineRules(), sample_of(test), BEGIN + timedelta(days=20))
    return check_plan(history(*plans), replace(planned, **facts))  # type: ignore[arg-type]


def codes(check: PlanCheck) -> list[str]:
    return [deviation.code for deviation in check.deviations]


@pytest.fixture(scope="module")
def test() -> AnalysedTest:
    return made()


def test_nothing_differs_from_the_plan(test: AnalysedTest) -> None:
    check = checked(test, (BEFORE, PLAN))
    assert codes(check) == []
    assert check.sentence == "Planned on 20 Feb 2026 by Ann; the test is as planned."
    assert check.binding == PLAN


def test_a_change_before_the_data_is_no_deviation(test: AnalysedTest) -> None:
    later = (BEGIN - timedelta(days=1), PLAN)
    assert codes(checked(test, (BEFORE, replace(PLAN, primary="visits", guardrails={})), later)) == []


def test_a_primary_metric_changed_after_the_data_is_told(test: AnalysedTest) -> None:
    wished = replace(PLAN, primary="revenue")
    check = checked(test, (BEFORE, wished), (BEGIN + timedelta(days=3), PLAN))
    assert codes(check) == ["changed-primary", "no-primary"]
    text = "Primary metric changed from revenue to orders when the test had data (Ann, 5 Mar 2026: because)."
    assert check.deviations[0].text == text
    assert check.plan == wished


def test_a_margin_changed_after_the_data_is_told(test: AnalysedTest) -> None:
    strict = replace(PLAN, guardrails={"visits": 0.02})
    check = checked(test, (BEFORE, strict), (BEGIN + timedelta(days=3), PLAN))
    assert codes(check) == ["changed-guardrails", "margin"]
    assert check.deviations[1].text == "The margin of visits is 10 %; 2 % was planned."


def test_a_plan_made_after_the_data_binds_no_one(test: AnalysedTest) -> None:
    check = checked(test, (BEGIN + timedelta(days=1, hours=1), PLAN))
    assert codes(check) == ["planned-late"]
    assert check.binding is None


@pytest.mark.parametrize(
    ("plan", "code", "words"),
    [
        (replace(PLAN, days=14), "days", "7 of 14 days"),
        (replace(PLAN, users=900), "users", "400 of 900"),
        (replace(PLAN, split={"control": 1, "new": 3}), "split", "the plan has control 25 %, new 75 %"),
        (replace(PLAN, split={"a": 1, "b": 1}), "variants", "a, b; the data have control, new"),
        (replace(PLAN, guardrails={"skips": 0.1}), "no-guardrail", "skips is not among the results"),
        (replace(PLAN, guardrails={"orders": 0.1}, primary="visits"), "no-guardrail", "Orders was planned"),
        (replace(PLAN, covariates=("orders",)), "covariates", "is not adjusted"),
    ],
)
def test_what_differs_is_told(test: AnalysedTest, plan: AnalysisPlan, code: str, words: str) -> None:
    check = checked(test, (BEFORE, plan))
    assert code in codes(check)
    assert words in next(deviation.text for deviation in check.deviations if deviation.code == code)


def test_an_even_split_is_that_of_a_plan_with_equal_shares(test: AnalysedTest) -> None:
    assert codes(checked(test, (BEFORE, replace(PLAN, split={"control": 5, "new": 5})))) == []


def test_more_looks_than_planned_are_told(test: AnalysedTest) -> None:
    twice = replace(PLAN, looks=2)
    assert codes(checked(test, (BEFORE, twice), look=2)) == []
    check = checked(test, (BEFORE, twice), look=3)
    assert [deviation.text for deviation in check.deviations] == [
        "These data are look 3; the plan has 2 looks."
    ]


# ── the decision follows the plan ────────────────────────────────────────────────────────────


def test_a_gain_at_the_planned_end_is_enough_to_ship(test: AnalysedTest) -> None:
    (unplanned,) = next_steps(test, OnlineRules(), sample_of(test))
    (planned,) = next_steps(test, OnlineRules(), sample_of(test), PLAN)
    assert (unplanned.action, planned.action) == ("check the plan", "ship")


def test_before_the_planned_duration_only_the_always_valid_interval_counts(test: AnalysedTest) -> None:
    (step,) = next_steps(test, OnlineRules(), sample_of(test), replace(PLAN, days=21))
    assert (step.action, step.days) == ("keep running", 14)
    assert step.reason == "Not significant under continuous monitoring. The planned duration is 21 days."
    assert step.title == "Keep running, about 14 days"


def test_the_later_of_size_and_duration_ends_a_test(test: AnalysedTest) -> None:
    # 400 users came in 7 days: 1,600 more need 28 days
    (step,) = next_steps(test, OnlineRules(), sample_of(test), replace(PLAN, users=2000, days=14))
    assert (step.action, step.more_users, step.days) == ("keep running", 1600, 28)
    (step,) = next_steps(test, OnlineRules(), sample_of(test), replace(PLAN, users=500, days=35))
    assert (step.action, step.days) == ("keep running", 28)


def test_nothing_significant_at_the_planned_end_is_inconclusive() -> None:
    equal = made(gain=0.0)
    for plan, end in ((PLAN, "sample size"), (replace(PLAN, users=None), "duration")):
        (step,) = next_steps(equal, OnlineRules(), sample_of(equal), plan)
        assert (step.action, step.reason.split(".")[0]) == (
            "inconclusive",
            f"No significant lift at the planned {end}",
        )


@pytest.mark.parametrize("users", [None, 400])
@pytest.mark.parametrize("gain", [0.3, 2.0])
def test_a_gain_ships_only_once_the_planned_duration_is_known_to_be_over(
    users: int | None, gain: float
) -> None:
    won = made(gain=gain)  # only the larger gain holds however often it is looked at
    (step,) = next_steps(won, OnlineRules(), None, replace(PLAN, users=users))
    assert (step.action, step.title) == ("check the days", "Ship if the planned duration is over")
    assert step.reason.startswith("Wins orders, but no dates show whether the planned 7 days are over.")
    text = headline(won, [step])
    assert text.startswith("Ship new if the planned duration is over")


def test_without_a_planned_duration_data_need_no_dates(test: AnalysedTest) -> None:
    (step,) = next_steps(test, OnlineRules(), None, replace(PLAN, days=None))
    assert step.action == "ship"


def test_a_planned_duration_that_cannot_be_checked_is_told(test: AnalysedTest) -> None:
    check = checked(test, (BEFORE, PLAN), sample=None)
    text = "The data have no dates, so the planned duration of 7 days cannot be checked."
    assert [(deviation.code, deviation.text) for deviation in check.deviations] == [("no-dates", text)]
    assert check.sentence == "Planned on 20 Feb 2026 by Ann; the planned duration cannot be checked."
    assert check.as_dict()["as_planned"] is False
    smaller = checked(test, (BEFORE, replace(PLAN, users=900)), sample=None)
    assert smaller.sentence.endswith("; one thing differs from the plan.")
    assert codes(checked(test, (BEFORE, replace(PLAN, days=None)), sample=None)) == []


def test_decision_and_check_count_the_users_of_the_same_pair() -> None:
    variants = ["control"] * 140 + ["large"] * 140 + ["small"] * 120
    test = made(variant=variants)
    assert [test.users_of_pair(name) for name in ("control", "large", "small")] == [None, 280, 260]
    for planned, missing, told in [
        (270, {"large": None, "small": 10}, "260 with small, of 270"),
        (400, {"large": 120, "small": 140}, "280 with large and 260 with small, of 400"),
        (200, {"large": None, "small": None}, None),
    ]:
        plan = replace(PLAN, users=planned, guardrails={})
        steps = next_steps(test, OnlineRules(), sample_of(test), plan)
        early = {step.variant: step.more_users for step in steps}
        assert early == missing
        texts = [
            deviation.text
            for deviation in checked(test, (BEFORE, plan)).deviations
            if deviation.code == "users"
        ]
        start, end = "The data have fewer users than planned: ", " for control and variant together."
        assert texts == ([f"{start}{told}{end}"] if told else [])


def test_the_planned_primary_metric_comes_first() -> None:
    rng = np.random.default_rng(1)
    table = pd.DataFrame(
        {
            "unit_id": range(400),
            "variant": ["control", "new"] * 200,
            "a": rng.poisson(3, 400),
            "b": rng.poisson(3, 400),
        }
    )
    results = recdash.ab_test(sessions=table)
    assert [next_steps(results, plan=plan)[0].lift.metric for plan in (None, AnalysisPlan("b"))] == ["a", "b"]
