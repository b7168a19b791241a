"""Lifts of an A/B test beside their table: one row per metric and variant, zero heavy, margins dashed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from math import nan
from statistics import median
from typing import Any

import plotly.graph_objects as go

from recdash.charts.layout import INTERVAL, assembled, axis, marker, span, tick_labels
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

Trace = dict[str, Any]
PITCH, LEFT, RIGHT, AXIS_ROOM, CAP = 54, 16, 16, 30, 12
"""Of a row, as high as those of the table; left, right of and below the rows; of a cap: px."""
FAR = 10
"""An interval so many times as wide as the middle one is cut off, or it would make dots of all others."""
MARGIN_TEXT, MARGIN_ROOM = 19, 0.2
"""px from a row's middle up to the word beside its margin; the share of the axis that the word takes."""


@dataclass(frozen=True)
class LiftRow:
    """One row, in %: the lift of a variant with its interval, and the one that may be looked at every day.

    NaN where there is none. ``margin``: the loss that a guardrail must exclude. ``starts``: it is the first
    row of its metric.
    """

    variant: str
    lift: float = nan
    low: float = nan
    high: float = nan
    peek_low: float = nan
    peek_high: float = nan
    margin: float = nan
    settled: bool = False
    starts: bool = True
    hover: str = ""


def ends_of(rows: Sequence[LiftRow]) -> tuple[float, float]:
    """The axis: zero, the margins, and all intervals but the few that are far wider."""
    widths = {place: row.high - row.low for place, row in enumerate(rows) if is_number(row.high - row.low)}
    usual = median(widths.values()) if widths else nan
    held = [rows[place] for place, width in widths.items() if width <= FAR * usual] or rows
    ends = [end for row in held for end in (row.low, row.lift, row.high, row.peek_low, row.peek_high)]
    low, high = span(ends, zero=True)
    room = MARGIN_ROOM * (high - low)
    margins = [row.margin for row in rows if is_number(row.margin)]
    return min([low, *(one - room for one in margins if one < 0)]), max(
        [high, *(one + room for one in margins if one > 0)]
    )


def lifts(rows: Sequence[LiftRow | None], marks: Marks, palette: Palette) -> go.Figure:
    """Figure of ``rows``, level with a table beside it; None is a heading there. ``marks`` by variant."""
    known = [(place, row) for place, row in enumerate(rows) if row is not None]
    ends = ends_of([row for _, row in known])
    ticks = tick_labels(numbers.ticks(*ends, 4), sign=True)
    drawn = [_of_row(row, place, marks[row.variant], palette, ends) for place, row in known]
    layout = {
        "xaxis": axis(palette, *ends, showgrid=False, **ticks),
        "yaxis": axis(palette, len(rows) - 0.5, -0.5, showgrid=False, tickvals=[]),
        "shapes": [*_bands(rows, palette), *_rules(rows, palette)],
        "annotations": list(_margin_words(known, palette)),
    }
    data = [_heavy_zero(palette, rows), *chain.from_iterable(drawn)]
    height = PITCH * len(rows) + AXIS_ROOM
    return assembled(palette, height, (LEFT, RIGHT, 0, AXIS_ROOM), data, layout)


def _heavy_zero(palette: Palette, rows: Sequence[LiftRow | None]) -> Trace:
    """Beside the rows, not through the headings: None lifts the pen."""
    y: list[float | None] = []
    for place, row in enumerate(rows):
        y += [None] if row is None else [place - 0.5, place + 0.5]
    return {
        "type": "scatter", "x": [0.0] * len(y), "y": y, "mode": "lines", "hoverinfo": "skip",
        "name": "zero", "line": {"color": palette.ink, "width": 2.5},
    }  # fmt: skip


def _bands(rows: Sequence[LiftRow | None], palette: Palette) -> Iterator[dict[str, Any]]:
    """The headings' rows in panel colour, as in the table."""
    for place, row in enumerate(rows):
        if row is None:
            yield {
                "type": "rect", "xref": "paper", "x0": -1, "x1": 2, "y0": place - 0.5, "y1": place + 0.5,
                "layer": "below", "fillcolor": palette.panel, "line": {"width": 0},
            }  # fmt: skip


def _rules(rows: Sequence[LiftRow | None], palette: Palette) -> list[dict[str, Any]]:
    """As in the table: below every row, darker where a metric of several rows ends."""
    grouped = any(row is not None and not row.starts for row in rows)
    ends = [grouped and row is not None and (after is None or after.starts) for row, after in pairwise(rows)]
    return [_rule(place, palette, dark=dark) for place, dark in enumerate([*ends, False])]


def _rule(place: int, palette: Palette, *, dark: bool) -> dict[str, Any]:
    return {"type": "line", "xref": "paper", "x0": -1, "x1": 2, "y0": place + 0.5, "y1": place + 0.5,
            "line": {"color": palette.faint if dark else palette.border, "width": 1}}  # fmt: skip


def _of_row(
    row: LiftRow, place: int, look: Mark, palette: Palette, ends: tuple[float, float]
) -> Iterator[Trace]:
    """The margin, the thin interval, the thick one, and over them the mark."""
    if is_number(row.margin):
        yield _margin(row.margin, place, palette)
    if is_number(row.peek_low):
        yield _thin(row, place, look, ends)
    if is_number(row.low):
        yield _line(row.low, row.high, place, look, INTERVAL + 1.5, ends)
        yield from _beyond(row, place, palette, ends)
    if is_number(row.lift) and not ends[0] <= row.lift <= ends[1]:
        yield _outside(row, place, palette, ends)
    elif is_number(row.lift):
        yield {
            "type": "scatter", "x": [row.lift], "y": [place], "mode": "markers", "name": look.run_id,
            "hoverinfo": "text", "hovertext": row.hover, "cliponaxis": False,
            "marker": marker(look, palette, hollow=not row.settled),
        }  # fmt: skip


def _outside(row: LiftRow, place: int, palette: Palette, ends: tuple[float, float]) -> Trace:
    """A lift beyond the axis: its value and an arrow at that end, above the row's interval."""
    amount = f"{numbers.signed(row.lift, numbers.places([row.lift]))} %"
    is_left = row.lift < ends[0]
    return {
        "type": "scatter", "x": [ends[0] if is_left else ends[1]], "y": [place], "mode": "text",
        "text": [f"‹ {amount}" if is_left else f"{amount} ›"], "hoverinfo": "text", "hovertext": row.hover,
        "textposition": "top right" if is_left else "top left", "name": "outside", "cliponaxis": False,
        "textfont": {"size": 12, "color": palette.ink},
    }  # fmt: skip


def _line(low: float, high: float, place: int, look: Mark, width: float, ends: tuple[float, float]) -> Trace:
    inside = [min(max(end, ends[0]), ends[1]) for end in (low, high)]
    return {
        "type": "scatter", "x": inside, "y": [place, place], "mode": "lines", "hoverinfo": "skip",
        "name": "interval", "line": {"color": look.colour, "width": width},
    }  # fmt: skip


def _thin(row: LiftRow, place: int, look: Mark, ends: tuple[float, float]) -> Trace:
    """With caps, so that it is seen where the thick one is as long; none where it goes on."""
    sizes = [CAP if ends[0] <= end <= ends[1] else 0 for end in (row.peek_low, row.peek_high)]
    caps = {"symbol": "line-ns", "size": sizes, "line": {"color": look.colour, "width": 1.4}}
    line = _line(row.peek_low, row.peek_high, place, look, 1.4, ends)
    return line | {"mode": "lines+markers", "marker": caps, "name": "every day"}


def _beyond(row: LiftRow, place: int, palette: Palette, ends: tuple[float, float]) -> Iterator[Trace]:
    """The interval goes on where the axis ends."""
    cut = [("‹", ends[0], row.low < ends[0]), ("›", ends[1], row.high > ends[1])]
    for text, x, is_cut in cut:
        if is_cut:
            yield {
                "type": "scatter", "x": [x], "y": [place], "mode": "text", "text": [text],
                "hoverinfo": "skip", "name": "goes on", "cliponaxis": False,
                "textfont": {"size": 20, "color": palette.ink},
            }  # fmt: skip


def _margin(x: float, place: int, palette: Palette) -> Trace:
    line = {"color": palette.worse, "width": 1.8, "dash": "dash"}
    return {
        "type": "scatter", "x": [x, x], "y": [place - 0.5, place + 0.5], "mode": "lines",
        "hoverinfo": "skip", "name": "margin", "line": line,
    }  # fmt: skip


def _margin_words(rows: Sequence[tuple[int, LiftRow]], palette: Palette) -> Iterator[dict[str, Any]]:
    """Beside the dashed line of each metric, once, on the side away from zero."""
    for place, row in rows:
        if is_number(row.margin) and row.starts:
            anchor, shift = ("right", -4) if row.margin < 0 else ("left", 4)
            yield {
                "x": row.margin, "y": place, "xanchor": anchor, "xshift": shift, "yshift": MARGIN_TEXT,
                "showarrow": False, "text": "margin", "font": {"size": 11, "color": palette.muted},
            }  # fmt: skip
