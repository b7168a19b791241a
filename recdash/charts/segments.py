"""A panel per run, a row per segment: differences to the baseline with intervals, or plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import nan
from typing import Any, Literal

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    axis,
    escape,
    figure,
    marker,
    muted,
    panel_title,
    short,
    span,
    tick_labels,
    zero_line,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
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
    """Figure of ``dots`` (run id → one per line), as many panels ``beside`` each other as there is room for.

    ``ends``: of the axis, one for all figures. Marks without ticks of the baseline are differences to it.
    """
    right, top, bottom = MARGIN
    chart = figure(palette, PITCH * len(lines) + top + bottom, (_room(lines), right, top, bottom))
    chart.update_layout(yaxis=axis(palette, len(lines) - 0.5, -0.5, showgrid=False, **_names(lines, palette)))
    room = _words_room(dots, beside, USUAL_WIDTH - _room(lines))
    differences = not any(is_number(dot.tick) for dot in chain.from_iterable(dots.values()))
    for place, (run_id, of_run) in enumerate(dots.items()):
        left = place / beside
        end = left + (1 - room) / beside
        ticks = tick_labels(numbers.ticks(*ends, 4 if beside < 3 else 3), sign=differences)
        chart.update_layout(
            {f"xaxis{place + 1}": axis(palette, *ends, **ticks, anchor="y", domain=[left, end])}
        )
        where = {"xaxis": f"x{place + 1}", "yaxis": "y"}
        if differences:
            chart.add_trace(zero_line(palette, [-0.5, len(lines) - 0.5]).update(where))
        _draw_panel(chart, of_run, where, marks[run_id], palette, ends)
        _write_words(chart, of_run, end, palette)
        _name_panel(chart, marks[run_id], left, beside)
    return chart


def _room(lines: Sequence[SegmentRow]) -> int:
    """px left of the panels, for the longest of the titles."""
    longest = max((min(len(one.title), LONGEST_TITLE) for one in lines), default=0)
    return min(max(round(LETTER * longest) + 20, TITLE_ROOM[0]), TITLE_ROOM[1])


def _words_room(dots: Mapping[str, Sequence[SegmentPoint]], beside: int, width: int) -> float:
    """The share of a panel that its longest words take."""
    longest = max((len(dot.words) for dot in chain.from_iterable(dots.values())), default=0)
    return min(max((LETTER * longest + 22) * beside / width, LEAST_ROOM), MOST_ROOM)


def ends_of(dots: Mapping[str, Sequence[SegmentPoint]], *, zero: bool) -> tuple[float, float]:
    """The axis that holds all marks that are judged, with their intervals; all marks where none is."""
    known = list(chain.from_iterable(dots.values()))
    judged = [dot for dot in known if dot.look != "faint"] or known
    return span([x for dot in judged for x in (dot.x, dot.low, dot.high, dot.tick)], zero=zero)


def _names(lines: Sequence[SegmentRow], palette: Palette) -> dict[str, Any]:
    size = f'<span style="font-size:12px;color:{palette.muted}">'
    return {
        "tickvals": list(range(len(lines))),
        "ticktext": [
            f"{short(one.title, LONGEST_TITLE)}<br>{size}{escape(one.users)}</span>" for one in lines
        ],
        "ticklabelstandoff": 10,
        "tickfont": {"size": 13.5, "color": palette.ink},
    }


def _draw_panel(
    chart: go.Figure, dots: Sequence[SegmentPoint], where: Mapping[str, str], look: Mark, palette: Palette,
    ends: tuple[float, float],
) -> None:  # fmt: skip
    name = escape(look.name)
    for place, dot in enumerate(dots):
        if is_number(dot.low):
            line = {"color": look.colour, "width": INTERVAL * look.heft}
            chart.add_trace(
                go.Scatter(x=[dot.low, dot.high], y=[place] * 2, mode="lines", hoverinfo="skip", name=name,
                           line=line, **where)
            )  # fmt: skip
        if is_number(dot.tick):
            chart.add_trace(_baseline_tick(dot.tick, place, palette, where))
        if is_number(dot.x) and ends[0] <= dot.x <= ends[1]:
            chart.add_trace(
                go.Scatter(
                    x=[dot.x], y=[place], mode="markers", name=name, hoverinfo="text", hovertext=dot.hover,
                    marker=_mark(dot, look, palette), cliponaxis=False, **where,
                )
            )  # fmt: skip


def _baseline_tick(x: float, place: int, palette: Palette, where: Mapping[str, str]) -> go.Scatter:
    mark = {"symbol": "line-ns", "size": 17, "line": {"color": palette.baseline, "width": 2.4}}
    return go.Scatter(
        x=[x], y=[place], mode="markers", name="baseline", hoverinfo="skip", marker=mark, **where
    )


def _mark(dot: SegmentPoint, look: Mark, palette: Palette) -> dict[str, Any]:
    drawn = marker(look, palette, size=DOT, hollow=dot.look != "filled")
    return drawn | ({"line": {"color": palette.faint, "width": 1.6}} if dot.look == "faint" else {})


def _write_words(chart: go.Figure, dots: Sequence[SegmentPoint], x: float, palette: Palette) -> None:
    for place, dot in enumerate(dots):
        chart.add_annotation(
            x=x, xref="paper", xanchor="left", xshift=8, y=place, yref="y", showarrow=False, align="left",
            text=muted(palette, dot.words) if dot.look == "faint" else dot.words, font={"size": 12.5},
        )  # fmt: skip


def _name_panel(chart: go.Figure, look: Mark, left: float, beside: int) -> None:
    chart.add_annotation(panel_title(look.name, left, beside))
