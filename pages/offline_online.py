"""Offline vs online: how candidates scored offline, beside their lifts in an A/B test."""

from __future__ import annotations

import streamlit as st

from recdash.charts.offline_online import FEW_TICKS, bars, quadrants
from recdash.formatting.wording import cut_inside
from recdash.report.sections.online import axis_titles
from recdash.ui.app import links, state, theme
from recdash.ui.components import comparability_banner, offline_online, online_tests, widgets
from recdash.ui.offline_online import agreement, interleaving, kept_estimates, page
from recdash.ui.shell import frame

links.redirect("why", instead_of=("v",))  # the reasons of a variant were shown here once
view = frame.show()
tests = online_tests.tests(view)
if not tests:
    offline_online.no_test(view, offline_online.SIDE_BY_SIDE)
    interleaving.show(view)
    kept_estimates.show(view)
    state.stop()

title = st.container()
test, online_metric = offline_online.choose(view, tests)
sides = offline_online.gather(view, test, online_metric)
with title:
    widgets.title(page.finding(sides), page.subtitle(view, test, sides.online_title))
    page.show_broken_split(test)
    comparability_banner.banner(view, page.compared(sides))
page.show_notices(view, test)
if sides.rows.empty:
    page.without_links(view, sides)
    kept_estimates.show(view)
    state.stop()

colours = theme.palette()
offline, online = st.columns([1.12, 1], gap="large")
with offline:
    widgets.section(*page.offline_title(sides))
    if sides.has_differences:
        chart = bars(sides.rows, sides.marks, colours, page.offline_side(sides), FEW_TICKS)
        widgets.chart(chart, "bars-offline", page.alt(sides, "offline"), narrowest=0)
    else:
        page.offline_values(sides)
with online:
    widgets.section(*page.online_title(sides))
    chart = bars(sides.rows, sides.marks, colours, page.online_side(sides), FEW_TICKS)
    widgets.chart(chart, "bars-online", page.alt(sides, "online"), narrowest=0)
st.html('<hr class="rd-rule">')

scatter, reading = st.columns([1.9, 1], gap="large")
with scatter:
    widgets.section(*page.scatter_title(sides))
    if sides.has_differences:
        judged = not sides.broken_split
        points, lower = page.in_percent(sides), sides.lower_is_better
        offline_lower = sides.offline_lower_is_better
        base = cut_inside(sides.base, page.LONGEST_BASE)
        titles = axis_titles(
            sides.where, base, sides.online_title,
            lower_is_better=lower, offline_lower_is_better=offline_lower,
        )  # fmt: skip
        chart = quadrants(
            points,
            sides.marks,
            colours,
            *titles,
            judged=judged,
            narrow=True,
            lower_is_better=lower,
            offline_lower_is_better=offline_lower,
        )
        widgets.chart(chart, page.key_of_scatter(sides), page.alt(sides, "quadrant"), narrowest=0)
        page.names_below(sides)
    else:
        st.caption("There is no offline difference to compare with the lift.")
with reading:
    agreement.card(view, sides)
    page.reading(view, sides)
st.html('<hr class="rd-rule">')
agreement.sections(view, sides)
interleaving.show(view)
kept_estimates.show(view, test, online_metric)
page.results_table(view, sides)
widgets.table_behind(page.tidy(sides), "offline-online")
