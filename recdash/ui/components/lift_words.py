"""Writes the lift of a variant in an A/B test, with its interval."""

from __future__ import annotations

from recdash.formatting import numbers
from recdash.formatting.numbers import percent
from recdash.online import OnlineRow


def estimate(lift: float | None, low: float | None, high: float | None, unit: str = " %") -> tuple[str, str]:
    """Returns a lift and its interval in %; the arguments are shares."""
    return numbers.estimate(percent(lift), percent(low), percent(high), unit)


def lift_text(row: OnlineRow) -> str:
    """Returns the lift and its interval, such as ``Engagement rate +4.8 % (95 % CI +1.6 to +8.1 %)``."""
    amount, interval = estimate(row.lift, *row.judged_interval)
    adjusted = ", CUPED-adjusted" if row.plain_lift is not None else ""
    ends = "" if interval == numbers.NONE else f" (95 % CI {interval}{adjusted})"
    return f"{row.title} {amount}{ends}"
