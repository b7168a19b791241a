"""Computes the positions in a small picture, in % of its width; the page writes them as HTML."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from recdash.charts.picture import Bar, Picture, Side
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

ROOM = 0.04


@dataclass(frozen=True)
class Placed:
    """One row of the picture: a bar that begins at ``left`` and is ``width`` wide, in % of the picture's
    width.

    If the value has an interval, the bar is the interval and ``dot`` is the value's position. ``text`` is the
    number as written, ``ends`` its interval as written. ``hollow``: the interval contains 0.
    """

    label: str
    side: Side
    left: float
    width: float
    dot: float | None
    text: str
    ends: str
    note: str
    hollow: bool


@dataclass(frozen=True)
class Drawing:
    """All rows of a picture; ``zero`` is the position of the vertical line at zero."""

    rows: tuple[Placed, ...]
    zero: float


@dataclass(frozen=True)
class Axis:
    """A horizontal axis from ``low`` to ``high``."""

    low: float
    high: float

    def place(self, value: float) -> float:
        return 100 * (value - self.low) / (self.high - self.low)


def drawing(picture: Picture) -> Drawing:
    """Returns all rows of a picture on a common axis that includes zero."""
    along = _axis(picture)
    decimals = numbers.places(_numbers(picture.bars))
    rows = tuple(_placed(bar, picture, along, decimals) for bar in picture.bars)
    return Drawing(rows, along.place(0))


def _axis(picture: Picture) -> Axis:
    known = [*_numbers(picture.bars), 0.0]
    low, high = min(known), max(known)
    room = ROOM * (high - low) or 1.0
    return Axis(low - room if low < 0 else 0.0, high + room)


def _numbers(bars: Iterable[Bar]) -> list[float]:
    values = [_known(value) for bar in bars for value in (bar.value, bar.low, bar.high)]
    return [value for value in values if value is not None]


def _known(value: float | None) -> float | None:
    return value if value is not None and is_number(value) else None


def _placed(bar: Bar, picture: Picture, along: Axis, decimals: int) -> Placed:
    value, low, high = (
        end if end is not None and is_number(end) else None for end in (bar.value, bar.low, bar.high)
    )
    between = low is not None and high is not None
    first, last = (low, high) if between else (0.0, value or 0.0)
    left, right = sorted((along.place(first or 0.0), along.place(last or 0.0)))
    return Placed(
        label=bar.label,
        side=bar.side,
        left=left,
        width=right - left,
        dot=along.place(value) if between and value is not None else None,
        text=_written(value, picture, decimals),
        ends=numbers.interval(low, high, decimals) if between else "",
        note=bar.note,
        hollow=between and not numbers.excludes_zero(low, high),
    )


def _written(value: float | None, picture: Picture, decimals: int) -> str:
    """Returns a number as text with its unit; counts and 0 have no decimals."""
    counted = not picture.unit and not picture.sign and value is not None and value == round(value)
    write = numbers.signed if picture.sign else numbers.fixed
    text = write(value, 0 if counted or value == 0 else decimals)
    return f"{text} {picture.unit}" if picture.unit and text != numbers.NONE else text
