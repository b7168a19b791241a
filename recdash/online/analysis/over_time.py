"""A lift as it went: up to each day, on each day, and by days since the first exposure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.analysis import grouped_lifts
from recdash.online.analysis.grouped_lifts import Lifts, Sums
from recdash.online.analysis.novelty_effect import NoveltyEffect, fading
from recdash.online.analysis.sequential import sequence
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers

__all__ = ["LiftAtTime", "NoveltyEffect", "cumulative", "daily", "fading", "since_exposure"]


@dataclass(frozen=True)
class LiftAtTime:
    """The lift of one variant at one time, as a share, with its 95 % interval.

    ``day`` counts from 1970 (UTC), in ``since_exposure`` from the first exposure (0 is its day). ``n`` users
    of variant and control together. The sequence may be looked at on every day; only a lift up to a day has
    one, from the day on which it is valid (``validity.MANY_LOOKS``). What cannot be had is None, and ``note``
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
    """The lift up to and with each day of the test, of the users exposed until then.

    ``n_planned``: users of variant and control together for whom the sequence was tuned before the test.
    Raises UnknownName for an unknown control.
    """
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    sums = _up_to(users, metric, users.days.day - first, n)
    return [
        moment
        for variant, n_both, lifts in _pairs(users, metric, control, sums)
        for moment in _peeked(_moments(variant, first, n_both, lifts), lifts, n_planned)
    ]


def daily(users: OnlineUsers, metric: OnlineMetric, control: str) -> list[LiftAtTime]:
    """The lift of each day alone, of the users exposed until then. Raises UnknownName."""
    first, n_days = grouped_lifts.calendar(users)
    n = _exposed(users, users.exposed - first, n_days).cumsum(axis=1)
    return _each(users, metric, control, _on(users, metric, users.days.day - first, n), first)


def since_exposure(users: OnlineUsers, metric: OnlineMetric, control: str) -> list[LiftAtTime]:
    """The lift on the day of a user's first exposure (0), the day after (1) …, of the users who could be
    watched that long: exposed at least so many days before the last day of the test. Raises UnknownName.
    """
    first, n_days = grouped_lifts.calendar(users)
    watched = _exposed(users, first + n_days - 1 - users.exposed, n_days)
    n = watched[:, ::-1].cumsum(axis=1)[:, ::-1]
    days = users.days.day - users.exposed[users.days.unit]
    return _each(users, metric, control, _on(users, metric, days, n), 0)


def _exposed(users: OnlineUsers, day: Ints, n_days: int) -> Floats:
    """[variants, days] users with that day; ``day`` [U] from 0."""
    counts = np.bincount(users.variant * n_days + day, minlength=len(users.variants) * n_days)
    return counts.reshape(len(users.variants), n_days).astype(np.float64)


# ── sums by variant and day ──────────────────────────────────────────────────────────────────


def _on(users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats) -> Sums:
    """[variants, days] what users did on a day; ``day`` [rows of users.days] from 0, ``n`` users by then."""
    numerator, denominator = grouped_lifts.columns(metric, users.days.totals)
    cell = users.variant[users.days.unit] * n.shape[1] + day
    found = grouped_lifts.added_up(numerator, denominator, cell, n.size).reshape(n.shape)
    # Who did nothing on that day has no row, and counts.
    return replace(found, n=n) if metric.denominator else found.per_user(n)


def _up_to(users: OnlineUsers, metric: OnlineMetric, day: Ints, n: Floats) -> Sums:
    """[variants, days] what users did until then; ``day`` and ``n`` as above.

    With each row the products of a user's totals grow from those before it to those after it: adding up the
    steps, no user has to be looked at again on each of the days.
    """
    unit, shape = users.days.unit, n.shape
    cell = users.variant[unit] * shape[1] + day

    def total(steps: Floats) -> Floats:
        return np.bincount(cell, steps, minlength=n.size).reshape(shape).cumsum(axis=1)

    numerator, denominator = grouped_lifts.columns(metric, users.days.totals)
    numerator_after = _so_far(unit, numerator)
    first, squares = total(numerator), total(numerator * (2 * numerator_after - numerator))
    if denominator is None:
        return Sums(n, first, n, squares, first, n)
    denominator_after = _so_far(unit, denominator)
    products = total(numerator * denominator_after + (numerator_after - numerator) * denominator)
    return Sums(
        n,
        first,
        total(denominator),
        squares,
        products,
        total(denominator * (2 * denominator_after - denominator)),
    )


def _so_far(unit: Ints, values: Floats) -> Floats:
    """[rows] each user's total up to and with the row; rows in the order of users and days."""
    total = values.cumsum()
    starts = np.flatnonzero(np.diff(unit, prepend=-1))
    lengths = np.diff(starts, append=len(unit))
    return total - np.repeat(total[starts] - values[starts], lengths)


# ── sums → lifts ─────────────────────────────────────────────────────────────────────────────


def _pairs(
    users: OnlineUsers, metric: OnlineMetric, control: str, sums: Sums
) -> Iterator[tuple[str, Ints, Lifts]]:
    """Each variant with users of it and the control [days], and its lifts [days]."""
    base = grouped_lifts.place(users, control)
    for code, variant in enumerate(users.variants):
        if code != base:
            n = (sums.n[base] + sums.n[code]).astype(np.int64)
            yield variant, n, grouped_lifts.lifts(metric, sums[base], sums[code])


def _each(users: OnlineUsers, metric: OnlineMetric, control: str, sums: Sums, first: int) -> list[LiftAtTime]:
    pairs = _pairs(users, metric, control, sums)
    return [moment for variant, n, lifts in pairs for moment in _moments(variant, first, n, lifts)]


def _moments(variant: str, first: int, n: Ints, lifts: Lifts) -> list[LiftAtTime]:
    return [
        LiftAtTime(
            variant=variant,
            day=first + day,
            n=int(n[day]),
            lift=grouped_lifts.known(lifts.value[day]),
            low=grouped_lifts.known(lifts.low[day]),
            high=grouped_lifts.known(lifts.high[day]),
            note=str(lifts.note[day]),
        )
        for day in range(len(n))
    ]


def _peeked(moments: list[LiftAtTime], lifts: Lifts, n_planned: int | None) -> Iterator[LiftAtTime]:
    """With the confidence sequence, where it is valid."""
    columns = (moments, lifts.log_ratio, lifts.std_error, lifts.for_many_looks)
    for moment, log_ratio, std_error, is_valid in zip(*columns, strict=True):
        if is_valid:
            low, high = sequence(float(log_ratio), float(std_error), moment.n, n_planned)
            yield replace(moment, sequence_low=float(low), sequence_high=float(high))
        else:
            yield moment
