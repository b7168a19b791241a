"""The section on how metrics change with k: a line for each run, and its values at some k."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from recdash.comparison.cells import metric_values
from recdash.formatting import numbers
from recdash.formatting.tables import Cell, Number, Table, number_columns, number_of
from recdash.formatting.wording import count_range, listed, users
from recdash.metrics.naming import curve_metrics, is_percent, metric_and_unit, metric_at, metric_title
from recdash.report.context import ReportContext
from recdash.report.document import Figure, Part, Section

if TYPE_CHECKING:
    import pandas as pd

SHOWN_K = (1, 5, 10, 20, 50, 100)
DRAWN_K = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 75, 100, 200, 500, 1000)
"""The k at which lines are drawn, which are closer where lines bend most."""


def curves(context: ReportContext) -> Section | None:
    """Returns the section on the primary metric and up to three more; None if none of them has a cutoff."""
    scores, scope = context.workspace.scores, context.query.scope
    metrics = curve_metrics(context.query.metric, scores.metrics_of(context.query.shown))
    if not metrics:
        return None
    rows = scores.curves(context.query.shown, metrics, scope).dropna(subset=["k"])
    parts: list[Part] = [_figure(context, rows[rows["metric"] == metric], metric) for metric in metrics]
    title = f"{listed([metric_title(metric) for metric in metrics])} against k"
    ended = [f"{context.names[run]} at {end}" for run, end in last_k(context).items() if end is not None]
    note = means_note(context.base, {int(n) for n in rows["n_users"]})
    return Section("curves", title, f"{note}{stops(listed(ended))}", tuple(parts))


def means_note(base: str, n_users: Iterable[int]) -> str:
    """Returns a sentence on what the lines and bands of means show."""
    counts = {*n_users}
    over = users(counts) if len(counts) < 2 else f"each run's own users ({count_range(counts)})"
    return (
        f"Mean over {over} with its 95 % CI (band). Overlapping bands do not mean a tie; see the "
        f"paired difference. Dashed: {base}."
    )


def stops(ended: str) -> str:
    """Returns a sentence on why lines stop.

    ``ended`` lists runs with the last k of their lists; "" gives "".
    """
    return f" Lines stop where lists end: {ended}." if ended else ""


def last_k(context: ReportContext) -> dict[str, int | None]:
    """Returns {run id: last k at which most of its lists have an item}; None if they reach the depth."""
    ends = context.workspace.scores.list_ends(context.query.shown)
    return {run: None if end is None else max(1, end - 1) for run, end in ends.items()}


def drawn_k(depth: int) -> list[int]:
    """Returns the cutoffs at which a line is drawn, up to the depth."""
    return [*(k for k in DRAWN_K if k < depth), depth]


def _figure(context: ReportContext, rows: pd.DataFrame, metric: str) -> Figure:
    k = context.query.k
    at_k = rows[rows["k"] == k].sort_values("value", ascending=False)
    values = [
        f"{context.short_names[run]} {numbers.three(value)}"
        for run, value in zip(at_k["run_id"], at_k["value"], strict=True)
    ]
    drawn = rows[rows["k"].isin({*drawn_k(int(rows["k"].max()) if len(rows) else 1), k})]
    lines = [
        {"run_id": str(run), "n_users": int(line["n_users"].iloc[0])}
        | {name: [number_of(value) for value in line[name].tolist()] for name in ("value", "std_error")}
        | {"k": [int(k) for k in line["k"].tolist()]}
        for run, line in drawn.groupby("run_id", sort=False)
    ]
    title = metric_and_unit(metric, "k")
    alt = f"{metric_title(metric)} against k. At k = {k}: {listed(values)}."
    data = {"k": k, "percent": is_percent(metric), "ends": last_k(context), "lines": lines}
    return Figure("curve", title, "", alt, data, _table(context, rows, metric), wide=False)


def _table(context: ReportContext, rows: pd.DataFrame, metric: str) -> Table:
    """Returns a table of the metric's values at some k."""
    cutoffs = [k for k in sorted({*SHOWN_K, context.query.k}) if k in set(rows["k"])]
    values = {
        (run, int(k)): value for run, k, value in zip(rows["run_id"], rows["k"], rows["value"], strict=True)
    }
    runs = [run for run in context.query.shown if any((run, k) in values for k in cutoffs)]
    lines: list[tuple[Cell, ...]] = [
        (Number(k), *metric_values(metric, [values.get((run, k)) for run in runs])) for k in cutoffs
    ]
    columns = number_columns("k", *(context.names[run] for run in runs))
    return Table(f"{metric_at(metric, 'k')} of every run", columns, tuple(lines))
