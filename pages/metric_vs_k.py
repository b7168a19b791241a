"""Metric vs k: one small chart per metric, as value or as difference to the baseline, and who leads where."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import state
from recdash.ui.components import comparability_banner, widgets
from recdash.ui.curves import leaders, page
from recdash.ui.shell import frame

view = frame.show(scoped=True)
title = st.container()
with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
    chosen = tuple(widgets.several("Metrics", "ms", page.names(view), page.usual(view)))
    modes = {"value": "Value", "delta": "Difference to baseline"}
    delta = len(view.shown) > 1 and widgets.choice("Show", "show", modes, "value") == "delta"
    ribbon = widgets.choice("95 % CI", "ci", {"on": "On", "off": "Off"}, "on") == "on"

with title:
    leaders.title(view, page.subtitle(view, delta=delta))
    comparability_banner.banner(view, view.shown_ids)
    page.warn_of_unknown(view)
if not chosen:
    st.info("Choose at least one metric to draw.")
    state.stop()

curves = page.deltas(view, chosen) if delta else page.values(view, chosen)
for row in page.pairs(chosen):
    for place, metric in zip(st.columns(2, gap="small"), row, strict=False):
        with place:
            page.draw(view, curves, metric, ribbon=ribbon, delta=delta)
leaders.strip(view, chosen)
widgets.table_behind(page.tidy(curves), "metric-vs-k", "Values at every k")
