"""One metric of an A/B test in depth: over time, by segment, and how many users it needs."""

from __future__ import annotations

import streamlit as st

from recdash.ui.ab_results import over_time, power, segments
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state
from recdash.ui.components import widgets


def show(ab_test: AbTest) -> None:
    """Draw one metric in depth; nothing where there is nothing to compare."""
    if not ab_test.challengers or not ab_test.titles:
        return
    st.html('<hr class="rd-rule">')
    if ab_test.census is None:
        widgets.section("Over time, by segment, and how many users")
        st.caption("They take users one by one, and days; this table was added up before the upload.")
        return
    titles = ab_test.titles
    wanted = state.params().get("om", "")
    links.tell_unknown("om", "online metric", titles)
    first = wanted if wanted in titles else next(iter(titles))
    metric = widgets.select("Metric in depth", "om", titles, first, "ab-metric", 420)
    over_time.show(ab_test, metric)
    segments.show(ab_test, metric)
    power.show(ab_test, metric)
