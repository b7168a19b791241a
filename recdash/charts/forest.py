"""Draws the paired difference of each run from the baseline: one row per run, with a heavy line at zero.

The findings are those of the comparison: a row's ``word`` decides its sign and whether its mark is filled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from recdash.charts.layout import (
    INTERVAL,
    axis,
    bare_row_axis,
    escape,
    figure,
    marker,
    muted,
    rgba,
    row_axis,
    short_labels,
    span,
    value_axis,
)
from recdash.charts.marks import Mark, Marks, Palette
from recdash.charts.traces import Trace, dots, line, margin_note, rectangle, row_band, row_rule, zero_line
from recdash.formatting import numbers
from recdash.formatting.numbers import is_number
from recdash.formatting.records import Row, records
from recdash.formatting.signs import sign_of
from recdash.formatting.wording import shown

if TYPE_CHECKING:
    import pandas as pd

AXIS_ROOM = 30
DECIDED = ("better", "worse")
LEAST_BAND = 0.03
"""The share of the axis from which the grey band is wider than the line at zero, also beside a table."""


@dataclass(frozen=True)
class ForestLayout:
    """The layout of a forest plot: the height of a row in px, what is shown left and right of the marks, and
    both margins.
    """

    pitch: int = 50
    names: bool = True
    values: bool = True
    rules: bool = False
    left: int = 160
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
    """Returns the figure of ``differences`` (run_id, mean_diff, ci_low, ci_high, word, margin). ``order`` are
    the run ids of the rows from the top.

    A run without a difference keeps an empty row, so that rows have the same heights as those of a table next
    to the figure. The grey band shows differences that are too small to matter.
    """
    known = {row["run_id"]: row for row in records(differences) if row["run_id"] in order}
    bounds = [row[name] for row in known.values() for name in ("ci_low", "ci_high", "mean_diff")]
    ends, decimals, n = span(bounds, zero=True), numbers.places(bounds), len(order)
    drawn = [
        (y, known[run]) for y, run in enumerate(order) if run in known and is_number(known[run]["mean_diff"])
    ]
    # The line at zero is drawn in the candidates' rows, not through the baseline's band.
    banded = rows.rules and bool(order) and marks[order[0]].role == "baseline"
    traces = [zero_line(palette, [0.0, 0.0], [0.5 if banded else -0.5, n - 0.5])]
    for y, row in drawn:
        traces += _of_row(row, y, marks[row["run_id"]], palette, decimals, rows.unit)
    short = short_labels(marks, 20)
    names = [short[run_id] for run_id in order]
    x_axis = value_axis(palette, ends, 4, sign=True, showgrid=not rows.rules)
    layout = {
        "xaxis": x_axis if known else axis(palette, *ends, showgrid=not rows.rules, tickvals=[]),
        "yaxis": row_axis(palette, names) if rows.names else bare_row_axis(palette, n),
        "shapes": [*_rules(order, marks, palette, rows), *_margins(order, known, palette)],
        "annotations": [
            margin_note(y, _numbers(row, palette, decimals, rows.unit)) for y, row in drawn if rows.values
        ],
    }
    margin = (rows.left, rows.right, 0, AXIS_ROOM)
    return figure(palette, rows.pitch * n + AXIS_ROOM, margin, traces, layout)


def shows_margin(differences: pd.DataFrame) -> bool:
    """Returns whether the grey band of any row is wider than the line at zero, so that it can be seen."""
    bounds = [*differences["ci_low"], *differences["ci_high"], *differences["mean_diff"]]
    low, high = span(bounds, zero=True)
    return bool(2 * differences["margin"].max() > LEAST_BAND * (high - low))


def _rules(order: Sequence[str], marks: Marks, palette: Palette, rows: ForestLayout) -> Iterator[Trace]:
    """Yields lines between the rows, as in a table, and the band behind the baseline's row."""
    for y, run_id in enumerate(order if rows.rules else ()):
        if marks[run_id].role == "baseline":
            yield row_band(palette, y)
        yield row_rule(y, palette.border)


def _margins(order: Sequence[str], known: Mapping[str, Row], palette: Palette) -> Iterator[Trace]:
    """Yields the grey bands: one over neighbouring rows with the same margin. Margins differ if runs share
    different users with the baseline.
    """
    margins = [(y, known[run]["margin"]) for y, run in enumerate(order) if run in known]
    for margin, group in groupby(margins, key=lambda pair: pair[1]):
        y = [row for row, _ in group]
        yield rectangle((-margin, margin), (y[0] - 0.5, y[-1] + 0.5), rgba(palette.faint, 0.22))


def _of_row(row: Row, y: int, mark: Mark, palette: Palette, decimals: int, unit: str) -> tuple[Trace, Trace]:
    """Returns the interval, and the mark on top of it."""
    low, high, name = row["ci_low"], row["ci_high"], escape(mark.name)
    difference = f"{numbers.signed(row['mean_diff'], decimals)}{unit} {shown(row['word'])}"
    hover = f"{name}<br>{difference}<br>95 % CI {numbers.interval(low, high, decimals, unit)}"
    look = marker(mark, palette, hollow=row["word"] not in DECIDED)
    return (
        line([low, high], [y, y], name, mark.colour, INTERVAL * mark.heft),
        dots([row["mean_diff"]], [y], name, look, hover),
    )


def _numbers(row: Row, palette: Palette, decimals: int, unit: str) -> str:
    difference = f"{numbers.signed(row['mean_diff'], decimals)}{unit}"
    bounds = numbers.interval(row["ci_low"], row["ci_high"], decimals, unit)
    sign = row["sign"] if "sign" in row else sign_of(row["word"])
    return f"{sign}  {difference}  {muted(palette, f'[{bounds}]')}"
