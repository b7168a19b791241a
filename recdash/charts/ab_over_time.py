"""A lift over the days of an A/B test: a panel per variant, with the interval and the one for every look."""

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
    assembled,
    axis,
    marker,
    panel_title,
    rgba,
    span,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number

Trace = dict[str, Any]
Drawn = Literal["line", "points"]
HEIGHT, MARGIN, GAP = 300, (54, 12, 34, 34), 0.035
FAR = 3
"""Of the first days' intervals, those so many times as wide as the middle one run off the axis."""


@dataclass(frozen=True)
class LiftPoint:
    """One day of one variant, in %; NaN where there is no interval. ``day`` from 0 on."""

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
    """One axis for all panels: zero, and all intervals but the far wider ones of days with few users."""
    known = [one for one in chain.from_iterable(series.values()) if is_number(one.width)]
    usual = median(one.width for one in known) if known else nan
    held = [one for one in known if one.width <= FAR * usual]
    return span([end for one in held for end in (one.low, one.lift, one.high)], zero=True)


def over_time(
    series: Mapping[str, Sequence[LiftPoint]], marks: Marks, palette: Palette, *, ends: tuple[float, float],
    beside: int, days: Mapping[int, str], drawn: Drawn,
) -> go.Figure:  # fmt: skip
    """Figure of ``series`` (variant → its days), as wide as ``beside`` panels need.

    ``days``: names of the days that the axis writes. *line* with a band, for a lift that grows up to each
    day; *points* for days of their own.
    """
    first, last = _days_of(series)
    layout: dict[str, Any] = {
        "yaxis": axis(palette, *ends, **tick_labels(numbers.ticks(*ends, 4), sign=True), ticklabelstandoff=6),
        "annotations": [],
    }
    data: list[Trace] = []
    for place, (variant, moments) in enumerate(series.items()):
        left = place / beside
        domain = [left, left + 1 / beside - (GAP if beside > 1 else 0)]
        ticks = {"tickvals": list(days), "ticktext": list(days.values())}
        side = axis(palette, first, last, showgrid=False, anchor="y", domain=domain, **ticks)
        layout[f"xaxis{place + 1}"] = side
        look, where = marks[variant], {"xaxis": f"x{place + 1}", "yaxis": "y"}
        traces = _line(moments, look, palette) if drawn == "line" else _points(moments, look, palette)
        data += [{**trace, **where} for trace in (_heavy_zero(palette, first, last), *traces)]
        layout["annotations"].append(panel_title(look.name, left, beside))
    return assembled(palette, HEIGHT, MARGIN, data, layout)


def _days_of(series: Mapping[str, Sequence[LiftPoint]]) -> tuple[float, float]:
    known = [one.day for one in chain.from_iterable(series.values())] or [0]
    room = 0.04 * (max(known) - min(known)) or 0.5
    return min(known) - room, max(known) + room


def _heavy_zero(palette: Palette, first: float, last: float) -> Trace:
    return {
        "type": "scatter", "x": [first, last], "y": [0, 0], "mode": "lines", "hoverinfo": "skip",
        "name": "zero", "line": {"color": palette.ink, "width": 2.5},
    }  # fmt: skip


# ── a lift that grows up to each day ─────────────────────────────────────────────────────────


def _line(moments: Sequence[LiftPoint], look: Mark, palette: Palette) -> Iterator[Trace]:
    known = [one for one in moments if is_number(one.lift)]
    sure = [one for one in known if is_number(one.width)]
    yield _band(sure, look)
    peeked = [one for one in known if is_number(one.peek_low)]
    for end in ("peek_low", "peek_high"):
        yield _edge(peeked, end, look)
    yield {
        "type": "scatter", "x": [one.day for one in known], "y": [one.lift for one in known],
        "mode": "lines+markers", "hoverinfo": "text", "hovertext": [one.hover for one in known],
        "name": look.run_id, "line": {"color": look.colour, "width": LINE * look.heft, "dash": look.dash},
        "marker": marker(look, palette, size=SMALL_MARKER - 2),
    }  # fmt: skip


def _band(moments: Sequence[LiftPoint], look: Mark) -> Trace:
    days = [one.day for one in moments]
    return {
        "type": "scatter", "x": [*days, *reversed(days)], "mode": "lines", "fill": "toself",
        "y": [*(one.high for one in moments), *(one.low for one in reversed(moments))],
        "fillcolor": rgba(look.colour, RIBBON_ALPHA), "line": {"width": 0}, "hoverinfo": "skip",
        "name": "95 % interval",
    }  # fmt: skip


def _edge(moments: Sequence[LiftPoint], end: str, look: Mark) -> Trace:
    return {
        "type": "scatter", "x": [one.day for one in moments], "y": [getattr(one, end) for one in moments],
        "mode": "lines", "hoverinfo": "skip", "name": "every day",
        "line": {"color": look.colour, "width": 1.4, "dash": "dot"},
    }  # fmt: skip


# ── days of their own ────────────────────────────────────────────────────────────────────────


def _points(moments: Sequence[LiftPoint], look: Mark, palette: Palette) -> Iterator[Trace]:
    known = [one for one in moments if is_number(one.lift)]
    yield _whiskers([one for one in known if is_number(one.width)], look)
    for hollow in (True, False):
        some = [one for one in known if (numbers.glyph(one.low, one.high) == "=") == hollow]
        yield {
            "type": "scatter", "x": [one.day for one in some], "y": [one.lift for one in some],
            "mode": "markers", "hoverinfo": "text", "hovertext": [one.hover for one in some],
            "name": look.run_id, "marker": marker(look, palette, size=SMALL_MARKER + 1, hollow=hollow),
        }  # fmt: skip


def _whiskers(moments: Sequence[LiftPoint], look: Mark) -> Trace:
    """All intervals of a panel as one trace; None lifts the pen."""
    x: list[float | None] = []
    y: list[float | None] = []
    for one in moments:
        x += [one.day, one.day, None]
        y += [one.low, one.high, None]
    return {
        "type": "scatter", "x": x, "y": y, "mode": "lines", "hoverinfo": "skip", "name": "95 % interval",
        "line": {"color": look.colour, "width": 2.2},
    }  # fmt: skip
