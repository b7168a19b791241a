"""The section on precision and recall: their curve over k, and both at the question's k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.formatting import numbers
from recdash.formatting.records import Row, plain_columns, records
from recdash.formatting.tables import RunName, Table, aligned, number_columns, text_columns
from recdash.formatting.wording import listed
from recdash.report.context import ReportContext
from recdash.report.document import Figure, Section
from recdash.report.sections.curves import drawn_k, last_k

if TYPE_CHECKING:
    import pandas as pd

SIDES = ["precision", "recall"]
NOTE = (
    "Precision@k: hits in the first k positions, divided by k; empty positions are misses. Recall@k: hits "
    "divided by the user's relevant test items. Both are means over users. Thin lines: equal F1."
)


def precision_recall(context: ReportContext) -> Section | None:
    curves = context.workspace.scores.curves(context.query.shown, SIDES, context.query.scope)
    sides = {side: curves[curves["metric"] == side] for side in SIDES}
    if any(rows.empty for rows in sides.values()):
        return None
    from recdash.charts.precision_recall import path

    paths = path(sides["precision"], sides["recall"])
    k = context.query.k
    here = paths[paths["k"] == k]
    best = max(records(here), key=lambda row: float(row["f1"]), default=None)
    if best is None:
        return None
    title = f"{context.names[str(best['run_id'])]} has the best balance of precision and recall at k = {k}"
    return Section("precision-recall", title, NOTE, (_figure(context, paths, here),))


def _figure(context: ReportContext, paths: pd.DataFrame, here: pd.DataFrame) -> Figure:
    wanted = {*drawn_k(int(paths["k"].max())), context.query.k}
    drawn = paths[paths["k"].isin(wanted)]
    values = [
        f"{context.short_names[row['run_id']]} {numbers.three(row['precision'])} "
        f"and {numbers.three(row['recall'])}"
        for row in records(here)
    ]
    columns = ["run_id", "k", "precision", "recall"]
    title = f"Precision against recall, k = 1 to {int(paths['k'].max())}"
    alt = f"Precision against recall. At k = {context.query.k}: {listed(values)}."
    data = {"k": context.query.k, "ends": last_k(context), "rows": plain_columns(drawn, columns)}
    return Figure("precision-recall", title, "", alt, data, table_at(context.query.k, records(here)))


def table_at(k: int, rows: Sequence[Row]) -> Table:
    """Returns a table of the runs' precision, recall and F1 at k.

    ``rows`` are those of ``charts.precision_recall.path`` at k.
    """
    cells = zip(*(aligned([row[name] for row in rows]) for name in (*SIDES, "f1")), strict=True)
    lines = tuple((RunName(row["run_id"]), *values) for row, values in zip(rows, cells, strict=True))
    columns = (*text_columns("Run"), *number_columns(f"Precision@{k}", f"Recall@{k}", "F1 of both"))
    return Table(f"Precision and recall at k = {k}", columns, lines)
