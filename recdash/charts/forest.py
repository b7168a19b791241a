"""The paired difference of each run to the baseline, one row per run, zero heavy.

What a difference means was judged elsewhere: its ``word`` makes the sign and fills the mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    assembled,
    axis,
    escape,
    marker,
    muted,
    rgba,
    short,
    span,
    tick_labels,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.stats.family import SIGNS

if TYPE_CHECKING:
    import pandas as pd

Trace = dict[str, Any]
AXIS_ROOM = 30
DECIDED = ("better", "worse")


@dataclass(frozen=True)
class ForestLayout:
    """How a forest is laid out: row pitch in px, and what stands left and right of the marks."""

    pitch: int = 50
    names: bool = True
    values: bool = True
    rules: bool = False
    left: int = 144
    right: int = 214
    unit: str = ""


BESIDE_TABLE = ForestLayout(pitch=54, names=False, values=False, rules=True, left=16, right=16)


def forest(
    differences: pd.DataFrame,
    order: Sequence[str],
    marks: Marks,
    palette: Palette,
    rows: ForestLayout = ForestLayout(),
) -> go.Figure:
    """Figure of ``differences`` (run_id, mean_diff, ci_low, ci_high, word, margin), in the ``order`` of ids.

    A run without a difference keeps its row, empty: rows stay level with a table beside them. The grey band
    is what is too small to matter.
    """
    found = {row["run_id"]: row for row in records(differences) if row["run_id"] in order}
    bounds = [row[name] for row in found.values() for name in ("ci_low", "ci_high", "mean_diff")]
    low, high = span(bounds, zero=True)
    marked = _ticks(low, high) if found else {"tickvals": []}
    decimals = numbers.places(bounds)
    known = [
        (place, found[run_id])
        for place, run_id in enumerate(order)
        if run_id in found and is_number(found[run_id]["mean_diff"])
    ]
    drawn = [_of_row(row, place, marks[row["run_id"]], palette, decimals, rows.unit) for place, row in known]
    named = _names(order, marks, palette, rows)
    layout = {
        "xaxis": axis(palette, low, high, showgrid=not rows.rules, **marked),
        "yaxis": axis(palette, len(order) - 0.5, -0.5, showgrid=False, **named),
        "shapes": [*_rules(order, marks, palette, rows), *_margins(order, found, palette)],
        "annotations": [_right_text(row, place, palette, decimals, rows.unit) for place, row in known]
        if rows.values
        else [],
    }
    data = [_heavy_zero(palette, _zero_rows(order, marks, rows)), *chain.from_iterable(drawn)]
    margin = (rows.left, rows.right, 0, AXIS_ROOM)
    return assembled(palette, rows.pitch * len(order) + AXIS_ROOM, margin, data, layout)


def _heavy_zero(palette: Palette, y: Sequence[float]) -> Trace:
    return {
        "type": "scatter", "x": [0.0] * len(y), "y": list(y), "mode": "lines", "hoverinfo": "skip",
        "name": "zero", "line": {"color": palette.ink, "width": 2.5},
    }  # fmt: skip


def _ticks(low: float, high: float) -> dict[str, Any]:
    return tick_labels(numbers.ticks(low, high, 4), sign=True)


def _names(order: Sequence[str], marks: Marks, palette: Palette, rows: ForestLayout) -> dict[str, Any]:
    if not rows.names:
        return {"tickvals": [], "ticktext": []}
    names = [short(marks[run_id].name, 20) for run_id in order]
    return {"tickvals": list(range(len(order))), "ticktext": names, "ticklabelstandoff": 8,
            "tickfont": {"size": 14, "color": palette.ink}}  # fmt: skip


def _zero_rows(order: Sequence[str], marks: Marks, rows: ForestLayout) -> list[float]:
    """Zero runs beside the candidates, not through the baseline's own band on top."""
    banded = rows.rules and bool(order) and marks[order[0]].role == "baseline"
    return [0.5 if banded else -0.5, len(order) - 0.5]


def _rules(
    order: Sequence[str], marks: Marks, palette: Palette, rows: ForestLayout
) -> Iterator[dict[str, Any]]:
    if not rows.rules:
        return
    for place, run_id in enumerate(order):
        across = {"xref": "paper", "x0": -1, "x1": 2}
        if marks[run_id].role == "baseline":
            band = {"type": "rect", "y0": place - 0.5, "y1": place + 0.5, "layer": "below"}
            yield {**across, **band, "fillcolor": palette.panel, "line": {"width": 0}}
        edge = {"type": "line", "y0": place + 0.5, "y1": place + 0.5}
        yield {**across, **edge, "line": {"color": palette.border, "width": 1}}


def _margins(order: Sequence[str], found: Mapping[str, Row], palette: Palette) -> Iterator[dict[str, Any]]:
    """One band over neighbours of the same margin; margins differ where runs share other users."""
    known = [(place, found[run]["margin"]) for place, run in enumerate(order) if run in found]
    for margin, rows in groupby(known, key=lambda pair: pair[1]):
        places = [place for place, _ in rows]
        yield {
            "type": "rect", "x0": -margin, "x1": margin, "y0": places[0] - 0.5, "y1": places[-1] + 0.5,
            "fillcolor": rgba(palette.faint, 0.22), "line": {"width": 0}, "layer": "below",
        }  # fmt: skip


def _of_row(
    row: Row, place: int, look: Mark, palette: Palette, decimals: int, unit: str
) -> tuple[Trace, Trace]:
    """The interval and, over it, the mark."""
    low, high = row["ci_low"], row["ci_high"]
    told = f"{numbers.signed(row['mean_diff'], decimals)}{unit} {row['word']}"
    bounds = numbers.interval(low, high, decimals, unit)
    shared: Trace = {"type": "scatter", "name": escape(look.name)}
    line = {
        "x": [low, high], "y": [place, place], "mode": "lines", "hoverinfo": "skip",
        "line": {"color": look.colour, "width": INTERVAL * look.heft},
    }  # fmt: skip
    mark = {
        "x": [row["mean_diff"]], "y": [place], "mode": "markers", "hoverinfo": "text",
        "hovertext": f"{escape(look.name)}<br>{told}<br>95 % CI {bounds}",
        "marker": marker(look, palette, hollow=row["word"] not in DECIDED),
    }  # fmt: skip
    return shared | line, shared | mark


def _right_text(row: Row, place: int, palette: Palette, decimals: int, unit: str) -> dict[str, Any]:
    difference = f"{numbers.signed(row['mean_diff'], decimals)}{unit}"
    bounds = numbers.interval(row["ci_low"], row["ci_high"], decimals, unit)
    text = f"{SIGNS[row['word']]}  {difference}  {muted(palette, f'[{bounds}]')}"
    return {
        "x": 1, "xref": "paper", "xanchor": "left", "xshift": 16, "y": place, "yref": "y", "text": text,
        "showarrow": False, "align": "left",
    }  # fmt: skip
