"""A/B results: whether a test can be believed, and what each variant won or lost against the control."""

from __future__ import annotations

import streamlit as st

from recdash.ui import (
    ab_health,
    ab_metric,
    ab_settings,
    ab_table,
    ab_test,
    ab_words,
    both_sides,
    decision_links,
    frame,
    state,
    widgets,
)

view = frame.show(without_runs=True)
tests = both_sides.tests(view)
if not tests:
    ab_test.no_test()
    state.stop()

title = st.container()
test, correction = ab_test.choose(tests)
found = ab_test.gather(view, test, correction)
with title:
    ab_settings.show_change(found)
    widgets.title(ab_words.finding(found), ab_words.subtitle(found))
    decision_links.offer_to_reviews(view, test)
ab_health.show(found)
ab_table.show(view, found)
widgets.table_behind(ab_test.tidy(found), "ab-results")
ab_metric.show(found)
ab_settings.show(found)
