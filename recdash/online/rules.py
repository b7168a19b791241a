"""Rules by which an A/B test's logs are counted, fixed in advance and the same in every variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from types import NoneType
from typing import Any

import numpy as np

from recdash.domain.arguments import is_number
from recdash.errors import InputError, Problem
from recdash.online import times

AMOUNTS = (
    "threshold_s", "item_cap_s", "grace_min", "clock_min", "bot_clicks", "bot_sessions", "planned_users",
)  # fmt: skip
WRITE_A_DAY = "Write 2026-11-02, or 2026-11-02T09:00:00Z."
TEXT = (str, NoneType)
TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    "zone": (TEXT, "Give the name of a time zone, such as Europe/Berlin."),
    "exposures_of": (TEXT, "Give the name of an experiment."),
    "starts": (TEXT, WRITE_A_DAY),
    "split": ((Mapping, NoneType), "Give {variant: share}."),
    "activated_by": (TEXT, "Give the name of a total, such as clicks."),
    "delta_method": ((bool,), "Give True or False."),
}
"""Rule that is no number → the types that it may have, and what to give."""
RULES_OF_READING = ("zone", "exposures_of")
RULES_OF_SESSIONS = ("threshold_s", "item_cap_s")
"""Rules that are applied while sessions are built from events, so that they cannot be changed in a stored
test.
"""
BEFORE: Mapping[str, Any] = {"delta_method": True, "clock_min": None}
"""Rule → how it was in tests that were stored before the rule existed."""


@dataclass(frozen=True)
class OnlineRules:
    """The rules that say what counts and who is excluded.

    ``threshold_s``: a video counts if it was watched *strictly longer* (seconds per user, session and item;
    in session rows videos are already counted). ``item_cap_s``: the most seconds of one item that count in a
    session. ``grace_min``: minutes for which a session stays open after its last event, so that an exposure
    within them belongs to it. ``clock_min``: minutes by which the clocks of exposures and of rows without a
    session, such as orders, may differ: such a row counts if it is at most so long before the exposure (None:
    ``grace_min``, as in tests that were stored before). ``zone``: time zone of timestamps without one
    (``Europe/Berlin``).
    ``exposures_of``: the experiment to use if the table of exposures has several. ``starts``: first day of
    the test, for session rows without exposures; earlier sessions are pre-test. ``bot_clicks``,
    ``bot_sessions``: a user with more of them in one day is treated as a bot and excluded. ``winsorise``: the
    quantile over users (.99) at which a user's totals are capped. ``planned_users``: planned sample size,
    control and variant together, at which the always-valid interval is narrowest. ``split``: planned share of
    users per variant if it is uneven. ``activated_by``: a total that users need, such as views of the page
    that the test changes; the split of these users is checked again. None turns a rule off.
    ``delta_method``: compare by the delta method and Welch's t, as in tests that were stored before there
    were others.
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
    activated_by: str | None = None
    delta_method: bool = False
    clock_min: float | None = 0.0

    @classmethod
    def of_stored(cls, facts: Mapping[str, Any]) -> OnlineRules:
        """Returns the rules of a stored test; a rule that is younger than the test is as it was before."""
        return cls(**{**BEFORE, **facts})

    def as_dict(self) -> dict[str, Any]:
        """Returns the rules by name; ``activated_by``, unknown to older versions, only if it is set."""
        rules = {name: _plain(value) for name, value in asdict(self).items()}
        rules["split"] = {variant: _plain(share) for variant, share in self.split.items()}
        if self.activated_by is None:
            del rules["activated_by"]
        return rules

    def starts_at(self) -> float | None:
        """Returns the start of the test in seconds since 1970, as a day in ``zone``.

        Returns None if no start is set.
        """
        return None if self.starts is None else times.of_text(self.starts, self.zone)

    def check(self) -> None:
        """Raises InputError, with all problems, if rules are invalid."""
        if problems := list(self._problems()):
            raise InputError(problems)

    def _problems(self) -> Iterator[Problem]:
        for name in AMOUNTS:
            value, least = getattr(self, name), 1 if name == "planned_users" else 0
            is_stored = isinstance(value, int | float)  # numbers of other types cannot be stored with a test
            if value is not None and not (is_number(value) and is_stored and value >= least):
                yield _bad_rule(name, value, f"Give a number from {least}.")
        for name, (kinds, fix) in TYPES.items():
            if not isinstance(getattr(self, name), kinds):
                yield _bad_rule(name, getattr(self, name), fix)
        share = self.winsorise
        if share is not None and not (is_number(share) and 0.5 <= share < 1):
            fix = "Give a share from 0.5 to 1: 0.99 caps at the totals of the top 1 % of users."
            yield _bad_rule("winsorise", share, fix)
        try:
            if isinstance(self.starts, str):
                times.of_text(self.starts)
        except ValueError:
            yield Problem("bad-rule", "rule 'starts'", f"'{self.starts}' is not a day", WRITE_A_DAY)


def _plain(value: Any) -> Any:
    """Returns a number of NumPy as one of Python, which JSON can hold, and other values as they are."""
    return value.item() if isinstance(value, np.generic) else value


def _bad_rule(name: str, value: object, fix: str) -> Problem:
    return Problem("bad-rule", f"rule '{name}'", f"it is {value!r:.40}", fix)


def users_of_pair(users: Mapping[str, int], control: str, variant: str) -> int | None:
    """Returns the number of users that a planned sample size counts: those of the control and of one variant
    together, including those that a metric leaves out. None for the control, and if they are unknown.

    ``users`` is the number of users by variant.
    """
    if variant == control or not {control, variant} <= users.keys():
        return None
    return users[control] + users[variant]


USUAL = OnlineRules()
