"""Definitions: a metric with a worked example, one run under every preset, and the population counts."""

from __future__ import annotations

import streamlit as st

from recdash.ui.components import widgets
from recdash.ui.definitions import page, worked_example
from recdash.ui.shell import frame

view = frame.show(with_lists=True, parts={"metric"})
title = st.container()
choices = st.container(horizontal=True)
with choices:
    run = page.choose_run(view)
by_preset = page.gather(view, run)
with choices:
    preset = page.choose_preset(by_preset)
with title:
    widgets.title(*page.title(by_preset))

formula, example = st.columns([1, 1.25], gap="large")
with formula:
    worked_example.print_formula(by_preset, preset)
with example:
    worked_example.work_out(by_preset, preset)

st.space("small")
widgets.section(page.finding(by_preset), page.subtitle(by_preset))
st.html(page.preset_table(by_preset))
st.html(page.footnote(view, by_preset))
widgets.csv_button(page.export(by_preset), "definitions")

st.space("small")
widgets.section(*page.why_title(by_preset))
st.html(page.cause_table(by_preset))
st.html(page.entries(by_preset))

st.space("small")
widgets.section(*page.agreement_title(by_preset))
st.html(page.agreement_list(by_preset))

st.space("small")
widgets.section(*page.ledger_title(view, by_preset))
st.html(page.ledger_table(view, by_preset))
page.show_ties(view, by_preset)
