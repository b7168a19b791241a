"""Guide: how to decide, which files to add, how to read the pages, and every metric with its formula."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.guide import page

widgets.title("Guide", "How recdash decides, which files to add, and every metric exactly as it is computed.")
words = st.text_input(
    "Search the guide",
    type="search",
    live=True,
    key="guide-search",
    width=420,
    placeholder="guardrail, ndcg, ties …",
)
chapters = page.chapters(state.workspace())
page.linked_first(chapters)
page.show(chapters, words or "", page.first_chapter(state.workspace()))
