"""Tests whether an offline gain remains under other conditions: fewer positions, other users, stricter
labels.
"""

from __future__ import annotations

from typing import Literal

from recdash.diagnosis.evidence import Gain

Left = Literal["stays", "goes", "can't tell"]
HALF_LEFT = 0.5
"""A gain of which less than half is left under other conditions was mostly due to the conditions."""


def left(usual: Gain, other: Gain) -> Left:
    """Returns whether a significant gain remains under other conditions, relative to the baseline's value if
    possible.

    *stays*: it is significant there too, in the same direction, and at least half as large. *goes*: it is
    less than half as large, and its interval does not contain the whole of it: a lack of significance alone
    may only mean fewer data. *can't tell*: otherwise.
    """
    whole, part, low, high = _amounts(usual, other)
    half = usual.sign * part >= HALF_LEFT * abs(whole)
    if half and other.sign == usual.sign:
        return "stays"
    return "goes" if not half and (whole < low or whole > high) else "can't tell"


def becomes(usual: Gain, other: Gain) -> str:
    """Returns the words for what happens to a gain that does not remain."""
    if other.sign == usual.sign:
        return "shrinks to less than half"
    return "reverses" if other.sign == -usual.sign else "disappears"


def _amounts(usual: Gain, other: Gain) -> tuple[float, float, float, float]:
    """Returns the usual gain, the other, and the ends of the other."""
    if usual.share is None or other.share is None:
        return usual.mean, other.mean, other.low, other.high
    base = abs(other.base)
    return usual.share, other.share, other.low / base, other.high / base
