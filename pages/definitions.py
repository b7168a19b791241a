"""Definitions: one run under every preset, what sets them apart, the formula worked out, the ledger."""

from __future__ import annotations

import streamlit as st

from recdash.ui.components import widgets
from recdash.ui.definitions import page, worked_example
from recdash.ui.shell import frame

view = frame.show(with_lists=True)
title = st.container()
run = page.choose_run(view)
found = page.gather(view, run)
with title:
    widgets.title(page.finding(found), page.subtitle(found))

st.html(page.preset_table(found))
st.html(page.footnote(view, found))
widgets.csv_button(page.export(found), "definitions")

st.space("small")
widgets.section(*page.why_title(found))
st.html(page.cause_table(found))
st.html(page.entries(found))

st.space("small")
widgets.section(*page.agreement_title(found))
st.html(page.agreement_list(found))

st.space("small")
preset = widgets.choice("Preset", "p", page.titles(found), page.furthest(found))
formula, example = st.columns([1, 1.25], gap="large")
with formula:
    worked_example.print_formula(found, preset)
with example:
    worked_example.work_out(found, preset)

st.space("small")
widgets.section(*page.ledger_title(view, found))
st.html(page.ledger_table(view, found))
page.show_ties(view, found)
