"""How an A/B test's logs are counted: fixed before looking, and the same in every variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Rules:
    """What counts, and who is left out.

    ``threshold_s``: a video counts when it was watched *strictly longer* (seconds per user, session and item;
    session rows have it counted already). ``item_cap_s``: at most so many seconds of one item in a session
    count. ``grace_min``: minutes for which a session is still open after its last event, so that an exposure
    within them belongs to it. ``zone``: where time stamps without one were written (``Europe/Berlin``).
    ``starts``: the day the test began, for session rows without exposures; earlier sessions are the time
    before it. ``bot_clicks``, ``bot_sessions``: a user with more of them in one day is taken for a machine
    and left out. ``winsorise``: the share of users (.99) at which a user's totals are cut. ``split``: planned
    share of the users by variant, where it is not even. None switches a rule off.
    """

    threshold_s: float = 120.0
    item_cap_s: float | None = None
    grace_min: float = 30.0
    zone: str | None = None
    starts: str | None = None
    bot_clicks: int | None = 300
    bot_sessions: int | None = 100
    winsorise: float | None = None
    split: Mapping[str, float] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


USUAL = Rules()
