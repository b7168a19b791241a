"""The metrics of an A/B test as a form: a new one, another role or margin of a known one, an own one less."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from recdash.formatting.html import markdown
from recdash.online import OnlineMetric
from recdash.online.metrics import Direction, MetricRole
from recdash.ui.ab_results import cached
from recdash.ui.ab_results.page import AbTest
from recdash.ui.ab_results.wording import made_of
from recdash.ui.app import state

Save = Callable[[str, Callable[[], object], Sequence[str]], None]
NEW, PER_USER = "", "(users)"
ROLES: dict[MetricRole, str] = {"goal": "Goal", "guardrail": "Guardrail", "other": "Only shown"}
DIRECTIONS: dict[Direction, str] = {"up": "More is better", "down": "Less is better"}
USUAL_MARGIN = 2.0


def show(found: AbTest, save: Save) -> None:
    if found.census is None:
        st.caption("The table was added up before the upload: it holds no sums to make other metrics of.")
        return
    own = {one.name: one for one in state.workspace().online_analysis.own_metrics(found.test.id)}
    names = {NEW: "A new metric", **{name: one.title for name, one in found.metrics.items()}}
    chosen: str = st.selectbox(
        "Metric", list(names), format_func=names.__getitem__, key=f"ab-own-{found.test.id}", width=420
    )
    with st.form(f"ab-metric-{found.test.id}-{chosen}", border=False):
        wanted = _fields(found, found.metrics.get(chosen))
        if st.form_submit_button("Save the metric", key=f"ab-metric-save-{chosen}"):
            _save(found, save, own, wanted, is_new=not chosen)
    if chosen in own and st.button("Remove what was set here", key=f"ab-metric-remove-{chosen}"):
        _remove(found, save, own, chosen)


# ── the form ─────────────────────────────────────────────────────────────────────────────────


def _fields(found: AbTest, known: OnlineMetric | None) -> OnlineMetric:
    """The metric as filled in. What a known one is made of stays."""
    key = f"{found.test.id}-{known.name if known else NEW}"
    made = known or _made(found, key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        direction = _direction(made.direction, f"ab-direction-{key}")
        role = _role(made.role, f"ab-role-{key}")
        margin = st.number_input(
            "Margin of a guardrail, %", 0.01, 99.0, 100 * made.margin if made.margin else USUAL_MARGIN,
            format="%g", key=f"ab-margin-{key}", width=190,
            help="The smallest loss that would matter: the guardrail holds where it is excluded.",
        )  # fmt: skip
    return replace(made, direction=direction, role=role, margin=margin / 100 if role == "guardrail" else None)


def _made(found: AbTest, key: str) -> OnlineMetric:
    totals = cached.totals(found.test)
    with st.container(horizontal=True):
        title: str = st.text_input("Name", key=f"ab-name-{key}", width=300, placeholder="Shares per session")
        numerator = st.selectbox("Sum of", totals, format_func=_called, key=f"ab-numerator-{key}", width=220)
        denominator = st.selectbox(
            "divided by", [PER_USER, *totals], format_func=_called, key=f"ab-denominator-{key}", width=220
        )
    return defined(title, numerator, None if denominator == PER_USER else denominator)


def _called(total: str) -> str:
    return total.replace("_", " ")


def defined(title: str, numerator: str, denominator: str | None) -> OnlineMetric:
    """A new metric of two totals, None: per user. Sums below zero are possible."""
    made = OnlineMetric(
        name=re.sub(r"\W+", "_", title.strip().casefold()).strip("_"), title=title.strip(), unit="",
        meaning="", numerator=numerator, denominator=denominator, low=None,
    )  # fmt: skip
    below = f"divided by that of {_called(denominator)}" if denominator else "per user"
    unit = f"per {_called(denominator)}" if denominator else "per user"
    return replace(made, unit=unit, meaning=f"The sum of {_called(numerator)}, {below}.")


def _role(known: MetricRole, key: str) -> MetricRole:
    chosen: MetricRole = st.selectbox(
        "Role", list(ROLES), list(ROLES).index(known), format_func=ROLES.__getitem__, key=key, width=170
    )
    return chosen


def _direction(known: Direction, key: str) -> Direction:
    chosen: Direction = st.selectbox(
        "Direction", list(DIRECTIONS), list(DIRECTIONS).index(known), format_func=DIRECTIONS.__getitem__,
        key=key, width=190,
    )  # fmt: skip
    return chosen


# ── what it does ─────────────────────────────────────────────────────────────────────────────


def _save(
    found: AbTest, save: Save, own: dict[str, OnlineMetric], wanted: OnlineMetric, *, is_new: bool
) -> None:
    if is_new and wanted.name in found.metrics:
        st.error(f"There is a metric called {markdown(found.metrics[wanted.name].title)}: choose it above.")
        return
    said = f"Metric {wanted.title}: {_told(wanted)}"
    _set(found, save, {**own, wanted.name: wanted}, said)


def _told(metric: OnlineMetric) -> str:
    margin = f", margin {100 * metric.margin:g} %" if metric.margin else ""
    return f"{made_of(metric)}, {DIRECTIONS[metric.direction].lower()}, {ROLES[metric.role].lower()}{margin}"


def _remove(found: AbTest, save: Save, own: dict[str, OnlineMetric], name: str) -> None:
    others = {one: metric for one, metric in own.items() if one != name}
    _set(found, save, others, f"Metric {own[name].title}: what was set for it is removed")


def _set(found: AbTest, save: Save, own: dict[str, OnlineMetric], said: str) -> None:
    metrics = tuple(own.values())
    save(
        found.test.id,
        lambda: state.workspace().online_analysis.set_online_metrics(found.test.id, metrics),
        [said],
    )
