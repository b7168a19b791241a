"""Draws a lift over the days of an A/B test: one panel per variant, with the interval and the always-valid
interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import nan
from statistics import median
from typing import Any, Literal

import plotly.graph_objects as go

from recdash.charts.layout import (
    LINE,
    RIBBON_ALPHA,
    SMALL_MARKER,
    axis,
    figure,
    marker,
    panel_number,
    rgba,
    span,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, area, dots, line, panel_names, panel_title, zero_line
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

Drawn = Literal["line", "points"]
HEIGHT, MARGIN, GAP = 300, (64, 12, 34, 34), 0.035
WIDE_RATIO = 3
"""Intervals of days that are this many times as wide as the median one extend beyond the axis."""


@dataclass(frozen=True)
class LiftPoint:
    """The lift of one variant on one day, in %, with its intervals; NaN for an interval that does not exist.
    Days count from 0.
    """

    day: int
    lift: float
    low: float = nan
    high: float = nan
    peek_low: float = nan
    peek_high: float = nan
    hover: str = ""

    @property
    def width(self) -> float:
        return self.high - self.low


def ends_of(series: Mapping[str, Sequence[LiftPoint]]) -> tuple[float, float]:
    """Returns the ends of the axis that all panels share. It shows zero, and all intervals except the far
    wider ones of days with few users.
    """
    known = [point for point in chain.from_iterable(series.values()) if is_number(point.width)]
    typical = median(point.width for point in known) if known else nan
    inside = [point for point in known if point.width <= WIDE_RATIO * typical]
    return span([end for point in inside for end in (point.low, point.lift, point.high)], zero=True)


def over_time(
    series: Mapping[str, Sequence[LiftPoint]],
    marks: Marks,
    palette: Palette,
    *,
    ends: tuple[float, float],
    beside: int,
    days: Mapping[int, str],
    drawn: Drawn,
) -> go.Figure:
    """Returns the figure of ``series``, {variant: its days}; panels are as wide as if ``beside`` of them were
    in a row.

    ``days`` are the names of the days that the axis shows. ``drawn`` *line*: cumulative lifts, as a line with
    a band; *points*: lifts of single days.
    """
    known = [point.day for point in chain.from_iterable(series.values())] or [0]
    room = 0.04 * (max(known) - min(known)) or 0.5
    first, last = min(known) - room, max(known) + room
    ticks: Trace = {"tickvals": list(days), "ticktext": list(days.values())}
    layout: dict[str, Any] = {
        "yaxis": value_axis(palette, ends, 4, sign=True, unit=" %", ticklabelstandoff=6)
    }
    traces: list[Trace] = []
    for index, (variant, points) in enumerate(series.items()):
        mark, panel, left = marks[variant], panel_number(index), index / beside
        domain = [left, left + 1 / beside - (GAP if beside > 1 else 0)]
        layout[f"xaxis{panel}"] = axis(
            palette, first, last, showgrid=False, anchor="y", domain=domain, **ticks
        )
        lifts = _line(points, mark, palette) if drawn == "line" else _points(points, mark, palette)
        zero = zero_line(palette, [first, last], [0, 0])
        traces += [trace | {"xaxis": f"x{panel}", "yaxis": "y"} for trace in (zero, *lifts)]
    names = panel_names((mark.name for mark in marks.values()), beside)
    layout["annotations"] = [
        panel_title(marks[variant].name, names[marks[variant].name], index / beside)
        for index, variant in enumerate(series)
    ]
    return figure(palette, HEIGHT, MARGIN, traces, layout)


def _line(points: Sequence[LiftPoint], mark: Mark, palette: Palette) -> Iterator[Trace]:
    """Yields a cumulative lift: its line, a band for the interval, and dotted lines for the always-valid
    interval.
    """
    known = [point for point in points if is_number(point.lift)]
    sure = [point for point in known if is_number(point.width)]
    low, high = [point.low for point in sure], [point.high for point in sure]
    yield area([point.day for point in sure], low, high, "95 % interval", rgba(mark.colour, RIBBON_ALPHA))
    peeked = [point for point in known if is_number(point.peek_low)]
    days = [point.day for point in peeked]
    for ends in ([point.peek_low for point in peeked], [point.peek_high for point in peeked]):
        yield line(days, ends, "every day", mark.colour, 1.4, dash="dot")
    look = {
        "line": {"color": mark.colour, "width": LINE * mark.heft, "dash": mark.dash},
        "marker": marker(mark, palette, size=SMALL_MARKER - 2),
    }
    yield _lifts(known, mark, mode="lines+markers", **look)


def _points(points: Sequence[LiftPoint], mark: Mark, palette: Palette) -> Iterator[Trace]:
    """Yields lifts of single days: an interval and a mark for each; the mark is hollow if the interval
    contains zero.
    """
    known = [point for point in points if is_number(point.lift)]
    sure = [point for point in known if is_number(point.width)]
    x = [day for point in sure for day in (point.day, point.day, None)]
    y = [end for point in sure for end in (point.low, point.high, None)]
    yield line(x, y, "95 % interval", mark.colour, 2.2)
    for hollow in (True, False):
        some = [point for point in known if numbers.excludes_zero(point.low, point.high) != hollow]
        yield _lifts(some, mark, marker=marker(mark, palette, size=SMALL_MARKER + 1, hollow=hollow))


def _lifts(points: Sequence[LiftPoint], mark: Mark, **options: Any) -> Trace:
    x, y = [point.day for point in points], [point.lift for point in points]
    return dots(x, y, mark.run_id, hover=[point.hover for point in points], **options)
