"""The section with every metric of every run at k."""

from __future__ import annotations

from recdash.comparison.cells import metric_values
from recdash.formatting.tables import Cell, Column, Table, number_columns, number_of
from recdash.metrics.naming import metric_at, ordered_metrics
from recdash.report.context import ReportContext
from recdash.report.document import Section


def scores(context: ReportContext) -> Section | None:
    """Returns the section: a table with one row per metric and one column per run.

    So the values in a row have one format, and long names of metrics have room.
    """
    runs, k = context.query.shown, context.query.k
    metrics = ordered_metrics(context.workspace.scores.metrics_of(runs))
    if context.query.metric not in metrics:
        metrics = [context.query.metric, *metrics]
    scoreboard = context.scores(*metrics)
    keys = zip(scoreboard["run_id"], scoreboard["metric"], strict=True)
    known = dict(zip(keys, map(number_of, scoreboard["value"].tolist()), strict=True))
    rows = [_row(context, metric, known) for metric in metrics]
    columns = (Column("Metric"), *number_columns(*(context.names[run] for run in runs)))
    of_part = "" if not context.query.scope.slice else f", {context.query.scope.slice}"
    table = Table(f"All metrics at k = {k}{of_part}", columns, tuple(rows))
    note = "Means over the users that the metric counts. Higher is not always better: see the guide."
    return Section("scores", f"All metrics at k = {k}", note, (table,)) if rows else None


def _row(context: ReportContext, metric: str, known: dict[tuple[str, str], float | None]) -> tuple[Cell, ...]:
    values = [known.get((run, metric)) for run in context.query.shown]
    lacking = [run for run, value in zip(context.query.shown, values, strict=True) if value is None]
    reasons = context.workspace.scores.absences(lacking, metric, context.query.scope) if lacking else {}
    why = [reasons.get(run, "") for run in context.query.shown]
    return metric_at(metric, context.query.k), *metric_values(metric, values, why)
