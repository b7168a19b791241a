"""What the results of an A/B test show of themselves in a notebook: the lifts as a table and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from recdash.errors import UnknownName
from recdash.formatting import numbers
from recdash.formatting.display import Display
from recdash.formatting.numbers import percent
from recdash.formatting.wording import shown

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from recdash.online.analysis.results import OnlineResults, OnlineRow

HEADER = ("metric", "role", "variant", "lift", "95 % CI", "difference", "finding", "n")


def display_of(results: OnlineResults) -> Display:
    """Returns the lifts over the control, a row per metric and variant."""
    rows = [_cells(row) for row in results.judged_rows()]
    warnings = [str(notice) for notice in results.noticed()]
    remarks = ["All numbers: .table(all_columns=True); figure: .plot()"]
    return Display(f"Lifts over {results.control}", [HEADER, *rows], remarks, warnings, texts=3)


def _cells(row: OnlineRow) -> tuple[str, ...]:
    low, high = map(percent, row.judged_interval)
    lift, interval = numbers.estimate(percent(row.lift), low, high, " %")
    difference = numbers.NONE if row.difference is None else numbers.change(row.difference)
    finding = shown(row.word) or "not judged"
    return (row.title, row.role, row.variant, lift, interval, difference, finding, numbers.count(row.n_users))


def plot_lifts(results: OnlineResults, metric: str | None) -> go.Figure:
    """Returns the figure of the lifts, in %, with the intervals that decide; see ``OnlineResults.plot``."""
    import pandas as pd

    from recdash.charts.forest import ForestLayout, forest
    from recdash.charts.marks import LIGHT, marks_of_names

    rows = _of_metric(results.judged_rows(), metric)
    names = [f"{row.title}, {row.variant}" for row in rows]
    ends = [[percent(end) for end in row.judged_interval] for row in rows]
    frame = pd.DataFrame(
        {
            "run_id": names,
            "mean_diff": [percent(row.lift) for row in rows],
            "ci_low": [low for low, _ in ends],
            "ci_high": [high for _, high in ends],
            "word": [row.word for row in rows],
            "margin": 0.0,
        }
    ).astype({"mean_diff": float, "ci_low": float, "ci_high": float})
    return forest(frame, names, marks_of_names(names, None, LIGHT), LIGHT, ForestLayout(unit=" %"))


def _of_metric(rows: Sequence[OnlineRow], metric: str | None) -> list[OnlineRow]:
    """Returns the rows of a metric, all for None. Raises UnknownName for an unknown one."""
    if metric is not None and metric not in {row.metric for row in rows}:
        raise UnknownName("online metric", metric, list(dict.fromkeys(row.metric for row in rows)))
    return [row for row in rows if metric in (None, row.metric)]
