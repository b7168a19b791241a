"""Guide: every metric with its formula, the rules that move scores, intervals, and table formats."""

from __future__ import annotations

import streamlit as st

from recdash.ui import guide_entries, state, widgets

widgets.title("Guide", "Every definition as it is implemented, generated from the metric table itself.")
words = st.text_input(
    "Search the guide", type="search", live=True, key="guide-search", width=420,
    placeholder="ndcg, ties, interval …",
)  # fmt: skip
chapters = guide_entries.chapters(state.workspace())
guide_entries.linked_first(chapters)
guide_entries.show(chapters, words or "")
