"""Every metric of every run at k."""

from __future__ import annotations

from recdash.metrics.naming import metric_at, ordered_metrics
from recdash.report.cells import metric_values, number_of
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Section, Table


def scores(asked: ReportContext) -> Section | None:
    """One row per metric, one column per run: a metric keeps its format, and names have room."""
    shown, k = asked.shown, asked.question.k
    metrics = ordered_metrics(asked.space.scores.metrics_of(shown))
    if asked.question.metric not in metrics:
        metrics = [asked.question.metric, *metrics]
    known = _values(asked, metrics)
    rows = [_row(asked, metric, known) for metric in metrics]
    columns = (Column("Metric"), *(Column(asked.names[run], number=True) for run in shown))
    of_part = "" if not asked.question.scope.slice else f", {asked.question.scope.slice}"
    table = Table(f"All metrics at k = {k}{of_part}", columns, tuple(rows))
    note = "Means over each run's own users; higher is not better for all of them: see the guide."
    return Section("scores", f"All metrics at k = {k}", note, (table,)) if rows else None


def _values(asked: ReportContext, metrics: list[str]) -> dict[tuple[str, str], float | None]:
    found = asked.scores(*metrics)
    keys = zip(found["run_id"], found["metric"], strict=True)
    return {key: number_of(value) for key, value in zip(keys, found["value"].tolist(), strict=True)}


def _row(asked: ReportContext, metric: str, known: dict[tuple[str, str], float | None]) -> tuple[Cell, ...]:
    values = [known.get((run, metric)) for run in asked.shown]
    lacking = [run for run, value in zip(asked.shown, values, strict=True) if value is None]
    reasons = asked.space.scores.absences(lacking, metric, asked.question.scope) if lacking else {}
    why = [reasons.get(run, "") for run in asked.shown]
    return metric_at(metric, asked.question.k), *metric_values(metric, values, why)
