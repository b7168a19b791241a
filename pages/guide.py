"""Guide: every metric with its formula, the rules that move scores, intervals, and table formats."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.guide import page

widgets.title("Guide", "Every definition as it is implemented, generated from the metric table itself.")
words = st.text_input(
    "Search the guide",
    type="search",
    live=True,
    key="guide-search",
    width=420,
    placeholder="ndcg, ties, interval …",
)
chapters = page.chapters(state.workspace())
page.linked_first(chapters)
page.show(chapters, words or "")
