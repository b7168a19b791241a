"""Catalogue: what the lists show of it, and how their places fall on the values of an attribute."""

from __future__ import annotations

import streamlit as st

from recdash.ui import catalogue, comparing, frame, widgets

view = frame.show()
title = st.container()
attribute = catalogue.choose_attribute(view)
found = catalogue.gather(view, attribute) if attribute else None
with title:
    comparing.banner(view.shown_ids)
    if found:
        widgets.title(catalogue.finding(view, found), catalogue.subtitle(view, found))
    else:
        catalogue.show_nothing(view)

st.html(catalogue.measures_table(view, found))
st.html(catalogue.footnote(view))
if found:
    catalogue.show_distribution(view, found)
    widgets.table_behind(catalogue.tidy(found), "catalogue")
