"""What the page Precision–recall shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.precision_recall import eleven_points, path, precision_recall
from recdash.comparison.headlines import EQUAL, some
from recdash.formatting import numbers
from recdash.formatting.records import records
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import listed
from recdash.report.sections.precision_recall import table_at
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.chart_key import key_below
from recdash.ui.curves import page

if TYPE_CHECKING:
    import pandas as pd

METRICS = {
    "macro": ("precision", "recall"),
    "micro": ("precision(average=micro)", "recall(average=micro)"),
}


def gather(view: View, average: str) -> pd.DataFrame:
    """Returns run_id, k, precision, recall and f1 of the runs in the frame; empty if a metric is not
    available.
    """
    precision, recall = METRICS[average]
    curves = page.gather(view, (precision, recall))
    return path(curves[curves["metric"] == precision], curves[curves["metric"] == recall])


def why_empty(view: View, average: str) -> str:
    absences = [cached.absences(view.shown_ids, metric, view.scope) for metric in METRICS[average]]
    reasons = {text for of_metric in absences for text in of_metric.values()}
    return f"No {average} precision and recall: {'; '.join(sorted(reasons)) or 'they were not scored here'}."


def finding(view: View, paths: pd.DataFrame) -> str:
    """Returns a headline on which run has the highest precision and recall at the frame's k, or which has
    the highest of each. The values are not tested.
    """
    here = paths[(paths["k"] == view.k) & paths["run_id"].isin(view.verdict_query.shown)]
    if here.empty:
        return f"No precision and recall at k = {view.k}"
    rows = records(here)
    if len(rows) == 1:
        return f"Precision and recall of {view.short(rows[0]['run_id'])} at k = {view.k}"
    precision, recall = (max(float(row[name]) for row in rows) for name in ("precision", "recall"))
    precise = [view.short(row["run_id"]) for row in rows if row["precision"] >= precision - EQUAL]
    complete = [view.short(row["run_id"]) for row in rows if row["recall"] >= recall - EQUAL]
    both = [name for name in precise if name in complete]
    if both:
        return f"{_highest(both)} precision and recall at k = {view.k}"
    return f"At k = {view.k}, {_highest(precise)} precision and {_highest(complete)} recall"


def _highest(names: list[str]) -> str:
    """Returns the names with their verb, such as ``ALS has the highest`` or ``ALS and EASE have …``."""
    return f"{some(names)} {'has' if len(names) == 1 else 'have'} the highest"


def subtitle(view: View, curve: str, average: str) -> str:
    averaged = "averaged over users" if average == "macro" else "pooled over all users"
    depth = f"k = 1 to {view.depth}, {averaged}"
    if curve == "points":
        return f"Best precision at each recall level or beyond, {depth}."
    return f"Each line runs over {depth}. Large mark: k = {view.k}. Not tested for significance."


def draw(view: View, paths: pd.DataFrame, curve: str) -> None:
    colours = theme.palette()
    if curve == "points":
        chart = eleven_points(paths, view.marks, colours, view.shown_ids)
    else:
        chart = precision_recall(paths, view.marks, colours, view.k, page.last_k(view), view.shown_ids)
    widgets.chart(chart, f"precision-recall-{curve}", alt(view, paths), narrowest=0)
    known = set(paths["run_id"])
    st.html(key_below(view.marks, "", [(run, "") for run in view.shown_ids if run in known]))


def alt(view: View, paths: pd.DataFrame) -> str:
    here = records(paths[paths["k"] == view.k])
    parts = [
        f"{view.name(row['run_id'])} P {numbers.three(row['precision'])} R {numbers.three(row['recall'])}"
        for row in here
    ]
    values = f" At k = {view.k}: {listed(parts)}." if parts else ""
    return f"Precision against recall.{values}"


def table_at_k(view: View, paths: pd.DataFrame) -> None:
    """Draws a table with precision, recall and F1 at the frame's k."""
    order = {run_id: place for place, run_id in enumerate(view.shown_ids)}
    here = sorted(records(paths[paths["k"] == view.k]), key=lambda row: order[row["run_id"]])
    widgets.section(f"At k = {view.k}")
    columns = (*text_columns("Run"), *number_columns("Precision", "Recall", "F1"))
    rows = table_at(view.k, here).rows
    st.html(widgets.table_html(columns, rows, view.marks, kind="rd-small", longest=26))


def print_definition(view: View, curve: str, average: str) -> None:
    lines = page.definition(average, view.experiment.settings.get("users", "truth"))
    if curve == "points":
        lines.append("11-point: recall levels that a run does not reach are left out, not set to 0.")
    lines.append("F1 uses the averaged precision and recall.")
    ended = page.lists_ended(view)
    if ended and curve == "path":
        lines.append(f"Lines stop where lists end: {ended}.")
    widgets.section("Definition")
    widgets.note(lines)


def tidy(view: View, paths: pd.DataFrame) -> pd.DataFrame:
    named = paths.assign(run=[view.name(run_id) for run_id in paths["run_id"]])
    return named[["run", "k", "precision", "recall", "f1"]]
