"""Derives totals per user from others: capped, within hours of the exposure, back on a day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.ingest.moment_columns import EARLIER
from recdash.online.metrics import OnlineMetric
from recdash.online.users import Days, OnlineUsers


def resolved(metric: OnlineMetric) -> OnlineMetric:
    """Returns the metric as a ratio of totals that ``with_totals`` adds; unchanged if it needs none.

    A metric that users must be observed for some time is counted over the users who were.
    """
    if not metric.is_derived:
        return metric
    return replace(
        metric,
        numerator=_numerator(metric),
        denominator=_observed(metric) or metric.denominator,
        covariate=None,
        cap=None,
        within_hours=None,
        retention_day=None,
    )


def windows_of(metrics: Sequence[OnlineMetric]) -> tuple[float, ...]:
    """Returns the hours after the exposure for which totals are needed."""
    return tuple(sorted({m.within_hours for m in metrics if m.within_hours is not None}))


class Needs(NamedTuple):
    """What metrics need besides totals: those within ``windows`` hours of the exposure, and the single values
    of ``columns``.
    """

    windows: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()


NO_NEEDS = Needs()


def needs_of(metrics: Sequence[OnlineMetric]) -> Needs:
    """Returns what these metrics need besides totals."""
    columns = {metric.numerator for metric in metrics if metric.quantile is not None}
    return Needs(windows_of(metrics), tuple(sorted(columns)))


def in_window(name: str, hours: float) -> str:
    """Returns the name of a total within some hours of the exposure."""
    return f"{name} within {hours:g} h"


def observed_for(hours: float) -> str:
    """Returns the name of the total that is 1 for users who were observed for so many hours."""
    return f"users observed for {hours:g} h"


def is_observed(users: OnlineUsers, metric: OnlineMetric) -> bool:
    """Returns True if some users were observed as long as the metric needs; always for one without a time."""
    if metric.retention_day is not None:
        return len(users) > 0 and int(users.exposed.min()) + metric.retention_day <= _last_day(users)
    if metric.within_hours is None:
        return True
    observed = users.totals.get(observed_for(metric.within_hours))
    return observed is not None and bool(observed.any())


def _last_day(users: OnlineUsers) -> int:
    return int(max(users.days.day.max(initial=0), users.exposed.max(initial=0)))


def with_totals(users: OnlineUsers, metrics: Sequence[OnlineMetric]) -> OnlineUsers:
    """Returns the users with the totals that these metrics need; unchanged if none is derived.

    Totals of windows must be there already (``logs.sessions.per_user``).
    """
    for metric in metrics:
        if metric.is_derived and not resolved(metric).is_in(users.totals):
            users = _with_total(users, metric)
        if metric.covariate is not None:
            users = _with_covariate(users, metric)
    return users


def _numerator(metric: OnlineMetric) -> str:
    if metric.retention_day is not None:
        return f"back on day {metric.retention_day}"
    name = metric.numerator
    if metric.within_hours is not None:
        name = in_window(name, metric.within_hours)
    if metric.cap is not None:
        name = f"{name} up to {metric.cap:g}"
    return f"{name} adjusted by {metric.covariate}" if metric.covariate is not None else name


def _observed(metric: OnlineMetric) -> str | None:
    if metric.retention_day is not None:
        return f"users observed to day {metric.retention_day}"
    return None if metric.within_hours is None else observed_for(metric.within_hours)


def _with_total(users: OnlineUsers, metric: OnlineMetric) -> OnlineUsers:
    if metric.retention_day is not None:
        return _with_retention(users, metric, metric.retention_day)
    source = metric.numerator
    if metric.within_hours is not None:
        source = in_window(source, metric.within_hours)
    if source not in users.totals:
        return users
    name, cap = _numerator(metric), np.inf if metric.cap is None else metric.cap
    shares = np.divide(cap, users.totals[source], out=np.ones(len(users)), where=users.totals[source] > cap)
    totals = {**users.totals, name: users.totals[source] * shares}
    per_day = {**users.days.totals, name: users.days.totals[source] * shares[users.days.unit]}
    before = dict(users.before)
    if source in before:
        before[name] = np.minimum(before[source], cap)
    return replace(users, totals=totals, days=replace(users.days, totals=per_day), before=before)


def _with_retention(users: OnlineUsers, metric: OnlineMetric, day: int) -> OnlineUsers:
    """Returns the users with a total that is 1 for those who did anything on a day after their exposure.

    ``day`` counts from the day of the exposure, which is 0. Only users who were exposed early enough count.
    """
    days, own = users.days, resolved(metric)
    observed = users.exposed + day <= _last_day(users)
    is_back = (days.day - users.exposed[days.unit] == day) & observed[days.unit]
    back = np.zeros(len(users))
    back[days.unit[is_back]] = 1.0
    per_day = {**days.totals, own.numerator: is_back.astype(np.float64)}
    users = replace(users, totals={**users.totals, own.numerator: back}, days=replace(days, totals=per_day))
    return with_totals_of_exposure(users, {own.denominator or "": observed.astype(np.float64)})


def with_totals_of_exposure(users: OnlineUsers, more: Mapping[str, Floats]) -> OnlineUsers:
    """Returns the users with totals [U] that count on the day of the exposure.

    A user without a row on that day gets one.
    """
    days = users.days
    has_row = np.zeros(len(users), dtype=np.bool_)
    is_first = days.day == users.exposed[days.unit]
    has_row[days.unit[is_first]] = True
    new = np.flatnonzero(~has_row)
    unit, day = np.concatenate([days.unit, new]), np.concatenate([days.day, users.exposed[new]])
    order: Ints = np.lexsort((day, unit))
    totals = {}
    for name, values in days.totals.items():
        totals[name] = np.concatenate([values, np.zeros(len(new))])[order]
    for name, values in more.items():
        here = np.concatenate([np.where(is_first, values[days.unit], 0.0), values[new]])
        totals[name] = here[order]
    return replace(users, totals={**users.totals, **more}, days=Days(unit[order], day[order], totals))


def _with_covariate(users: OnlineUsers, metric: OnlineMetric) -> OnlineUsers:
    """Returns the users with the metric's covariate as its total before the test."""
    own, name = resolved(metric), metric.covariate or ""
    values = users.before.get(name, users.totals.get(name))
    if values is None:
        values = users.before.get(name.removeprefix(EARLIER))
    if values is None:
        return users
    before = {**users.before, own.numerator: values}
    if own.denominator is not None and own.denominator not in before:
        before[own.denominator] = np.ones(len(users))
    return replace(users, before=before)
