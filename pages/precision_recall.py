"""Precision–recall: the path over k, the 11-point variant, macro and micro averages."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, frame, paths, state, widgets

view = frame.show(scoped=True)
title = st.container()
left, right = st.columns([1.1, 2], gap="small")
with left:
    curve = widgets.choice(
        "Curve", "curve", {"path": "Path over k", "points": "11-point interpolated"}, "path"
    )
with right:
    average = widgets.choice("Average", "avg", {"macro": "Macro", "micro": "Micro"}, "macro")

found = paths.gather(view, average)
with title:
    comparing.banner(view.shown_ids)
    widgets.title(paths.finding(view, found), paths.subtitle(view, curve, average))
if found.empty:
    st.info(paths.why_empty(view, average))
    state.stop()

plot, beside = st.columns([2.5, 1], gap="large")
with plot:
    paths.draw(view, found, curve)
with beside:
    paths.table_at_k(view, found)
    paths.print_definition(view, curve, average)
widgets.table_behind(paths.tidy(view, found), "precision-recall")
