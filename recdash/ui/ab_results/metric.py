"""One metric of an A/B test in depth: over time, by segment, and how many users it needs."""

from __future__ import annotations

import streamlit as st

from recdash.ui.ab_results import over_time, power, segments
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state
from recdash.ui.components import widgets


def show(found: AbTest) -> None:
    """Nothing where there is nothing to compare."""
    if not found.challengers or not found.titles:
        return
    st.html('<hr class="rd-rule">')
    if found.census is None:
        widgets.section("Over time, by segment, and how many users")
        st.caption("They take users one by one, and days; this table was added up before the upload.")
        return
    metric = _choose(found)
    over_time.show(found, metric)
    segments.show(found, metric)
    power.show(found, metric)


def _choose(found: AbTest) -> str:
    """By the same parameter as on Offline vs online."""
    titles = found.titles
    wanted = state.params().get("om", next(iter(titles)))
    links.tell_unknown("om", "online metric", titles)
    st.session_state["ab-metric"] = wanted if wanted in titles else next(iter(titles))
    chosen: str = st.selectbox(
        "Metric in depth", list(titles), format_func=titles.__getitem__, key="ab-metric", width=420,
        on_change=lambda: state.choose(om=st.session_state["ab-metric"]),
    )  # fmt: skip
    state.write("om", chosen)
    return chosen
