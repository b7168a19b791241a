"""A panel per run, a row per segment: differences to the baseline with intervals, or plain values."""

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
"""Of a row, in px; right of, above and below the panels."""
TITLE_ROOM, LONGEST_TITLE = (96, 280), 40
LETTER = 6.6
"""px of a title's letter, nearly."""
USUAL_WIDTH = 1112
"""Of a figure, in px; rooms for words are set for it."""
LEAST_ROOM, MOST_ROOM = 0.1, 0.45
"""Of a panel's width, for the words right of its marks."""
DOT = 11

Look = Literal["filled", "hollow", "faint"]


@dataclass(frozen=True)
class SegmentPoint:
    """A run in one segment: its mark at ``x``, its interval (NaN: none), words right of it.

    ``tick``: where the baseline is, NaN where that is zero. *faint*: not judged. ``words`` may hold markup.
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
    """A row: the segment's title, and how many users."""

    title: str
    users: str


def segment_panels(
    lines: Sequence[SegmentRow],
    dots: Mapping[str, Sequence[SegmentPoint]],
    beside: int,
    marks: Marks,
    palette: Palette,
    ends: tuple[float, float],
) -> go.Figure:
    """Returns the figure of ``dots`` (run id → one per line), as many panels ``beside`` each other as there
    is room for.

    ``ends``: of the axis, one for all figures. Marks without ticks of the baseline are differences to it.
    """
    right, top, bottom = MARGIN
    left_room = _title_room(lines)
    words_room = _words_room(dots, beside, USUAL_WIDTH - left_room)
    differences = not any(is_number(dot.tick) for dot in chain.from_iterable(dots.values()))
    size = f'<span style="font-size:12px;color:{palette.muted}">'
    short = shortened([row.title for row in lines], LONGEST_TITLE)
    titles = [f"{escape(short[row.title])}<br>{size}{escape(row.users)}</span>" for row in lines]
    layout: dict[str, Any] = {"yaxis": row_axis(palette, titles, size=13.5, standoff=10)}
    traces: list[Trace] = []
    texts: list[Trace] = []
    names = panel_names((mark.name for mark in marks.values()), beside)
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
            texts.append(note(_right_end(dot, ends), y, words, xref=f"x{panel}", yref="y", **look))
        texts.append(panel_title(mark.name, names[mark.name], left))
    height = PITCH * len(lines) + top + bottom
    layout |= {"annotations": texts, "shapes": [row_rule(y, palette.border) for y in range(-1, len(lines))]}
    return figure(palette, height, (left_room, right, top, bottom), traces, layout)


def _right_end(dot: SegmentPoint, ends: tuple[float, float]) -> float:
    """Returns where the mark and its interval end on the right, for the words beside them; inside
    the axis.
    """
    known = [x for x in (dot.x, dot.high, dot.tick) if is_number(x)] or [ends[0]]
    return min(max(*known, ends[0]), ends[1])


def _title_room(lines: Sequence[SegmentRow]) -> int:
    """px left of the panels, for the longest of the titles."""
    longest = max((min(len(row.title), LONGEST_TITLE) for row in lines), default=0)
    return min(max(round(LETTER * longest) + 20, TITLE_ROOM[0]), TITLE_ROOM[1])


def _words_room(dots: Mapping[str, Sequence[SegmentPoint]], beside: int, width: int) -> float:
    """Returns the share of a panel that its longest words take."""
    longest = max((len(dot.words) for dot in chain.from_iterable(dots.values())), default=0)
    return min(max((LETTER * longest + 22) * beside / width, LEAST_ROOM), MOST_ROOM)


def ends_of(dots: Mapping[str, Sequence[SegmentPoint]], *, zero: bool) -> tuple[float, float]:
    """Returns the axis that holds all marks that are judged, with their intervals; all marks where
    none is.
    """
    known = list(chain.from_iterable(dots.values()))
    judged = [dot for dot in known if dot.look != "faint"] or known
    return span([x for dot in judged for x in (dot.x, dot.low, dot.high, dot.tick)], zero=zero)


def _of_run(
    points: Sequence[SegmentPoint], mark: Mark, palette: Palette, ends: tuple[float, float]
) -> Iterator[Trace]:
    """Of each row the interval, the baseline's tick and, inside the axis, the mark."""
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
