"""A variant against the control: value, lift and their 95 % intervals, or words why not.

tea-tasting does the statistics of the lift (delta method, Welch's t). What it would answer with NaN, infinity
or a TypeError is recognised before it is asked: one user in a variant, no variance, a mean of 0.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recdash.domain import Floats, Ints
from recdash.online.measures import OnlineMetric

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIDENCE = 0.95
# Below this share of the squared value a variance is rounding noise.
NO_VARIANCE = 1e-12


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
        return Estimate(None, note="there are no sessions")
    ratio = arm.mean(metric.numerator) / arm.mean(metric.denominator)
    if arm.count() < 2:
        return Estimate(ratio, note="one user gives no interval")
    if not _varies(metric, arm):
        return Estimate(ratio, note="all users are alike, which gives no interval")
    half = t.ppf((1 + CONFIDENCE) / 2, arm.count() - 1) * math.sqrt(_variance(metric, arm) / arm.count())
    low = max(ratio - half, -math.inf if metric.low is None else metric.low)
    high = min(ratio + half, math.inf if metric.high is None else metric.high)
    return Estimate(ratio, float(low), float(high))


def lift(metric: OnlineMetric, control: Any, variant: Any) -> Estimate:
    """Relative difference to the control. Its interval is that of the logarithm of the ratio; p that of
    the difference, so that near p = .05 the two can disagree by a hair.
    """
    base, other = value(metric, control).value, value(metric, variant).value
    if base is None or other is None:
        return Estimate(None, note="there are no sessions")
    if base <= 0:
        return Estimate(None, note=f"the control is {base:g}, and a lift is a share of a control above 0")
    change = other / base - 1
    if min(control.count(), variant.count()) < 2:
        return Estimate(change, note="one user in a variant gives no interval")
    if other <= 0:
        return Estimate(change, note=f"the variant is {other:g}, which gives no interval")
    if not (_varies(metric, control) or _varies(metric, variant)):
        return Estimate(change, note="all users are alike, which gives no interval")
    return _tested(metric, control, variant, change)


def _tested(metric: OnlineMetric, control: Any, variant: Any, change: float) -> Estimate:
    from tea_tasting.metrics import RatioOfMeans

    measured = RatioOfMeans(metric.numerator, metric.denominator, confidence_level=CONFIDENCE)
    try:
        result = measured.analyze_aggregates(control, variant)
    except OverflowError:
        return Estimate(change, note="the variance is too large for an interval")
    low, high = result.rel_effect_size_ci_lower, result.rel_effect_size_ci_upper
    return Estimate(change, float(low), float(high), float(result.pvalue))


def _variance(metric: OnlineMetric, arm: Any) -> float:
    return float(arm.ratio_var(metric.numerator, metric.denominator))


def _varies(metric: OnlineMetric, arm: Any) -> bool:
    ratio = float(arm.mean(metric.numerator) / arm.mean(metric.denominator))
    return _variance(metric, arm) > NO_VARIANCE * ratio * ratio
