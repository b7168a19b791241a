"""Segments: where a candidate is better and where it is not, and what the whole does not show."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import links, state
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.segments import page
from recdash.ui.shell import frame

view = frame.show()
title = st.container()
chosen = page.choose(view)
if chosen is None:
    state.stop()
with st.spinner("Comparing segment by segment"):
    comparison = page.gather(view, *chosen)
with title:
    widgets.title(page.headline(view, comparison), page.subtitle(view, comparison))
    if len(view.runs) == 1:
        links.page_button("Upload a run", "upload", kind="secondary")
    comparability_banner.banner(view, view.shown_ids)
page.banner(comparison)
page.draw(view, comparison)
page.show_values(view, comparison)
widgets.table_behind(page.tidy(comparison), "segments", "All differences and values")
