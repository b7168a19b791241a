"""The statistics of online tests, held to tests whose effects are known: what they promise must happen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from online_results import results_of_upload

from recdash.demo.ab_tests import Simulated, simulate
from recdash.domain.inputs import Upload
from recdash.errors import Problem
from recdash.online import METRICS, OnlineMetric, OnlineResults
from recdash.online.analysis import grouped_lifts, novelty_effect, over_time, segments
from recdash.online.analysis import lift as compare
from recdash.online.analysis.grouped_lifts import Sums
from recdash.online.logs.sessions import per_user
from recdash.online.rules import OnlineRules
from recdash.online.users import OnlineUsers

BY_NAME = {metric.name: metric for metric in METRICS}
ENGAGEMENT = BY_NAME["engagement_rate"]
NO_EFFECT: dict[str, dict[str, float]] = {"control": {}, "new": {}}
WARNINGS = {"sample-ratio-mismatch", "many-crossovers", "novelty", "bots-uneven"}


def found(test: Simulated) -> OnlineResults:
    return results_of_upload(Upload("sessions", "sessions.csv", test.sessions, {}))


def warnings(test: Simulated) -> list[Problem]:
    told = found(test)
    return [one for one in (*told.health.warnings, *told.notices) if one.code in WARNINGS]


# ── the reference set ────────────────────────────────────────────────────────────────────────


def test_true_lifts_of_3_and_5_percent_lie_inside_the_intervals_of_300_000_users() -> None:
    test = simulate(300_000, seed=1)
    assert test.sessions.num_rows == pytest.approx(1.02e6, rel=0.01)
    rows = {row.metric: row for row in found(test).rows if row.variant == "new"}
    true = test.known.lifts["new"]
    assert true["engagement_rate"] == pytest.approx(0.03, abs=1e-12)
    assert true["session_watch_time"] == pytest.approx(0.0505, abs=1e-12)
    for metric, lift in true.items():
        row = rows[metric]
        assert row.lift_low is not None
        assert row.lift_high is not None
        assert row.lift_low < lift < row.lift_high
    assert (rows["engagement_rate"].word, rows["session_watch_time"].word) == ("better", "better")


# ── 400 tests: does an interval cover as often as it says? ───────────────────────────────────

TESTS, USERS = 400, 600


def per_test(test: Simulated) -> Iterator[list[Any]]:
    """The variants' aggregates of each of 400 tests, simulated as one: users do not know each other."""
    users = per_user(test.sessions, OnlineRules(starts="2026-11-02"))
    order = np.argsort(users.unit.to_numpy())  # type: ignore[attr-defined]
    totals = {**users.totals, **{f"{compare.BEFORE}{name}": one for name, one in users.before.items()}}
    assert len(users) == TESTS * USERS
    for begin in range(0, len(users), USERS):
        rows = order[begin : begin + USERS]
        yield compare.arms({name: values[rows] for name, values in totals.items()}, users.variant[rows])


@pytest.mark.parametrize(
    "metric", ["engagement_rate", pytest.param("session_watch_time", marks=pytest.mark.long)]
)
def test_95_percent_intervals_cover_the_truth_in_93_to_97_percent_of_400_tests(
    metric: str,
    four_hundred: tuple[Simulated, list[list[Any]]],
    plain_intervals: Callable[[str], list[compare.Estimate]],
) -> None:
    test, _ = four_hundred
    assert 0.93 <= coverage(plain_intervals(metric), test.known.lifts["new"][metric]) <= 0.97


@pytest.mark.parametrize(
    "metric", ["engagement_rate", pytest.param("sessions_per_user", marks=pytest.mark.long)]
)
def test_what_users_did_before_narrows_the_interval_which_covers_as_often(
    metric: str,
    four_hundred: tuple[Simulated, list[list[Any]]],
    plain_intervals: Callable[[str], list[compare.Estimate]],
) -> None:
    test, arms = four_hundred
    adjusted = [compare.lift(BY_NAME[metric], *pair, adjusted=True) for pair in arms]
    assert 0.93 <= coverage(adjusted, test.known.lifts["new"][metric]) <= 0.97
    assert width(adjusted) < 0.95 * width(plain_intervals(metric))


@pytest.fixture(scope="module")
def four_hundred() -> tuple[Simulated, list[list[Any]]]:
    test = simulate(TESTS * USERS, seed=2, before_days=14)
    return test, list(per_test(test))


@pytest.fixture(scope="module")
def plain_intervals(
    four_hundred: tuple[Simulated, list[list[Any]]],
) -> Callable[[str], list[compare.Estimate]]:
    """The intervals of a metric in each of the 400 tests, counted once."""
    return cache(lambda metric: [compare.lift(BY_NAME[metric], *pair) for pair in four_hundred[1]])


def coverage(intervals: list[compare.Estimate], truth: float) -> float:
    """Share of the intervals that hold the truth; every one has both ends."""
    ends = np.array([(interval.low, interval.high) for interval in intervals], dtype=np.float64)
    assert np.isfinite(ends).all()
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


def width(intervals: list[compare.Estimate]) -> float:
    return float(np.mean([(interval.high or 0) - (interval.low or 0) for interval in intervals]))


# ── A/A: the same users, dealt into two variants again and again ─────────────────────────────


@pytest.fixture(scope="module")
def alike() -> OnlineUsers:
    return per_user(simulate(5_000, seed=3, arms=NO_EFFECT).sessions)


def dealt(users: OnlineUsers, metric: OnlineMetric, times: int = 4_000) -> tuple[Sums, Sums]:
    """[times] sums over users of control and variant, each user's lot drawn anew each time."""
    rng, n = np.random.default_rng(4), len(users)
    numerator, denominator = grouped_lifts.numerator_and_denominator(metric, users.totals)
    divisor = np.ones(n) if denominator is None else denominator
    columns = np.stack([np.ones(n), numerator, divisor, numerator**2, numerator * divisor, divisor**2])
    lots = [(rng.random((500, n)) < 0.5).astype(np.float64) @ columns.T for _ in range(times // 500)]
    variant = np.concatenate(lots).T
    return Sums(*(columns.sum(axis=1)[:, None] - variant)), Sums(*variant)


@pytest.mark.parametrize("metric", METRICS[:4], ids=lambda metric: metric.name)
def test_without_an_effect_4_to_6_percent_of_4000_tests_find_one_at_5_percent(
    metric: OnlineMetric, alike: OnlineUsers
) -> None:
    lifts = grouped_lifts.lifts(metric, *dealt(alike, metric))
    assert 0.04 <= (lifts.p < 0.05).mean() <= 0.06
    assert 0.04 <= ((lifts.low > 0) | (lifts.high < 0)).mean() <= 0.06


def test_who_takes_sessions_for_independent_finds_effects_that_are_not_there(alike: OnlineUsers) -> None:
    """The two-proportion z-test over sessions, at 5 %: what the delta method is there to mend."""
    control, variant = dealt(alike, ENGAGEMENT)
    engaged, sessions = (alike.totals[name].sum() for name in ("engaged_sessions", "sessions"))
    rate = engaged / sessions
    error = np.sqrt(rate * (1 - rate) * (1 / control.denominator + 1 / variant.denominator))
    naive = np.abs(variant.value - control.value) / error > 1.96
    assert naive.mean() > 0.09


@pytest.mark.long
def test_peeked_at_on_14_days_an_interval_finds_effects_that_are_not_there_and_the_sequence_does_not() -> (
    None
):
    users, rng = per_user(simulate(1_500, seed=5, arms=NO_EFFECT).sessions), np.random.default_rng(6)
    fixed = sequence = 0
    for _ in range(600):
        again = replace(users, variant=rng.integers(0, 2, len(users)))
        looks = over_time.cumulative(again, ENGAGEMENT, "control")
        assert len(looks) == 14
        fixed += any(excludes_0(look.low, look.high) for look in looks)
        sequence += any(excludes_0(look.sequence_low, look.sequence_high) for look in looks)
    assert fixed / 600 > 0.15
    assert sequence / 600 < 0.05


def excludes_0(low: float | None, high: float | None) -> bool:
    return low is not None and high is not None and not low <= 0 <= high


# ── planted faults ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("fault", "code", "place"),
    [
        ({"srm": 0.08}, "sample-ratio-mismatch", "users per variant"),
        ({"crossover": 0.02}, "many-crossovers", "column 'variant'"),
        ({"novelty": 0.15}, "novelty", "variant 'new'"),
        ({"bots": 0.01}, "bots-uneven", "variant 'new'"),
    ],
    ids=["a lost share of users", "users in two variants", "a lift that fades", "bots in one variant"],
)
def test_a_planted_fault_is_found_and_named(fault: dict[str, float], code: str, place: str) -> None:
    (told,) = {(warning.code, warning.place) for warning in warnings(simulate(40_000, seed=7, **fault))}
    assert told == (code, place)


@pytest.mark.parametrize(
    ("seeds", "clean"),
    [
        # Did 1 log in 5 warn, at most one of 30 would in 1 of 100 cases: .8^30 + 30 × .2 × .8^29 = .011.
        pytest.param(range(30), 29, id="30"),
        pytest.param(range(100), 95, id="100", marks=pytest.mark.long),
    ],
)
def test_a_clean_log_raises_no_warning_in_95_of_100_seeds(seeds: range, clean: int) -> None:
    raised = Counter(bool(warnings(simulate(1_500, seed=seed))) for seed in seeds)
    assert raised[False] >= clean


def test_a_lift_that_fades_is_larger_early_than_late() -> None:
    users = per_user(simulate(40_000, seed=7, novelty=0.15).sessions)
    (one,) = novelty_effect.novelty_effects(users, ENGAGEMENT, "control")
    assert one.early_lift is not None
    assert one.late_lift is not None
    assert one.early_lift > 0.08 > one.late_lift > 0
    by_day = [moment.lift or 0 for moment in over_time.since_exposure(users, ENGAGEMENT, "control")]
    # on the day of exposure .03 and most of .15; after a week .03 and less than a seventh of it
    assert by_day[0] > 0.1 > np.mean(by_day[7:])


def test_the_fading_of_a_steady_lift_is_found_in_5_percent_of_tests() -> None:
    """One in twenty, give or take what 400 tests allow."""
    users, rng = per_user(simulate(2_000, seed=8, arms=NO_EFFECT).sessions), np.random.default_rng(9)
    p = [
        novelty_effect.novelty_effects(
            replace(users, variant=rng.integers(0, 2, len(users))), ENGAGEMENT, "control"
        )[0].p
        for _ in range(400)
    ]
    assert 0.03 <= np.mean(np.array(p, dtype=np.float64) < 0.05) <= 0.075


def test_a_platform_where_the_lift_is_reversed_is_named() -> None:
    arms = {"control": {}, "new": {"engagement_rate": 0.15}}
    test = simulate(40_000, seed=10, arms=arms, reverse="tv")
    users = per_user(test.sessions)
    rows = segments.by_segment(users, ENGAGEMENT, "control", "platform")
    (told,) = segments.simpson(rows, segments.whole(users, ENGAGEMENT, "control"))
    assert (told.variant, told.segments, told.all_of_them) == ("new", ("tv",), False)
