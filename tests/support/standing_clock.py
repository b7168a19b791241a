"""A clock that only a test moves."""

from __future__ import annotations

from datetime import datetime, timedelta


class StandingClock:
    """Stands still until it is moved; called, it returns its time."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def wait(self, **by: float) -> None:
        self.now += timedelta(**by)
