"""Adds up the counted rows of each user: over the test, before the test and per day.

Letters in shapes: ``n`` session rows, ``U`` users that count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from recdash.domain.kinds import Floats, Ints, Mask
from recdash.online import times
from recdash.online.derived import in_window, observed_for
from recdash.online.rules import OnlineRules
from recdash.online.users import Days, RowValues
from recdash.sorting import first_of_equals, order_of

NOT_CUT = frozenset(
    {"sessions", "engaged_sessions", "lists", "clicked_lists", "answerable_lists", "answered_lists"}
)
"""Totals that are not capped: a cap limits what a user did, and not how often the user came or was served."""


@dataclass(frozen=True)
class SessionRows:
    """The n session rows of a log.

    ``unit`` [n] is the user's code, ``session`` [n] the session's code or −1; ``at`` and ``end`` [n] are
    seconds since 1970, NaN if unknown; ``numbers`` maps each column of numbers to its values [n]. Without
    ``has_sessions`` the table has no column of sessions: a row is then something about its user, such as the
    amount spent in the whole test.
    """

    unit: Ints
    session: Ints
    at: Floats
    end: Floats
    numbers: Mapping[str, Floats]
    has_sessions: bool = True

    @property
    def of_user_in_test(self) -> Mask:
        """Returns [n] True for rows that show that their user took part.

        These are the rows with a session, or all rows if the table has no sessions.
        """
        return self.session >= 0 if self.has_sessions else np.ones(len(self.unit), dtype=np.bool_)

    def of(self, keep: Mask) -> SessionRows:
        if keep.all():
            return self
        numbers = {name: values[keep] for name, values in self.numbers.items()}
        own = (self.unit[keep], self.session[keep], self.at[keep], self.end[keep])
        return replace(self, unit=own[0], session=own[1], at=own[2], end=own[3], numbers=numbers)

    def amounts(self) -> dict[str, Floats | Mask]:
        """Returns total → [n] what each row adds to it."""
        numbers = dict(self.numbers)
        watched = numbers.pop("watch_s", None)
        amounts: dict[str, Floats | Mask] = {}
        if self.has_sessions:
            amounts["sessions"] = self.session >= 0
        if self.has_sessions and "clicks" in numbers:
            amounts["engaged_sessions"] = (self.session >= 0) & (numbers["clicks"] > 0)
        if watched is not None:
            amounts["watch_min"] = watched / 60
        return {**amounts, **numbers}


@dataclass(frozen=True)
class UserTotals:
    """The rows of the users that count.

    ``units`` [U] are the users' codes, ascending. ``counts`` and ``earlier`` [rows] mark the rows that count
    and the pre-test rows.
    """

    units: Ints
    rows: SessionRows
    counts: Mask
    earlier: Mask

    def in_test(
        self, rules: OnlineRules, since: Floats, windows: Sequence[float] = ()
    ) -> tuple[dict[str, Floats], Days, dict[str, Floats]]:
        """Returns the users' totals over the test, their totals per day, which add up to them, and who was
        observed for the ``windows``: see ``_in_windows``.
        """
        rows, place = self._tested
        amounts = rows.amounts()
        in_windows, observed = self._in_windows(amounts, since, windows) if windows else ({}, {})
        amounts |= in_windows
        totals = {name: _sums(place, values, len(self.units)) for name, values in amounts.items()}
        shares = {name: _cut(name, values, rules) for name, values in totals.items()}
        totals = {name: values * shares[name] for name, values in totals.items()}
        return totals, _days(place, times.day(rows.at), amounts, shares), observed

    def _in_windows(
        self, amounts: Mapping[str, Floats | Mask], since: Floats, windows: Sequence[float]
    ) -> tuple[dict[str, Floats | Mask], dict[str, Floats]]:
        """Returns total → [n] what each row adds to it within hours of its user's exposure, and the totals
        ``derived.observed_for``, which are 1 for users who were observed for all these hours and 0 for
        others, whose rows do not count.

        ``since`` [units] are the seconds of the exposures; a user without one begins with the first row.
        """
        rows, place = self._tested
        first = np.full(len(self.units), np.inf)
        np.fmin.at(first, place, rows.at)
        begin = np.where(np.isfinite(since[self.units]), since[self.units], first)
        last = max(rows.at.max(initial=0.0), since[np.isfinite(since)].max(initial=0.0))
        counted: dict[str, Floats | Mask] = {}
        observed: dict[str, Floats] = {}
        for hours in windows:
            end = begin + 3600 * hours
            observed[observed_for(hours)] = (end <= last).astype(np.float64)
            is_in = (rows.at < end[place]) & (end <= last)[place]
            counted |= {in_window(name, hours): np.where(is_in, own, 0.0) for name, own in amounts.items()}
        return counted, observed

    def values(self, of_rows: Floats) -> RowValues:
        """Returns the values [rows] of the rows of the test that count and have one (are not NaN)."""
        keep = self.counts & ~self.earlier & ~np.isnan(of_rows)
        place = np.full(int(self.rows.unit.max(initial=self.units[-1])) + 1, -1, dtype=np.int64)
        place[self.units] = np.arange(len(self.units))
        keep &= place[self.rows.unit] >= 0
        return RowValues(place[self.rows.unit[keep]], of_rows[keep], times.day(self.rows.at[keep]))

    def before_test(self, rules: OnlineRules) -> dict[str, Floats]:
        """Returns the users' pre-test totals; empty without pre-test rows."""
        if not (self.counts & self.earlier).any():
            return {}
        rows, place = self._of(self.counts & self.earlier)
        totals = {name: _sums(place, amounts, len(self.units)) for name, amounts in rows.amounts().items()}
        return {name: values * _cut(name, values, rules) for name, values in totals.items()}

    def exposed(self, since: Floats) -> Ints:
        """Returns [U] the day of each user's first exposure, or of the first row in the test if earlier."""
        rows, place = self._tested
        first = np.where(np.isfinite(since), since, np.inf)[self.units]
        np.fmin.at(first, place, rows.at)
        return times.day(first)

    @cached_property
    def _tested(self) -> tuple[SessionRows, Ints]:
        return self._of(self.counts & ~self.earlier)

    def _of(self, keep: Mask) -> tuple[SessionRows, Ints]:
        """Returns the rows marked by ``keep`` of users that count, and the index of each row's user."""
        place = np.full(int(self.rows.unit.max(initial=self.units[-1])) + 1, -1, dtype=np.int64)
        place[self.units] = np.arange(len(self.units))
        keep = keep & (place[self.rows.unit] >= 0)
        rows = self.rows.of(keep)
        return rows, place[rows.unit]


def _sums(place: Ints, values: Floats | Mask, n_users: int) -> Floats:
    return np.bincount(place, values, minlength=n_users).astype(np.float64)


def _cut(name: str, totals: Floats, rules: OnlineRules) -> Floats:
    """Returns [U] the share of each user's total that remains when totals are capped at a quantile."""
    most = _most(name, totals, rules)
    return np.divide(most, totals, out=np.ones(len(totals)), where=totals > (most or np.inf))


def _most(name: str, totals: Floats, rules: OnlineRules) -> float:
    """Returns the cap of a total: ∞ if the rules set none, 0 if too few users have any."""
    if rules.winsorise is None or name in NOT_CUT:
        return np.inf
    return max(float(np.quantile(totals, rules.winsorise)), 0.0)


def too_rare_to_cut(totals: Mapping[str, Floats], rules: OnlineRules) -> list[str]:
    """Returns the totals that are not capped because their quantile is 0: too few users have any."""
    return [name for name, values in totals.items() if values.any() and not _most(name, values, rules)]


def _days(place: Ints, day: Ints, amounts: Mapping[str, Floats | Mask], shares: Mapping[str, Floats]) -> Days:
    first = int(day.min(initial=0)) if len(day) else 0
    span = int(day.max(initial=first)) - first + 1
    key = place * span + (day - first)
    order = order_of(key)
    ascending = key[order]
    new = first_of_equals(ascending)
    cell = np.empty(len(key), dtype=np.int64)
    cell[order] = np.cumsum(new) - 1
    of_cell = ascending[new]
    unit = of_cell // span
    totals = {
        name: np.bincount(cell, values, minlength=len(of_cell)) * shares[name][unit]
        for name, values in amounts.items()
    }
    return Days(unit, of_cell % span + first, totals)
