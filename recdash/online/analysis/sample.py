"""Summarises the users of an A/B test before any result: variants, days, and users without a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from recdash.online import times
from recdash.online.users import OnlineUsers

WEEK = 7


@dataclass(frozen=True)
class SampleSummary:
    """A summary of the users of an A/B test.

    ``assigned`` is the number of assigned users per variant, ``crossed`` the number of users with multiple
    exposures, who are excluded. ``n`` is the number of counted users per variant, ``silent`` that of counted
    users without a session. ``first`` and ``last`` are days since 1970 (UTC); None if no row has a time.
    ``recent`` is the number of users per variant whose first exposure was in the last week. ``has_sessions``
    is False for a table of one row per user.
    """

    assigned: Mapping[str, int]
    crossed: int
    n: Mapping[str, int]
    silent: Mapping[str, int]
    first: int | None
    last: int | None
    recent: Mapping[str, int] = field(default_factory=dict)
    has_sessions: bool = True

    @property
    def recent_days(self) -> int:
        """Returns the number of days that ``recent`` covers."""
        return min(self.days, WEEK)

    @property
    def n_units(self) -> int:
        """Returns the number of users seen in one variant or several."""
        return sum(self.assigned.values()) + self.crossed

    @property
    def days(self) -> int:
        return 0 if self.first is None or self.last is None else self.last - self.first + 1

    @property
    def dates(self) -> str:
        """Returns the first and last day as text, such as ``1 to 21 Mar 2026``.

        The result is empty if no row has a time.
        """
        if self.first is None or self.last is None:
            return ""
        first, last = times.date(self.first), times.date(self.last)
        if self.first == self.last:
            return f"{last:%-d %b %Y}"
        year = "" if first.year == last.year else f" {first:%Y}"
        month = "" if (first.year, first.month) == (last.year, last.month) else f" {first:%b}"
        return f"{first:%-d}{month}{year} to {last:%-d %b %Y}"


def summarise(users: OnlineUsers) -> SampleSummary:
    """Returns how many users each variant of a test has, how many of them are excluded, have no session or
    are new, and from which day to which day the test ran.
    """
    has_sessions = "sessions" in users.totals
    silent = users.totals["sessions"] == 0 if has_sessions else np.zeros(len(users), dtype=np.bool_)
    counts = np.bincount(users.variant[silent], minlength=len(users.variants)).tolist()
    days = np.concatenate([users.days.day, users.exposed])
    has_times = bool(days.any())  # a log without times has all its rows on day 0
    new = users.variant[users.exposed > days.max() - WEEK]
    recent = np.bincount(new, minlength=len(users.variants)).tolist()
    return SampleSummary(
        assigned=dict(users.assigned),
        crossed=users.crossed,
        n=users.n,
        silent=dict(zip(users.variants, counts, strict=True)),
        first=int(days.min()) if has_times else None,
        last=int(days.max()) if has_times else None,
        recent=dict(zip(users.variants, recent, strict=True)) if has_times else {},
        has_sessions=has_sessions,
    )
