"""How the metrics change with k: a line per run, and its values at a few k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from recdash.formatting import numbers
from recdash.formatting.wording import listed, users
from recdash.metrics.naming import has_k, is_percent, metric_at, metric_name
from recdash.report.cells import metric_values, number_of
from recdash.report.context import ReportContext
from recdash.report.document import Cell, Column, Figure, Number, Part, Section, Table

if TYPE_CHECKING:
    import pandas as pd

USUAL = ("ndcg", "recall", "precision", "coverage", "hit_rate", "map")
FEW = 4
SHOWN_K = (1, 5, 10, 20, 50, 100)
DRAWN_K = (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 75, 100, 200, 500, 1000)
"""A line needs no more points; where it bends they are dense."""


def curves(asked: ReportContext) -> Section | None:
    """The primary metric and three more; None where none has a cutoff."""
    offered = asked.space.scores.metrics_of(asked.shown)
    known = [one for one in (asked.question.metric, *USUAL) if one in offered and has_k(one)]
    metrics = list(dict.fromkeys(known))[:FEW]
    if not metrics:
        return None
    found = asked.space.scores.curves(asked.shown, metrics, asked.question.scope).dropna(subset=["k"])
    parts: list[Part] = [_figure(asked, found, metric) for metric in metrics]
    title = f"{listed([metric_name(metric) for metric in metrics])} against k"
    return Section("curves", title, _note(asked, found), tuple(parts))


def _note(asked: ReportContext, found: pd.DataFrame) -> str:
    counted = users({int(n) for n in found["n_users"]})
    ended = [f"{asked.names[run]} at {end}" for run, end in last_k(asked).items() if end is not None]
    stops = f" Lists end: {listed(ended)}; the line stops there." if ended else ""
    return (
        f"Mean over {counted}; ribbon: 95 % interval of each mean. Overlapping ribbons do not decide: "
        f"paired differences do. Dashed grey: {asked.base}.{stops}"
    )


def last_k(asked: ReportContext) -> dict[str, int | None]:
    """Run → the last k at which most of its lists still have an item; None: they reach the depth."""
    ends = asked.space.scores.list_ends(asked.shown)
    return {run: None if end is None else max(1, end - 1) for run, end in ends.items()}


def drawn_k(depth: int) -> list[int]:
    """The cutoffs at which a line is drawn."""
    return [*(k for k in DRAWN_K if k < depth), depth]


def _figure(asked: ReportContext, found: pd.DataFrame, metric: str) -> Figure:
    rows = found[found["metric"] == metric]
    unit = ", %" if is_percent(metric) else ""
    return Figure(
        kind="curve",
        title=f"{metric_at(metric, 'k')}{unit}",
        note="",
        alt=_alt(asked, rows, metric),
        data=_data(asked, rows, metric),
        table=_table(asked, rows, metric),
        wide=False,
    )


def _data(asked: ReportContext, rows: pd.DataFrame, metric: str) -> dict[str, Any]:
    wanted = {*drawn_k(int(rows["k"].max()) if len(rows) else 1), asked.question.k}
    kept = rows[rows["k"].isin(wanted)]
    return {
        "k": asked.question.k, "percent": is_percent(metric), "ends": last_k(asked),
        "lines": [
            {"run_id": str(run), "n_users": int(part["n_users"].iloc[0])}
            | {name: [number_of(value) for value in part[name].tolist()] for name in ("value", "std_error")}
            | {"k": [int(k) for k in part["k"].tolist()]}
            for run, part in kept.groupby("run_id", sort=False)
        ],
    }  # fmt: skip


def _alt(asked: ReportContext, rows: pd.DataFrame, metric: str) -> str:
    here = rows[rows["k"] == asked.question.k].sort_values("value", ascending=False)
    told = [
        f"{asked.brief[run]} {numbers.three(value)}"
        for run, value in zip(here["run_id"], here["value"], strict=True)
    ]
    return f"{metric_name(metric)} against k. At k = {asked.question.k}: {listed(told)}."


def _table(asked: ReportContext, rows: pd.DataFrame, metric: str) -> Table:
    """Values at a few k."""
    cutoffs = [k for k in sorted({*SHOWN_K, asked.question.k}) if k in set(rows["k"])]
    at = {
        (run, int(k)): value for run, k, value in zip(rows["run_id"], rows["k"], rows["value"], strict=True)
    }
    runs = [run for run in asked.shown if any((run, k) in at for k in cutoffs)]
    lines = [_line(k, [at.get((run, k)) for run in runs], metric) for k in cutoffs]
    columns = (Column("k", number=True), *(Column(asked.names[run], number=True) for run in runs))
    return Table(f"{metric_at(metric, 'k')} of every run", columns, tuple(lines))


def _line(k: int, values: Sequence[float | None], metric: str) -> tuple[Cell, ...]:
    return Number(k), *metric_values(metric, values)
