"""Trade-offs: any metric against any other, which run is dominated, and several metrics side by side."""

from __future__ import annotations

import streamlit as st

from recdash.ui.app import links, state
from recdash.ui.components import ab_notes, comparability_banner, widgets
from recdash.ui.shell import frame
from recdash.ui.tradeoffs import page, parallel, wording

view = frame.show(scoped=True)
title = st.container()
chosen = page.choose(view)
if chosen is None:
    state.stop()
tradeoff = page.gather(view, chosen)
with title:
    explained = links.explained(view, "pareto", "the Pareto front")
    widgets.title(wording.finding(view, tradeoff), wording.subtitle(view, tradeoff), explained)
    ab_notes.show(view)
    comparability_banner.banner(view, view.shown_ids)
    page.warn_of_unknown(view)
if len(tradeoff.places) > 1:
    page.draw(view, tradeoff)
page.say(view, tradeoff)
if tradeoff.places:
    widgets.table_behind(page.tidy(view, tradeoff), "trade-off", "Both metrics with standard errors")

st.html('<hr class="rd-rule">')
parallel.show(view, parallel.choose(view), chosen.runs)
