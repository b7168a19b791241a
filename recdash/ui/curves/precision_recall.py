"""What the precision–recall page shows of a view."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.precision_recall import eleven_points, path, precision_recall
from recdash.comparison.headlines import EQUAL
from recdash.formatting import numbers
from recdash.formatting.records import records
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import listed
from recdash.report.sections.precision_recall import table_at
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.curves import page

if TYPE_CHECKING:
    import pandas as pd

METRICS = {
    "macro": ("precision", "recall"),
    "micro": ("precision(average=micro)", "recall(average=micro)"),
}


def gather(view: View, average: str) -> pd.DataFrame:
    """run_id, k, precision, recall, f1 of the runs in the frame; empty when a metric was not scored."""
    precision, recall = METRICS[average]
    curves = page.gather(view, (precision, recall))
    return path(curves[curves["metric"] == precision], curves[curves["metric"] == recall])


def why_empty(view: View, average: str) -> str:
    absences = [cached.absences(view.shown_ids, metric, view.scope) for metric in METRICS[average]]
    reasons = {text for of_metric in absences for text in of_metric.values()}
    return f"No {average} precision and recall: {'; '.join(sorted(reasons)) or 'they were not scored here'}."


def finding(view: View, paths: pd.DataFrame) -> str:
    """Who is highest in both at the frame's k, or that none is."""
    here = paths[(paths["k"] == view.k) & paths["run_id"].isin(view.verdict_query.shown)]
    if here.empty:
        return f"No precision and recall at k = {view.k}"
    rows = records(here)
    precision, recall = (max(float(row[name]) for row in rows) for name in ("precision", "recall"))
    precise = [view.name(row["run_id"]) for row in rows if row["precision"] >= precision - EQUAL]
    complete = [view.name(row["run_id"]) for row in rows if row["recall"] >= recall - EQUAL]
    both = [name for name in precise if name in complete]
    if both:
        verb = "has" if len(both) == 1 else "have"
        return f"{listed(both)} {verb} the highest precision and recall at k = {view.k}"
    precise_are, complete_find = ("is" if len(precise) == 1 else "are"), ("s" if len(complete) == 1 else "")
    return (
        f"At k = {view.k} {listed(precise)} {precise_are} the most precise, "
        f"{listed(complete)} find{complete_find} the most"
    )


def subtitle(view: View, curve: str, average: str) -> str:
    averaged = "averaged over users" if average == "macro" else "pooled over all users"
    depth = f"k = 1 to {view.depth}, {averaged}"
    if curve == "points":
        return f"The best precision at each recall level or a higher one, from the path for {depth}."
    return f"Each line is the path (recall@k, precision@k) for {depth}. Large mark: k = {view.k}."


def draw(view: View, paths: pd.DataFrame, curve: str) -> None:
    colours = theme.palette()
    if curve == "points":
        chart = eleven_points(paths, view.marks, colours)
    else:
        chart = precision_recall(paths, view.marks, colours, view.k, page.last_k(view))
    widgets.chart(chart, f"precision-recall-{curve}", alt(view, paths), narrowest=500)


def alt(view: View, paths: pd.DataFrame) -> str:
    here = records(paths[paths["k"] == view.k])
    parts = [
        f"{view.name(row['run_id'])} P {numbers.three(row['precision'])} R {numbers.three(row['recall'])}"
        for row in here
    ]
    values = f" At k = {view.k}: {listed(parts)}." if parts else ""
    return f"Precision against recall.{values}"


def table_at_k(view: View, paths: pd.DataFrame) -> None:
    """Precision, recall and F1 of the averages at the frame's k, best F1 first."""
    table = table_at(view.k, records(paths[paths["k"] == view.k].sort_values("f1", ascending=False)))
    widgets.section(f"At k = {view.k}")
    columns = (*text_columns("Run"), *number_columns("P", "R", "F1"))  # it is narrow here
    st.html(widgets.table_html(columns, table.rows, view.marks, kind="rd-narrow"))


def print_definition(view: View, curve: str, average: str) -> None:
    lines = page.definition(average, view.experiment.settings.get("users", "truth"))
    if curve == "points":
        lines.append(
            "11-point: levels that a run's recall does not reach within its depth are left out, not set to 0."
        )
    lines.append("F1 and its lines use the averaged precision and recall.")
    ended = page.lists_ended(view)
    if ended and curve == "path":
        lines.append(f"Most lists end: {ended}; the path stops there.")
    widgets.section("Definition")
    widgets.note(lines)


def tidy(view: View, paths: pd.DataFrame) -> pd.DataFrame:
    named = paths.assign(run=[view.name(run_id) for run_id in paths["run_id"]])
    return named[["run", "k", "precision", "recall", "f1"]]
