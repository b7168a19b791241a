"""Items: which test items each run hits, alone or at all, and which are never recommended."""

from __future__ import annotations

import streamlit as st

from recdash.formatting.html import markdown
from recdash.ui.app import state
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.items import page
from recdash.ui.shell import frame

view = frame.show()
items = page.gather(view)
if items is None:
    widgets.empty("These runs have no lists", "Choose a run with recommendations above.")
    state.stop()
widgets.title(page.finding(view, items), page.subtitle(view, items))
comparability_banner.banner(view, view.shown_ids)
st.html(page.summary(view, items))
if page.left_out(view):
    st.caption(markdown(page.left_out(view)))
st.space("small")
page.table(view, items, page.choose(view, items))
