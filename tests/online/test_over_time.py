"""A lift up to each day, on each day and by days since the exposure, from three users that fit on a page."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from recdash.domain.kinds import Floats
from recdash.errors import UnknownName
from recdash.online import METRICS
from recdash.online.analysis import choice, health, lift, novelty_effect, over_time
from recdash.online.analysis.novelty_effect import NoveltyEffect
from recdash.online.analysis.over_time import LiftAtTime
from recdash.online.analysis.pair_values import pair_values
from recdash.online.analysis.sequential import PLANNED, always_valid_interval, tuned
from recdash.online.metrics import OnlineMetric
from recdash.online.users import Days, OnlineUsers

BY_NAME = {metric.name: metric for metric in METRICS}
ENGAGEMENT, SESSIONS = BY_NAME["engagement_rate"], BY_NAME["sessions_per_user"]
FIRST = 20_000


def users(variant: str, exposed: list[int], days: list[tuple[int, int, int, int]]) -> OnlineUsers:
    """Users of the variants a and b (``"aab"``); days are (user, day from 0, sessions, engaged)."""
    unit, day, came, engaged = np.array(days).T
    per_day = {"sessions": came.astype(np.float64), "engaged_sessions": engaged.astype(np.float64)}
    n = len(variant)
    totals = {name: np.bincount(unit, values, minlength=n) for name, values in per_day.items()}
    return OnlineUsers(
        variants=("a", "b"), unit=list(range(n)), variant=np.array(["ab".index(one) for one in variant]),
        totals=totals, exposed=FIRST + np.array(exposed), days=Days(unit, FIRST + day, per_day), before={},
        segments={}, assigned={}, crossed=0, removed=(), notices=(),
    )  # fmt: skip


FOUR = users(
    "aabb",
    exposed=[0, 1, 0, 1],
    days=[(0, 0, 1, 1), (0, 2, 3, 1), (1, 1, 2, 1), (2, 0, 2, 1), (2, 1, 1, 1), (3, 1, 4, 1), (3, 2, 1, 1)],
)


def lifts(moments: list[LiftAtTime]) -> list[float | None]:
    return [None if moment.lift is None else round(moment.lift, 9) for moment in moments]


def invented(n: int, seed: int, n_days: int = 8) -> OnlineUsers:
    """Users who come on several days, in two variants."""
    rng = np.random.default_rng(seed)
    exposed = rng.integers(0, n_days, n)
    days = [
        (user, day, 1 + rng.poisson(0.7), 0)
        for user in range(n)
        for day in range(exposed[user], n_days)
        if day == exposed[user] or rng.random() < 0.4
    ]
    days = [(user, day, came, rng.binomial(came, 0.2 + 0.5 * (user % 7) / 7)) for user, day, came, _ in days]
    return users("ab" * (n // 2), exposed.tolist(), days)


# ── up to each day ───────────────────────────────────────────────────────────────────────────


def test_up_to_a_day_only_users_exposed_by_then_count_with_what_they_did_by_then() -> None:
    cumulative = over_time.cumulative(FOUR, ENGAGEMENT, "a")
    a, b = (1 / 1, 2 / 3, 3 / 6), (1 / 2, 3 / 7, 4 / 8)
    assert lifts(cumulative) == [round(b[day] / a[day] - 1, 9) for day in range(3)]
    assert [(moment.variant, moment.day, moment.n) for moment in cumulative] == [
        ("b", FIRST, 2), ("b", FIRST + 1, 4), ("b", FIRST + 2, 4)
    ]  # fmt: skip


def test_up_to_a_day_a_metric_per_user_is_divided_by_the_users_exposed_by_then() -> None:
    cumulative = over_time.cumulative(FOUR, SESSIONS, "a")
    a, b = (1 / 1, 3 / 2, 6 / 2), (2 / 1, 7 / 2, 8 / 2)
    assert lifts(cumulative) == [round(b[day] / a[day] - 1, 9) for day in range(3)]


@pytest.mark.parametrize("metric", [ENGAGEMENT, SESSIONS])
@pytest.mark.parametrize("former", [False, True])
def test_up_to_each_day_lift_and_interval_are_those_of_a_test_that_ended_then(
    metric: OnlineMetric, former: bool
) -> None:
    whole = invented(n=400, seed=1)
    for moment in over_time.cumulative(whole, metric, "a", delta_method=former):
        days, there = whole.days, whole.exposed <= moment.day
        until = days.day <= moment.day
        totals = {
            name: np.bincount(days.unit[until], values[until], minlength=len(whole))[there]
            for name, values in days.totals.items()
        }
        ended = _lift(metric, (totals, whole.variant[there]), former)
        assert (moment.lift, moment.low, moment.high) == pytest.approx(ended[:3])
        assert moment.n == there.sum()


def test_the_last_day_is_the_result_of_the_test() -> None:
    whole = invented(n=300, seed=2)
    last = over_time.cumulative(whole, ENGAGEMENT, "a")[-1]
    result = _lift(ENGAGEMENT, (whole.totals, whole.variant))
    assert (last.lift, last.low, last.high) == pytest.approx(result[:3])


def test_the_sequence_is_wider_than_the_interval_and_narrowest_where_it_was_planned() -> None:
    whole = invented(n=3_000, seed=3)
    cumulative = over_time.cumulative(whole, ENGAGEMENT, "a", n_planned=3_000)
    log_ratio, error = lift.log_ratio(ENGAGEMENT, *lift.arms(whole.totals, whole.variant)) or (0, 0)
    expected = always_valid_interval(log_ratio, error, n=3_000, n_planned=3_000)
    assert (cumulative[-1].sequence_low, cumulative[-1].sequence_high) == pytest.approx(expected)
    assert [moment.sequence_low is None for moment in cumulative] == [moment.n < 400 for moment in cumulative]
    assert cumulative[0].sequence_low is None
    for moment in cumulative[1:]:
        assert moment.low is not None
        assert moment.high is not None
        assert moment.sequence_low is not None
        assert moment.sequence_high is not None
        assert moment.sequence_low < moment.low < moment.high < moment.sequence_high
    unplanned = over_time.cumulative(whole, ENGAGEMENT, "a")
    assert unplanned == over_time.cumulative(whole, ENGAGEMENT, "a", n_planned=PLANNED)
    assert unplanned[-1].sequence_low < cumulative[-1].sequence_low  # type: ignore[operator]


# ── on each day, and since the exposure ──────────────────────────────────────────────────────


def test_on_a_day_users_who_did_nothing_count() -> None:
    assert lifts(over_time.daily(FOUR, SESSIONS, "a")) == [
        round(one, 9) for one in (2 / 1 - 1, (5 / 2) / (2 / 2) - 1, (1 / 2) / (3 / 2) - 1)
    ]
    assert [moment.n for moment in over_time.daily(FOUR, SESSIONS, "a")] == [2, 4, 4]


@pytest.mark.parametrize("metric", [ENGAGEMENT, SESSIONS])
@pytest.mark.parametrize("former", [False, True])
def test_each_day_has_the_interval_of_that_day_alone(metric: OnlineMetric, former: bool) -> None:
    whole = invented(n=400, seed=4)
    for moment in over_time.daily(whole, metric, "a", delta_method=former):
        there, on = whole.exposed <= moment.day, whole.days.day == moment.day
        of_day = _of_rows(whole, on, there)
        assert (moment.lift, moment.low, moment.high) == pytest.approx(_lift(metric, of_day, former)[:3])


def test_since_the_exposure_day_0_is_the_day_of_it_and_only_users_who_could_be_watched_count() -> None:
    result = over_time.since_exposure(FOUR, SESSIONS, "a")
    assert [(moment.day, moment.n) for moment in result] == [(0, 4), (1, 4), (2, 2)]
    # day 0: u0 1, u1 2 | u2 2, u3 4; day 1: nothing | u2 1, u3 1; day 2 (u0 and u2 only): u0 3 | nothing
    assert lifts(result) == [round((6 / 2) / (3 / 2) - 1, 9), None, round(0 / 3 - 1, 9)]
    assert result[1].note == "the control is 0, and a lift is relative to a control above 0"


@pytest.mark.parametrize("metric", [ENGAGEMENT, SESSIONS])
@pytest.mark.parametrize("former", [False, True])
def test_each_day_since_the_exposure_has_the_interval_of_that_day_alone(
    metric: OnlineMetric, former: bool
) -> None:
    whole = invented(n=400, seed=5)
    last = whole.days.day.max()
    since = whole.days.day - whole.exposed[whole.days.unit]
    for moment in over_time.since_exposure(whole, metric, "a", delta_method=former):
        of_day = _of_rows(whole, since == moment.day, last - whole.exposed >= moment.day)
        assert (moment.lift, moment.low, moment.high) == pytest.approx(_lift(metric, of_day, former)[:3])


def _of_rows(whole: OnlineUsers, rows: np.ndarray, there: np.ndarray) -> tuple[dict[str, Floats], np.ndarray]:
    days = whole.days
    totals = {
        name: np.bincount(days.unit[rows], values[rows], minlength=len(whole))[there]
        for name, values in days.totals.items()
    }
    return totals, whole.variant[there]


def _lift(
    metric: OnlineMetric, of_day: tuple[dict[str, Floats], np.ndarray], former: bool = False
) -> lift.Estimate:
    """Returns the lift of these users alone, as a test of them has it."""
    if former:
        return lift.lift(metric, *lift.arms(*of_day))
    return choice.of_users(metric, pair_values(metric, of_day[0], {}, of_day[1], 0, 1)).shown.lift(0.95)


# ── what cannot be had ───────────────────────────────────────────────────────────────────────


def test_one_user_gives_a_lift_without_an_interval() -> None:
    first = over_time.cumulative(FOUR, ENGAGEMENT, "a")[0]
    assert (first.lift, first.low, first.high, first.sequence_low) == (-0.5, None, None, None)
    assert first.note == "a variant with one user has no interval"


def test_users_who_are_all_alike_give_no_interval() -> None:
    alike = users("aabb", exposed=[0] * 4, days=[(user, 0, 10, 3) for user in range(4)])
    (only,) = over_time.cumulative(alike, ENGAGEMENT, "a")
    assert (only.lift, only.low, only.note) == (
        0.0, None, "all users are equal, so there is no interval"
    )  # fmt: skip


def test_nobody_of_a_variant_by_then_is_said() -> None:
    late = users("aab", exposed=[0, 0, 1], days=[(0, 0, 1, 1), (1, 0, 2, 1), (2, 1, 1, 1)])
    assert [moment.note for moment in over_time.cumulative(late, SESSIONS, "a")] == [
        "there are no users", "a variant with one user has no interval"
    ]  # fmt: skip


def test_a_day_without_sessions_is_said() -> None:
    pause = users("ab", exposed=[0, 0], days=[(0, 0, 1, 1), (0, 2, 1, 1), (1, 0, 1, 0), (1, 2, 1, 1)])
    middle = over_time.daily(pause, ENGAGEMENT, "a")[1]
    assert (middle.lift, middle.note) == (None, "there are no sessions")


def test_a_variant_at_0_has_its_lift_and_no_interval() -> None:
    none = users("aabb", exposed=[0] * 4, days=[(0, 0, 1, 1), (1, 0, 2, 1), (2, 0, 1, 0), (3, 0, 1, 0)])
    (only,) = over_time.cumulative(none, ENGAGEMENT, "a")
    assert (only.lift, only.low, only.note) == (
        -1.0,
        None,
        "the variant is 0, so there is no interval",
    )


def test_an_unknown_control_is_named() -> None:
    for question in (
        over_time.cumulative,
        over_time.daily,
        over_time.since_exposure,
        novelty_effect.novelty_effects,
    ):
        with pytest.raises(UnknownName, match="variant"):
            question(FOUR, ENGAGEMENT, "c")


# ── the confidence sequence ──────────────────────────────────────────────────────────────────


def test_the_width_is_that_of_the_published_formula() -> None:
    n, planned, error = 500, 2_000, 0.02
    rho = math.sqrt(tuned(0.05) / planned)
    variance = error**2 * n  # of one user
    width = math.sqrt(
        2 * variance * (n * rho**2 + 1) / (n * rho) ** 2 * math.log(math.sqrt(n * rho**2 + 1) / 0.05)
    )
    assert always_valid_interval(0.1, error, n, planned) == pytest.approx(
        (math.exp(0.1 - width) - 1, math.exp(0.1 + width) - 1)
    )


def test_no_other_tuning_is_narrower_at_the_planned_number_of_users() -> None:
    def width(n_tuned_for: int) -> float:
        low, high = always_valid_interval(0.0, 0.01, n=1_000, n_planned=n_tuned_for)
        return math.log1p(high) - math.log1p(low)

    assert width(1_000) < min(width(900), width(1_100))
    assert width(1_000) / 2 / 0.01 == pytest.approx(3.035, abs=0.001)


def test_a_smaller_alpha_gives_a_wider_sequence() -> None:
    assert (
        always_valid_interval(0.0, 0.01, 10, 10, alpha=0.01)[0]
        < always_valid_interval(0.0, 0.01, 10, 10, alpha=0.05)[0]
        < 0
    )


# ── fading ───────────────────────────────────────────────────────────────────────────────────


def test_early_and_late_are_of_the_same_users_who_could_be_watched() -> None:
    """Six days: watched for four of them, early two, late two. Users 4 and 5 came on the last day."""
    rows = [(user, day, 2, 1 + (user > 1) * (day < 2)) for user in range(4) for day in range(6)]
    known = users("aabbab", exposed=[0] * 4 + [5, 5], days=[*rows, (4, 5, 50, 1), (5, 5, 50, 49)])
    (result,) = novelty_effect.novelty_effects(known, ENGAGEMENT, "a")
    assert (result.n, result.early_days, result.late_days) == (4, (0, 1), (2, 3))
    assert (result.early_lift, result.late_lift) == (pytest.approx(2 / 2 / (1 / 2) - 1), pytest.approx(0.0))
    assert result.difference == pytest.approx(-math.log(2))
    assert (result.p, result.note) == (None, "all users are equal, so there is no interval")


def test_the_difference_is_of_logarithms_with_all_covariances() -> None:
    """Against the gradient of the log ratio of ratios and the covariance matrix of four sums per arm."""
    whole = invented(n=600, seed=6)
    (result,) = novelty_effect.novelty_effects(whole, ENGAGEMENT, "a", delta_method=True)
    ratios, variance = [], 0.0
    for code in (1, 0):
        sums = _four_sums(whole, code, result.early_days, result.late_days)
        mean = sums.mean(axis=1)
        gradient = (
            np.array([-1, 1, 1, -1]) / mean
        )  # early engaged, early sessions, late engaged, late sessions
        variance += gradient @ np.cov(sums) @ gradient / sums.shape[1]
        ratios.append(np.log(mean[2] / mean[3] * mean[1] / mean[0]))
    assert result.difference == pytest.approx(ratios[0] - ratios[1])
    assert result.difference == pytest.approx(
        math.log1p(result.late_lift or 0) - math.log1p(result.early_lift or 0)
    )
    assert result.high == pytest.approx((result.difference or 0) + 1.959964 * math.sqrt(variance), abs=1e-6)
    z = (result.difference or 0) / math.sqrt(variance)
    assert result.p == pytest.approx(math.erfc(abs(z) / math.sqrt(2)))


def _four_sums(whole: OnlineUsers, code: int, early: tuple[int, int], late: tuple[int, int]) -> Floats:
    """[4, users of the variant who could be watched]"""
    days = whole.days
    since = days.day - whole.exposed[days.unit]
    there = (whole.exposed + late[1] <= days.day.max()) & (whole.variant == code)
    return np.array([
        np.bincount(days.unit[rows], days.totals[name][rows], minlength=len(whole))[there]
        for first, last in (early, late)
        for name in ("engaged_sessions", "sessions")
        for rows in [(since >= first) & (since <= last)]
    ])  # fmt: skip


def test_a_test_of_one_day_has_no_late() -> None:
    day = users("aabb", exposed=[0] * 4, days=[(user, 0, 1 + user, 1) for user in range(4)])
    (result,) = novelty_effect.novelty_effects(day, ENGAGEMENT, "a")
    assert (result.p, result.note) == (None, "a single day cannot be split into early and late")


def test_nobody_who_could_be_watched_is_said() -> None:
    late = users("aab", exposed=[0, 0, 5], days=[(0, 0, 1, 1), (1, 5, 1, 1), (2, 5, 1, 1)])
    (result,) = novelty_effect.novelty_effects(late, ENGAGEMENT, "a")
    assert result.note == "fewer than two users of a variant were observed for 4 days"


def test_no_sessions_late_is_said() -> None:
    gone = users("aabb", exposed=[0] * 4, days=[(user, 0, 1 + user, 1) for user in range(4)] + [(0, 5, 1, 1)])
    assert (
        novelty_effect.novelty_effects(gone, ENGAGEMENT, "a")[0].note == "there are no sessions early or late"
    )
    per_user = "the metric is not above 0 early or late, and a lift is relative to it"
    assert novelty_effect.novelty_effects(gone, SESSIONS, "a")[0].note == per_user


def test_a_day_before_the_tests_first_exposure_is_not_asked_for() -> None:
    """An upload without days has all users on one day, which is its calendar."""
    still = replace(FOUR, days=Days(np.array([], int), np.array([], int), {"sessions": np.array([])}))
    assert [moment.day for moment in over_time.daily(still, SESSIONS, "a")] == [FIRST, FIRST + 1]


@pytest.mark.parametrize(
    ("early", "late", "course"),
    [
        (0.09, 0.01, "fades"), (-0.09, -0.01, "fades"), (0.01, 0.09, "rises"), (-0.01, -0.09, "falls"),
        (0.03, -0.02, "falls"), (-0.03, 0.02, "rises"),
    ],
)  # fmt: skip
def test_a_lift_fades_only_towards_nothing(early: float, late: float, course: str) -> None:
    change = math.log1p(late) - math.log1p(early)
    assert NoveltyEffect("b", 9, (0, 1), (2, 3), early, late, change).course == course


@pytest.mark.parametrize(
    ("metric", "early", "late", "says"),
    [
        (ENGAGEMENT, 0.09, 0.01, "fades for the same users: +9 % at first, +1 % later"),
        (
            ENGAGEMENT,
            0.03,
            -0.02,
            "reverses against the variant for the same users: +3 % at first, −2 % later",
        ),
        (ENGAGEMENT, -0.01, -0.09, None),
        (ENGAGEMENT, -0.09, -0.01, None),
        (ENGAGEMENT, 0.01, 0.09, None),
        (replace(ENGAGEMENT, direction="down"), -0.09, -0.01, "fades for the same users"),
        (replace(ENGAGEMENT, direction="down"), 0.09, 0.01, None),
    ],
)
def test_novelty_is_a_gain_that_fades_or_turns(
    monkeypatch: pytest.MonkeyPatch, metric: OnlineMetric, early: float, late: float, says: str | None
) -> None:
    change = math.log1p(late) - math.log1p(early)
    result = NoveltyEffect("b", 9, (0, 1), (2, 3), early, late, change, p=1e-6)
    monkeypatch.setattr(
        "recdash.online.analysis.novelty_effect.novelty_effects_against", lambda *_, **__: [result]
    )
    told = [one.found for one in health.novelty_warnings(FOUR, [metric], "a")]
    assert len(told) == (says is not None)
    assert all(says in text for text in told if says)


def test_of_few_users_no_change_is_told() -> None:
    rng, rows = np.random.default_rng(0), []
    for n, told in ((16, False), (400, True)):
        rows = [(user, day, 5, int(rng.integers(1, 5))) for user in range(n) for day in range(6)]
        (result,) = novelty_effect.novelty_effects(
            users("ab" * (n // 2), exposed=[0] * n, days=rows), ENGAGEMENT, "a"
        )
        assert result.early_lift is not None
        assert (result.p is not None) == told
        assert result.note == ("" if told else "too few users for a valid interval")
