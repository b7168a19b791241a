"""Overview: the verdict, four numbers with intervals, the forest plot, what to know about the data."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import cached, state
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.components import decision_links as links
from recdash.ui.overview import ab_alone, page
from recdash.ui.shell import frame

view = frame.show(scoped=True, without_runs=True)
if not view.runs:
    if not ab_alone.show(view):
        frame.no_runs(view.experiment)
    state.stop()
if len(view.verdict_query.shown) == 1:
    page.one_run(view)
    state.stop()

comparability_banner.banner(view, view.verdict_query.shown)
verdict = cached.verdict(view)
if verdict is None:
    page.no_verdict(view)
else:
    page.show_verdict(view, verdict)
    st.space("xsmall")
    with st.container(gap="small"):
        page.show_numbers(view, verdict)

st.space("small")
plot, notes = st.columns([2.1, 1], gap="large")
with plot:
    if verdict is None:
        page.show_values(view)
    else:
        page.show_forest(view, verdict)
with notes:
    widgets.section("Data and comparability")
    st.html(page.notes(view))
    links.show_last(view)
