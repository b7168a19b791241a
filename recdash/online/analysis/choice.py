"""Chooses how a variant is compared with the control: by a test that is valid for its users, or by none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from recdash.online import counts, validity
from recdash.online.analysis import lift
from recdash.online.analysis.comparison import (
    LARGE,
    Comparison,
    DeltaComparison,
    NoComparison,
    RateComparison,
    SplitComparison,
    WelchComparison,
    WithoutLift,
    users_for_normal,
)
from recdash.online.analysis.pair_values import ROUNDED, PairValues, Side
from recdash.online.counts import Count
from recdash.online.metrics import OnlineMetric

LEAST_EXPLAINED, EXPLAINED_USERS = 0.01, 10
"""Pre-test values must explain this share of the variance, and that of this many users."""


class Choice(NamedTuple):
    """The comparison to show and, if that is adjusted for pre-test behaviour (CUPED), the unadjusted one.

    ``note`` says why the lift is not adjusted although it could be.
    """

    shown: Comparison
    plain: Comparison | None = None
    note: str = ""


def former(metric: OnlineMetric, control: Any, variant: Any) -> Choice:
    """Returns the comparison of tests stored before; ``control`` and ``variant`` are aggregates."""
    estimate, plain = lift.chosen_lift(metric, control, variant)
    unadjusted = DeltaComparison(metric, control, variant)
    if plain is None:
        return Choice(unadjusted, None, estimate.note if lift.NOT_ADJUSTED[:12] in estimate.note else "")
    return Choice(DeltaComparison(metric, control, variant, adjusted=True), unadjusted)


def of_aggregates(metric: OnlineMetric, control: Any, variant: Any) -> Choice:
    """Returns the comparison of two variants of which only counts, means and variances are known.

    Skewness is unknown. A mean needs many users in relation to its variance, and a far smaller variant has at
    least the variance of the larger.
    """
    base, other = lift.value(metric, control).value, lift.value(metric, variant).value
    rates = counts.counted(metric, control, variant)
    if min(control.count(), variant.count()) >= 2 and rates is not None:
        exact = lift.sparse_rates(metric, control, variant) is not None
        return Choice(_with_valid_lift(RateComparison(rates[0], rates[1], exact), base, other))
    undefined = _why_no_lift(base, other)
    note = lift.why_no_interval(metric, control, variant)
    few = min(control.count(), variant.count()) < LARGE
    if (note and (not undefined or few)) or base is None or other is None:
        return Choice(NoComparison(_change(base, other), _distance(base, other), undefined or note))
    sides = lift.with_shared_variance(metric, control, variant)
    plain = _with_valid_lift(WelchComparison(*_sides(metric, sides)), base, other)
    if not lift.can_adjust(metric, control, variant):
        return Choice(plain)
    adjusted = WelchComparison(*_adjusted_sides(metric, (control, variant), sides))
    if adjusted.lift(lift.CONFIDENCE).low is None or isinstance(plain, WithoutLift):
        return Choice(plain, note=lift.NOT_ADJUSTED.format("has no interval"))
    if _explains_little(_explained(metric, (control, variant)), control.count() + variant.count()):
        return Choice(plain, note=lift.NOT_ADJUSTED.format("would not make the interval narrower"))
    return Choice(adjusted, plain)


def _sides(metric: OnlineMetric, arms: Sequence[Any]) -> tuple[Side, Side]:
    """Returns control and variant from their aggregates."""
    names = (metric.numerator, metric.denominator)
    control, variant = (
        Side(
            int(arm.count()),
            float(arm.mean(names[0]) / arm.mean(names[1])),
            float(arm.ratio_var(*names)) / int(arm.count()),
        )
        for arm in arms
    )
    return control, variant


def _adjusted_sides(metric: OnlineMetric, arms: Sequence[Any], spread: Sequence[Any]) -> tuple[Side, Side]:
    """Returns control and variant from their aggregates, adjusted for pre-test values (CUPED) as
    ``PairValues.sides`` does with those of users: the coefficient is that of both variants together.

    ``spread`` are the aggregates from which the standard errors are computed.
    """
    above = _above(metric, arms)
    past = _above(lift.before(metric), arms)
    slope = _product(arms, above, past) / _product(arms, past, past)
    rest = {name: -slope * weight for name, weight in past.items()}
    sides = []
    for arm, own in zip(arms, spread, strict=True):
        n, below = int(arm.count()), float(arm.mean(metric.denominator))
        value = _mean(arm, {**rest, metric.numerator: 1.0}) / below
        weights = {metric.numerator: 1.0, metric.denominator: -value}
        variance = sum(
            factor * other_factor * _covariance(own, name, other_name)
            for name, factor in [*rest.items(), *weights.items()]
            for other_name, other_factor in [*rest.items(), *weights.items()]
        )
        sides.append(Side(n, value, variance / n / below**2))
    return sides[0], sides[1]


Weights = dict[str | None, float]
"""Total → its factor in a sum of totals of a user; None is the total that is 1 for each user."""


def _above(metric: OnlineMetric, arms: Sequence[Any]) -> Weights:
    """Returns what a user's numerator is above the metric of all users."""
    sums = [
        sum(arm.count() * arm.mean(name) for arm in arms) for name in (metric.numerator, metric.denominator)
    ]
    return {metric.numerator: 1.0, metric.denominator: -float(sums[0] / sums[1])}


def _product(arms: Sequence[Any], first: Weights, second: Weights) -> float:
    """Returns the sum over the users of all arms of the product of two sums of totals."""
    return sum(
        (arm.count() - 1)
        * sum(a * b * _covariance(arm, x, y) for x, a in first.items() for y, b in second.items())
        + arm.count() * _mean(arm, first) * _mean(arm, second)
        for arm in arms
    )


def _mean(arm: Any, weights: Weights) -> float:
    return sum(weight * float(arm.mean(name)) for name, weight in weights.items())


def _covariance(arm: Any, first: str | None, second: str | None) -> float:
    if first is None or second is None:
        return 0.0
    return float(arm.var(first) if first == second else arm.cov(first, second))


def of_users(metric: OnlineMetric, pair: PairValues) -> Choice:
    """Returns the comparison of two variants with data per user.

    It is adjusted for pre-test values if these explain enough of the variance to make the interval narrower.
    """
    plain = _unadjusted(metric, pair.plain)
    if plain.p is None or pair.covariate is None or min(pair.sizes) < validity.ONE_LOOK.users:
        return Choice(plain)
    explained = pair.explained()
    if explained > 1 - ROUNDED:  # nothing is left to compare
        return Choice(plain)
    if _explains_little(explained, len(pair.numerator)):
        return Choice(plain, note=lift.NOT_ADJUSTED.format("would not make the interval narrower"))
    adjusted = _valid(pair)
    if adjusted.lift(lift.CONFIDENCE).low is None and plain.lift(lift.CONFIDENCE).low is not None:
        return Choice(plain, note=lift.NOT_ADJUSTED.format("has no interval"))
    return Choice(adjusted, plain)


def _explains_little(explained: float, n: int) -> bool:
    """Returns True if pre-test values explain too small a share of the variance of ``n`` users to adjust for.

    The choice depends on all users alike: one by the width of the intervals would favour lucky splits.
    """
    return explained <= max(LEAST_EXPLAINED, EXPLAINED_USERS / n)


def _explained(metric: OnlineMetric, arms: Sequence[Any]) -> float:
    """Returns the share of the variance that pre-test values explain, as ``PairValues.explained`` does."""
    above, past = _above(metric, arms), _above(lift.before(metric), arms)
    squares = _product(arms, above, above)
    if not squares > 0:
        return 0.0
    return _product(arms, above, past) ** 2 / _product(arms, past, past) / squares


def _unadjusted(metric: OnlineMetric, pair: PairValues) -> Comparison:
    base, other = pair.values()
    if math.isnan(base) or math.isnan(other):
        return NoComparison(None, None, f"there are no {lift.per(metric)}")
    rates = _rates(metric, pair)
    if rates and min(pair.sizes) > 1:
        is_exact = not all(map(_has_many, rates))
        return _with_valid_lift(RateComparison(*rates, is_exact), base, other)
    note = _why_not(pair)
    if note:
        note = _why_no_lift(base, other) or note
        return NoComparison(_change(base, other), _distance(base, other), note)
    return _with_valid_lift(_valid(pair), base, other)


def _why_not(pair: PairValues) -> str:
    """Returns why users cannot be compared; an empty text if they can."""
    fewest = min(pair.sizes)
    if fewest < 2:
        return "a variant with one user has no interval"
    if not _varies(pair):
        return "all users are equal, so there is no interval"
    if fewest >= validity.ONE_LOOK.users:
        return ""
    side = "control" if pair.sizes[0] == fewest else "variant"
    return validity.note(validity.ONE_LOOK.users, fewest, side)


def _valid(pair: PairValues) -> SplitComparison | WelchComparison:
    """Returns the comparison that is valid for these users."""
    if min(pair.sizes) < users_for_normal(pair):
        return SplitComparison(pair)
    return WelchComparison(*pair.sides())


def _with_valid_lift(comparison: Comparison, base: float | None, other: float | None) -> Comparison:
    """Returns the comparison, without its lift if that is not defined for these values."""
    note = _why_no_lift(base, other)
    if note and not (isinstance(comparison, RateComparison) and base):
        return WithoutLift(comparison, _change(base, other), note)
    return comparison


def _why_no_lift(base: float | None, other: float | None) -> str:
    if base is None or other is None:
        return ""
    if not base > 0:
        return f"the control is {base:g}, and a lift is relative to a control above 0"
    return "" if other > 0 else f"the variant is {other:g}, so there is no interval"


def _change(base: float | None, other: float | None) -> float | None:
    return other / base - 1 if base is not None and other is not None and base > 0 else None


def _distance(base: float | None, other: float | None) -> float | None:
    return None if base is None or other is None else other - base


def _rates(metric: OnlineMetric, pair: PairValues) -> tuple[Count, Count] | None:
    """Returns the counts of control and variant if each user has 0 or 1, of one; None if not.

    If all users are equal, only a metric whose largest possible value is 1 counts as a rate.
    """
    ones = pair.numerator == 1
    if not (ones | (pair.numerator == 0)).all() or not (pair.denominator == 1).all():
        return None
    if metric.high != 1 and ones.all() == ones.any():
        return None
    n_control, n_variant = pair.sizes
    of_variant = int(ones[pair.is_variant].sum())
    return Count(int(ones.sum()) - of_variant, n_control), Count(of_variant, n_variant)


def _has_many(count: Count) -> bool:
    """Returns True if a rate has successes and failures enough for the score test."""
    bound = validity.ONE_LOOK
    error = count.rate * (1 - count.rate) / max(count.n - 1, 1)
    return bool(count.n >= validity.users_needed(bound, count.n, count.rate, error, 1.0))


def _varies(pair: PairValues) -> bool:
    largest = float(np.abs(pair.numerator).max(initial=0.0))
    return float(pair.residuals(pair.numerator).std()) > ROUNDED * largest
