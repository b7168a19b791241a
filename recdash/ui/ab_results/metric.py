"""Shows one metric of an A/B test in depth: its trend, its segments, and the sample size it needs."""

from __future__ import annotations

import streamlit as st

from recdash.ui.ab_results import over_time, power, segments
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state
from recdash.ui.components import widgets


def show(ab_test: AbTest) -> None:
    """Draws the chosen metric in depth; nothing for a test with only one variant."""
    if not ab_test.challengers or not ab_test.titles:
        return
    st.html('<hr class="rd-rule">')
    if not ab_test.has_sums:
        widgets.section("Trend, segments and sample size")
        st.caption("These need data per user and day. This test has aggregated data.")
        return
    titles = ab_test.titles
    wanted = state.params().get("om", "")
    links.tell_unknown("om", "online metric", titles)
    first = wanted if wanted in titles else ab_test.test.primary_metric
    metric = widgets.select("Metric in depth", "om", titles, first, "ab-metric", 420)
    over_time.show(ab_test, metric)
    segments.show(ab_test, metric)
    power.show(ab_test, metric)
