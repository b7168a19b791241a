"""How many users a lift needs, and how small a lift users are enough for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from recdash.online import METRICS
from recdash.online.analysis import lift
from recdash.online.analysis.power import detectable, more_users

BY_NAME = {metric.name: metric for metric in METRICS}
ENGAGEMENT, SESSIONS = BY_NAME["engagement_rate"], BY_NAME["sessions_per_user"]
# Two-sided 5 % and power 80 %, in standard errors.
TOGETHER = 1.959964 + 0.841621


def arm(n: int, mean: float, variance: float) -> Any:
    """Sessions of n users."""
    from tea_tasting.aggr import Aggregates

    return Aggregates(count_=n, mean_={"sessions": mean}, var_={"sessions": variance})


def needed(effect: float, mean: float, variance: float, ratio: float = 1.0) -> float:
    """Users by the textbook: (z + z')² · variance (1 + 1/ratio) / difference² in the control."""
    return TOGETHER**2 * variance * (1 + 1 / ratio) / (effect * mean) ** 2 * (1 + ratio)


def test_missing_users_are_those_of_the_textbook_less_those_there() -> None:
    expected = needed(0.03, mean=3.4, variance=10.0) - 2_000
    assert more_users(SESSIONS, arm(1_000, 3.4, 10.0), arm(1_000, 3.5, 12.0), 0.03) == pytest.approx(
        expected, abs=2
    )


def test_the_split_stays_as_it_is() -> None:
    expected = needed(0.03, 3.4, 10.0, ratio=0.25) - 2_500
    assert more_users(SESSIONS, arm(2_000, 3.4, 10.0), arm(500, 3.4, 10.0), 0.03) == pytest.approx(
        expected, abs=2
    )


def test_a_loss_needs_as_many_users_as_a_gain() -> None:
    both = arm(1_000, 3.4, 10.0)
    assert more_users(SESSIONS, both, both, -0.03) == more_users(SESSIONS, both, both, 0.03)


def test_enough_users_are_enough() -> None:
    many = arm(1_000_000, 3.4, 10.0)
    assert more_users(SESSIONS, many, many, 0.03) == 0


@pytest.mark.parametrize("adjusted", [False, True])
def test_numbers_are_those_of_tea_tasting(adjusted: bool) -> None:
    from tea_tasting.metrics import RatioOfMeans

    rng = np.random.default_rng(2)
    ready = rng.random(2_000)
    totals = {}
    for prefix in ("", "before_"):
        totals[f"{prefix}sessions"] = 1.0 + rng.poisson(3, 2_000)
        totals[f"{prefix}engaged_sessions"] = (
            rng.binomial(totals[f"{prefix}sessions"].astype(int), ready) * 1.0
        )
    control, variant = lift.arms(totals, (rng.random(2_000) < 0.3).astype(int))
    earlier = {"numer_covariate": "before_engaged_sessions", "denom_covariate": "before_sessions"}
    theirs = RatioOfMeans(
        "engaged_sessions", "sessions", **(earlier if adjusted else {}), use_t=False,
        ratio=variant.count() / control.count(), rel_effect_size=0.02,
    )  # fmt: skip
    (expected,) = theirs.solve_power_from_aggregates(control, "n_obs")
    result = more_users(ENGAGEMENT, control, variant, 0.02, adjusted=adjusted)
    assert result == pytest.approx(expected.n_obs - 2_000, abs=2)


@pytest.mark.parametrize(
    ("control", "effect"),
    [(arm(10, 3.4, 10.0), 0.0), (arm(10, 0.0, 1.0), 0.1), (arm(10, 3.4, 0.0), 0.1), (arm(1, 3.4, 0.0), 0.1),
     (arm(10, 3.4, 10.0), 1e-9)],
)  # fmt: skip
def test_no_number_of_users_is_told_where_none_would_do(control: Any, effect: float) -> None:
    assert more_users(SESSIONS, control, arm(10, 3.4, 10.0), effect) is None


def test_the_smallest_lift_is_found_by_just_as_many_users() -> None:
    control = arm(1_000, 3.4, 10.0)
    result = detectable(SESSIONS, control, n=20_000)
    assert result == pytest.approx(TOGETHER * math.sqrt(4 * 10.0 / 20_000) / 3.4, rel=1e-4)
    assert more_users(SESSIONS, control, control, result or 0) == pytest.approx(18_000, abs=5)


def test_an_uneven_split_finds_only_larger_lifts() -> None:
    even, uneven = (detectable(SESSIONS, arm(1_000, 3.4, 10.0), 20_000, ratio) or 0 for ratio in (1.0, 0.1))
    assert uneven / even == pytest.approx(math.sqrt((1.1 / 0.1 * 1.1) / 4), rel=1e-4)


@pytest.mark.parametrize("control", [arm(10, 0.0, 1.0), arm(10, 3.4, 0.0), arm(1, 3.4, 0.0)])
def test_no_lift_is_told_without_a_control_that_varies_around_a_value_above_0(control: Any) -> None:
    assert detectable(SESSIONS, control, n=1_000) is None


def test_three_users_find_nothing() -> None:
    assert detectable(SESSIONS, arm(10, 3.4, 10.0), n=3) is None


def test_what_users_did_before_saves_users() -> None:
    """CUPED takes 1 − r² of the variance; a ratio's is of its linearised users."""
    rng = np.random.default_rng(1)
    before = rng.gamma(2.0, 2.0, 4_000)
    now = before + rng.gamma(2.0, 1.0, 4_000)
    both = lift.arms({"sessions": now, "before_sessions": before}, np.arange(4_000) % 2)
    plain, adjusted = (
        (detectable(SESSIONS, both[0], 4_000, adjusted=adjusted) or 0) ** 2 for adjusted in (False, True)
    )
    of_control = np.arange(4_000) % 2 == 0
    r = np.corrcoef(now[of_control], before[of_control])[0, 1]
    assert adjusted / plain == pytest.approx(1 - r**2, rel=1e-6)
    assert (more_users(SESSIONS, *both, 0.01, adjusted=True) or 0) < (more_users(SESSIONS, *both, 0.01) or 0)
