"""The form that adds a metric to an A/B test, or changes the role or margin of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from recdash.errors import RecdashError
from recdash.formatting.html import markdown
from recdash.online import OnlineMetric
from recdash.online.metrics import Direction, MetricRole
from recdash.online.proposals import USUAL_MARGIN
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import formula
from recdash.ui.app import state
from recdash.ui.components import widgets

Save = Callable[[str, Callable[[], object], Sequence[str]], None]
NEW, PER_USER = "", "(users)"
ROLES: dict[MetricRole, str] = {"goal": "Goal", "guardrail": "Guardrail", "other": "For information"}
DIRECTIONS: dict[Direction, str] = {"up": "Higher is better", "down": "Lower is better"}


def show(ab_test: AbTest, save: Save) -> None:
    if not ab_test.has_sums:
        st.caption("Aggregated data has no sums from which to compute other metrics.")
        return
    own = ab_test.own_metrics
    names = {NEW: "New metric", **{name: metric.title for name, metric in ab_test.metrics.items()}}
    key = f"ab-own-{ab_test.test.id}"
    chosen: str = st.selectbox("Metric", **widgets.titled(names), key=key, width=420)
    with st.form(f"ab-metric-{ab_test.test.id}-{chosen}", border=False):
        wanted = _fields(ab_test, ab_test.metrics.get(chosen))
        if st.form_submit_button("Save metric", key=f"ab-metric-save-{chosen}"):
            _save(ab_test, save, own, wanted, is_new=not chosen)
    if chosen:
        _library(ab_test.metrics[chosen], own.get(chosen))
    if chosen in own and st.button("Remove custom metric", key=f"ab-metric-remove-{chosen}"):
        others = {name: metric for name, metric in own.items() if name != chosen}
        _set(ab_test, save, others, f"Metric {own[chosen].title}: custom definition removed")


def _library(metric: OnlineMetric, own: OnlineMetric | None) -> None:
    """Draws the button that adds a metric to the library, or removes it."""
    library = state.workspace().metric_library
    is_in = metric.name in {known.name for known in library.all()}
    if is_in:
        st.caption("In the metric library: each new A/B test that has its columns is counted by it.")
    label = "Remove from library" if is_in else "Add to library"
    if not st.button(label, key=f"ab-library-{metric.name}", help="Changes no stored test."):
        return
    try:
        if is_in:
            library.remove(metric.name)
        else:
            library.add(own or metric)
    except RecdashError as error:
        widgets.problems(error)
    else:
        st.rerun()


# ── the form ─────────────────────────────────────────────────────────────────────────────────


def _fields(ab_test: AbTest, known: OnlineMetric | None) -> OnlineMetric:
    """Draws the fields and returns the metric that they describe; a known metric keeps its formula."""
    key = f"{ab_test.test.id}-{known.name if known else NEW}"
    made = known or _made(ab_test, key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        direction: Direction = widgets.pick(
            "Direction", DIRECTIONS, made.direction, f"ab-direction-{key}", width=190
        )
        role: MetricRole = widgets.pick("Role", ROLES, made.role, f"ab-role-{key}", width=170)
        margin = st.number_input(
            "Guardrail margin, %",
            0.01,
            99.0,
            100 * (made.margin or USUAL_MARGIN),
            format="%g",
            key=f"ab-margin-{key}",
            width=190,
            help="The largest loss that is acceptable. A larger one breaks the guardrail.",
        )
    return replace(made, direction=direction, role=role, margin=margin / 100 if role == "guardrail" else None)


def _made(ab_test: AbTest, key: str) -> OnlineMetric:
    totals = cached.ask(state.workspace().online_analysis.totals, ab_test.test)
    above, below = f"ab-numerator-{key}", f"ab-denominator-{key}"
    with st.container(horizontal=True):
        title: str = st.text_input("Name", key=f"ab-name-{key}", width=300, placeholder="Shares per session")
        numerator = st.selectbox("Sum of", totals, format_func=_total_name, key=above, width=220)
        divisors = [PER_USER, *totals]
        denominator = st.selectbox("divided by", divisors, format_func=_total_name, key=below, width=220)
        percent = st.number_input(
            "or its quantile, %",
            0.1,
            99.9,
            None,
            format="%g",
            key=f"ab-quantile-{key}",
            width=190,
            placeholder="none",
            help="At 95, the metric is the 95th percentile of the rows that have a value.",
        )
    if percent is not None:
        return quantile(title, numerator, percent)
    return defined(title, numerator, None if denominator == PER_USER else denominator)


def quantile(title: str, column: str, percent: float) -> OnlineMetric:
    """Returns a new metric that is a quantile of the rows of a column."""
    meaning = f"{percent:g} % of the rows have at most this {_total_name(column)}."
    return replace(defined(title, column, None), unit="", meaning=meaning, quantile=percent / 100)


def _total_name(total: str) -> str:
    return total.replace("_", " ")


def defined(title: str, numerator: str, denominator: str | None) -> OnlineMetric:
    """Returns a new metric that divides the total ``numerator`` by ``denominator``; None divides it by
    users.
    """
    below = f"divided by that of {_total_name(denominator)}" if denominator else "per user"
    return OnlineMetric(
        name=re.sub(r"\W+", "_", title.strip().casefold()).strip("_"),
        title=title.strip(),
        unit=f"per {_total_name(denominator)}" if denominator else "per user",
        meaning=f"The sum of {_total_name(numerator)}, {below}.",
        numerator=numerator,
        denominator=denominator,
        low=None,
    )


# ── saving ───────────────────────────────────────────────────────────────────────────────────


def _save(
    ab_test: AbTest, save: Save, own: dict[str, OnlineMetric], wanted: OnlineMetric, *, is_new: bool
) -> None:
    if is_new and wanted.name in ab_test.metrics:
        st.error(f"Metric {markdown(ab_test.metrics[wanted.name].title)} already exists: choose it above.")
        return
    margin = f", margin {100 * wanted.margin:g} %" if wanted.margin else ""
    judged = f"{DIRECTIONS[wanted.direction].lower()}, {ROLES[wanted.role].lower()}{margin}"
    _set(ab_test, save, {**own, wanted.name: wanted}, f"Metric {wanted.title}: {formula(wanted)}, {judged}")


def _set(ab_test: AbTest, save: Save, own: dict[str, OnlineMetric], change: str) -> None:
    test_id, metrics = ab_test.test.id, tuple(own.values())
    save(test_id, lambda: state.workspace().online_analysis.set_own_metrics(test_id, metrics), [change])
