"""The paired difference of each run to the baseline, one row per run, zero heavy.

What a difference means was judged elsewhere: its ``word`` makes the sign and fills the mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash import numbers
from recdash.charts.frames import (
    INTERVAL,
    axis,
    escape,
    figure,
    marker,
    muted,
    rgba,
    short,
    span,
    tick_labels,
    zero_line,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.rows import Row, records
from recdash.numbers import is_number
from recdash.stats.family import SIGNS

if TYPE_CHECKING:
    import pandas as pd

AXIS_ROOM = 30
DECIDED = ("better", "worse")


@dataclass(frozen=True)
class Rows:
    """How a forest is laid out: row pitch in px, and what stands left and right of the marks."""

    pitch: int = 50
    names: bool = True
    values: bool = True
    rules: bool = False
    left: int = 144
    right: int = 214
    unit: str = ""


BESIDE_TABLE = Rows(pitch=54, names=False, values=False, rules=True, left=16, right=16)


def forest(
    differences: pd.DataFrame, order: Sequence[str], marks: Marks, palette: Palette, rows: Rows = Rows()
) -> go.Figure:
    """Figure of ``differences`` (run_id, mean_diff, ci_low, ci_high, word, margin), in the ``order`` of ids.

    A run without a difference keeps its row, empty: rows stay level with a table beside them. The grey band
    is what is too small to matter.
    """
    found = {row["run_id"]: row for row in records(differences) if row["run_id"] in order}
    margin = (rows.left, rows.right, 0, AXIS_ROOM)
    chart = figure(palette, rows.pitch * len(order) + AXIS_ROOM, margin)
    bounds = [row[name] for row in found.values() for name in ("ci_low", "ci_high", "mean_diff")]
    low, high = span(bounds, zero=True)
    marked = _ticks(low, high) if found else {"tickvals": []}
    chart.update_xaxes(axis(palette, low, high, showgrid=not rows.rules, **marked))
    chart.update_yaxes(
        axis(palette, len(order) - 0.5, -0.5, showgrid=False, **_names(order, marks, palette, rows))
    )
    _draw_rules(chart, order, marks, palette, rows)
    _draw_margins(chart, order, found, palette)
    chart.add_trace(zero_line(palette, _zero_rows(order, marks, rows)))
    decimals = numbers.places(bounds)
    for place, run_id in enumerate(order):
        if run_id in found and is_number(found[run_id]["mean_diff"]):
            look, row = marks[run_id], found[run_id]
            _draw_row(chart, row, place, look, palette, decimals=decimals, rows=rows)
    return chart


def _ticks(low: float, high: float) -> dict[str, Any]:
    return tick_labels(numbers.ticks(low, high, 4), sign=True)


def _names(order: Sequence[str], marks: Marks, palette: Palette, rows: Rows) -> dict[str, Any]:
    if not rows.names:
        return {"tickvals": [], "ticktext": []}
    names = [short(marks[run_id].name, 20) for run_id in order]
    return {"tickvals": list(range(len(order))), "ticktext": names, "ticklabelstandoff": 8,
            "tickfont": {"size": 14, "color": palette.ink}}  # fmt: skip


def _zero_rows(order: Sequence[str], marks: Marks, rows: Rows) -> list[float]:
    """Zero runs beside the candidates, not through the baseline's own band on top."""
    banded = rows.rules and bool(order) and marks[order[0]].role == "baseline"
    return [0.5 if banded else -0.5, len(order) - 0.5]


def _draw_rules(chart: go.Figure, order: Sequence[str], marks: Marks, palette: Palette, rows: Rows) -> None:
    if not rows.rules:
        return
    for place, run_id in enumerate(order):
        edge = {"type": "line", "xref": "paper", "x0": -1, "x1": 2, "y0": place + 0.5, "y1": place + 0.5}
        chart.add_shape(**edge, line={"color": palette.border, "width": 1})
        if marks[run_id].role == "baseline":
            band = {"type": "rect", "xref": "paper", "x0": -1, "x1": 2, "y0": place - 0.5, "y1": place + 0.5}
            chart.add_shape(**band, fillcolor=palette.panel, line={"width": 0}, layer="below")


def _draw_margins(chart: go.Figure, order: Sequence[str], found: Mapping[str, Row], palette: Palette) -> None:
    """One band over neighbours of the same margin; margins differ where runs share other users."""
    known = [(place, found[run]["margin"]) for place, run in enumerate(order) if run in found]
    for margin, rows in groupby(known, key=lambda pair: pair[1]):
        places = [place for place, _ in rows]
        chart.add_shape(
            type="rect", x0=-margin, x1=margin, y0=places[0] - 0.5, y1=places[-1] + 0.5,
            fillcolor=rgba(palette.faint, 0.22), line={"width": 0}, layer="below",
        )  # fmt: skip


def _draw_row(
    chart: go.Figure, row: Row, place: int, look: Mark, palette: Palette, *, decimals: int, rows: Rows
) -> None:  # fmt: skip
    low, high = row["ci_low"], row["ci_high"]
    chart.add_trace(
        go.Scatter(
            x=[low, high], y=[place, place], mode="lines", hoverinfo="skip", name=escape(look.name),
            line={"color": look.colour, "width": INTERVAL},
        )
    )  # fmt: skip
    difference = f"{numbers.signed(row['mean_diff'], decimals)}{rows.unit}"
    bounds = numbers.interval(low, high, decimals, rows.unit)
    chart.add_trace(
        go.Scatter(
            x=[row["mean_diff"]], y=[place], mode="markers", name=escape(look.name), hoverinfo="text",
            hovertext=f"{escape(look.name)}<br>{difference} {row['word']}<br>95 % CI {bounds}",
            marker=marker(look, palette, hollow=row["word"] not in DECIDED),
        )
    )  # fmt: skip
    if rows.values:
        text = f"{SIGNS[row['word']]}  {difference}  {muted(palette, f'[{bounds}]')}"
        _right_text(chart, text, place)


def _right_text(chart: go.Figure, text: str, place: int) -> None:
    chart.add_annotation(
        x=1,
        xref="paper",
        xanchor="left",
        xshift=16,
        y=place,
        yref="y",
        text=text,
        showarrow=False,
        align="left",
    )
