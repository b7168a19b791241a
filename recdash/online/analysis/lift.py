"""Computes a variant's value and its lift over the control with intervals, or the reason why one is missing.

tea-tasting computes the lift (delta method, Welch's t, CUPED). Cases in which it would return NaN or infinity
or raise TypeError are recognised before: one user in a variant, no variance, a mean of 0. Where its normal
approximation is not valid (``validity``), rates get the intervals of ``counts``, and other metrics get none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online import counts, validity
from recdash.online.metrics import OnlineMetric
from recdash.online.validity import ONE_LOOK, Bound
from recdash.stats.sparse import clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Mapping

CONFIDENCE = 0.95
NOT_ADJUSTED = "not adjusted for pre-test behaviour: CUPED {}"
REPEATED = "there are more trials than users, so trials are not independent"
TOO_WIDE = "the variance is too large for an interval"
BEFORE = "before_"
"""Prefix of the names of pre-test totals, with which CUPED adjusts the lift."""


class Estimate(NamedTuple):
    """A number with its interval and, for a lift, its p. ``note`` says why something is None."""

    value: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""


def arm(n: int, mean: float, variance: float) -> Any:
    """Returns tea-tasting's aggregates for a row of an aggregated table; their only column is ``value``."""
    from tea_tasting.aggr import Aggregates

    return Aggregates(count_=n, mean_={"value": mean}, var_={"value": variance})


def arms(totals: Mapping[str, Floats], variant: Ints) -> list[Any]:
    """Returns tea-tasting's aggregates for each variant, given the totals per user [U], none of which is NaN.

    They are computed here because tea-tasting counts a NaN as a user but not in the variance, and raises
    TypeError for a variant with one user.
    """
    from tea_tasting.aggr import Aggregates

    names, columns, arms = list(totals), np.array(list(totals.values())), []
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    for code in range(variant.max() + 1):
        users = columns[:, variant == code]
        spread = np.cov(users) if users.shape[1] > 1 else np.zeros((len(names), len(names)))
        spread = np.atleast_2d(spread)
        means, variances = users.mean(axis=1).tolist(), np.diag(spread).tolist()
        covariances = {(names[i], names[j]): float(spread[i, j]) for i, j in pairs}
        by_name = (dict(zip(names, values, strict=True)) for values in (means, variances))
        arms.append(Aggregates(users.shape[1], *by_name, covariances))
    return arms


def value(metric: OnlineMetric, arm: Any) -> Estimate:
    """Returns the metric in one variant with its interval.

    The interval is computed by the delta method over users and clipped to possible values. For a rate with
    few successes it is exact. Without an interval, the note says why.
    """
    from scipy.stats import t

    if not arm.mean(metric.denominator):
        return Estimate(None, note=f"there are no {per(metric)}")
    n, ratio = arm.count(), arm.mean(metric.numerator) / arm.mean(metric.denominator)
    rates = counts.counted(metric, arm)
    if rates is not None and not _is_valid(metric, arm, ONE_LOOK):
        return Estimate(ratio, *clopper_pearson(*rates[0], CONFIDENCE))
    variance = _variance(metric, arm)
    if math.isnan(variance):
        return Estimate(ratio, note=REPEATED)
    if n < ONE_LOOK.users:
        return Estimate(ratio, note=validity.note(ONE_LOOK.users, n, ""))
    if not _varies(metric, arm):
        return Estimate(ratio, note="all users are equal, so there is no interval")
    half = t.ppf((1 + CONFIDENCE) / 2, n - 1) * math.sqrt(variance / n)
    low = max(ratio - half, -math.inf if metric.low is None else metric.low)
    high = min(ratio + half, math.inf if metric.high is None else metric.high)
    return Estimate(ratio, float(low), float(high))


def per(metric: OnlineMetric) -> str:
    """Returns what the metric's denominator counts, as text: ``users`` or ``sessions``."""
    return (metric.denominator or "users").replace("_", " ")


def lift(
    metric: OnlineMetric, control: Any, variant: Any, level: float = CONFIDENCE, *, adjusted: bool = False
) -> Estimate:
    """Returns the relative difference of ``variant`` from ``control``.

    The interval is that of the logarithm of the ratio, p is that of the difference. If p does not exclude 0
    at ``level``, the interval contains 0 too. ``adjusted``: adjust for pre-test behaviour (CUPED); check
    ``can_adjust`` before. Without a lift or an interval, the note says why.
    """
    note = _why_no_share(metric, control, variant)
    if note:
        return Estimate(None, note=note)
    change = value(metric, variant).value / value(metric, control).value - 1  # type: ignore[operator]
    rates = sparse_rates(metric, control, variant)
    if rates is not None:
        low, high = counts.ratio_interval(rates[0], rates[1], level)
        return _agreeing(Estimate(change, low - 1, high - 1, counts.p_value(*rates), counts.METHOD), level)
    note = why_no_interval(metric, control, variant)
    if note:
        return Estimate(change, note=note)
    ratio = _ratio_of_means(metric, level, adjusted=adjusted)
    try:
        result = ratio.analyze_aggregates(*with_shared_variance(metric, control, variant))
    except (OverflowError, ValueError):  # CUPED made the control negative: no logarithm
        return Estimate(change, note=TOO_WIDE)
    low, high = float(result.rel_effect_size_ci_lower), float(result.rel_effect_size_ci_upper)
    if not -1 < low <= high < math.inf:
        return Estimate(float(result.rel_effect_size), note=TOO_WIDE)
    return _agreeing(Estimate(float(result.rel_effect_size), low, high, float(result.pvalue)), level)


def _agreeing(estimate: Estimate, level: float) -> Estimate:
    low, high = validity.with_p(estimate.low, estimate.high, estimate.p, level)
    return estimate._replace(low=float(low), high=float(high))


def chosen_lift(metric: OnlineMetric, control: Any, variant: Any) -> tuple[Estimate, Estimate | None]:
    """Returns the lift to show and, if that is adjusted for pre-test behaviour (CUPED), the unadjusted one.

    The second is None if the first is unadjusted. A lift is adjusted only if its interval then becomes
    narrower; its note says why it is not adjusted although it could be.
    """
    plain = lift(metric, control, variant)
    if plain.low is None or plain.note or not can_adjust(metric, control, variant):
        return plain, None
    adjusted = lift(metric, control, variant, adjusted=True)
    if adjusted.low is None:
        return plain._replace(note=NOT_ADJUSTED.format("has no interval above −100 %")), None
    if _width(adjusted) >= _width(plain):
        return plain._replace(note=NOT_ADJUSTED.format("would make the interval wider")), None
    return adjusted, plain


def is_adjusted(metric: OnlineMetric, control: Any, variant: Any) -> bool:
    """Returns True if the lift to show is adjusted for pre-test behaviour (CUPED)."""
    return chosen_lift(metric, control, variant)[1] is not None


def _width(estimate: Estimate) -> float:
    return math.inf if estimate.low is None or estimate.high is None else estimate.high - estimate.low


def sparse_rates(metric: OnlineMetric, control: Any, variant: Any) -> list[counts.Count] | None:
    """Returns the counts of a rate with too few successes or failures for the delta method.

    Returns None for all others.
    """
    if min(control.count(), variant.count()) < 2:
        return None
    if all(_is_valid(metric, side, ONE_LOOK) for side in (control, variant)):
        return None
    return counts.counted(metric, control, variant)


def with_shared_variance(metric: OnlineMetric, control: Any, variant: Any) -> list[Any]:
    """Returns the aggregates of control and variant.

    If one has far fewer users, it gets at least the other's variance.
    """
    return [_with_shared_variance(metric, *pair) for pair in ((control, variant), (variant, control))]


def _with_shared_variance(metric: OnlineMetric, side: Any, other: Any) -> Any:
    from tea_tasting.aggr import Aggregates

    own = _variance(metric, side)
    variance = float(validity.shared_variance(side.count(), own, other.count(), _variance(metric, other)))
    if variance == own:
        return side
    if not _varies(metric, side):  # no factor raises a variance of 0: the numerator gets all of it
        added = (variance - own) * side.mean(metric.denominator) ** 2
        numerator = side.var(metric.numerator) + added
        return Aggregates(side.count(), side.mean_, {**side.var_, metric.numerator: numerator}, side.cov_)
    # All second moments grow alike, which keeps the correlations with pre-test totals.
    factor = variance / own
    return Aggregates(
        side.count(),
        side.mean_,
        {name: factor * value for name, value in side.var_.items()},
        {names: factor * value for names, value in side.cov_.items()},
    )


def users_needed(metric: OnlineMetric, control: Any, variant: Any, bound: Bound) -> list[float]:
    """Returns the numbers of users in control and variant from which an interval meets ``bound``."""
    return [_users_needed(metric, side, bound) for side in with_shared_variance(metric, control, variant)]


def _users_needed(metric: OnlineMetric, arm: Any, bound: Bound) -> float:
    n, ratio = arm.count(), float(arm.mean(metric.numerator) / arm.mean(metric.denominator))
    high = 1.0 if counts.counted(metric, arm) else math.inf if metric.high is None else metric.high
    return float(validity.users_needed(bound, n, ratio, _variance(metric, arm) / n, high))


def _is_valid(metric: OnlineMetric, arm: Any, bound: Bound) -> bool:
    return _varies(metric, arm) and bool(arm.count() >= _users_needed(metric, arm, bound))


def log_ratio(
    metric: OnlineMetric, control: Any, variant: Any, *, adjusted: bool = False
) -> tuple[float, float] | None:
    """Returns log(variant ÷ control) and its standard error by the delta method.

    Returns None if that is not valid.
    """
    from scipy.stats import norm

    if _why_no_share(metric, control, variant) or why_no_interval(metric, control, variant):
        return None
    ratio = _ratio_of_means(metric, CONFIDENCE, adjusted=adjusted, use_t=False)
    try:
        result = ratio.analyze_aggregates(*with_shared_variance(metric, control, variant))
        # With the normal's quantile the interval's width on the log scale is the standard error.
        width = math.log1p(result.rel_effect_size_ci_upper) - math.log1p(result.rel_effect_size_ci_lower)
    except (OverflowError, ValueError):
        return None
    return math.log1p(result.rel_effect_size), float(width / 2 / norm.ppf((1 + CONFIDENCE) / 2))


def can_adjust(metric: OnlineMetric, *sides: Any) -> bool:
    """Returns True if CUPED is possible.

    The metric must have pre-test values that vary and do not determine its values completely.
    """
    earlier = before(metric)
    if not all(earlier.is_in(side.mean_) for side in sides):
        return False
    for side in sides:
        has_values = side.mean(metric.denominator) > 0 and side.mean(earlier.denominator) > 0
        if not has_values or not _varies(earlier, side):
            return False
    return any(_explained(metric, side) < 1 - validity.NO_VARIANCE for side in sides)


def before(metric: OnlineMetric) -> OnlineMetric:
    """Returns the metric computed from the totals of the pre-test period."""
    below = f"{BEFORE}{metric.denominator}" if metric.denominator else None
    return replace(metric, numerator=f"{BEFORE}{metric.numerator}", denominator=below)


def _explained(metric: OnlineMetric, arm: Any) -> float:
    """Returns the share of the metric's variance that its pre-test values explain, from 0 to 1."""
    earlier = before(metric)
    own, other = _variance(metric, arm), _variance(earlier, arm)
    shared = arm.ratio_cov(metric.numerator, metric.denominator, earlier.numerator, earlier.denominator)
    return float(shared**2 / (own * other)) if own > 0 else 1.0


def _why_no_share(metric: OnlineMetric, control: Any, variant: Any) -> str:
    """Returns why there is no lift; an empty text if there is one."""
    base, other = value(metric, control).value, value(metric, variant).value
    if base is None or other is None:
        return f"there are no {per(metric)}"
    return "" if base > 0 else f"the control is {base:g}, and a lift is relative to a control above 0"


def why_no_interval(metric: OnlineMetric, control: Any, variant: Any) -> str:
    """Returns why the delta method gives no valid interval of a lift; an empty text if it does."""
    sides = {"control": control, "variant": variant}
    if any(math.isnan(_variance(metric, side)) for side in sides.values()):
        return REPEATED
    if min(side.count() for side in sides.values()) < 2:
        return "a variant with one user has no interval"
    if not variant.mean(metric.numerator) / variant.mean(metric.denominator) > 0:
        return f"the variant is {value(metric, variant).value:g}, so there is no interval"
    alike = [name for name, side in sides.items() if not _varies(metric, side)]
    if alike:
        whose = f" of the {alike[0]}" if len(alike) == 1 else ""
        return f"all users{whose} are equal, so there is no interval"
    return why_not_valid(metric, control, variant, ONE_LOOK)


def why_not_valid(metric: OnlineMetric, control: Any, variant: Any, bound: Bound) -> str:
    """Returns why an interval does not meet ``bound`` yet, and the users it needs.

    An empty text if it does.
    """
    needed = users_needed(metric, control, variant, bound)
    sides = zip(needed, (control.count(), variant.count()), ("control", "variant"), strict=True)
    least, n, side = max(sides, key=lambda need: need[0] / need[1])
    if math.isinf(least):  # its value is at the end of its range
        arm = variant if side == "variant" else control
        return f"the {side} has no {'failure' if arm.mean(metric.numerator) > 0 else 'success'} yet"
    return validity.note(least, n, side) if least > n else ""


def _ratio_of_means(metric: OnlineMetric, level: float, *, adjusted: bool, use_t: bool = True) -> Any:
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
    return _variance(metric, arm) > validity.NO_VARIANCE * ratio * ratio
