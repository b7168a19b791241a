"""Leaderboard: every run of the experiment, its values and its paired difference to the baseline."""

from __future__ import annotations

import streamlit as st

from recdash.charts.forest import BESIDE_TABLE, forest
from recdash.ui import board, comparing, frame, leaderboard, spread, theme, widgets

view = frame.show()
title = st.container()
search, columns = st.columns([1, 3], gap="small")
with search:
    wanted = leaderboard.search()
with columns:
    chosen = widgets.choice("Columns", "cols", board.SETS, "core")

shown = leaderboard.gather(view, wanted, chosen)
with title:
    comparing.banner(leaderboard.compared(view))
    widgets.title(leaderboard.finding(view), leaderboard.subtitle(view))
if not shown.order:
    st.info("No run's name or tag contains this text. Clear the search to see all runs.")
    st.stop()

with st.container(key="leaderboard-body"):
    table, plot = st.columns([4, 1], gap=None, wrap=False)
    with table:
        st.html(leaderboard.table(view, shown))
    with plot, st.container(gap=None):
        st.html(leaderboard.plot_head(view))
        chart = forest(leaderboard.differences(view), shown.order, view.marks, theme.palette(), BESIDE_TABLE)
        widgets.chart(chart, "leaderboard-forest", leaderboard.alt(view, shown))
st.html(leaderboard.footnote(view, shown))
widgets.csv_button(board.export(view, shown), "leaderboard")
spread.section(view)
