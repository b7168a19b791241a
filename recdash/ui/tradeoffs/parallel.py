"""Shows runs by several metrics at once, each on its own axis, and the same numbers as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.parallel_axes import ParallelAxis, parallel
from recdash.comparison.cells import metric_value, metric_values
from recdash.comparison.headlines import values
from recdash.comparison.pareto import goal
from recdash.formatting.html import Html
from recdash.formatting.tables import Cell, RunName, bold, number_columns, text_columns
from recdash.formatting.wording import listed, many
from recdash.metrics.naming import (
    GUARDRAILS,
    has_k,
    is_percent,
    metric_and_unit,
    metric_at,
    metric_title,
    scale_of,
)
from recdash.ui.app import cached, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.metric_sets import metrics_of_set
from recdash.ui.components.widgets import stacked_table_html
from recdash.ui.tradeoffs.page import why_absent

if TYPE_CHECKING:
    import pandas as pd

FEWEST, MOST, CORE = 2, 8, 2

FEWEST_LINES = 3
"""Of fewer runs each is at an end of every axis, so that a chart shows nothing."""

Known = Mapping[str, Mapping[str, float]]
"""Metric → run id → value."""


def choose(view: View) -> list[str]:
    """Draws the choice of metrics and returns them, by default those of the leaderboard; the URL keeps them
    as ``axes``.
    """
    options = {metric: metric_title(metric) for metric in view.metrics}
    chosen = widgets.several("Metrics", "axes", options, usual(view))
    if len(chosen) > MOST:
        st.caption(f"Showing the first {MOST} of {len(chosen)} metrics.")
    return chosen[:MOST]


def usual(view: View) -> list[str]:
    """Returns the default axes: accuracy metrics first, then those with a guardrail."""
    core = metrics_of_set(view.metrics, view.metric, "core", few=CORE)
    beyond = [metric for metric in view.metrics if metric in GUARDRAILS]
    return list(dict.fromkeys((*core, *beyond)))[:MOST]


def show(view: View, metrics: Sequence[str], runs: Sequence[str]) -> None:
    """Draws a line per run over the axes, and a table of the chosen runs."""
    if len(metrics) < FEWEST:
        st.caption("Choose at least two metrics.")
        return
    order = tuple(dict.fromkeys((*view.shown_ids, *runs)))
    scores = cached.scoreboard(view, order, tuple(metrics), view.k)
    known = {metric: values(scores, metric) for metric in metrics}
    widgets.section(finding(view, known, len(order)), subtitle(len(order)))
    if len(order) >= FEWEST_LINES:
        axes = [_parallel_axis(metric, known[metric], view.k) for metric in metrics]
        chart = parallel(axes, order, view.marks, theme.palette())
        width = 200 + 100 * len(metrics)
        widgets.chart(chart, "parallel", alt(view, known), narrowest=width, caption=directions(metrics))
    st.html(values_table(view, known))
    st.html(why_absent(view, metrics))
    widgets.table_behind(tidy(view, known, order), "metrics", "All metrics in full precision")


def _parallel_axis(metric: str, of: Mapping[str, float], k: int) -> ParallelAxis:
    scale = scale_of(metric)
    less = goal(metric).less_is_better
    unit = f"{f'@{k}' if has_k(metric) else ''}{' %' if is_percent(metric) else ''}{' ↓' if less else ''}"
    scaled = {run: value * scale for run, value in of.items()}
    return ParallelAxis(metric_title(metric), unit.strip() or " ", scaled, less)


def finding(view: View, known: Known, n_drawn: int) -> str:
    """Returns a headline on which chosen run is best most often, such as ``EASE is best on 5 of 7 metrics``;
    it says so if only some of the drawn runs are chosen.
    """
    first = [run for metric, of in known.items() for run in _best(view, metric, of)]
    if not first:
        return "No chosen run has these metrics"
    if len(view.verdict_query.shown) == 1:
        return f"{view.short(first[0])} on {many(len(known), 'metric')}"
    most = max(first.count(run) for run in first)
    names = [view.short(run) for run in dict.fromkeys(first) if first.count(run) == most]
    if len(names) > 3:
        names = []
    n_chosen = len(view.verdict_query.shown)
    of_chosen = f"Of the {n_chosen} chosen runs, " if n_chosen < n_drawn else ""
    if not names:
        none = "none" if of_chosen else "No run"
        return f"{of_chosen}{none} is best on more than {most} of {len(known)} metrics"
    verb = "is" if len(names) == 1 else "are each"
    return f"{of_chosen}{listed(names)} {verb} best on {most} of {len(known)} metrics"


def _best(view: View, metric: str, of: Mapping[str, float]) -> list[str]:
    """Returns the chosen runs with the best value; several if their values are equal."""
    heights = {run: goal(metric).height(of[run]) for run in view.verdict_query.shown if run in of}
    return [run for run, height in heights.items() if height == max(heights.values())]


def subtitle(n_runs: int) -> str:
    if n_runs < 2:
        return ""
    best = "better" if n_runs < FEWEST_LINES else "best"
    return f"Bold: the {best} value. ↓: lower is better. Not tested for significance."


def directions(metrics: Sequence[str]) -> str:
    """Returns which end of the chart's axes is the better one."""
    flipped = [metric_title(metric) for metric in metrics if goal(metric).less_is_better]
    note = f" ({listed(flipped)} {'is' if len(flipped) == 1 else 'are'} inverted)" if flipped else ""
    return f"Higher is better on every axis{note}."


def alt(view: View, known: Known) -> str:
    parts = []
    for metric, of in known.items():
        runs = [run for run in view.shown_ids if run in of]
        values = (f"{view.name(run)} {metric_value(metric, of[run]).shown}" for run in runs)
        parts.append(f"{metric_at(metric, view.k)}: {', '.join(values)}")
    return f"Runs by {len(known)} metrics. {'; '.join(parts)}."


def values_table(view: View, known: Known) -> Html:
    """Returns a table with a row per chosen run."""
    heads = (
        f"{metric_and_unit(metric, view.k)}{' ↓' if goal(metric).less_is_better else ''}" for metric in known
    )
    columns = [*text_columns("Run"), *number_columns(*heads)]
    values = (_column(view, metric, of) for metric, of in known.items())
    rows = zip(map(RunName, view.shown_ids), *values, strict=True)
    bands = (0,) if view.baseline else ()
    return stacked_table_html(
        columns, list(rows), view.marks, bands=bands, kind="rd-small rd-sticky", label="Metrics"
    )


def _column(view: View, metric: str, of: Mapping[str, float]) -> list[Cell]:
    """Returns the values of the chosen runs, the best one bold; none is bold for a single run."""
    cells = metric_values(metric, map(of.get, view.shown_ids), has_unit=False)
    best = _best(view, metric, of) if len(view.verdict_query.shown) > 1 else []
    return [bold(cell) if run in best else cell for run, cell in zip(view.shown_ids, cells, strict=True)]


def tidy(view: View, known: Known, order: Sequence[str]) -> pd.DataFrame:
    """Returns a frame with a row per run and a column per metric, in full precision."""
    import pandas as pd

    rows = [
        {"run": view.name(run), **{metric_at(metric, view.k): of.get(run) for metric, of in known.items()}}
        for run in order
    ]
    return pd.DataFrame(rows)
