"""Metric vs k: one small chart per metric, as value or as difference to the baseline, and who leads where."""

from __future__ import annotations

import streamlit as st

from recdash.ui import comparing, curves, frame, leading, state, widgets

view = frame.show(scoped=True)
title = st.container()
with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
    chosen = tuple(widgets.several("Metrics", "ms", curves.names(view), curves.usual(view)))
    modes = {"value": "Value", "delta": "Delta to baseline"}
    delta = widgets.choice("Show", "show", modes, "value") == "delta"
    ribbon = widgets.choice("Interval", "ci", {"on": "Ribbon", "off": "Off"}, "on") == "on"

with title:
    comparing.banner(view.shown_ids)
    curves.warn_of_unknown(view)
    leading.title(view, curves.subtitle(view, delta=delta))
if not chosen:
    st.info("Choose at least one metric to draw.")
    state.stop()

found = curves.deltas(view, chosen) if delta else curves.values(view, chosen)
for row in curves.pairs(chosen):
    for place, metric in zip(st.columns(2, gap="small"), row, strict=False):
        with place:
            curves.draw(view, found, metric, ribbon=ribbon, delta=delta)
leading.strip(view, chosen)
widgets.table_behind(curves.tidy(found), "metric-vs-k")
