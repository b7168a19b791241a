"""Computes a lift over time: cumulative, daily, and by days since exposure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis import grouped_lifts
from recdash.online.analysis.grouped_lifts import Sums
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
    users: OnlineUsers, metric: OnlineMetric, control: str, n_planned: int | None = None
) -> list[LiftAtTime]:
    """Returns the cumulative lift up to each day of the test, over the users exposed until then.

    ``n_planned`` is the number of users of variant and control at which the always-valid interval is
    narrowest. Raises UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    sums = _up_to(users, metric, users.days.day - first, n)
    return list(_moments(users, metric, control, sums, first, n_planned=n_planned, with_sequence=True))


def daily(users: OnlineUsers, metric: OnlineMetric, control: str) -> list[LiftAtTime]:
    """Returns the lift on each single day, over the users exposed until then.

    Raises UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    sums = _on(users, metric, users.days.day - first, n)
    return list(_moments(users, metric, control, sums, first))


def since_exposure(users: OnlineUsers, metric: OnlineMetric, control: str) -> list[LiftAtTime]:
    """Returns the lift on the day of the users' first exposure (0), on the day after (1), and so on.

    The lift on day d covers the users exposed at least d days before the last day of the test. Raises
    UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    watched = _exposed(users, first + n_days - 1 - users.exposed, n_days)
    n = watched[:, ::-1].cumsum(axis=1)[:, ::-1]
    days = users.days.day - users.exposed[users.days.unit]
    return list(_moments(users, metric, control, _on(users, metric, days, n), 0))


def _exposed(users: OnlineUsers, day: Ints, n_days: int) -> Floats:
    """Returns [variants, days] the number of users per day; ``day`` [U] is each user's day, from 0."""
    counts = np.bincount(users.variant * n_days + day, minlength=len(users.variants) * n_days)
    return counts.reshape(len(users.variants), n_days).astype(np.float64)


def by_day_of_exposure(
    groups: GroupedMoments, metric: OnlineMetric, control: str, n_planned: int | None = None
) -> list[LiftAtTime]:
    """Returns the lift over the users that were first exposed up to each day, from the moments of groups.

    Their totals are those of the whole test, as in a table of one row per user. The result is empty for
    groups without days. Raises UnknownName for an unknown control.
    """
    grouped_lifts.control_index(groups, control)
    if groups.day is None:
        return []
    first = int(groups.day.min())
    n_days = int(groups.day.max()) - first + 1
    shape = len(groups.variants), n_days
    per_day = grouped_lifts.sums_of(
        groups, metric, groups.variant * n_days + groups.day - first, shape[0] * n_days
    )
    cumulated = (getattr(per_day.reshape(shape), name).cumsum(axis=1) for name in SUMS)
    return list(
        _moments(groups, metric, control, Sums(*cumulated), first, n_planned=n_planned, with_sequence=True)
    )


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


# ── sums → lifts ─────────────────────────────────────────────────────────────────────────────


def _moments(
    users: OnlineUsers | GroupedMoments,
    metric: OnlineMetric,
    control: str,
    sums: Sums,
    first: int,
    *,
    n_planned: int | None = None,
    with_sequence: bool = False,
) -> Iterator[LiftAtTime]:
    """Yields each variant's lift on each day.

    It has the always-valid interval if ``with_sequence`` is True and there are enough users.
    """
    base = grouped_lifts.control_index(users, control)
    for code, variant in enumerate(users.variants):
        if code == base:
            continue
        n = (sums.n[base] + sums.n[code]).astype(np.int64).tolist()
        lifts = grouped_lifts.lifts(metric, sums[base], sums[code])
        for index, n_both in enumerate(n):
            lift = lifts[index]
            ends: tuple[float | None, float | None] = (None, None)
            if with_sequence and lifts.for_many_looks[index]:
                log_ratio, std_error = float(lifts.log_ratio[index]), float(lifts.std_error[index])
                low, high = always_valid_interval(log_ratio, std_error, n_both, n_planned)
                ends = float(low), float(high)
            interval = lift.value, lift.low, lift.high
            yield LiftAtTime(variant, first + index, n_both, *interval, *ends, lift.note)
