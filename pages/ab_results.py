"""A/B results: whether a test can be believed, and what each variant won or lost against the control."""

from __future__ import annotations

import streamlit as st

from recdash.ui.ab_results import health, metric, page, settings, table, wording
from recdash.ui.app import frame, state
from recdash.ui.components import widgets
from recdash.ui.decisions import links
from recdash.ui.offline_online import page as both_sides

view = frame.show(without_runs=True)
tests = both_sides.tests(view)
if not tests:
    page.no_test()
    state.stop()

title = st.container()
test, correction = page.choose(tests)
found = page.gather(view, test, correction)
with title:
    settings.show_change(found)
    widgets.title(wording.finding(found), wording.subtitle(found))
    links.offer_to_reviews(view, test)
health.show(found)
table.show(view, found)
widgets.table_behind(page.tidy(found), "ab-results")
metric.show(found)
settings.show(found)
