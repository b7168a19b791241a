"""Offline beside online: bars in the same order and colours, and the scatter with its quadrants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.curves import DrawnArea
from recdash.charts.layout import (
    CLEAR,
    INTERVAL,
    axis,
    end_label,
    escape,
    figure,
    marker,
    muted,
    place_labels,
    rgba,
    span,
    tick_labels,
    zero_line,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.numbers import glyph, is_number
from recdash.formatting.records import Row, records
from recdash.formatting.wording import cut_inside

if TYPE_CHECKING:
    import pandas as pd

PITCH, AXIS_ROOM = 58, 34
SCATTER_HEIGHT, SCATTER_MARGIN = 420, (62, 16, 8, 52)
USUAL_WIDTH = 620  # px of the drawn area in a window of 1440
CORNERS = (
    ("lost offline, won online", 0.02, 0.98, "left", "top"),
    ("won both", 0.98, 0.98, "right", "top"),
    ("lost both", 0.02, 0.02, "left", "bottom"),
    ("won offline, lost online", 0.98, 0.02, "right", "bottom"),
)


@dataclass(frozen=True)
class Side:
    """Which columns of the frame a bar chart draws, and the unit written after its numbers.

    Unless ``judged``, bars are hollow and have no sign, whatever their intervals exclude.
    """

    value: str
    low: str
    high: str
    unit: str = ""
    names: bool = True
    judged: bool = True


def bars(frame: pd.DataFrame, marks: Marks, palette: Palette, side: Side) -> go.Figure:
    """Horizontal bars from zero with capped intervals, one row per row of ``frame``, top down."""
    rows = records(frame)
    margin = (128 if side.names else 16, 122, 0, AXIS_ROOM)
    chart = figure(palette, PITCH * len(rows) + AXIS_ROOM, margin)
    bounds = [row[name] for row in rows for name in (side.low, side.value, side.high)]
    low, high = span(bounds, zero=True)
    chart.update_xaxes(axis(palette, low, high, **tick_labels(numbers.ticks(low, high, 5), sign=True)))
    names = [escape(cut_inside(marks[row["run_id"]].name, 18)) for row in rows] if side.names else []
    chart.update_yaxes(
        axis(palette, len(rows) - 0.5, -0.5, showgrid=False, tickvals=list(range(len(names))), ticktext=names,
             ticklabelstandoff=8, tickfont={"size": 14, "color": palette.ink})
    )  # fmt: skip
    decimals = numbers.places(bounds)
    for place, row in enumerate(rows):
        _draw_bar(chart, row, place, marks[row["run_id"]], palette, side=side, decimals=decimals)
    chart.add_trace(zero_line(palette, [-0.5, len(rows) - 0.5]))
    return chart


def _draw_bar(
    chart: go.Figure, row: Row, place: int, look: Mark, palette: Palette, *, side: Side, decimals: int
) -> None:
    value, low, high = row[side.value], row[side.low], row[side.high]
    if not is_number(value):
        _side_text(chart, numbers.NONE, place)
        return
    sign = glyph(low, high)
    bounds = numbers.interval(low, high, decimals)
    amount = f"{numbers.signed(value, decimals)}{side.unit}"
    told = f"{sign} {amount}" if side.judged else amount
    text = f"<b>{told}</b><br>{muted(palette, bounds)}"
    hollow = sign == "=" or not side.judged
    chart.add_trace(
        go.Bar(
            x=[value], y=[place], orientation="h", width=0.52, name=escape(look.name), hoverinfo="text",
            hovertext=f"{escape(look.name)}<br>{amount}<br>95 % CI {bounds}",
            marker={
                "color": palette.background if hollow else look.colour,
                "line": {"color": look.colour, "width": 2 if hollow else 0},
            },
        )
    )  # fmt: skip
    _draw_capped(chart, (low, high), place, palette)
    _side_text(chart, text, place)


def _draw_capped(chart: go.Figure, bounds: tuple[float, float], place: int, palette: Palette) -> None:
    cap = {"symbol": "line-ns", "size": 11, "line": {"color": palette.ink, "width": 1.6}}
    chart.add_trace(
        go.Scatter(
            x=list(bounds), y=[place, place], mode="lines+markers", hoverinfo="skip", name="95 % CI",
            line={"color": palette.ink, "width": 1.6}, marker=cap,
        )
    )  # fmt: skip


def _side_text(chart: go.Figure, text: str, place: int) -> None:
    chart.add_annotation(
        x=1, xref="paper", xanchor="right", xshift=118, y=place, showarrow=False, text=text, align="right"
    )


def quadrants(
    frame: pd.DataFrame,
    marks: Marks,
    palette: Palette,
    x_title: str,
    y_title: str,
    *,
    judged: bool = True,
) -> go.Figure:
    """Scatter of offline_delta against online_lift with a cross of intervals for each run.

    ``frame``: run_id, offline_delta, offline_low, offline_high, online_lift, online_low, online_high, in
    the units of the axis titles. Unless ``judged``, all marks are hollow.
    """
    rows = [r for r in records(frame) if is_number(r["offline_delta"]) and is_number(r["online_lift"])]
    x = _around_zero([r[name] for r in rows for name in ("offline_low", "offline_high", "offline_delta")])
    y = _around_zero([r[name] for r in rows for name in ("online_low", "online_high", "online_lift")])
    chart = figure(palette, SCATTER_HEIGHT, SCATTER_MARGIN)
    title = {"standoff": 8, "font": {"size": 13, "color": palette.muted}}
    chart.update_xaxes(
        axis(palette, *x, showgrid=False, **tick_labels(numbers.ticks(*x, 5), sign=True),
             title=title | {"text": escape(x_title)})
    )  # fmt: skip
    chart.update_yaxes(
        axis(palette, *y, showgrid=False, **tick_labels(numbers.ticks(*y, 5), sign=True), ticklabelstandoff=6,
             title=title | {"text": escape(y_title)})
    )  # fmt: skip
    _shade_disagreement(chart, palette, x, y)
    chart.add_trace(zero_line(palette, y))
    chart.add_trace(zero_line(palette, (0, 0)).update(x=list(x)))
    for row in rows:
        _draw_cross(chart, row, marks[row["run_id"]], palette, judged=judged)
    _name_crosses(chart, rows, marks, palette, x, y)
    return chart


def _around_zero(values: Sequence[float]) -> tuple[float, float]:
    """A range with room on both sides of zero for the quadrants' names."""
    low, high = span(values, zero=True, pad=0.18)
    return min(low, -0.35 * high), max(high, -0.35 * low)


def _shade_disagreement(
    chart: go.Figure, palette: Palette, x: tuple[float, float], y: tuple[float, float]
) -> None:
    for x0, x1, y0, y1 in ((x[0], 0, 0, y[1]), (0, x[1], y[0], 0)):
        chart.add_shape(
            type="rect", x0=x0, x1=x1, y0=y0, y1=y1, layer="below", line={"width": 0},
            fillcolor=rgba(palette.same, 0.28),
        )  # fmt: skip
    for text, at_x, at_y, x_anchor, y_anchor in CORNERS:
        chart.add_annotation(
            x=at_x, y=at_y, xref="paper", yref="paper", xanchor=x_anchor, yanchor=y_anchor, showarrow=False,
            text=text.capitalize(), font={"size": 12.5, "color": palette.muted},
        )  # fmt: skip


def _draw_cross(chart: go.Figure, row: Row, look: Mark, palette: Palette, *, judged: bool) -> None:
    x, y = row["offline_delta"], row["online_lift"]
    arms: Sequence[tuple[list[float], list[float]]] = (
        ([row["offline_low"], row["offline_high"]], [y, y]),
        ([x, x], [row["online_low"], row["online_high"]]),
    )
    for xs, ys in arms:
        chart.add_trace(
            go.Scatter(
                x=xs, y=ys, mode="lines", hoverinfo="skip", name=escape(look.name),
                line={"color": look.colour, "width": INTERVAL - 0.6},
            )
        )  # fmt: skip
    hollow = not judged or "=" in (
        glyph(row["offline_low"], row["offline_high"]),
        glyph(row["online_low"], row["online_high"]),
    )
    chart.add_trace(
        go.Scatter(
            x=[x], y=[y], mode="markers", name=escape(look.name), hoverinfo="text",
            hovertext=f"{escape(look.name)}<br>offline {numbers.three(x)}, online {numbers.three(y)}",
            marker=marker(look, palette, hollow=hollow),
        )
    )  # fmt: skip


def _name_crosses(
    chart: go.Figure, rows: Sequence[Row], marks: Marks, palette: Palette,
    x: tuple[float, float], y: tuple[float, float],
) -> None:  # fmt: skip
    """Names beside the marks, clear of each other and of the crosses."""
    pixels = SCATTER_HEIGHT - SCATTER_MARGIN[2] - SCATTER_MARGIN[3]
    area = DrawnArea(x, y, pixels)

    def place(row: Row, across: str = "offline_delta", up: str = "online_lift") -> tuple[float, float]:
        return area.across(row[across], USUAL_WIDTH), area.pixel(row[up])

    points = [place(row) for row in rows]
    arms = [place(row, "offline_delta", end) for row in rows for end in ("online_low", "online_high")]
    arms += [place(row, end) for row in rows for end in ("offline_low", "offline_high")]
    texts = [escape(cut_inside(marks[row["run_id"]].name, 22)) for row in rows]
    zero = [(area.across(0, USUAL_WIDTH), pixels * step / 40) for step in range(41)]
    zero += [(USUAL_WIDTH * step / 40, area.pixel(0)) for step in range(41)]
    offsets = place_labels(points, texts, [*points, *arms, *zero], (USUAL_WIDTH, pixels))
    for row, text, offset in zip(rows, texts, offsets, strict=True):
        at, look = (row["offline_delta"], row["online_lift"]), marks[row["run_id"]]
        down = offset[1] or -16.0
        label = end_label(palette, text, at, (offset[0], down), look.colour)
        chart.add_annotation(label | {"bgcolor": CLEAR, "standoff": 8})
