"""Metric vs k: one small chart per metric, a line and an interval ribbon per run."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, curves, frame, widgets

view = frame.show()
title = st.container()
left, right = st.columns([3, 1], gap="medium")
with left:
    chosen = widgets.several("Metrics", "ms", curves.names(view), curves.usual(view))
with right:
    ribbon = widgets.choice("Interval", "ci", {"on": "Ribbon", "off": "Off"}, "on") == "on"

with title:
    comparing.banner(view.shown_ids)
    widgets.title(curves.finding(view), curves.subtitle(view))
if not chosen:
    st.info("Choose at least one metric to draw.")
    st.stop()

numbers = curves.gather(view, tuple(chosen))
for row in curves.pairs(chosen):
    for place, metric in zip(st.columns(2, gap="small"), row, strict=False):
        with place:
            curves.draw(view, numbers, metric, ribbon=ribbon)
widgets.table_behind(curves.tidy(numbers), "metric-vs-k")
