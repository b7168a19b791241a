"""Did the winner offline win online? In words, and only where both intervals allow it."""

from __future__ import annotations

UNDECIDED = "undecided"


def quadrant(
    offline_low: float | None, offline_high: float | None, online_low: float | None, online_high: float | None
) -> str:
    """Name of the corner in which a candidate stands against the baseline and the control.

    Takes the intervals of the offline difference and of the online lift; an interval that holds 0,
    or that is not there, decides nothing: "undecided".
    """
    offline, online = _outcome(offline_low, offline_high), _outcome(online_low, online_high)
    if UNDECIDED in {offline, online}:
        return UNDECIDED
    return f"{offline} both" if offline == online else f"{offline} offline, {online} online"


def _outcome(low: float | None, high: float | None) -> str:
    if low is not None and low > 0:
        return "won"
    if high is not None and high < 0:
        return "lost"
    return UNDECIDED
