"""Overview: the finding, four numbers with intervals, the forest plot, what to know about the data."""

from __future__ import annotations

import streamlit as st

from recdash.charts.forest import forest
from recdash.ui import cards, comparing, frame, overview, theme, widgets

view = frame.show()
if len(view.contender_ids) == 1:
    overview.one_run(view)
    st.stop()

comparing.banner(view.contender_ids)
summary = overview.summarise(view)
with st.container(border=True, key="headline", gap=None):
    st.html(cards.card(summary.headline, summary.best, summary.base, summary.cells))

if summary.tiles and summary.best:
    st.space("xsmall")
    with st.container(gap="small"):
        widgets.section(f"{summary.best.name} {overview.in_numbers(summary)}", summary.strip_note)
        st.html(cards.tiles(summary.tiles, view.marks[summary.best.run_id], view.k))

st.space("small")
plot, notes = st.columns([2.1, 1], gap="large")
with plot:
    widgets.section(summary.forest_title, summary.forest_note)
    if summary.deltas:
        order = [delta.run_id for delta in summary.deltas]
        chart = forest(summary.differences, order, view.marks, theme.palette())
        widgets.chart(chart, "overview-forest", summary.alt)
        widgets.table_behind(summary.differences.drop(columns="run_id"), "paired-differences")
    else:
        st.html(summary.values)
with notes:
    widgets.section("Data and comparability")
    st.html(overview.notes(view))
