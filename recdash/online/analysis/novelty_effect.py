"""Measures the novelty effect: does the lift of the same users fade or rise over time?

Letters in shapes: ``V`` variants, ``U`` users.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online import validity
from recdash.online.analysis import grouped_lifts
from recdash.online.analysis.lift import CONFIDENCE, per
from recdash.online.analysis.pair_values import PairValues
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers
from recdash.stats.random_split import RandomSplits

Span = tuple[int, int]
Course = Literal["fades", "rises", "falls"]


@dataclass(frozen=True)
class NoveltyEffect:
    """The lift of a variant in the first days since exposure and in later days, over the same users.

    ``n`` is the number of users of variant and control who were observed long enough. ``early_days`` and
    ``late_days`` are the first and last day of each period since exposure (0 is the day of exposure). Lifts
    are shares. ``difference`` is log(1 + late lift) − log(1 + early lift), with its 95 % interval and p.
    Unavailable numbers are None, and ``note`` says why.
    """

    variant: str
    n: int
    early_days: Span
    late_days: Span
    early_lift: float | None = None
    late_lift: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""

    @property
    def course(self) -> Course:
        """Returns how the lift changes over time.

        It *fades* if it keeps its sign and gets smaller, otherwise it *rises* or *falls*.
        """
        early, late = self.early_lift or 0.0, self.late_lift or 0.0
        if early * late > 0 and abs(late) < abs(early):
            return "fades"
        return "rises" if late > early else "falls"


@dataclass(frozen=True)
class _Watched:
    """The metric early and late in each variant [V], over users who were observed long enough.

    ``n`` is the number of users. ``early`` and ``late`` are the metric's values, NaN for a denominator of 0.
    ``squared_error`` is the squared standard error of log(late ÷ early), ``relative_error`` the larger
    relative standard error of the two values.
    """

    n: Ints
    early: Floats
    late: Floats
    squared_error: Floats
    relative_error: Floats


def novelty_effects(
    users: OnlineUsers, metric: OnlineMetric, control: str, *, delta_method: bool = False
) -> list[NoveltyEffect]:
    """Returns the novelty effect in each variant other than the control; ``delta_method`` as in the rules.

    Raises UnknownName for an unknown control.
    """
    base = grouped_lifts.control_index(users, control)
    return novelty_effects_against(users, metric, base, delta_method=delta_method)


def novelty_effects_against(
    users: OnlineUsers, metric: OnlineMetric, base: int, *, delta_method: bool = False
) -> list[NoveltyEffect]:
    """Returns the novelty effect in each variant other than the control, whose index is ``base``.

    It covers the users who were observed for at least two thirds of the test's days since their exposure. The
    first half of those days is early, the second half late. With several variants, correct their p-values
    together.
    """
    first, n_days = grouped_lifts.calendar(users)
    early, late = _spans(n_days)
    watched = _watched(users, metric, early, late, users.exposed + late[1] < first + n_days)
    effects = {
        code: NoveltyEffect(name, int(watched.n[base] + watched.n[code]), early, late)
        for code, name in enumerate(users.variants)
        if code != base
    }
    measured = [_measured(effect, metric, watched, base, code) for code, effect in effects.items()]
    if delta_method:
        return measured
    counted = users.exposed + late[1] < first + n_days
    return [
        _by_splits(effect, users, metric, counted, base, code)
        for effect, code in zip(measured, effects, strict=True)
    ]


def _spans(n_days: int) -> tuple[Span, Span]:
    """Returns the first and last day of the early and of the late period.

    Both periods are the first day if the test has only one.
    """
    length = math.ceil(n_days * 2 / 3)
    width = max(length // 2, 1)
    return (0, width - 1), (length - width, length - 1)


def _watched(users: OnlineUsers, metric: OnlineMetric, early: Span, late: Span, counted: Mask) -> _Watched:
    """Returns the early and late values over the users that ``counted`` [U] marks.

    Early and late values depend on each other. Each user's contributions to log(late ÷ early) are therefore
    added before they are squared: the delta method with all covariances of early and late, numerator and
    denominator.
    """
    arm, n_arms = users.variant, len(users.variants)
    n = np.bincount(arm[counted], minlength=n_arms)
    (early_rate, early_part), (late_rate, late_part) = (
        _rate_and_parts(users, metric, span, counted) for span in (early, late)
    )
    part = np.where(counted, late_part - early_part, 0.0)
    squared = np.bincount(arm, part**2, minlength=n_arms) * n / np.maximum(n - 1, 1)
    # sums of squared parts are the squared relative errors of a rate
    errors = [
        np.sqrt(np.bincount(arm, np.nan_to_num(part) ** 2, minlength=n_arms))
        for part in (early_part, late_part)
    ]
    return _Watched(n, early_rate, late_rate, squared, np.maximum(*errors))


def _by_splits(
    effect: NoveltyEffect, users: OnlineUsers, metric: OnlineMetric, counted: Mask, base: int, code: int
) -> NoveltyEffect:
    """Returns the effect with p from the splits of its users, and an interval that agrees with it.

    The overall lift is removed first, so that the users of a variant with a steady lift could be in either.
    """
    from scipy.special import ndtr, ndtri

    if effect.p is None or effect.difference is None:
        return effect
    chosen = counted & ((users.variant == base) | (users.variant == code))
    is_variant = users.variant[chosen] == code
    early, late = (_totals(users, metric, span, counted) for span in (effect.early_days, effect.late_days))
    (early_above, early_below), (late_above, late_below) = (
        (above[chosen], below[chosen]) for above, below in (early, late)
    )
    both = PairValues(early_above + late_above, early_below + late_below, is_variant)
    control, variant = both.values()
    parts = [
        _contributions(np.where(is_variant, above * control / variant, above), below)
        for above, below in ((early_above, early_below), (late_above, late_below))
    ]
    trend = parts[1] - parts[0]
    deviate = RandomSplits(trend, both.n_variant).deviate(float(trend[is_variant].sum()))
    p = float(min(2 * ndtr(-abs(deviate)), 1.0))
    if not deviate:
        return replace(effect, p=1.0)
    half = abs(effect.difference / deviate) * float(ndtri((1 + CONFIDENCE) / 2))
    return replace(effect, p=p, low=effect.difference - half, high=effect.difference + half)


def _contributions(above: Floats, below: Floats) -> Floats:
    """Returns [U] each user's contribution to the logarithm of Σ ``above`` / Σ ``below``."""
    part: Floats = above / above.sum() - below / below.sum()
    return part


def _rate_and_parts(
    users: OnlineUsers, metric: OnlineMetric, span: Span, counted: Mask
) -> tuple[Floats, Floats]:
    """Returns [V] the metric over the days of ``span``, and [U] each user's contribution to its logarithm.

    The contribution is N/ΣN − D/ΣD, with the user's numerator N and denominator D.
    """
    numerator, denominator = _totals(users, metric, span, counted)
    (above, of_above), (below, of_below) = _shares(users, numerator), _shares(users, denominator)
    return grouped_lifts.ratio(above, below), of_above - of_below


def _totals(users: OnlineUsers, metric: OnlineMetric, span: Span, counted: Mask) -> tuple[Floats, Floats]:
    """Returns [U] each user's numerator and denominator over the days of ``span``; 0 if not counted."""
    unit = users.days.unit
    since = users.days.day - users.exposed[unit]
    rows = (since >= span[0]) & (since <= span[1]) & counted[unit]
    numerator, denominator = (
        counted.astype(np.float64)
        if values is None
        else np.bincount(unit[rows], values[rows], minlength=len(users)).astype(np.float64)
        for values in grouped_lifts.numerator_and_denominator(metric, users.days.totals)
    )
    return numerator, denominator


def _shares(users: OnlineUsers, done: Floats) -> tuple[Floats, Floats]:
    """Returns [V] the sum of ``done`` over the users of each variant, and [U] each user's share of it."""
    sums = np.bincount(users.variant, done, minlength=len(users.variants)).astype(np.float64)
    return sums, grouped_lifts.ratio(done, sums[users.variant])


def _measured(
    effect: NoveltyEffect, metric: OnlineMetric, watched: _Watched, base: int, code: int
) -> NoveltyEffect:
    """Returns ``effect`` with its numbers, or with a note that says why it has none."""
    from scipy.special import ndtr, ndtri

    sides, bound = [base, code], validity.ONE_LOOK
    rates, note = np.array([watched.early[sides], watched.late[sides]]), ""
    if effect.early_days == effect.late_days:
        note = "a single day cannot be split into early and late"
    elif watched.n[sides].min() < 2:
        n_days = effect.late_days[1] + 1
        note = f"fewer than two users of a variant were observed for {n_days} days"
    elif np.isnan(rates).any():
        note = f"there are no {per(metric)} early or late"
    elif (rates <= 0).any():
        note = "the metric is not above 0 early or late, and a lift is relative to it"
    if note:
        return replace(effect, note=note)
    early, late = (rates[:, 1] / rates[:, 0]).tolist()
    difference = math.log(late / early)
    effect = replace(effect, early_lift=early - 1, late_lift=late - 1, difference=difference)
    squared = float(watched.squared_error[base] + watched.squared_error[code])
    if squared <= validity.NO_VARIANCE / effect.n:
        return replace(effect, note="all users are equal, so there is no interval")
    is_sure = (watched.relative_error[sides] <= bound.relative_error).all()
    if watched.n[sides].min() < bound.users or not is_sure:
        return replace(effect, note="too few users for a valid interval")
    half = math.sqrt(squared) * float(ndtri((1 + CONFIDENCE) / 2))
    p = float(2 * ndtr(-abs(difference) / math.sqrt(squared)))
    return replace(effect, low=difference - half, high=difference + half, p=p)
