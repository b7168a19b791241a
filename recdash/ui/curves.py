"""What the pages of curves show of a view: lines until lists end, and the words about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash import numbers
from recdash.charts.curves import metric_curve
from recdash.ui import data, theme, widgets
from recdash.ui.escaping import html
from recdash.ui.findings import EQUAL
from recdash.ui.state import View
from recdash.ui.words import has_k, is_percent, listed, metric_at, metric_name

if TYPE_CHECKING:
    import pandas as pd

USUAL = ("ndcg", "recall", "precision", "coverage", "hit_rate", "map")
FEW = 4


def names(view: View) -> dict[str, str]:
    """The metrics that have a cutoff, by their short names."""
    return {metric: metric_name(metric) for metric in view.metrics if has_k(metric)}


def usual(view: View) -> list[str]:
    """The primary metric and three more."""
    available = [metric for metric in (view.metric, *USUAL) if metric in names(view)]
    return list(dict.fromkeys(available))[:FEW]


def gather(view: View, metrics: tuple[str, ...]) -> pd.DataFrame:
    """run_id, run, metric, k, value, std_error, n_users of the runs in the frame."""
    return data.curves(view, view.shown_ids, metrics)


def last_k(view: View) -> dict[str, int | None]:
    """Run → the last k at which most of its lists still have an item; None: they reach the depth."""
    ends = data.list_ends(view.shown_ids)
    return {run: None if end is None else max(1, end - 1) for run, end in ends.items()}


def pairs(metrics: Sequence[str]) -> list[list[str]]:
    return [list(metrics[at : at + 2]) for at in range(0, len(metrics), 2)]


def draw(view: View, curves: pd.DataFrame, metric: str, *, ribbon: bool) -> None:
    """One metric's title and chart; or why no run has it."""
    unit = ", %" if is_percent(metric) else ""
    st.html(html('<div class="rd-title"><h2>{name}{unit}</h2></div>', name=metric_at(metric, "k"), unit=unit))
    rows = curves[(curves["metric"] == metric) & curves["k"].notna()]
    if rows.empty:
        reasons = sorted(set(data.absences(view.shown_ids, metric).values()))
        st.caption(f"– {'; '.join(reasons) or 'not scored'}")
        return
    chart = metric_curve(
        rows, view.marks, theme.palette(), view.k, last_k(view), ribbon=ribbon, percent=is_percent(metric)
    )
    widgets.chart(chart, f"curve-{metric}", alt(view, rows, metric))


def alt(view: View, rows: pd.DataFrame, metric: str) -> str:
    here = rows[rows["k"] == view.k].sort_values("value", ascending=False)
    parts = [f"{run} {numbers.three(value)}" for run, value in zip(here["run"], here["value"], strict=True)]
    return (
        f"{metric_name(metric)} against k. At k = {view.k}: {listed(parts)}."
        if parts
        else metric_name(metric)
    )


def finding(view: View) -> str:
    """Who is first by the primary metric at each usual k; the same one, or where it changes."""
    if not has_k(view.metric):
        return f"{metric_name(view.metric)} does not depend on k"
    first = leaders(view)
    name = metric_name(view.metric)
    if not first:
        return f"No run has {name}"
    changes = [f"{listed(runs)} from k = {k}" for k, runs in _changes(first)]
    if len(changes) == 1:
        runs = next(iter(first.values()))
        share = "has" if len(runs) == 1 else "share"
        return f"{listed(runs)} {share} the highest {name} at every k from 1 to {view.depth}"
    if len(changes) > 3:
        return f"Who is first on {name} changes {len(changes) - 1} times between k = 1 and {view.depth}"
    return f"First on {name}: {', '.join(changes)}"


def leaders(view: View) -> dict[int, tuple[str, ...]]:
    """k → names of the runs with the highest value of the primary metric, several where values are equal."""
    rows = gather(view, (view.metric,)).dropna(subset=["k", "value"])
    rows = rows[rows["run_id"].isin(view.contender_ids)]
    first = rows[rows["value"] >= rows.groupby("k")["value"].transform("max") - EQUAL]
    return {k: tuple(first.loc[first["k"] == k, "run"]) for k in sorted(set(first["k"].astype(int)))}


def _changes(first: Mapping[int, tuple[str, ...]]) -> list[tuple[int, tuple[str, ...]]]:
    """The ks from which others are first; the order within a tie changes nothing."""
    found: list[tuple[int, tuple[str, ...]]] = []
    for k, runs in sorted(first.items()):
        if not found or set(found[-1][1]) != set(runs):
            found.append((k, runs))
    return found


def subtitle(view: View) -> str:
    rows = gather(view, (view.metric,))
    users = sorted({int(n) for n in rows["n_users"]})
    count = " to ".join(numbers.count(n) for n in dict.fromkeys((*users[:1], *users[-1:]))) or numbers.NONE
    ended = [f"{view.name(run)} at {end}" for run, end in last_k(view).items() if end is not None]
    stops = f" Lists end: {listed(ended)}; the line stops there." if ended else ""
    return (
        f"Mean over {count} users; ribbon: 95 % interval of each mean (the Leaderboard shows paired "
        f"differences). Dashed grey: {view.name(view.shown[0].id)}.{stops}"
    )


def tidy(curves: pd.DataFrame) -> pd.DataFrame:
    return curves[["run", "metric", "k", "value", "std_error", "n_users"]]


MICRO = (
    "Precision@k: hits of all users in the first k places, divided by k times the number of users.",
    "Recall@k: hits of all users in the first k places, divided by all held-out relevant items.",
    "Micro average: a user with many held-out items weighs more.",
)
MACRO = (
    "Precision@k: a user's hits in the first k places, divided by k; places left empty are misses.",
    "Recall@k: a user's hits in the first k places, divided by the user's held-out relevant items.",
    "Macro average: the mean over users.",
)
POPULATION = {
    "truth": "Every user with a relevant item counts; a user without a list counts as 0.",
    "both": "Only users with a relevant item and a list count.",
}


def definition(average: str, users: str) -> list[str]:
    """The definitions printed beside the precision–recall plot; ``users`` is the experiment's rule."""
    return [*(MICRO if average == "micro" else MACRO), POPULATION[users]]
