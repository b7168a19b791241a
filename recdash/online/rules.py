"""How an A/B test's logs are counted: fixed before looking, and the same in every variant."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from recdash.errors import InputError, Problem
from recdash.online import times

AMOUNTS = ("threshold_s", "item_cap_s", "grace_min", "bot_clicks", "bot_sessions", "planned_users")
AT_THE_DOOR = ("zone", "exposures_of")
WHEN_FOLDED = ("threshold_s", "item_cap_s")
"""Rules by which logs are read, and by which events become sessions: a kept test has them for good."""


@dataclass(frozen=True)
class OnlineRules:
    """What counts, and who is left out.

    ``threshold_s``: a video counts when it was watched *strictly longer* (seconds per user, session and item;
    session rows have it counted already). ``item_cap_s``: at most so many seconds of one item in a session
    count. ``grace_min``: minutes for which a session is still open after its last event, so that an exposure
    within them belongs to it. ``zone``: where time stamps without one were written (``Europe/Berlin``).
    ``exposures_of``: the experiment whose exposures are meant, where their table holds several.
    ``starts``: the day the test began, for session rows without exposures; earlier sessions are the time
    before it. ``bot_clicks``, ``bot_sessions``: a user with more of them in one day is taken for a machine
    and left out. ``winsorise``: the share of users (.99) at which a user's totals are cut.
    ``planned_users``: with how many users, control and variant together, the test was to end: the interval
    for many looks is narrowest there. ``split``: planned share of the users by variant, where it is not
    even. None switches a rule off.
    """

    threshold_s: float = 120.0
    item_cap_s: float | None = None
    grace_min: float = 30.0
    zone: str | None = None
    exposures_of: str | None = None
    starts: str | None = None
    bot_clicks: int | None = 300
    bot_sessions: int | None = 100
    winsorise: float | None = None
    planned_users: int | None = None
    split: Mapping[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def starts_at(self) -> float | None:
        """Seconds since 1970 at which the test began, a day by the declared zone."""
        return None if self.starts is None else times.of_text(self.starts, self.zone)

    def check(self) -> None:
        """Raises InputError, with all problems, for rules that cannot be followed."""
        problems = []
        for name in AMOUNTS:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 <= value < math.inf):
                place = f"rule '{name}'"
                problems.append(Problem("bad-rule", place, f"it is {value!r}", "Give a number from 0."))
        if self.winsorise is not None and not 0.5 <= self.winsorise < 1:
            fix = "Give a share from 0.5 to 1: 0.99 cuts at the totals of the top 1 % of users."
            problems.append(Problem("bad-rule", "rule 'winsorise'", f"it is {self.winsorise:g}", fix))
        try:
            if self.starts is not None:
                times.of_text(self.starts)
        except ValueError:
            fix = "Write 2026-11-02, or 2026-11-02T09:00:00Z."
            problems.append(Problem("bad-rule", "rule 'starts'", f"'{self.starts}' is not a day", fix))
        if problems:
            raise InputError(problems)


USUAL = OnlineRules()
