"""What the page Trade-offs shows of two metrics: the runs, their Pareto front, and which run dominates
which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import TYPE_CHECKING

import streamlit as st

from recdash.charts.tradeoff import Direction, TradeOffPoint, trade_off
from recdash.comparison.cells import metric_value
from recdash.comparison.pareto import TradeOff, goal
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.signs import OPEN
from recdash.formatting.wording import unavailable
from recdash.metrics.naming import GUARDRAILS, metric_and_unit, metric_at, metric_title, scale_of
from recdash.stats import NORMAL_95
from recdash.ui.app import cached, state, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.absences import reasons
from recdash.ui.components.chart_key import key_below
from recdash.ui.tradeoffs.wording import members, sentence

if TYPE_CHECKING:
    import pandas as pd

MOST_TOLD = 8


@dataclass(frozen=True)
class Chosen:
    """The metrics of both axes, and the runs that are drawn."""

    x: str
    y: str
    runs: tuple[str, ...]


# ── choices ──────────────────────────────────────────────────────────────────────────────────


def choose(view: View) -> Chosen | None:
    """Draws the choices of axes and runs and returns them; None if there are not two metrics.

    The URL keeps them.
    """
    if len(view.metrics) < 2:
        widgets.empty(
            "A trade-off needs two metrics",
            "Add training data or a catalogue to the experiment to see coverage and novelty.",
        )
        return None
    chosen = view.verdict_query.shown
    aside = [run for run in view.own_ids if run not in chosen]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        y = _axis("Y axis", "y", view.metrics, view.metric)
        others = [metric for metric in view.metrics if metric != y]
        usual = next((metric for metric in GUARDRAILS if metric in others), others[0])
        x = _axis("X axis", "x", others, usual)
        runs = {"all": "All", "chosen": "Baseline and candidates"}
        if aside and widgets.choice("Runs", "runs", runs, "all") == "chosen":
            aside = []
        elif not aside and "runs" in state.params():
            state.write("runs", state.option("runs", "all", list(runs)))
    return Chosen(x, y, (*chosen, *aside))


def _axis(label: str, name: str, options: Sequence[str], default: str) -> str:
    """Draws the choice of a metric and returns it; the default if the URL's metric is on the other axis."""
    titles = {metric: metric_title(metric) for metric in options}
    return widgets.select(label, name, titles, state.option(name, default, options), f"tradeoff-{name}", 220)


def warn_of_unknown(view: View) -> None:
    """Warns about metrics in the link that no run has."""
    for name in ("x", "y"):
        wanted = state.params().get(name)
        if wanted is not None and wanted not in view.metrics:
            st.warning(f"{unavailable('metric', markdown(wanted))}.")


def gather(view: View, chosen: Chosen) -> TradeOff:
    return cached.trade_off(view, chosen.runs, (chosen.x, chosen.y), view.verdict_query.shown)


# ── two metrics ──────────────────────────────────────────────────────────────────────────────


def draw(view: View, tradeoff: TradeOff) -> None:
    """Draws the runs and their front, with chosen reference candidates, which are not part of the front."""
    aside = tuple(run for run in view.shown_ids if run not in view.verdict_query.shown)
    beside = cached.trade_off(view, aside, _metrics(tradeoff), ()) if aside else None
    dots = [*_dots(tradeoff), *(_dots(beside) if beside else ())]
    x, y = (Direction(_title(goal.metric, tradeoff.k), goal.less_is_better) for goal in tradeoff.goals)
    chart = trade_off(dots, tradeoff.front, (x, y), view.marks, theme.palette())
    widgets.chart(chart, "trade-off", alt(view, tradeoff), narrowest=0)
    height = {run: tradeoff.goals[1].height(place[1]) for run, place in tradeoff.places.items()}
    named = sorted(set(height) & set(view.verdict_query.shown), key=height.__getitem__, reverse=True)
    y_name, x_name = (metric_at(goal.metric, tradeoff.k) for goal in reversed(tradeoff.goals))
    values = [(run, _values(tradeoff, run)) for run in named]
    st.html(key_below(view.marks, f"{y_name} ({x_name})", values, "rd-points"))


def _metrics(tradeoff: TradeOff) -> tuple[str, str]:
    return tradeoff.goals[0].metric, tradeoff.goals[1].metric


def _title(metric: str, k: int) -> str:
    less = " (lower is better)" if goal(metric).less_is_better else ""
    return f"{metric_and_unit(metric, k)}{less}"


def _dots(tradeoff: TradeOff) -> list[TradeOffPoint]:
    x_scale, y_scale = map(scale_of, _metrics(tradeoff))
    dots = []
    for run, (x, y) in tradeoff.places.items():
        x_half, y_half = (
            NORMAL_95 * error * scale if isfinite(error) else 0.0
            for error, scale in zip(tradeoff.errors.get(run, (nan, nan)), (x_scale, y_scale), strict=True)
        )
        dots.append(TradeOffPoint(run, x * x_scale, y * y_scale, x_half, y_half))
    return dots


def alt(view: View, tradeoff: TradeOff) -> str:
    parts = [
        f"{view.name(run)} {_values(tradeoff, run)}"
        for run in tradeoff.places
        if run in view.verdict_query.shown or run in tradeoff.front[:MOST_TOLD]
    ]
    x, y = (metric_at(metric, tradeoff.k) for metric in _metrics(tradeoff))
    return f"{y} against {x}: {'; '.join(parts)}. {members(view, tradeoff)}" if parts else f"{y} against {x}."


def _values(tradeoff: TradeOff, run: str) -> str:
    x, y = map(metric_value, _metrics(tradeoff), tradeoff.places[run])
    return f"{y.shown} ({x.shown})"


def say(view: View, tradeoff: TradeOff) -> None:
    """Writes the runs on the front, the pairs in which one run dominates the other, and why runs are
    missing.
    """
    rows = []
    if len(tradeoff.places) > 1:
        rows.append(_line("✓", "better", members(view, tradeoff)))
        for beaten in sorted(tradeoff.beaten, key=lambda beaten: not beaten.settled):
            sign, tone = ("▼", "worse") if beaten.settled else (OPEN, "same")
            rows.append(_line(sign, tone, sentence(view, tradeoff, beaten)))
    why = why_absent(view, _metrics(tradeoff))
    st.html(html('<ul class="rd-list">{rows}</ul>{why}', rows=join(rows), why=why))


def _line(sign: str, tone: str, text: str) -> Html:
    line = '<li><b class="rd-{tone}">{sign}</b><span>{text}</span></li>'
    return html(line, tone=tone, sign=sign, text=widgets.unbroken(text))


def why_absent(view: View, metrics: Sequence[str]) -> Html:
    """Returns notes on why runs lack a metric: a line for each reason and the runs to which it applies."""
    absences = {metric: cached.absences(view.shown_ids, metric, view.scope) for metric in metrics}
    return widgets.note_html(reasons(view, view.shown_ids, absences))


def tidy(view: View, tradeoff: TradeOff) -> pd.DataFrame:
    """Returns a frame with a row per run: both values, standard errors, whether it is on the front, and which
    run dominates it.
    """
    import pandas as pd

    x, y = (metric_at(metric, tradeoff.k) for metric in _metrics(tradeoff))
    behind = {beaten.run: beaten for beaten in tradeoff.beaten}
    rows = []
    for run, (at_x, at_y) in tradeoff.places.items():
        errors, beaten = tradeoff.errors.get(run, (nan, nan)), behind.get(run)
        row = {"run": view.name(run), y: at_y, f"{y} std error": errors[1]}
        row |= {x: at_x, f"{x} std error": errors[0], "front": run in tradeoff.front}
        row |= {"behind": view.name(beaten.by) if beaten else "", "beaten": bool(beaten and beaten.settled)}
        rows.append(row)
    return pd.DataFrame(rows)
