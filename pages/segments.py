"""Segments: for whom a candidate is better and for whom it is not, and what the whole does not show."""

from __future__ import annotations

import streamlit as st

from recdash.comparison import segment_words
from recdash.ui import comparing, frame, segments, state, widgets

view = frame.show()
comparing.banner(view.shown_ids)
title = st.container()
chosen = segments.choose(view)
if chosen is None:
    state.stop()
with st.spinner("Comparing segment by segment"):
    found = segments.gather(view, *chosen)
with title:
    widgets.title(segment_words.finding(found), segment_words.subtitle(found))
segments.banner(found)
segments.draw(view, found)
segments.show_values(view, found)
widgets.table_behind(segments.tidy(view, found), "segments")
