"""Trade-offs: any metric against any other, who is beaten on both, and several metrics side by side."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, frame, several_metrics, state, tradeoff_words, tradeoffs, widgets

view = frame.show(scoped=True)
comparing.banner(view.shown_ids)
tradeoffs.warn_of_unknown(view)
title = st.container()
chosen = tradeoffs.choose(view)
if chosen is None:
    state.stop()
found = tradeoffs.gather(view, chosen)
with title:
    widgets.title(tradeoff_words.finding(view, found), tradeoff_words.subtitle(found))
if found.places:
    tradeoffs.draw(view, found)
tradeoffs.say(view, found)
if found.places:
    widgets.table_behind(tradeoffs.tidy(view, found), "trade-off")

st.html('<hr class="rd-rule">')
several_metrics.show(view, several_metrics.choose(view), chosen.runs)
