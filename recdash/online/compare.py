"""A variant against the control: value, lift and their intervals, or words why not.

tea-tasting does the statistics of the lift (delta method, Welch's t, CUPED). What it would answer with NaN,
infinity or a TypeError is recognised before it is asked: one user in a variant, no variance, a mean of 0.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recdash.domain import Floats, Ints
from recdash.online.measures import OnlineMetric

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIDENCE = 0.95
# Below this share of the squared value a variance is rounding noise.
NO_VARIANCE = 1e-12
TOO_WIDE = "the variance is too large for an interval"
BEFORE = "before_"
"""Begins the names of the totals of the time before the test: what CUPED knows of each user."""


class Estimate(NamedTuple):
    """A number with its interval and, for a lift, its p; ``note`` says why something is None."""

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""


def arm(n: int, mean: float, variance: float) -> Any:
    """tea-tasting's aggregates of one summary row; its only column is ``value``."""
    from tea_tasting.aggr import Aggregates

    return Aggregates(count_=n, mean_={"value": mean}, var_={"value": variance})


def arms(totals: Mapping[str, Floats], variant: Ints) -> list[Any]:
    """tea-tasting's aggregates of each variant from per-user totals [U], all of them numbers.

    Counted here rather than there, since there a NaN counts as a user but not in the variance, and
    a variant with one user is a TypeError.
    """
    names, columns = list(totals), np.array(list(totals.values()))
    return [_aggregates(names, columns[:, variant == code]) for code in range(variant.max() + 1)]


def _aggregates(names: list[str], users: Floats) -> Any:
    from tea_tasting.aggr import Aggregates

    spread = np.cov(users) if users.shape[1] > 1 else np.zeros((len(names), len(names)))
    spread = np.atleast_2d(spread)
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    return Aggregates(
        count_=users.shape[1],
        mean_=dict(zip(names, users.mean(axis=1).tolist(), strict=True)),
        var_=dict(zip(names, np.diag(spread).tolist(), strict=True)),
        cov_={(names[i], names[j]): float(spread[i, j]) for i, j in pairs},
    )


def value(metric: OnlineMetric, arm: Any) -> Estimate:
    """The metric in one variant; the interval by the delta method over users, cut to what is possible."""
    from scipy.stats import t

    if not arm.mean(metric.denominator):
        return Estimate(None, note=f"there are no {per(metric)}")
    ratio = arm.mean(metric.numerator) / arm.mean(metric.denominator)
    if arm.count() < 2:
        return Estimate(ratio, note="one user gives no interval")
    if not _varies(metric, arm):
        return Estimate(ratio, note="all users are alike, which gives no interval")
    half = t.ppf((1 + CONFIDENCE) / 2, arm.count() - 1) * math.sqrt(_variance(metric, arm) / arm.count())
    low = max(ratio - half, -math.inf if metric.low is None else metric.low)
    high = min(ratio + half, math.inf if metric.high is None else metric.high)
    return Estimate(ratio, float(low), float(high))


def per(metric: OnlineMetric) -> str:
    """What the metric is divided by, in words."""
    return (metric.denominator or "users").replace("_", " ")


def lift(
    metric: OnlineMetric, control: Any, variant: Any, level: float = CONFIDENCE, *, adjusted: bool = False
) -> Estimate:
    """Relative difference to the control. Its interval is that of the logarithm of the ratio; p that of
    the difference, so that near p = .05 the two can disagree by a hair.

    ``adjusted``: by what users did before the test (CUPED), where ``can_adjust``.
    """
    note = why_no_lift(metric, control, variant)
    if note:
        return Estimate(_change(metric, control, variant), note=note)
    try:
        found = _measured(metric, level, adjusted=adjusted).analyze_aggregates(control, variant)
    except (OverflowError, ValueError):  # a covariate that makes the control negative has no logarithm
        return Estimate(_change(metric, control, variant), note=TOO_WIDE)
    low, high = float(found.rel_effect_size_ci_lower), float(found.rel_effect_size_ci_upper)
    if not -1 < low <= high < math.inf:
        return Estimate(float(found.rel_effect_size), note=TOO_WIDE)
    return Estimate(float(found.rel_effect_size), low, high, float(found.pvalue))


def log_ratio(
    metric: OnlineMetric, control: Any, variant: Any, *, adjusted: bool = False
) -> tuple[float, float] | None:
    """log(variant ÷ control) and its standard error (delta method); None where ``lift`` has no interval."""
    from scipy.stats import norm

    if why_no_lift(metric, control, variant):
        return None
    measured = _measured(metric, CONFIDENCE, adjusted=adjusted, use_t=False)
    try:
        found = measured.analyze_aggregates(control, variant)
        # With the normal's quantile the interval's width on the log scale is the standard error.
        width = math.log1p(found.rel_effect_size_ci_upper) - math.log1p(found.rel_effect_size_ci_lower)
    except (OverflowError, ValueError):
        return None
    return math.log1p(found.rel_effect_size), float(width / 2 / norm.ppf((1 + CONFIDENCE) / 2))


def can_adjust(metric: OnlineMetric, *sides: Any) -> bool:
    """Whether CUPED is possible: the metric was there before the test too, users differed in it, and it does
    not say all.
    """
    names = [metric.numerator, *([metric.denominator] if metric.denominator else [])]
    if any(f"{BEFORE}{name}" not in side.mean_ for side in sides for name in names):
        return False
    earlier = before(metric)
    if not all(_has_values(metric, side) and _has_values(earlier, side) for side in sides):
        return False
    if not all(_varies(earlier, side) for side in sides):
        return False
    return any(_explained(metric, side) < 1 - NO_VARIANCE for side in sides)


def _has_values(metric: OnlineMetric, arm: Any) -> bool:
    return bool(arm.mean(metric.denominator) > 0)


def before(metric: OnlineMetric) -> OnlineMetric:
    """The same metric in the time before the test."""
    below = f"{BEFORE}{metric.denominator}" if metric.denominator else None
    return replace(metric, numerator=f"{BEFORE}{metric.numerator}", denominator=below)


def _explained(metric: OnlineMetric, arm: Any) -> float:
    """The share of the metric's variance that the time before explains: where it is all, none is left."""
    earlier = before(metric)
    own, other = _variance(metric, arm), _variance(earlier, arm)
    shared = arm.ratio_cov(metric.numerator, metric.denominator, earlier.numerator, earlier.denominator)
    return float(shared**2 / (own * other)) if own > 0 else 1.0


def why_no_lift(metric: OnlineMetric, control: Any, variant: Any) -> str:
    """Words why there is no lift, or no interval around it; empty where there is."""
    base, other = value(metric, control).value, value(metric, variant).value
    if base is None or other is None:
        return f"there are no {per(metric)}"
    if base <= 0:
        return f"the control is {base:g}, and a lift is a share of a control above 0"
    if min(control.count(), variant.count()) < 2:
        return "one user in a variant gives no interval"
    if other <= 0:
        return f"the variant is {other:g}, which gives no interval"
    if not (_varies(metric, control) or _varies(metric, variant)):
        return "all users are alike, which gives no interval"
    return ""


def _change(metric: OnlineMetric, control: Any, variant: Any) -> float | None:
    base, other = value(metric, control).value, value(metric, variant).value
    return None if base is None or other is None or base <= 0 else other / base - 1


def _measured(metric: OnlineMetric, level: float, *, adjusted: bool, use_t: bool = True) -> Any:
    from tea_tasting.metrics import RatioOfMeans

    earlier = before(metric) if adjusted else None
    return RatioOfMeans(
        metric.numerator,
        metric.denominator,
        numer_covariate=earlier.numerator if earlier else None,
        denom_covariate=earlier.denominator if earlier else None,
        confidence_level=level,
        use_t=use_t,
    )


def _variance(metric: OnlineMetric, arm: Any) -> float:
    return float(arm.ratio_var(metric.numerator, metric.denominator))


def _varies(metric: OnlineMetric, arm: Any) -> bool:
    ratio = float(arm.mean(metric.numerator) / arm.mean(metric.denominator))
    return _variance(metric, arm) > NO_VARIANCE * ratio * ratio
