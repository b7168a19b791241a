"""Computes a lift over time: cumulative, daily, and by days since exposure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis import grouped_lifts
from recdash.online.analysis.grouped_lifts import Sums
from recdash.online.analysis.sequential import sequence
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers


@dataclass(frozen=True)
class LiftAtTime:
    """The lift of one variant at one time, as a share, with its 95 % interval.

    ``day`` counts from 1970 (UTC), in ``since_exposure`` from the first exposure (0 is its day). ``n`` users
    of variant and control together. The sequence is an always-valid interval; only cumulative lifts have one,
    from the day on which it is valid (``validity.MANY_LOOKS``). Unavailable numbers are None, and ``note``
    says why.
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
    """Returns the cumulative lift up to each day of the test, of the users exposed until then.

    ``n_planned``: users of variant and control together at which the sequence is narrowest before the test.
    Raises UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    sums = _up_to(users, metric, users.days.day - first, n)
    return list(_moments(users, metric, control, sums, first, n_planned=n_planned, with_sequence=True))


def daily(users: OnlineUsers, metric: OnlineMetric, control: str) -> list[LiftAtTime]:
    """Returns the lift of each day alone, of the users exposed until then. Raises UnknownName."""
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    sums = _on(users, metric, users.days.day - first, n)
    return list(_moments(users, metric, control, sums, first))


def since_exposure(users: OnlineUsers, metric: OnlineMetric, control: str) -> list[LiftAtTime]:
    """Returns the lift on the day of a user's first exposure (0), the day after (1) …, of the users observed
    that long: exposed at least so many days before the last day of the test.

    Raises UnknownName.
    """
    first, n_days = grouped_lifts.calendar(users)
    watched = _exposed(users, first + n_days - 1 - users.exposed, n_days)
    n = watched[:, ::-1].cumsum(axis=1)[:, ::-1]
    days = users.days.day - users.exposed[users.days.unit]
    return list(_moments(users, metric, control, _on(users, metric, days, n), 0))


def _exposed(users: OnlineUsers, day: Ints, n_days: int) -> Floats:
    """Returns [variants, days] users with that day; ``day`` [U] from 0."""
    counts = np.bincount(users.variant * n_days + day, minlength=len(users.variants) * n_days)
    return counts.reshape(len(users.variants), n_days).astype(np.float64)


# ── sums by variant and day ──────────────────────────────────────────────────────────────────


def _on(users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats) -> Sums:
    """Returns [variants, days] what users did on a day; ``day`` [rows of users.days] from 0, ``n`` users by
    then.
    """
    numerator, denominator = grouped_lifts.columns(metric, users.days.totals)
    cell = users.variant[users.days.unit] * n.shape[1] + day
    sums = grouped_lifts.added_up(numerator, denominator, cell, n.size).reshape(n.shape)
    # A user without activity on that day has no row, and counts.
    if metric.denominator:
        return replace(sums, n=n)
    return replace(sums, n=n, denominator=n, products=sums.numerator, denominator_squares=n)


def _up_to(users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats) -> Sums:
    """Returns [variants, days] what users did until then; ``day`` and ``n`` as above.

    Each row changes the products of a user's totals from those before it to those after it. Adding up the
    changes avoids visiting each user again on each day.
    """
    unit, shape = users.days.unit, n.shape
    cell = users.variant[unit] * shape[1] + day

    def total(steps: Floats) -> Floats:
        return np.bincount(cell, steps, minlength=n.size).reshape(shape).cumsum(axis=1)

    numerator, denominator = grouped_lifts.columns(metric, users.days.totals)
    numerator_after = _so_far(unit, numerator)
    numerators, squares = total(numerator), total(numerator * (2 * numerator_after - numerator))
    if denominator is None:
        return Sums(n, numerators, n, squares, numerators, n)
    denominator_after = _so_far(unit, denominator)
    products = total(numerator * denominator_after + (numerator_after - numerator) * denominator)
    denominator_squares = total(denominator * (2 * denominator_after - denominator))
    return Sums(n, numerators, total(denominator), squares, products, denominator_squares)


def _so_far(unit: Ints, values: Floats) -> Floats:
    """Returns [rows] each user's cumulative total; rows in the order of users and days."""
    total = values.cumsum()
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    lengths = np.diff(starts, append=len(unit))
    return total - np.repeat(total[starts] - values[starts], lengths)


# ── sums → lifts ─────────────────────────────────────────────────────────────────────────────


def _moments(
    users: OnlineUsers,
    metric: OnlineMetric,
    control: str,
    sums: Sums,
    first: int,
    *,
    n_planned: int | None = None,
    with_sequence: bool = False,
) -> Iterator[LiftAtTime]:
    """Yields each variant's lift at each time, with the confidence sequence if wanted and valid."""
    base = grouped_lifts.place(users, control)
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
                low, high = sequence(log_ratio, std_error, n_both, n_planned)
                ends = float(low), float(high)
            interval = lift.value, lift.low, lift.high
            yield LiftAtTime(variant, first + index, n_both, *interval, *ends, lift.note)
