"""Results: the decision on an A/B test, whether it can be trusted, and the lifts of each variant."""

from __future__ import annotations

import streamlit as st

from recdash.ui.ab_results import (
    chance_to_win,
    directions,
    health,
    interleaving,
    metric,
    page,
    plan,
    settings,
    table,
    wording,
)
from recdash.ui.app import state
from recdash.ui.components import decision_links as links
from recdash.ui.components import offline_online, online_tests, widgets
from recdash.ui.shell import frame

view = frame.show(without_runs=True, parts=())
tests, interleaved = online_tests.tests(view), interleaving.gather(view)
if not tests:
    if interleaved:
        interleaving.show_alone(view, interleaved)
    else:
        page.no_test()
    plan.before_tests(view)
    state.stop()

title = st.container()
test, correction = page.choose(tests)
ab_test = page.gather(view, test, correction)
with title:
    widgets.title(wording.finding(ab_test), wording.subtitle(ab_test))
    if view.runs and not test.served:
        offline_online.no_link(view, test)
    settings.show_change(ab_test)
    directions.show(ab_test)
    table.show_steps(ab_test)
    settings.ask_for_plan(ab_test)
    links.offer_to_reviews(view, test)
plan.show(view, ab_test)
health.show(view, ab_test)
table.show(view, ab_test)
widgets.table_behind(page.tidy(ab_test), "ab-results")
chance_to_win.show(view, ab_test)
interleaving.show(view, interleaved)
metric.show(ab_test)
plan.to_come(view)
settings.show(view, ab_test)
