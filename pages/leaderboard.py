"""Leaderboard: every run of the experiment, its honest rank, values and paired difference to the baseline."""

from __future__ import annotations

import streamlit as st

from recdash.ui import board, comparing, frame, leaderboard, row_choice, spread, state, widgets

view = frame.show(scoped=True)
title = st.container()
with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
    with st.container(width=236):
        wanted = leaderboard.search()
    chosen, relative, correction = leaderboard.choices()

found = leaderboard.gather(view, wanted, chosen, relative=relative, correction=correction)
with title:
    comparing.banner(leaderboard.compared(view))
    widgets.title(leaderboard.finding(view, found), leaderboard.subtitle(view, found))
if not found.order:
    st.info("No run's name or tag contains this text. Clear the search to see all runs.")
    state.stop()

shown = leaderboard.one_page(view, found)
with st.container(key="leaderboard-body"):
    leaderboard.show_table(view, shown)
st.html(leaderboard.footnote(view, shown))
leaderboard.population_note(view)
row_choice.select(view, found)
with st.container(horizontal=True, gap="small"):
    row_choice.compare_button(view, found)
    widgets.csv_button(board.export(view, found), "leaderboard")
spread.section(view)
