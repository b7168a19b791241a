"""Computes a lift over time: cumulative, daily, and by days since exposure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis import group_comparisons, grouped_lifts, quantile_groups
from recdash.online.analysis.group_comparisons import ByDeltaMethod, UsersUntil
from recdash.online.analysis.grouped_lifts import Sums
from recdash.online.analysis.lift import CONFIDENCE, Estimate
from recdash.online.analysis.moments import GroupedMoments
from recdash.online.analysis.sequential import always_valid_interval
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers

SUMS = tuple(field.name for field in fields(Sums))


@dataclass(frozen=True)
class LiftAtTime:
    """The lift of one variant up to one day or on one day, as a share, with its 95 % interval.

    ``day`` counts from 1970 (UTC); in ``since_exposure`` it counts from the day of first exposure, which is
    0. ``n`` is the number of users of variant and control. ``sequence_low`` and ``sequence_high`` are the
    always-valid interval; only cumulative lifts have one, from the day on which it is valid
    (``validity.MANY_LOOKS``). Unavailable numbers are None, and ``note`` says why.
    """

    variant: str
    day: int
    n: int
    lift: float | None
    low: float | None
    high: float | None
    sequence_low: float | None = None
    sequence_high: float | None = None
    note: str = ""


def cumulative(
    users: OnlineUsers,
    metric: OnlineMetric,
    control: str,
    n_planned: int | None = None,
    *,
    delta_method: bool = False,
) -> list[LiftAtTime]:
    """Returns the cumulative lift up to each day of the test, over the users exposed until then.

    ``n_planned`` is the number of users of variant and control at which the always-valid interval is
    narrowest; ``delta_method`` as in the rules. Raises UnknownName for an unknown control.
    """
    base, (first, n_days) = grouped_lifts.control_index(users, control), grouped_lifts.calendar(users)
    n, day = _exposed(users, users.exposed - first, n_days).cumsum(axis=1), users.days.day - first
    if metric.quantile is not None:
        of_row = users.values[metric.numerator].day - first
        return list(_of_quantile(users, metric, base, (of_row, first), n, cumulative=True))
    sums = _up_to(users, metric, day, n)
    sequence = _Sequence(metric, sums, base, n_planned)
    if delta_method:
        return list(_moments(users, sums, base, first, _by_delta_method(metric, sums, base), sequence))
    lifts = _by_comparison(users, metric, base, day, n, cumulative=True)
    return list(_moments(users, sums, base, first, lifts, sequence))


def daily(
    users: OnlineUsers, metric: OnlineMetric, control: str, *, delta_method: bool = False
) -> list[LiftAtTime]:
    """Returns the lift on each single day, over the users exposed until then.

    Raises UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    if metric.quantile is not None:
        of_row, base = users.values[metric.numerator].day - first, grouped_lifts.control_index(users, control)
        return list(_of_quantile(users, metric, base, (of_row, first), n, cumulative=False))
    return _of_days(users, metric, control, users.days.day - first, n, first, delta_method=delta_method)


def since_exposure(
    users: OnlineUsers, metric: OnlineMetric, control: str, *, delta_method: bool = False
) -> list[LiftAtTime]:
    """Returns the lift on the day of the users' first exposure (0), on the day after (1), and so on.

    The lift on day d covers the users exposed at least d days before the last day of the test. Raises
    UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    watched = _exposed(users, first + n_days - 1 - users.exposed, n_days)
    n = watched[:, ::-1].cumsum(axis=1)[:, ::-1]
    if metric.quantile is not None:
        rows, base = users.values[metric.numerator], grouped_lifts.control_index(users, control)
        of_row = rows.day - users.exposed[rows.user]
        return list(_of_quantile(users, metric, base, (of_row, 0), n, cumulative=False))
    days = users.days.day - users.exposed[users.days.unit]
    return _of_days(users, metric, control, days, n, 0, delta_method=delta_method)


def _of_days(
    users: OnlineUsers,
    metric: OnlineMetric,
    control: str,
    day: Ints,
    n: Floats,
    first: int,
    *,
    delta_method: bool,
) -> list[LiftAtTime]:
    """Returns the lift on each day; ``day`` is that of each row of ``users.days``, from 0, and ``n``
    [variants, days] the number of users.
    """
    base, sums = grouped_lifts.control_index(users, control), _on(users, metric, day, n)
    if delta_method:
        return list(_moments(users, sums, base, first, _by_delta_method(metric, sums, base)))
    lifts = _by_comparison(users, metric, base, day, n, cumulative=False)
    return list(_moments(users, sums, base, first, lifts))


def _of_quantile(
    users: OnlineUsers,
    metric: OnlineMetric,
    base: int,
    days: tuple[Ints, int],
    n: Floats,
    *,
    cumulative: bool,
) -> Iterator[LiftAtTime]:
    """Yields the lifts of a quantile, which have no always-valid interval, by variant and day.

    ``days`` are the day of each row of the metric, from 0, and the day that 0 stands for; ``n``
    [variants, days] is the number of users.
    """
    of_row, first = days
    by_day = list(quantile_groups.by_day(users, metric, of_row, n, base, cumulative=cumulative))
    for code in (code for code in range(len(users.variants)) if code != base):
        for index, comparisons in enumerate(by_day):
            lift, n_both = comparisons[code].lift(CONFIDENCE), int(n[base, index] + n[code, index])
            interval = lift.value, lift.low, lift.high
            yield LiftAtTime(users.variants[code], first + index, n_both, *interval, note=lift.note)


def _exposed(users: OnlineUsers, day: Ints, n_days: int) -> Floats:
    """Returns [variants, days] the number of users per day; ``day`` [U] is each user's day, from 0."""
    counts = np.bincount(users.variant * n_days + day, minlength=len(users.variants) * n_days)
    return counts.reshape(len(users.variants), n_days).astype(np.float64)


def by_day_of_exposure(
    groups: GroupedMoments,
    metric: OnlineMetric,
    control: str,
    n_planned: int | None = None,
    *,
    delta_method: bool = False,
) -> list[LiftAtTime]:
    """Returns the lift over the users that were first exposed up to each day, from the moments of groups.

    Their totals are those of the whole test, as in a table of one row per user. The result is empty for
    groups without days. Raises UnknownName for an unknown control.
    """
    base = grouped_lifts.control_index(groups, control)
    if groups.day is None:
        return []
    first = int(groups.day.min())
    n_days = int(groups.day.max()) - first + 1
    shape = len(groups.variants), n_days
    per_day = grouped_lifts.sums_of(
        groups, metric, groups.variant * n_days + groups.day - first, shape[0] * n_days
    )
    sums = Sums(*(getattr(per_day.reshape(shape), name).cumsum(axis=1) for name in SUMS))
    sequence = _Sequence(metric, sums, base, n_planned)
    if delta_method:
        return list(_moments(groups, sums, base, first, _by_delta_method(metric, sums, base), sequence))
    lifts = _by_moments(groups, metric, base, groups.day - first, n_days)
    return list(_moments(groups, sums, base, first, lifts, sequence))


# ── sums by variant and day ──────────────────────────────────────────────────────────────────


def _on(users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats) -> Sums:
    """Returns [variants, days] the sums of what users did on each day.

    ``day`` is the day of each row of ``users.days``, from 0; ``n`` [variants, days] is the number of users
    until then.
    """
    numerator, denominator = grouped_lifts.numerator_and_denominator(metric, users.days.totals)
    cell = users.variant[users.days.unit] * n.shape[1] + day
    sums = grouped_lifts.added_up(numerator, denominator, cell, n.size).reshape(n.shape)
    # A user without activity on that day has no row, but counts as 0.
    if metric.denominator:
        return replace(sums, n=n)
    return replace(sums, n=n, denominator=n, products=sums.numerator, denominator_squares=n)


def _up_to(users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats) -> Sums:
    """Returns [variants, days] the sums of what users did up to each day; ``day`` and ``n`` as in ``_on``.

    Each row changes the squares and products of its user's totals. Adding up these changes avoids a pass over
    all users for each day.
    """
    unit, shape = users.days.unit, n.shape
    cell = users.variant[unit] * shape[1] + day

    def total(steps: Floats) -> Floats:
        return np.bincount(cell, steps, minlength=n.size).reshape(shape).cumsum(axis=1)

    numerator, denominator = grouped_lifts.numerator_and_denominator(metric, users.days.totals)
    numerator_after = _so_far(unit, numerator)
    numerators, squares = total(numerator), total(numerator * (2 * numerator_after - numerator))
    if denominator is None:
        return Sums(n, numerators, n, squares, numerators, n)
    denominator_after = _so_far(unit, denominator)
    products = total(numerator * denominator_after + (numerator_after - numerator) * denominator)
    denominator_squares = total(denominator * (2 * denominator_after - denominator))
    return Sums(n, numerators, total(denominator), squares, products, denominator_squares)


def _so_far(unit: Ints, values: Floats) -> Floats:
    """Returns [rows] each user's cumulative total; the rows are sorted by user and day."""
    total = values.cumsum()
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    lengths = np.diff(starts, append=len(unit))
    return total - np.repeat(total[starts] - values[starts], lengths)


# ── lifts ────────────────────────────────────────────────────────────────────────────────────

DayLifts = dict[int, list[Estimate]]
"""Variant → its lift on each day."""


def _by_delta_method(metric: OnlineMetric, sums: Sums, base: int) -> DayLifts:
    others = (code for code in range(len(sums.n)) if code != base)
    return {code: ByDeltaMethod(metric, sums[base], sums[code]).lifts(CONFIDENCE) for code in others}


def _by_comparison(
    users: OnlineUsers, metric: OnlineMetric, base: int, day: Ints, n: Floats, *, cumulative: bool
) -> DayLifts:
    """Returns the lifts by the comparison of each day's users; ``day`` is that of each row of
    ``users.days``, from 0, and ``n`` [variants, days] the number of users, those of the first exposure first.
    """
    others = [code for code in range(len(users.variants)) if code != base]
    by_day = UsersUntil(users.variant, users.exposed, users.days.unit, day, n.shape[1])
    rows = grouped_lifts.numerator_and_denominator(metric, users.days.totals)
    counts = n.astype(np.int64)
    lifts: DayLifts = {code: [] for code in others}
    for comparisons in by_day.compare(metric, rows, counts, base, others, cumulative=cumulative):
        for code, comparison in zip(others, comparisons, strict=True):
            lifts[code].append(comparison.lift(CONFIDENCE))
    return lifts


def _by_moments(groups: GroupedMoments, metric: OnlineMetric, base: int, day: Ints, n_days: int) -> DayLifts:
    """Returns the lifts over the users exposed up to each day; ``day`` is that of each group, from 0."""
    n = len(groups.variants)
    lifts: DayLifts = {code: [] for code in range(n) if code != base}
    for last in range(n_days):
        cell = np.where(day <= last, groups.variant, n)
        cells = group_comparisons.of_moments(groups, metric, cell, n + 1)
        for code, of_variant in lifts.items():
            of_variant.append(cells.compare(base, code).lift(CONFIDENCE))
    return lifts


@dataclass(frozen=True)
class _Sequence:
    """The always-valid intervals of the lifts up to each day, from the sums [variants, days]."""

    metric: OnlineMetric
    sums: Sums
    base: int
    n_planned: int | None

    def of_variant(self, code: int) -> list[tuple[float, float] | None]:
        """Returns the interval on each day, None where it is not valid yet."""
        lifts = grouped_lifts.lifts(self.metric, self.sums[self.base], self.sums[code])
        n = self.sums.n[self.base] + self.sums.n[code]
        low, high = always_valid_interval(lifts.log_ratio, lifts.std_error, n, self.n_planned)
        ends = zip(low.tolist(), high.tolist(), strict=True)
        return [of_day if shown else None for of_day, shown in zip(ends, lifts.for_many_looks, strict=True)]


def _moments(
    users: OnlineUsers | GroupedMoments,
    sums: Sums,
    base: int,
    first: int,
    lifts: DayLifts,
    sequence: _Sequence | None = None,
) -> Iterator[LiftAtTime]:
    """Yields each variant's lift on each day, with the always-valid interval of ``sequence``."""
    for code, of_variant in lifts.items():
        n = (sums.n[base] + sums.n[code]).astype(np.int64).tolist()
        many_looks = sequence.of_variant(code) if sequence else [None] * len(n)
        for index, (lift, n_both, ends) in enumerate(zip(of_variant, n, many_looks, strict=True)):
            low, high = ends or (None, None)
            name, interval = users.variants[code], (lift.value, lift.low, lift.high)
            yield LiftAtTime(name, first + index, n_both, *interval, low, high, lift.note)
