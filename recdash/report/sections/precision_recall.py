"""The path of precision and recall over k, and both at the question's k."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recdash.formatting import numbers
from recdash.formatting.records import plain_columns, records
from recdash.formatting.wording import listed
from recdash.report.cells import alike
from recdash.report.context import ReportContext
from recdash.report.document import Column, Figure, RunName, Section, Table
from recdash.report.sections.curves import drawn_k, last_k

if TYPE_CHECKING:
    import pandas as pd

SIDES = ["precision", "recall"]
NOTE = (
    "Precision@k: a user's hits in the first k places, divided by k; places left empty are misses. "
    "Recall@k: divided by the user's held-out relevant items. Both are means over users. Thin lines: equal "
    "F1."
)


def precision_recall(asked: ReportContext) -> Section | None:
    found = asked.space.scores.curves(asked.shown, SIDES, asked.question.scope)
    sides = {side: found[found["metric"] == side] for side in SIDES}
    if any(rows.empty for rows in sides.values()):
        return None
    from recdash.charts.precision_recall import path

    paths = path(sides["precision"], sides["recall"])
    k = asked.question.k
    here = paths[paths["k"] == k]
    best = max(records(here), key=lambda row: float(row["f1"]), default=None)
    if best is None:
        return None
    title = f"{asked.names[str(best['run_id'])]} has the best balance of precision and recall at k = {k}"
    return Section("precision-recall", title, NOTE, (_figure(asked, paths, here),))


def _figure(asked: ReportContext, paths: pd.DataFrame, here: pd.DataFrame) -> Figure:
    wanted = {*drawn_k(int(paths["k"].max())), asked.question.k}
    kept = paths[paths["k"].isin(wanted)]
    told = [
        f"{asked.brief[row['run_id']]} {numbers.three(row['precision'])} and {numbers.three(row['recall'])}"
        for row in records(here)
    ]
    columns = ["run_id", "k", "precision", "recall"]
    return Figure(
        kind="precision-recall",
        title=f"Precision against recall, k = 1 to {int(paths['k'].max())}",
        note="",
        alt=f"Precision against recall. At k = {asked.question.k}: {listed(told)}.",
        data={"k": asked.question.k, "ends": last_k(asked), "rows": plain_columns(kept, columns)},
        table=_table(asked, here),
    )


def _table(asked: ReportContext, here: pd.DataFrame) -> Table:
    k, rows = asked.question.k, records(here)
    cells = zip(*(alike([row[name] for row in rows]) for name in (*SIDES, "f1")), strict=True)
    lines = tuple((RunName(row["run_id"]), *values) for row, values in zip(rows, cells, strict=True))
    names = (f"Precision@{k}", f"Recall@{k}", "F1 of both")
    columns = (Column("Run"), *(Column(name, number=True) for name in names))
    return Table(f"Precision and recall at k = {k}", columns, lines)
