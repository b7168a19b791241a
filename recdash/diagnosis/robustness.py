"""Tests whether an offline gain remains under other conditions: fewer positions, other users, stricter
labels.
"""

from __future__ import annotations

from typing import Literal

from recdash.diagnosis.evidence import Gain

Left = Literal["stays", "goes", "can't tell"]
HALF_LEFT = 0.5
"""If less than this share of a gain remains under other conditions, most of it was due to the original
conditions.
"""


def left(usual: Gain, other: Gain) -> Left:
    """Returns whether a significant gain remains under other conditions. Gains are compared as shares of the
    baseline's value if both have one.

    *stays*: it is significant there too, with the same sign, and at least half as large. *goes*: it is less
    than half as large, and its interval does not contain the whole gain; a lack of significance alone may
    only mean less data. *can't tell*: neither.
    """
    whole, part, low, high = _amounts(usual, other)
    half = usual.sign * part >= HALF_LEFT * abs(whole)
    if half and other.sign == usual.sign:
        return "stays"
    return "goes" if not half and (whole < low or whole > high) else "can't tell"


def becomes(usual: Gain, other: Gain) -> str:
    """Returns what happens to a gain that does not remain, as a clause such as ``shrinks to less than
    half``.
    """
    if other.sign == usual.sign:
        return "shrinks to less than half"
    return "reverses" if other.sign == -usual.sign else "disappears"


def _amounts(usual: Gain, other: Gain) -> tuple[float, float, float, float]:
    """Returns the usual gain, the other gain, and the ends of the other's interval; as shares of the
    baseline's value if both have one.
    """
    if usual.share is None or other.share is None:
        return usual.mean, other.mean, other.low, other.high
    base = abs(other.base)
    return usual.share, other.share, other.low / base, other.high / base
