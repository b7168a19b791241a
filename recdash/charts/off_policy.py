"""Draws off-policy estimates on one axis with the observed value, and the distribution of the weights behind
them.

These are not runs, so they do not have runs' colours: estimates are filled, or hollow if they must not be
used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log10

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    MARKER,
    axis,
    escape,
    figure,
    muted,
    row_axis,
    span,
    tick_labels,
    value_axis,
)
from recdash.charts.marks import Palette
from recdash.charts.traces import Trace, bars, dots, line, margin_note, zero_line
from recdash.formatting import numbers

PITCH, AXIS_ROOM, LEFT, RIGHT = 46, 34, 150, 200
SPREAD_HEIGHT = 220


@dataclass(frozen=True)
class EstimateLine:
    """One estimate: its name, value and interval, in the units of the axis; None for what does not exist."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    observed: bool = False


def estimates(lines: Sequence[EstimateLine], palette: Palette, unit: str, *, hollow: bool) -> go.Figure:
    """Returns a figure with one row per estimate and a dashed line at the observed value. ``hollow``: none of
    the estimates may be used.
    """
    bounds = [end for row in lines for end in (row.low, row.value, row.high) if end is not None]
    decimals = numbers.places([row.value for row in lines])
    y_range = [-0.5, len(lines) - 0.5]
    traces = [zero_line(palette, [0.0, 0.0], y_range)]
    known = [(y, row) for y, row in enumerate(lines) if row.value is not None]
    for _, row in known:
        if row.observed:
            traces.append(line([row.value] * 2, y_range, "observed", palette.muted, 1.6, dash="dash"))
    for y, row in known:
        traces += _of_row(row, y, palette, hollow=hollow and not row.observed)
    layout = {
        "xaxis": value_axis(palette, span(bounds, zero=True), 5),
        "yaxis": row_axis(palette, [escape(row.name) for row in lines], standoff=10),
        "annotations": [
            margin_note(y, _numbers(row, palette, decimals, unit)) for y, row in enumerate(lines)
        ],
    }
    height = PITCH * len(lines) + AXIS_ROOM
    return figure(palette, height, (LEFT, RIGHT, 4, AXIS_ROOM), traces, layout)


def _of_row(row: EstimateLine, y: int, palette: Palette, *, hollow: bool) -> Iterator[Trace]:
    colour = palette.muted if row.observed or hollow else palette.ink
    name = escape(row.name)
    if row.low is not None and row.high is not None:
        yield line([row.low, row.high], [y, y], name, colour, INTERVAL)
    look = {
        "symbol": "line-ns" if row.observed else "circle",
        "size": MARKER,
        "opacity": 1,
        "color": palette.background if hollow else colour,
        "line": {"color": colour, "width": 2.2},
    }
    yield dots([row.value], [y], name, look)


def _numbers(row: EstimateLine, palette: Palette, decimals: int, unit: str) -> str:
    value = f"{numbers.fixed(row.value, decimals)}{unit if row.value is not None else ''}"
    ends = f"{numbers.fixed(row.low, decimals)} to {numbers.fixed(row.high, decimals)}"
    return f"<b>{value}</b>  " + (muted(palette, f"[{ends}]") if row.low is not None else "")


def weights(edges: Sequence[float], counts: Sequence[int], palette: Palette) -> go.Figure:
    """Returns a histogram of the rows' importance weights on a logarithmic axis.

    The heavy line is at 1, the weight of a row to which both policies give the same probability.
    """
    ends = [log10(edge) for edge in edges]
    middles = [(low + high) / 2 for low, high in pairwise(ends)]
    widths = [high - low for low, high in pairwise(ends)]
    hover = [
        f"weight {low:.3g} to {high:.3g}<br>{numbers.count(count)} rows"
        for (low, high), count in zip(pairwise(edges), counts, strict=True)
    ]
    top = 1.06 * max(counts)
    look = {"color": palette.same, "line": {"color": palette.background, "width": 1}}
    traces = [
        bars(middles, counts, "rows", look, hover, width=widths),
        zero_line(palette, [0.0, 0.0], [0.0, top]) | {"name": "1"},
    ]
    powers = range(int(min(ends[0], 0) // 1), int(max(ends[-1], 0) // 1) + 1)
    texts = [f"{10.0**power:,.{max(0, -power)}f}" for power in powers]
    ticks: Trace = {"tickvals": list(powers), "ticktext": texts, "showgrid": False, "standoff": 6}
    title = "Weight of a row (each step is ten times as much)"
    layout = {
        "xaxis": axis(palette, min(ends[0], -0.1), max(ends[-1], 0.1), title=title, **ticks),
        "yaxis": axis(palette, 0, top, **tick_labels(numbers.ticks(0, max(counts), 4))),
    }
    return figure(palette, SPREAD_HEIGHT, (58, 16, 4, 50), traces, layout)
