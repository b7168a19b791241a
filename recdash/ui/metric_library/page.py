"""The page Metric library: the metrics by which each new A/B test is counted; list, add, change, delete."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

import streamlit as st

from recdash.formatting.html import markdown
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import many
from recdash.online import OnlineMetric
from recdash.online.metrics import Direction, MetricRole
from recdash.online.proposals import USUAL_MARGIN
from recdash.ui.app import state
from recdash.ui.components import actions, widgets

Kind = Literal["mean", "ratio", "retention", "quantile"]
KINDS: Mapping[Kind, str] = {
    "mean": "Rate or mean per user",
    "ratio": "Ratio of two columns",
    "retention": "Retention",
    "quantile": "Quantile of rows",
}
MEANINGS: Mapping[Kind, str] = {
    "mean": "The sum of a column, per user. If each user has 0 or 1 it is a rate, such as conversion.",
    "ratio": "The sum of one column divided by that of another, such as revenue by orders.",
    "retention": "The share of users who did anything on that day after their exposure.",
    "quantile": "A quantile of a column over the rows that have a value, such as the 95th percentile of load "
    "times over sessions. Users are the unit of the test.",
}
ROLES: Mapping[MetricRole, str] = {"goal": "Goal", "guardrail": "Guardrail", "other": "For information"}
DIRECTIONS: Mapping[Direction, str] = {"up": "Higher is better", "down": "Lower is better"}
SUBTITLE = (
    "A new A/B test whose tables have the columns of a metric is also counted by it. Stored tests keep "
    "theirs. The audit log says who changed what."
)
USUAL_QUANTILE, USUAL_DAY = 95.0, 7
NEW = ""
WIDTH, NARROW = 300, 190


def show() -> None:
    """Draws the table of metrics and the form that adds or changes one."""
    actions.show_undo()
    library = state.workspace().metric_library
    known = {metric.name: metric for metric in library.all()}
    if known:
        widgets.title(f"{many(len(known), 'metric')} for all A/B tests", SUBTITLE)
        widgets.table(text_columns("Metric", "Formula", "Role", "Better"), list(map(cells, known.values())))
    else:
        widgets.empty("The metric library is empty", SUBTITLE)
    widgets.section("Add or change a metric")
    _form(known)


def cells(metric: OnlineMetric) -> tuple[str, str, str, str]:
    """Returns a metric as cells of the table: name, formula, role with the margin, and direction."""
    margin = f", margin {100 * metric.margin:g} %" if metric.margin is not None else ""
    better = "lower" if metric.direction == "down" else "higher"
    return metric.name, metric.formula, f"{ROLES[metric.role]}{margin}", better


def kind_of(metric: OnlineMetric) -> Kind:
    if metric.quantile is not None:
        return "quantile"
    if metric.retention_day is not None:
        return "retention"
    return "mean" if metric.denominator is None else "ratio"


# ── the form ─────────────────────────────────────────────────────────────────────────────────


def _form(known: Mapping[str, OnlineMetric]) -> None:
    titles = {NEW: "New metric", **{name: name for name in known}}
    chosen: str = st.selectbox("Metric", **widgets.titled(titles), key="library-metric", width=WIDTH)
    stored = known.get(chosen)
    key = f"library-{_version(stored)}"
    kind: Kind = widgets.one_of("Kind", KINDS, kind_of(stored) if stored else "mean", f"{key}-kind")
    st.caption(MEANINGS[kind])
    with st.form(f"{key}-{kind}", border=False):
        wanted = _fields(stored, kind, f"{key}-{kind}")
        if st.form_submit_button("Save metric", type="primary", key=f"{key}-save"):
            _save(known, wanted, is_new=stored is None)
    if stored is not None and st.button("Delete metric", key=f"{key}-delete"):
        _delete(stored)


def _version(stored: OnlineMetric | None) -> str:
    """Returns a text that changes with the stored metric, so that the fields show it."""
    facts = "" if stored is None else json.dumps(stored.facts(), sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()[:8]


def _fields(stored: OnlineMetric | None, kind: Kind, key: str) -> OnlineMetric:
    """Draws the fields of a kind of metric, and returns the metric that they describe."""
    facts: dict[str, Any] = {}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        if stored is None:
            facts["title"] = st.text_input("Name", key=f"{key}-name", width=WIDTH, placeholder="Order value")
        if kind != "retention":
            label = {"quantile": "Column", "mean": "Column", "ratio": "Sum of column"}[kind]
            facts["numerator"] = _column(label, stored.numerator if stored else "", f"{key}-numerator")
        if kind == "ratio":
            below = (stored.denominator or "") if stored else ""
            facts["denominator"] = _column("divided by that of column", below, f"{key}-denominator")
        facts |= _numbers(stored, kind, key)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        role, direction = stored.role if stored else "goal", stored.direction if stored else "up"
        facts["direction"] = widgets.pick(
            "Direction", DIRECTIONS, direction, f"{key}-direction", width=NARROW
        )
        facts["role"] = widgets.pick("Role", ROLES, role, f"{key}-role", width=NARROW)
        margin = 100 * ((stored.margin if stored else None) or USUAL_MARGIN)
        facts["margin"] = st.number_input(
            "Guardrail margin, %", 0.01, 99.0, margin, format="%g", key=f"{key}-margin", width=NARROW
        )
    return described(stored, kind, facts)


def _column(label: str, known: str, key: str) -> str:
    return st.text_input(label, known, key=key, width=NARROW, help="As it is called in the tables of tests.")


def _numbers(stored: OnlineMetric | None, kind: Kind, key: str) -> dict[str, Any]:
    """Draws the fields of numbers that a kind of metric has."""

    def number(name: str, label: str, known: float | None, usual: float | None = None, **how: Any) -> Any:
        value = known if known is not None else usual
        return st.number_input(label, value=value, key=f"{key}-{name}", width=NARROW, **how)

    if kind == "retention":
        day = stored.retention_day if stored else None
        return {"retention_day": number("day", "Day after exposure", day, USUAL_DAY, min_value=1, step=1)}
    if kind == "quantile":
        percent = None if stored is None or stored.quantile is None else 100 * stored.quantile
        how: dict[str, Any] = {"min_value": 0.1, "max_value": 99.9, "format": "%g"}
        return {"percent": number("quantile", "Quantile, %", percent, USUAL_QUANTILE, **how)}
    if kind == "ratio":
        return {}
    how = {"min_value": 0.0, "format": "%g", "placeholder": "none"}
    return {
        "cap": number("cap", "Cap per user", stored.cap if stored else None, **how),
        "within_hours": number(
            "hours", "Hours after exposure", stored.within_hours if stored else None, **how
        ),
    }


def described(stored: OnlineMetric | None, kind: Kind, facts: Mapping[str, Any]) -> OnlineMetric:
    """Returns the metric that the fields of a form describe; of a ``stored`` one the name stays."""
    title = str(facts.get("title") or "").strip()
    metric = stored or OnlineMetric(
        re.sub(r"\W+", "_", title.casefold()).strip("_"), title, "", "", "", low=None
    )
    is_guardrail = facts["role"] == "guardrail"
    return replace(
        metric,
        numerator=str(facts.get("numerator") or ("retention" if kind == "retention" else "")).strip(),
        denominator=str(facts.get("denominator") or "").strip() or None,
        cap=facts.get("cap"),
        within_hours=facts.get("within_hours"),
        retention_day=facts.get("retention_day"),
        quantile=facts["percent"] / 100 if kind == "quantile" else None,
        direction=facts["direction"],
        role=facts["role"],
        margin=facts["margin"] / 100 if is_guardrail else None,
    )


# ── saving ───────────────────────────────────────────────────────────────────────────────────


def _save(known: Mapping[str, OnlineMetric], wanted: OnlineMetric, *, is_new: bool) -> None:
    if is_new and wanted.name in known:
        st.error(f"The library has a metric {markdown(wanted.name)}: choose it above to change it.")
        return
    library = state.workspace().metric_library
    actions.attempt(lambda: library.add(wanted), f"Saved the metric {markdown(wanted.name)}.")


def _delete(metric: OnlineMetric) -> None:
    library = state.workspace().metric_library

    def delete() -> None:
        library.remove(metric.name)
        actions.offer_undo(f"Deleted the metric {metric.name}.", lambda: library.add(metric))

    actions.attempt(delete, f"Deleted the metric {markdown(metric.name)}.", keeps_undo=True)
