"""What an evaluation shows of itself: its scores in a terminal or a notebook, and its curves as figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.wording import many

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.domain.results import Curve

MOST_RUNS = 8
"""Columns of a table of scores; more do not fit into a line."""


def display_of(
    runs: Sequence[str],
    scores: Iterable[tuple[str, str, float | None]],
    counted: str,
    warnings: Sequence[str],
) -> Display:
    """Returns a row per metric and a column per run; ``scores`` are (metric, run, value), ``counted`` the
    users who count.
    """
    cells: dict[str, dict[str, str]] = {}
    for metric, run, value in scores:
        cells.setdefault(metric, {})[run] = numbers.three(value)
    shown = runs[:MOST_RUNS]
    rows = [("metric", *shown)]
    rows += [(metric, *(values.get(run, numbers.NONE) for run in shown)) for metric, values in cells.items()]
    more = len(runs) - len(shown)
    remarks = [f"… and {many(more, 'more candidate')}"] if more > 0 else []
    title = f"{many(len(runs), 'candidate')}, {counted} counted"
    return Display(title, rows, [*remarks, "All numbers: .table(); curves: .plot(metric)"], warnings)


def plot_metric(curves: Mapping[str, Curve], k: int, baseline: str | None) -> go.Figure:
    """Returns the figure of a metric's curve of each run, with k marked."""
    from recdash.charts.curves import metric_curve, with_interval
    from recdash.charts.marks import LIGHT, marks_of_names

    marks = marks_of_names(curves, baseline, LIGHT)
    return metric_curve(with_interval(_frame(curves)), marks, LIGHT, k, dict.fromkeys(curves))


def plot_precision_recall(
    precision: Mapping[str, Curve], recall: Mapping[str, Curve], k: int, baseline: str | None
) -> go.Figure:
    """Returns the figure of precision against recall of each run, with k marked."""
    from recdash.charts.marks import LIGHT, marks_of_names
    from recdash.charts.precision_recall import path, precision_recall

    paths = path(_frame(precision), _frame(recall))
    marks = marks_of_names(precision, baseline, LIGHT)
    return precision_recall(paths, marks, LIGHT, k, dict.fromkeys(precision))


def _frame(curves: Mapping[str, Curve]) -> Any:
    """Returns the curves as a frame: run_id (the name), k, value, std_error."""
    import pandas as pd

    parts = [
        pd.DataFrame({"run_id": run, "k": curve.k, "value": curve.value, "std_error": curve.std_error})
        for run, curve in curves.items()
    ]
    return pd.concat(parts, ignore_index=True)
