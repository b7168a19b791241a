"""What an evaluation shows of itself: its scores in a terminal or a notebook, and its curves as figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from recdash.domain.defaults import default_k
from recdash.errors import InputError, Problem
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.wording import many, users

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.evaluation.evaluation import Evaluation
    from recdash.evaluation.request import MetricRequest

MOST_RUNS = 8
"""Columns of a table of scores; more do not fit into a line."""


def display_of(evaluation: Evaluation) -> Display:
    """Returns the scores over all users, a row per metric and a column per run; curves at k = 10 or, if that
    is smaller, at the depth.
    """
    runs = [run.name for run in evaluation.runs]
    cells: dict[str, dict[str, str]] = {}
    for metric, run, value in _scores(evaluation):
        cells.setdefault(metric, {})[run] = numbers.three(value)
    shown = runs[:MOST_RUNS]
    rows = [
        ("metric", *shown),
        *((name, *(row.get(run, "–") for run in shown)) for name, row in cells.items()),
    ]
    counted = [run.ledger.counted for run in evaluation.runs if run.ledger is not None]
    title = f"{many(len(runs), 'candidate')}, {users(counted)} counted"
    more = len(runs) - len(shown)
    remarks = [f"… and {many(more, 'more candidate')}"] if more > 0 else []
    numbers_at = "All numbers: .table(); curves: .plot(metric)"
    return Display(title, rows, [*remarks, numbers_at], evaluation.warnings)


def _scores(evaluation: Evaluation) -> Iterator[tuple[str, str, float | None]]:
    """Yields (metric, run, value) of what is shown."""
    k = default_k(evaluation.rules.depth)
    at_cutoff = {request.spec.label for request in evaluation.requests if request.spec.k is not None}
    for row in evaluation.rows():
        if row.get("slice_by") is None and (row["k"] in (None, k) or row["metric"] in at_cutoff):
            name = row["metric"] if row["k"] is None else f"{row['metric']}@{row['k']}"
            yield name, row["run"], row["value"]


def plot_metric(evaluation: Evaluation, metric: str | None, baseline: str | None) -> go.Figure:
    """Returns the figure of a metric at each k, see ``Evaluation.plot``."""
    from recdash.charts.curves import metric_curve, with_interval
    from recdash.charts.marks import LIGHT, marks_of_names

    request = _with_cutoffs(evaluation, metric)
    names = [run.name for run in evaluation.runs]
    k = request.spec.k or default_k(evaluation.rules.depth)
    frame = with_interval(_curve_frame(evaluation, request))
    return metric_curve(frame, marks_of_names(names, baseline, LIGHT), LIGHT, k, dict.fromkeys(names))


def plot_precision_recall(evaluation: Evaluation, baseline: str | None) -> go.Figure:
    """Returns the figure of precision against recall, see ``Evaluation.plot_precision_recall``."""
    from recdash.charts.marks import LIGHT, marks_of_names
    from recdash.charts.precision_recall import path, precision_recall

    precision, recall = (
        _curve_frame(evaluation, _with_cutoffs(evaluation, name)) for name in ("precision", "recall")
    )
    names = [run.name for run in evaluation.runs]
    paths, k = path(precision, recall), default_k(evaluation.rules.depth)
    return precision_recall(paths, marks_of_names(names, baseline, LIGHT), LIGHT, k, dict.fromkeys(names))


def _with_cutoffs(evaluation: Evaluation, metric: str | None) -> MetricRequest:
    """Returns the request for a metric, the first one with cutoffs for None. Raises InputError for a metric
    that was not requested, and for one without cutoffs.
    """
    if metric is None:
        with_cutoffs = [request for request in evaluation.requests if request.definition.metric.has_cutoff]
        if with_cutoffs:
            return with_cutoffs[0]
        fix = "Use .table() for their values."
        raise InputError(Problem("no-curve", "metrics", "none of the metrics has cutoffs", fix))
    request = evaluation.request_for(metric)
    if not request.definition.metric.has_cutoff:
        fix = "Use .table() for its value."
        raise InputError(Problem("no-curve", f"metric '{metric}'", "it has no cutoffs", fix))
    return request


def _curve_frame(evaluation: Evaluation, request: MetricRequest) -> Any:
    """Returns the curves of all runs: run_id (the name), k, value, std_error."""
    import pandas as pd

    name = str(request.definition)
    curves = {run.name: run.curves[name] for run in evaluation.runs if name in run.curves}
    parts = [
        pd.DataFrame({"run_id": run, "k": curve.k, "value": curve.value, "std_error": curve.std_error})
        for run, curve in curves.items()
    ]
    if not parts:
        fix = (
            f"Add '{request.spec.label}' to the metrics of the evaluation; .absences() says what is missing."
        )
        raise InputError(Problem("absent", f"metric '{request.spec}'", "it was not scored", fix))
    return pd.concat(parts, ignore_index=True)
