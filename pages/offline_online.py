"""Offline vs online: the same candidates, in the same order and colours, before and in an A/B test."""

from __future__ import annotations

import streamlit as st

from recdash.charts.offline_online import bars, quadrants
from recdash.ui.app import state, theme
from recdash.ui.components import comparability_banner, online_tests, widgets
from recdash.ui.offline_online import agreement, diagnosis, page
from recdash.ui.shell import frame

view = frame.show()
tests = online_tests.tests(view)
if not tests:
    page.no_test()
    state.stop()

title = st.container()
test, online_metric = page.choose(view, tests)
found = page.gather(view, test, online_metric)
with title:
    page.show_broken_split(test)
    comparability_banner.banner(page.compared(found))
    widgets.title(page.finding(found), page.subtitle(view, test))
page.show_notices(view, test)
if found.rows.empty:
    page.no_link(found)
    state.stop()

colours = theme.palette()
offline, online = st.columns([1.12, 1], gap="large")
with offline:
    widgets.section(*page.offline_title(found))
    if found.has_differences:
        widgets.chart(
            bars(found.rows, found.marks, colours, page.OFFLINE),
            "bars-offline",
            page.alt(found, "offline"),
        )
    else:
        page.offline_values(found)
with online:
    widgets.section(*page.online_title(found))
    widgets.chart(
        bars(found.rows, found.marks, colours, page.online_side(found)),
        "bars-online",
        page.alt(found, "online"),
    )
st.html('<hr class="rd-rule">')

scatter, reading = st.columns([1.9, 1], gap="large")
with scatter:
    widgets.section(*page.scatter_title(found))
    if found.has_differences:
        judged = not found.broken_split
        points, titles = page.in_percent(found), page.axis_titles(found)
        chart = quadrants(points, found.marks, colours, *titles, judged=judged)
        widgets.chart(chart, "quadrants", page.alt(found, "quadrant"), narrowest=500)
    else:
        st.caption("There is no offline difference to set against the lift.")
with reading:
    agreement.card(view, found)
    page.reading(found)
st.html('<hr class="rd-rule">')
diagnosis.show(view, found)
st.html('<hr class="rd-rule">')
agreement.sections(view, found)
page.results_table(found)
widgets.table_behind(page.tidy(found), "offline-online")
