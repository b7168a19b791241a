"""Draws one panel per run and one row per segment: differences from the baseline with intervals, or plain
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import nan
from typing import Any, Literal

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    escape,
    figure,
    marker,
    muted,
    panel_number,
    row_axis,
    span,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, dots, line, note, panel_names, panel_title, row_rule, zero_line
from recdash.formatting.names import shortened
from recdash.formatting.numbers import is_number

PITCH, MARGIN = 42, (6, 34, 34)
"""Sizes in px: height of a row; margins to the right of, above and below the panels."""
TITLE_ROOM, LONGEST_TITLE = (96, 280), 40
LETTER, BOLD_LETTER = 6.6, 7.8
"""Approximate width in px of a letter in a row's title, and in that of a panel."""
USUAL_WIDTH = 1112
"""Width of a figure in px on a page that is not narrow."""
LEAST_ROOM, MOST_ROOM = 0.1, 0.45
"""Smallest and largest share of a panel's width for the words to the right of its marks."""
NEAR_SIDE = 0.35
"""Share of a panel's width within which a name over the zero line is too near to a side to be centred."""
DOT = 11

Look = Literal["filled", "hollow", "faint"]


@dataclass(frozen=True)
class SegmentPoint:
    """A run in one segment: its mark at ``x``, its interval (NaN: none), and the words to the right of it.

    ``tick`` is the baseline's value; NaN if the axis shows differences from the baseline. The look *faint* is
    that of segments that are not judged. ``words`` may contain markup.
    """

    x: float
    words: str
    hover: str
    low: float = nan
    high: float = nan
    tick: float = nan
    look: Look = "filled"


@dataclass(frozen=True)
class SegmentRow:
    """One row: the segment's title, and its number of users as text."""

    title: str
    users: str


def segment_panels(
    lines: Sequence[SegmentRow],
    dots: Mapping[str, Sequence[SegmentPoint]],
    beside: int,
    marks: Marks,
    palette: Palette,
    ends: tuple[float, float],
    *,
    width: int = USUAL_WIDTH,
) -> go.Figure:
    """Returns the figure of ``dots``, {run id: one point per row of ``lines``}; panels are as wide as if
    ``beside`` of them were in a row.

    ``width`` is that of the figure in px, for which the room for words is computed. ``ends`` are the ends of
    the axis, the same in all figures. If no point has a ``tick``, the axis shows differences from the
    baseline.
    """
    right, top, bottom = MARGIN
    left_room = _title_room(lines)
    words_room = _words_room(dots, beside, width - left_room)
    differences = not any(is_number(dot.tick) for dot in chain.from_iterable(dots.values()))
    size = f'<span style="font-size:12px;color:{palette.muted}">'
    short = shortened([row.title for row in lines], LONGEST_TITLE)
    titles = [f"{escape(short[row.title])}<br>{size}{escape(row.users)}</span>" for row in lines]
    layout: dict[str, Any] = {"yaxis": row_axis(palette, titles, size=13.5, standoff=10)}
    traces: list[Trace] = []
    texts: list[Trace] = []
    room = int((width - left_room - right) / beside / BOLD_LETTER)
    names = panel_names((mark.name for mark in marks.values()), beside, room)
    for index, (run_id, run_dots) in enumerate(dots.items()):
        mark, panel, left = marks[run_id], panel_number(index), index / beside
        end = left + (1 - words_room) / beside
        layout[f"xaxis{panel}"] = value_axis(
            palette, ends, 4 if beside < 3 else 3, sign=differences, anchor="y", domain=[left, end]
        )
        drawn = [zero_line(palette, [0.0, 0.0], [-0.5, len(lines) - 0.5])] if differences else []
        drawn += _of_run(run_dots, mark, palette, ends)
        traces += [trace | {"xaxis": f"x{panel}", "yaxis": "y"} for trace in drawn]
        for y, dot in enumerate(run_dots):
            words = muted(palette, dot.words) if dot.look == "faint" else dot.words
            look = {"xanchor": "left", "xshift": 10, "align": "left", "font": {"size": 12.5}}
            texts.append(
                note(_right_end(dot, ends, differences), y, words, xref=f"x{panel}", yref="y", **look)
            )
        title = panel_title(mark.name, names[mark.name], left)
        centred = differences and width >= USUAL_WIDTH  # a narrow figure has only room for the whole title
        texts.append(title | _over_zero((left, end), 1 / beside, ends) if centred else title)
    height = PITCH * len(lines) + top + bottom
    layout |= {"annotations": texts, "shapes": [row_rule(y, palette.border) for y in range(-1, len(lines))]}
    return figure(palette, height, (left_room, right, top, bottom), traces, layout)


def _over_zero(
    domain: tuple[float, float], width: float, ends: tuple[float, float]
) -> dict[str, float | str]:
    """Returns where a panel's name is: over the zero line, and towards the panel's middle if zero is near a
    side of the panel, which is ``width`` wide.
    """
    low, high = ends
    share = min(max(-low / (high - low), 0), 1)
    x = domain[0] + share * (domain[1] - domain[0])
    place = (x - domain[0]) / width
    anchor = "left" if place < NEAR_SIDE else "right" if place > 1 - NEAR_SIDE else "center"
    return {"x": x, "xanchor": anchor}


def _right_end(dot: SegmentPoint, ends: tuple[float, float], differences: bool) -> float:
    """Returns the x at which the mark and its interval end on the right, limited to the axis; the words
    follow there. The words of a difference below zero follow the zero line, which would cross them.
    """
    known = [x for x in (dot.x, dot.high, dot.tick) if is_number(x)] or [ends[0]]
    if differences:
        known.append(0.0)
    return min(max(*known, ends[0]), ends[1])


def _title_room(lines: Sequence[SegmentRow]) -> int:
    """Returns the room to the left of the panels in px, enough for the longest title."""
    longest = max((min(len(row.title), LONGEST_TITLE) for row in lines), default=0)
    return min(max(round(LETTER * longest) + 20, TITLE_ROOM[0]), TITLE_ROOM[1])


def _words_room(dots: Mapping[str, Sequence[SegmentPoint]], beside: int, width: int) -> float:
    """Returns the share of a panel's width that its longest words need."""
    longest = max((len(dot.words) for dot in chain.from_iterable(dots.values())), default=0)
    return min(max((LETTER * longest + 22) * beside / width, LEAST_ROOM), MOST_ROOM)


def ends_of(dots: Mapping[str, Sequence[SegmentPoint]], *, zero: bool) -> tuple[float, float]:
    """Returns the ends of an axis that shows all judged marks with their intervals; all marks if none is
    judged.
    """
    known = list(chain.from_iterable(dots.values()))
    judged = [dot for dot in known if dot.look != "faint"] or known
    return span([x for dot in judged for x in (dot.x, dot.low, dot.high, dot.tick)], zero=zero)


def _of_run(
    points: Sequence[SegmentPoint], mark: Mark, palette: Palette, ends: tuple[float, float]
) -> Iterator[Trace]:
    """Yields for each row the interval, the baseline's tick and the mark; a mark beyond the axis is left
    out.
    """
    name = escape(mark.name)
    tick = {"symbol": "line-ns", "size": 17, "line": {"color": palette.baseline, "width": 2.4}}
    for y, point in enumerate(points):
        if is_number(point.low):
            yield line([point.low, point.high], [y, y], name, mark.colour, INTERVAL * mark.heft)
        if is_number(point.tick):
            yield dots([point.tick], [y], "baseline", tick)
        if is_number(point.x) and ends[0] <= point.x <= ends[1]:
            look = marker(mark, palette, size=DOT, hollow=point.look != "filled")
            if point.look == "faint":
                look["line"] = {"color": palette.faint, "width": 1.6}
            yield dots([point.x], [y], name, look, point.hover, cliponaxis=False)
