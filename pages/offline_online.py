"""Offline vs online: the same candidates, in the same order and colours, before and in an A/B test."""

from __future__ import annotations

import streamlit as st

from recdash.charts.online import bars, quadrants
from recdash.ui import agreement, both_sides, comparing, frame, state, theme, why, widgets

view = frame.show()
tests = both_sides.tests(view)
if not tests:
    both_sides.no_test()
    state.stop()

title = st.container()
test, online_metric = both_sides.choose(view, tests)
found = both_sides.gather(view, test, online_metric)
with title:
    both_sides.show_broken_split(test)
    comparing.banner(both_sides.compared(found))
    widgets.title(both_sides.finding(found), both_sides.subtitle(view, test))
both_sides.show_notices(view, test)
if found.rows.empty:
    both_sides.no_link(found)
    state.stop()

colours = theme.palette()
offline, online = st.columns([1.12, 1], gap="large")
with offline:
    widgets.section(*both_sides.offline_title(found))
    if found.has_differences:
        widgets.chart(
            bars(found.rows, found.marks, colours, both_sides.OFFLINE),
            "bars-offline",
            both_sides.alt(found, "offline"),
        )
    else:
        both_sides.offline_values(found)
with online:
    widgets.section(*both_sides.online_title(found))
    widgets.chart(
        bars(found.rows, found.marks, colours, both_sides.online_side(found)),
        "bars-online",
        both_sides.alt(found, "online"),
    )
st.html('<hr class="rd-rule">')

scatter, reading = st.columns([1.9, 1], gap="large")
with scatter:
    widgets.section(*both_sides.scatter_title(found))
    if found.has_differences:
        judged = not found.broken_split
        points, titles = both_sides.in_percent(found), both_sides.axis_titles(found)
        chart = quadrants(points, found.marks, colours, *titles, judged=judged)
        widgets.chart(chart, "quadrants", both_sides.alt(found, "quadrant"), narrowest=500)
    else:
        st.caption("There is no offline difference to set against the lift.")
with reading:
    agreement.card(view, found)
    both_sides.reading(found)
st.html('<hr class="rd-rule">')
why.show(view, found)
st.html('<hr class="rd-rule">')
agreement.sections(view, found)
both_sides.results_table(found)
widgets.table_behind(both_sides.tidy(found), "offline-online")
