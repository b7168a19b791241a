"""How far the folds or seeds of each candidate lie apart: a row per run, a point per replicate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from recdash.charts.layout import axis, escape, figure, marker, muted, rgba, short, span, tick_labels
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.records import Row, by_run, records

if TYPE_CHECKING:
    import pandas as pd

LEAST_FOR_BOX = 3
"""Quartiles of two values are the values: points and their mean only."""
PITCH, MARGIN = 58, (144, 236, 4, 30)
BOX_HALF, MEAN_HALF, OFFSETS = 0.2, 0.27, (0.0, -0.12, 0.12)
BOX_ALPHA, POINT_ALPHA = 0.14, 0.85


def replicate_spread(
    rows: pd.DataFrame, values: Mapping[str, float], marks: Marks, palette: Palette, scale: float = 1.0
) -> go.Figure:
    """Figure of ``rows`` (run_id, replicate, value, n_users) and each run's own value (run_id → value).

    A row per run of ``values``, in their order: its replicates and their mean, of a run without any its own
    value. Numbers are multiplied by ``scale`` (100 for percents).
    """
    below = {run_id: records(part) for run_id, part in by_run(rows)}
    alone = [value for run_id, value in values.items() if run_id not in below]
    drawn = [scale * value for value in [*alone, *(row["value"] for row in records(rows))]]
    low, high = span(drawn)
    chart = figure(palette, PITCH * len(values) + MARGIN[2] + MARGIN[3], MARGIN)
    chart.update_xaxes(axis(palette, low, high, **tick_labels(numbers.ticks(low, high, 5))))
    chart.update_yaxes(
        axis(palette, len(values) - 0.5, -0.5, showgrid=False, **_names(list(values), marks, palette))
    )
    decimals = numbers.places(drawn)
    for place, (run_id, own) in enumerate(values.items()):
        found = [row | {"value": scale * row["value"]} for row in below.get(run_id, [])]
        value = float(np.mean([row["value"] for row in found])) if found else scale * own
        _draw_run(chart, found, value, place, marks[run_id], palette)
        _draw_text(chart, found, value, place, palette, decimals)
    return chart


def _names(order: Sequence[str], marks: Marks, palette: Palette) -> dict[str, Any]:
    names = [short(marks[run_id].name, 20) for run_id in order]
    return {"tickvals": list(range(len(order))), "ticktext": names, "ticklabelstandoff": 8,
            "tickfont": {"size": 14, "color": palette.ink}}  # fmt: skip


def _draw_run(
    chart: go.Figure, found: Sequence[Row], value: float, place: int, look: Mark, palette: Palette
) -> None:
    if not found:
        points = {"x": [value], "y": [place], "marker": marker(look, palette)}
        hover = [f"{escape(look.name)}<br>{numbers.three(value)}, uploaded once"]
        chart.add_trace(
            go.Scatter(**points, mode="markers", name=escape(look.name), hoverinfo="text", hovertext=hover)
        )
        return
    if len(found) >= LEAST_FOR_BOX:
        _draw_box(chart, [row["value"] for row in found], place, look)
    chart.add_trace(
        go.Scatter(
            x=[row["value"] for row in found],
            y=[place + OFFSETS[at % len(OFFSETS)] for at in range(len(found))],
            mode="markers", name=escape(look.name), hoverinfo="text",
            hovertext=[_hover(row, look) for row in found],
            marker=marker(look, palette, size=9) | {"opacity": POINT_ALPHA}, cliponaxis=False,
        )
    )  # fmt: skip
    chart.add_trace(
        go.Scatter(
            x=[value, value], y=[place - MEAN_HALF, place + MEAN_HALF], mode="lines", hoverinfo="skip",
            name="mean", line={"color": palette.ink, "width": 2.5},
        )
    )  # fmt: skip


def _draw_box(chart: go.Figure, values: Sequence[float], place: int, look: Mark) -> None:
    """Quartiles and median, whiskers to the lowest and highest."""
    lowest, first, middle, third, highest = np.quantile(values, (0, 0.25, 0.5, 0.75, 1)).tolist()
    line = {"color": look.colour, "width": 1.5}
    chart.add_shape(
        type="rect", x0=first, x1=third, y0=place - BOX_HALF, y1=place + BOX_HALF, line=line, layer="below",
        fillcolor=rgba(look.colour, BOX_ALPHA),
    )  # fmt: skip
    for ends in ((lowest, first), (third, highest)):
        chart.add_shape(type="line", x0=ends[0], x1=ends[1], y0=place, y1=place, line=line, layer="below")
    chart.add_shape(
        type="line", x0=middle, x1=middle, y0=place - BOX_HALF, y1=place + BOX_HALF, line=line, layer="below"
    )


def _draw_text(
    chart: go.Figure, found: Sequence[Row], value: float, place: int, palette: Palette, decimals: int
) -> None:
    ends = [row["value"] for row in found]
    bounds = f"{numbers.fixed(min(ends), decimals)} to {numbers.fixed(max(ends), decimals)}" if ends else ""
    aside = f"{bounds}, n = {len(ends)}" if ends else "uploaded once"
    chart.add_annotation(
        x=1, xref="paper", xanchor="left", xshift=16, y=place, yref="y", showarrow=False, align="left",
        text=f"{numbers.fixed(value, decimals)}  {muted(palette, aside)}",
    )  # fmt: skip


def _hover(row: Row, look: Mark) -> str:
    where = short(str(row["replicate"]), 60)
    return (
        f"{escape(look.name)}, {where}<br>{numbers.three(row['value'])}"
        f"<br>{numbers.count(row['n_users'])} users"
    )
