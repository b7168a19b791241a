"""Converts between texts, days and times in seconds since 1970 (UTC)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from recdash.domain.kinds import Floats, Ints

DAY = 86_400


def day(times: Floats) -> Ints:
    """Returns [rows] the day of each time, in days since 1970; no time may be NaN."""
    return np.floor_divide(times, DAY).astype(np.int64)


def date(day: int) -> datetime:
    return datetime.fromtimestamp(day * DAY, UTC)


def of_text(text: str, zone: str | None = None) -> float:
    """Returns an ISO date or time in seconds since 1970.

    A text without a time zone is in ``zone`` (None: UTC). Raises ValueError if it is not a date or time.
    """
    time = datetime.fromisoformat(text)
    return (time if time.tzinfo else time.replace(tzinfo=ZoneInfo(zone) if zone else UTC)).timestamp()
