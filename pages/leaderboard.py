"""Leaderboard: every run of the experiment, its honest rank, values and paired difference to the baseline."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import ab_notes, comparability_banner, replicate_spread, widgets
from recdash.ui.leaderboard import page, selection, table
from recdash.ui.shell import frame

view = frame.show(scoped=True)
title = st.container()
with st.container(horizontal=True, gap="medium", vertical_alignment="bottom", key="leaderboard-choices"):
    with st.container(width=180):
        wanted = page.search()
    chosen, relative, correction = page.choices(view)

board = page.gather(view, wanted, chosen, relative=relative, correction=correction)
with title:
    widgets.title(page.finding(view, board), page.subtitle(view, board))
    ab_notes.show(view)
    comparability_banner.banner(view, page.compared(view).shown)
if not board.order:
    st.info("No run's name or tag contains this text. Clear the search to see all runs.")
    state.stop()

board_page = page.one_page(view, board)
with st.container(key="leaderboard-body"):
    page.show_table(view, board_page)
st.html(page.footnote(view, board_page))
page.population_note(view)
if len(view.runs) > 1:
    selection.select(view, board)
with st.container(horizontal=True, gap="small"):
    if len(view.runs) > 1:
        selection.compare_button(view, board)
    widgets.csv_button(table.export(view, board), "leaderboard")
replicate_spread.section(view)
