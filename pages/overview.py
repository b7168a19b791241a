"""Overview: the verdict, four numbers with intervals, the forest plot, what to know about the data."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, data, decision_links, frame, overview, state, widgets

view = frame.show(scoped=True)
if len(view.contender_ids) == 1:
    overview.one_run(view)
    state.stop()

comparing.banner(view.contender_ids)
verdict = data.verdict(view)
if verdict is None:
    overview.no_verdict(view)
else:
    overview.show_verdict(view, verdict)
    st.space("xsmall")
    with st.container(gap="small"):
        overview.show_numbers(view, verdict)

st.space("small")
plot, notes = st.columns([2.1, 1], gap="large")
with plot:
    if verdict is None:
        overview.show_values(view)
    else:
        overview.show_forest(view, verdict)
with notes:
    widgets.section("Data and comparability")
    st.html(overview.notes(view))
    decision_links.show_last(view)
