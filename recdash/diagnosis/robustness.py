"""What is left of an offline gain under other circumstances: fewer places, other users, stricter labels."""

from __future__ import annotations

from typing import Literal

from recdash.diagnosis.evidence import Gain

Left = Literal["stays", "goes", "can't tell"]
HALF_LEFT = 0.5
"""A gain of which less than half is left under other circumstances was mostly one of the circumstances."""


def left(usual: Gain, other: Gain) -> Left:
    """Whether a settled gain holds under other circumstances, as a share of the baseline's value where it has
    one.

    *stays*: it is settled there too, the same way, and at least half as large. *goes*: it is less than half
    as large, and its interval does not hold the whole of it: that it is not settled there would alone say
    only that less was looked at. *can't tell*: else.
    """
    whole, part, low, high = _amounts(usual, other)
    half = usual.sign * part >= HALF_LEFT * abs(whole)
    if half and other.sign == usual.sign:
        return "stays"
    return "goes" if not half and (whole < low or whole > high) else "can't tell"


def becomes(usual: Gain, other: Gain) -> str:
    """The words for what becomes of a gain that goes."""
    if other.sign == usual.sign:
        return "shrinks to less than half"
    return "turns into the opposite" if other.sign == -usual.sign else "goes away"


def _amounts(usual: Gain, other: Gain) -> tuple[float, float, float, float]:
    """The usual gain, the other, and the ends of the other."""
    if usual.share is None or other.share is None:
        return usual.mean, other.mean, other.low, other.high
    base = abs(other.base)
    return usual.share, other.share, other.low / base, other.high / base
