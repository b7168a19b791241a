"""Definitions: one run under every preset, what sets them apart, the formula worked out, the ledger."""

from __future__ import annotations

import streamlit as st

from recdash.ui import definitions, definitions_example, frame, widgets

view = frame.show(with_lists=True)
title = st.container()
run = definitions.choose_run(view)
found = definitions.gather(view, run)
with title:
    widgets.title(definitions.finding(found), definitions.subtitle(found))

st.html(definitions.preset_table(found))
st.html(definitions.footnote(view, found))
widgets.csv_button(definitions.export(found), "definitions")

st.space("small")
widgets.section(*definitions.why_title(found))
st.html(definitions.cause_table(found))
st.html(definitions.entries(found))

st.space("small")
widgets.section(*definitions.agreement_title(found))
st.html(definitions.agreement_list(found))

st.space("small")
preset = widgets.choice("Preset", "p", definitions.titles(found), definitions.furthest(found))
formula, example = st.columns([1, 1.25], gap="large")
with formula:
    definitions_example.print_formula(found, preset)
with example:
    definitions_example.work_out(found, preset)

st.space("small")
widgets.section(*definitions.ledger_title(view, found))
st.html(definitions.ledger_table(view, found))
definitions.show_ties(view, found)
