"""Shows the off-policy estimates that are kept with the experiment beside offline and online results."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.domain.records import OnlineTest
from recdash.formatting import numbers, tables
from recdash.formatting.html import Html, markdown
from recdash.formatting.tables import Cell, Word, text_columns
from recdash.metrics.naming import metric_at
from recdash.online.agreement.kept_estimates import (
    NO_VERDICT,
    NOT_COMPARED,
    NOT_JUDGED,
    NOT_TESTED,
    EstimateBesideTest,
)
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import actions, widgets


def show(view: View, test: OnlineTest | None = None, online_metric: str = "") -> None:
    """Draws a table of the kept estimates, without a test of these alone; nothing if there are none."""
    asked = (view.experiment.id, view.metric, view.k, test.id if test else None, online_metric)
    kept = state.workspace().off_policy.beside_test(*asked)
    if not kept:
        return
    st.html('<hr class="rd-rule">')
    widgets.section(
        "Off-policy: estimated from logs",
        f"Reward per slot, doubly robust, against the policy in the log; {metric_at(view.metric, view.k)} "
        "offline and lift online, against the control. 95 % CIs.",
        links.explained(view, "off-policy", "off-policy estimates"),
    )
    columns = text_columns("Target", "Off-policy", "Offline", "Online")
    label = "Kept off-policy estimates"
    st.html(widgets.stacked_table_html(columns, map(row_of, kept), label=label))
    if state.workspace().person.may("editor"):
        _delete({beside.estimate.id: beside.name for beside in kept})


def _delete(names: Mapping[str, str]) -> None:
    """Draws the form that deletes one of the estimates; ``names`` are those of the targets by id."""
    with st.popover("Delete an estimate"):
        chosen = st.selectbox("Target", **widgets.titled(names), key="kept-estimate")
        if st.button("Delete for good", key="delete-kept-estimate"):
            done = f"Deleted the estimate of {markdown(names[chosen])}."
            actions.attempt(lambda: state.workspace().off_policy.delete(chosen), done)


def row_of(beside: EstimateBesideTest) -> list[Cell]:
    """Returns the cells of an estimate: its target, then what the log, offline and online results say."""
    estimate = beside.estimate
    name = widgets.two_lines(beside.name, f"{estimate.author}, {estimate.created:%Y-%m-%d}")
    return [name, _off_policy(beside), _offline(beside), _online(beside)]


def _off_policy(beside: EstimateBesideTest) -> Html:
    facts = beside.estimate.facts
    factor, unit = (100, " %") if facts["of_clicks"] else (1, "")
    ends = [facts["dr"], *facts["intervals"]["dr"], facts["observed"]]
    values = [None if value is None else factor * value for value in ends]
    digits = numbers.places(values)
    value, low, high, observed = (numbers.fixed(value, digits) for value in values)
    interval = "" if ends[1] is None else f" ({low} to {high}{unit})"
    return _cell(beside.off_policy, f"{value}{unit}{interval}, {observed}{unit} observed")


def _offline(beside: EstimateBesideTest) -> Html:
    row = beside.row
    if row is None or row["offline_delta"] is None:
        return _cell(beside.offline, "")
    mean, low, high = (row[name] for name in ("offline_delta", "offline_low", "offline_high"))
    digits = numbers.places([mean, low, high])
    return _cell(beside.offline, f"{numbers.signed(mean, digits)} ({numbers.interval(low, high, digits)})")


def _online(beside: EstimateBesideTest) -> Html:
    row = beside.row
    if row is None or row["online_lift"] is None:
        return _cell(beside.online, "")
    ends = [row[name] for name in ("online_lift", "online_low", "online_high")]
    lift, low, high = (None if value is None else 100 * value for value in ends)
    amount, interval = numbers.estimate(lift, low, high, " %")
    return _cell(beside.online, f"{amount} ({interval})")


def _cell(finding: str, text: str) -> Html:
    is_open = finding in (NO_VERDICT, NOT_COMPARED, NOT_JUDGED, NOT_TESTED)
    word = Word("", finding, "muted") if is_open else tables.finding(finding)
    return widgets.finding_cell(word, text)
