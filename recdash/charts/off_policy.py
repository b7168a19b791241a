"""Off-policy estimates on one axis beside what was observed, and how the weights behind them spread.

Nothing here is a run, so nothing has a run's colour: ink where it may be read, hollow where it may not.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from recdash.charts.layout import INTERVAL, MARKER, assembled, axis, escape, muted, span, tick_labels
from recdash.charts.marks import Palette
from recdash.formatting import numbers

Trace = dict[str, Any]
PITCH, AXIS_ROOM, LEFT, RIGHT = 46, 34, 150, 200
SPREAD_HEIGHT = 220


@dataclass(frozen=True)
class EstimateLine:
    """One estimate: its name, value and interval, in the units of the axis; None where it cannot be had."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    observed: bool = False


def estimates(lines: Sequence[EstimateLine], palette: Palette, unit: str, *, hollow: bool) -> go.Figure:
    """A row for each estimate; dashed: the observed value. ``hollow``: none of the estimates may be used."""
    bounds = [end for line in lines for end in (line.low, line.value, line.high) if end is not None]
    low, high = span(bounds, zero=True)
    decimals = numbers.places([line.value for line in lines])
    known = [(place, line) for place, line in enumerate(lines) if line.value is not None]
    data: list[Trace] = [_rule(0.0, len(lines), palette.ink, 2.5, "solid", "zero")]
    data += [
        _rule(line.value, len(lines), palette.muted, 1.6, "dash", "observed")
        for _, line in known
        if line.observed and line.value is not None
    ]
    for place, line in known:
        data += _of_line(line, place, palette, hollow=hollow and not line.observed)
    layout = {
        "xaxis": axis(palette, low, high, **tick_labels(numbers.ticks(low, high, 5))),
        "yaxis": axis(
            palette, len(lines) - 0.5, -0.5, showgrid=False, tickvals=list(range(len(lines))),
            ticktext=[escape(line.name) for line in lines], ticklabelstandoff=10,
            tickfont={"size": 14, "color": palette.ink},
        ),
        "annotations": [
            _right_text(line, place, palette, decimals, unit) for place, line in enumerate(lines)
        ],
    }  # fmt: skip
    height = PITCH * len(lines) + AXIS_ROOM
    return assembled(palette, height, (LEFT, RIGHT, 4, AXIS_ROOM), data, layout)


def _rule(at: float, n: int, colour: str, width: float, dash: str, name: str) -> Trace:
    return {
        "type": "scatter", "x": [at, at], "y": [-0.5, n - 0.5], "mode": "lines", "hoverinfo": "skip",
        "name": name, "line": {"color": colour, "width": width, "dash": dash},
    }  # fmt: skip


def _of_line(line: EstimateLine, place: int, palette: Palette, *, hollow: bool) -> list[Trace]:
    colour = palette.muted if line.observed or hollow else palette.ink
    mark = {
        "symbol": "line-ns" if line.observed else "circle", "size": MARKER, "opacity": 1,
        "color": palette.background if hollow else colour, "line": {"color": colour, "width": 2.2},
    }  # fmt: skip
    shared: Trace = {"type": "scatter", "name": escape(line.name), "hoverinfo": "skip"}
    bars = []
    if line.low is not None and line.high is not None:
        ends = {"x": [line.low, line.high], "y": [place, place], "mode": "lines"}
        bars = [shared | ends | {"line": {"color": colour, "width": INTERVAL}}]
    return [*bars, shared | {"x": [line.value], "y": [place], "mode": "markers", "marker": mark}]


def _right_text(line: EstimateLine, place: int, palette: Palette, decimals: int, unit: str) -> Trace:
    value = f"{numbers.fixed(line.value, decimals)}{unit if line.value is not None else ''}"
    ends = f"{numbers.fixed(line.low, decimals)} to {numbers.fixed(line.high, decimals)}"
    bounds = muted(palette, f"[{ends}]") if line.low is not None else ""
    return {
        "x": 1, "xref": "paper", "xanchor": "left", "xshift": 16, "y": place, "yref": "y",
        "text": f"<b>{value}</b>  {bounds}", "showarrow": False, "align": "left",
    }  # fmt: skip


def weights(edges: Sequence[float], counts: Sequence[int], palette: Palette) -> go.Figure:
    """How many rows have a weight of about so much: bars of equal width on a logarithmic axis.

    The heavy line stands at 1, which is what a row weighs where both policies agree.
    """
    ends = [math.log10(edge) for edge in edges]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(ends)]
    wide = [high - low for low, high in itertools.pairwise(ends)]
    hover = [
        f"weight {edges[place]:.3g} to {edges[place + 1]:.3g}<br>{numbers.count(count)} rows"
        for place, count in enumerate(counts)
    ]
    bars = {
        "type": "bar", "x": middles, "y": list(counts), "width": wide, "name": "rows", "hoverinfo": "text",
        "hovertext": hover,
        "marker": {"color": palette.same, "line": {"color": palette.background, "width": 1}},
    }  # fmt: skip
    heavy = {
        "type": "scatter", "x": [0.0, 0.0], "y": [0.0, 1.06 * max(counts)], "mode": "lines", "name": "1",
        "hoverinfo": "skip", "line": {"color": palette.ink, "width": 2.5},
    }  # fmt: skip
    powers = range(int(min(ends[0], 0) // 1), int(max(ends[-1], 0) // 1) + 1)
    up = numbers.ticks(0, max(counts), 4)
    title = {"text": "Weight of a row (each step is ten times as much)", "standoff": 6}
    layout = {
        "xaxis": axis(
            palette, min(ends[0], -0.1), max(ends[-1], 0.1), showgrid=False, tickvals=list(powers),
            ticktext=[f"{10.0**power:,.{max(0, -power)}f}" for power in powers],
            title=title | {"font": {"size": 13, "color": palette.muted}},
        ),
        "yaxis": axis(palette, 0, 1.06 * max(counts), **tick_labels(up)),
    }  # fmt: skip
    return assembled(palette, SPREAD_HEIGHT, (58, 16, 4, 50), [bars, heavy], layout)
