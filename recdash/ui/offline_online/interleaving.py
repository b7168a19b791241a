"""Shows interleaving tests of pairs of runs beside their offline differences and the lifts of A/B tests."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.formatting import numbers, tables
from recdash.formatting.html import Html, html, join
from recdash.formatting.numbers import none_if_nan
from recdash.formatting.tables import Cell, Word, text_columns
from recdash.formatting.wording import finding as by_interval
from recdash.metrics import define
from recdash.metrics.naming import metric_at
from recdash.service.online.interleaving import InterleavedPair, LiftOfPair
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets


def show(view: View) -> None:
    """Draws a table of the interleaved pairs; nothing if no interleaving test is linked to two runs."""
    pairs = state.workspace().interleaving.pairs(view.experiment.id, view.metric, view.k)
    if not pairs:
        return
    st.html('<hr class="rd-rule">')
    widgets.section(
        "Interleaved: the same users choose between two runs",
        f"Change in {metric_at(view.metric, view.k)} offline; share of credited requests won, 50 % is no "
        "preference; lifts of A/B tests of the same pair. 95 % CIs.",
        links.explained(view, "interleaving", "interleaving tests"),
    )
    columns = text_columns("Pair", "Offline", "Interleaved", "A/B test")
    label = "Interleaved pairs"
    st.html(widgets.stacked_table_html(columns, [row_of(view, pair) for pair in pairs], label=label))
    results = links.link(view, "Results", "ab-results", {})
    text = "Checks of the teams and the users that either kind of test needs: see {results}."
    st.html(html(f'<p class="rd-quiet">{text}</p>', results=results))


def row_of(view: View, pair: InterleavedPair) -> list[Cell]:
    """Returns the cells of a pair: its runs, then what offline, interleaving and A/B tests found."""
    name = widgets.two_lines(f"{pair.names[1]} vs {pair.names[0]}", pair.test.name)
    return [name, _offline(view, pair), _interleaved(pair), _lifts(pair.lifts)]


def _offline(view: View, pair: InterleavedPair) -> Html:
    if pair.offline is None:
        return widgets.two_lines("not compared", "the metric has no paired difference")
    mean, low, high = (none_if_nan(pair.offline[name]) for name in ("mean_diff", "ci_low", "ci_high"))
    digits = numbers.places([mean, low, high])
    lower_is_better = define(view.metric).lower_is_better
    word = Word("", "inconclusive")
    if low is not None and high is not None:
        word = tables.finding(by_interval(low, high, lower_is_better=lower_is_better))
    interval = numbers.interval(low, high, digits)
    return widgets.finding_cell(word, f"{numbers.signed(mean, digits)} ({interval})")


def _interleaved(pair: InterleavedPair) -> Html:
    results = pair.results
    row = results.preference
    if results.reason:
        return widgets.finding_cell(Word("", "no verdict", "muted"), results.reason)
    values = [None if value is None else 100 * value for value in (row.share, row.low, row.high)]
    digits = numbers.places(values)
    share, low, high = (numbers.fixed(value, digits) for value in values)
    return widgets.finding_cell(tables.finding(results.finding), f"{share} % ({low} to {high} %)")


def _lifts(lifts: Sequence[LiftOfPair]) -> Html:
    if not lifts:
        return widgets.muted("no A/B test of this pair")
    cells = []
    for pair in lifts:
        row = pair.row
        values = [none_if_nan(row.get(name)) for name in ("lift", "corrected_low", "corrected_high")]
        if values[1] is None:
            values[1:] = [none_if_nan(row.get(name)) for name in ("lift_low", "lift_high")]
        lift, low, high = (None if value is None else 100 * value for value in values)
        amount, interval = numbers.estimate(lift, low, high, " %")
        text = f"{row['title']} {amount} ({interval})"
        cells.append(widgets.finding_cell(tables.finding(str(row.get("word") or "not settled")), text))
    return join(cells)
