"""Precision–recall: the path over k, the 11-point variant, macro and micro averages."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.curves import precision_recall
from recdash.ui.shell import frame

view = frame.show(scoped=True)
title = st.container()
left, right = st.columns([1.1, 2], gap="small")
with left:
    curve = widgets.choice(
        "Curve", "curve", {"path": "Path over k", "points": "11-point interpolated"}, "path"
    )
with right:
    average = widgets.choice("Average", "avg", {"macro": "Macro", "micro": "Micro"}, "macro")

paths = precision_recall.gather(view, average)
with title:
    widgets.title(precision_recall.finding(view, paths), precision_recall.subtitle(view, curve, average))
    comparability_banner.banner(view, view.shown_ids)
if paths.empty:
    st.info(precision_recall.why_empty(view, average))
    state.stop()

precision_recall.draw(view, paths, curve)
values, definition = st.columns([1.4, 1], gap="large")
with values:
    precision_recall.table_at_k(view, paths)
with definition:
    precision_recall.print_definition(view, curve, average)
widgets.table_behind(precision_recall.tidy(view, paths), "precision-recall", "Values at every k")
