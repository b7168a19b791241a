"""Items: which held-out items each run finds, alone or at all, and which are never shown to anybody."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, frame, items, state, widgets
from recdash.ui.escaping import markdown

view = frame.show()
comparing.banner(view.shown_ids)
found = items.gather(view)
if found is None:
    widgets.empty("These runs have no lists", "Choose a run with recommendations under Change runs.")
    state.stop()
widgets.title(items.finding(view, found), items.subtitle(view, found))
st.html(items.summary(view, found))
if items.left_out(view):
    st.caption(markdown(items.left_out(view)))
st.space("small")
items.table(view, found, items.choose(view, found))
