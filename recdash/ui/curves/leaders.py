"""The leading runs at each k: the headline of the curves, and the strip below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.charts.leaders_by_k import Stretch, in_words, leader_strip, stretches
from recdash.comparison.headlines import EQUAL, some
from recdash.metrics import define
from recdash.metrics.naming import has_k, less_is_wanted, metric_at, metric_title
from recdash.ui.app import cached
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.chart_key import key_below
from recdash.ui.curves import page

First = Mapping[int, tuple[str, ...]]
MOST_CHANGES = 3
OVER_ALL_K = " One Holm correction over all k, stricter than on Ranking, which tests one k."


def first_at(view: View, metric: str) -> First:
    """Returns {k: leading runs} among baseline and candidates; of a metric without a value per user, without
    a test.
    """
    if define(metric).has_user_values:
        return cached.leaders_by_k(view, metric)
    return _first_by_value(view, metric, cached.cutoffs(view))


def _first_by_value(view: View, metric: str, ks: Sequence[int]) -> First:
    curves = page.gather(view, (metric,)).dropna(subset=["k", "value"])
    sign, compared = -1 if less_is_wanted(metric) else 1, set(view.verdict_query.shown)
    values: dict[int, dict[str, float]] = {k: {} for k in ks}
    columns = (curves[name].tolist() for name in ("k", "run_id", "value"))
    for k, run_id, value in zip(*columns, strict=True):
        if k in values and run_id in compared:
            values[k][run_id] = sign * value
    return {k: _within_rounding(of_runs) for k, of_runs in values.items()}


def _within_rounding(of_runs: Mapping[str, float]) -> tuple[str, ...]:
    """Returns the runs whose value is the best one, up to rounding errors."""
    best = max(of_runs.values(), default=0.0)
    return tuple(run for run, value in of_runs.items() if value >= best - EQUAL)


@st.fragment(parallel=True)
@widgets.show_errors
def title(view: View, subtitle: str) -> None:
    """Draws the H1 in a separate fragment, so that the curves need not wait for the comparison at all
    cutoffs.
    """
    widgets.title(finding(view), f"{subtitle}{family(view)}{without_value(view)}")


def finding(view: View) -> str:
    """Returns a headline on which run leads in the primary metric from which k to which, or that none
    does.
    """
    name = metric_title(view.metric)
    if not has_k(view.metric):
        return f"{name} does not depend on k"
    joined = _joined(stretches(first_at(view, view.metric)))
    if len(joined) == 1 and joined[0].runs:
        return _everywhere(view, joined[0], name)
    if not any(stretch.runs for stretch in joined):
        return f"No clear leader on {name} at any k" if joined else f"No run has {name}"
    parts = [_stretch_words(view, stretch, last=stretch is joined[-1]) for stretch in joined]
    return f"{name}: {'; '.join(parts)}" if len(parts) <= MOST_CHANGES else _many_changes(view, joined, name)


def family(view: View) -> str:
    """Returns a sentence on the tests that the leaders passed; empty if nothing is tested."""
    is_tested = has_k(view.metric) and define(view.metric).has_user_values
    return OVER_ALL_K if is_tested and len(view.verdict_query.shown) > 1 else ""


def without_value(view: View) -> str:
    """Returns sentences on the runs that lack the metric, and why; empty if all have it."""
    reasons = cached.absences(view.verdict_query.shown, view.metric, view.scope)
    title = metric_title(view.metric)
    parts = (f" {view.short(run)} has no {title}: {why}." for run, why in reasons.items())
    return "".join(parts)


def _joined(neighbours: Sequence[Stretch]) -> list[Stretch]:
    """Joins neighbouring stretches that have no single leader to one stretch without a leader; returns all
    stretches.
    """
    joined: list[Stretch] = []
    for stretch in neighbours:
        if joined and len(stretch.runs) != 1 and len(joined[-1].runs) != 1:
            joined[-1] = Stretch(joined[-1].first, stretch.last, ())
        else:
            joined.append(stretch)
    return joined


def _everywhere(view: View, stretch: Stretch, name: str) -> str:
    names = [view.short(run) for run in stretch.runs]
    if len(view.verdict_query.shown) == 1:
        return f"{name} of {names[0]} from k = 1 to {view.depth}"
    having = set(page.gather(view, (view.metric,)).dropna(subset=["value"])["run_id"])
    known = [run for run in view.verdict_query.shown if run in having]
    if len(known) == 1:
        return f"{names[0]} is the only run with {name}"
    if len(names) == 1:
        return f"{names[0]} leads on {name} at every k"
    if len(names) == len(known):
        return f"No clear leader on {name} at any k"
    return f"{some(names)} share the lead on {name} at every k"


def _stretch_words(view: View, stretch: Stretch, *, last: bool) -> str:
    """Returns a stretch in words: ``ALS leads up to k = 7``, ``ALS and EASE share the lead from k = 10``, or
    ``no clear leader …``
    """
    where = _where(cached.cutoffs(view), stretch, last=last)
    if not stretch.runs:
        return f"no clear leader {where}"
    names = some([view.short(run) for run in stretch.runs])
    return f"{names} {'leads' if len(stretch.runs) == 1 else 'share the lead'} {where}"


def _where(ks: Sequence[int], stretch: Stretch, *, last: bool) -> str:
    if stretch.first == 0 and stretch.last:
        return f"up to k = {ks[stretch.last]}"
    if last:
        return f"from k = {ks[stretch.first]}"
    return f"at k = {ks[stretch.first]}" + (f" to {ks[stretch.last]}" if stretch.cells > 1 else "")


def _many_changes(view: View, parts: Sequence[Stretch], name: str) -> str:
    """Returns a sentence for a lead that changes often: which runs lead at some cutoffs, and at how many."""
    led: dict[str, int] = {}
    for stretch in parts:
        for run in stretch.runs if len(stretch.runs) == 1 else ():
            led[run] = led.get(run, 0) + stretch.cells
    if len(led) > 1:
        return (
            f"The leader on {name} depends on k: {some([view.short(run) for run in led])} each lead at some"
        )
    total = sum(stretch.cells for stretch in parts)
    return "; ".join(
        f"{view.short(run)} leads on {name} at {cells} of {total} cutoffs, no clear leader at the others"
        for run, cells in led.items()
    )


@st.fragment(parallel=True)
@widgets.show_errors
def strip(view: View, metrics: tuple[str, ...]) -> None:
    """Draws the leaders at each k as a strip with a row per metric, in a separate fragment; nothing for a
    single run.
    """
    if len(view.verdict_query.shown) < 2:
        return
    ks = cached.cutoffs(view)
    rows = {
        metric_at(metric, "k"): stretches(first_at(view, metric), equal=not define(metric).has_user_values)
        for metric in metrics
    }
    widgets.section(
        "Leader at each k",
        "Coloured: significantly better than every other run (Holm-corrected over all pairs and k). "
        "Striped: no clear leader; the number is how many runs share the lead. Catalogue-level metrics are "
        "ranked by value here.",
    )
    st.html(leader_strip(rows, ks, view.marks, _alt(view, rows, ks)))
    led = {stretch.runs[0] for row in rows.values() for stretch in row if len(stretch.runs) == 1}
    st.html(key_below(view.marks, "", [(run, "") for run in view.shown_ids if run in led]))


def _alt(view: View, rows: Mapping[str, Sequence[Stretch]], ks: Sequence[int]) -> str:
    parts = [
        f"{title}: "
        + "; ".join(
            f"k = {ks[stretch.first]} to {ks[stretch.last]} {in_words(stretch, view.marks)}"
            for stretch in row
        )
        for title, row in rows.items()
    ]
    return f"Leader at each k. {'. '.join(parts)}."
