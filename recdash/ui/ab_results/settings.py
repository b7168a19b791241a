"""The forms with which editors change the metrics and counting rules of a stored A/B test."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import streamlit as st

from recdash.errors import RecdashError
from recdash.formatting.html import html
from recdash.online import OnlineRules
from recdash.ui.ab_results import metric_form, plan_form, rules_form
from recdash.ui.ab_results.health import changes
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import state
from recdash.ui.app.state import View
from recdash.ui.components import plan_question, widgets

CHANGED = "recdash.ab-changed"
CHANGE_METRICS = "recdash.ab-change-metrics"
"""The key under which Settings leads to the open form of metrics, until the form is drawn. Then it says that
the form is open until the person leaves the page or saves.
"""


def show(view: View, ab_test: AbTest) -> None:
    """Draws the forms; nothing for viewers."""
    if not state.workspace().person.may("editor"):
        return
    st.html('<hr class="rd-rule">')
    widgets.section("Change this test", "Its metrics, and how its rows are counted.")
    if st.session_state.pop(CHANGE_METRICS, False):
        state.until_left()[CHANGE_METRICS] = True
    is_wanted = CHANGE_METRICS in state.until_left()
    with st.expander("Metrics: add one, change a role or margin", expanded=is_wanted):
        metric_form.show(ab_test, save)
    with st.expander("Counting rules", expanded=is_wanted):
        rules_form.show(ab_test, save)
    with st.expander("Plan the next A/B test"):
        plan_form.add(view)


def save(test_id: str, action: Callable[[], object], changed: Sequence[str]) -> None:
    """Calls ``action``, then redraws the page with the changes on top; if it fails, shows the error at the
    form.
    """
    try:
        with st.spinner("Recalculating"):
            action()
    except RecdashError as error:
        widgets.problems(error)
    else:
        state.until_left().pop(CHANGE_METRICS, None)
        st.session_state[CHANGED] = (test_id, list(changed))
        st.rerun()


def ask_for_plan(ab_test: AbTest) -> None:
    """Asks whether the size reached was planned, where the decision depends on it; nothing for viewers."""
    test_id, rules = ab_test.test.id, ab_test.rules

    def save_plan(wanted: OnlineRules) -> None:
        source = state.workspace().online_tests
        save(test_id, lambda: source.set_rules(test_id, wanted), changes(rules, wanted))

    plan_question.show(test_id, rules, ab_test.steps, save_plan)


def show_change(ab_test: AbTest) -> None:
    """Shows the last change of this test in this session, until the person closes it."""
    test_id, changed = st.session_state.get(CHANGED, ("", []))
    if test_id != ab_test.test.id:
        return
    template = (
        '<div class="rd-banner" role="status"><b class="rd-worse">!</b><div>'
        "<p>Changed just now; all numbers are recalculated. Changing rules after seeing results inflates "
        "false positives.</p>{lines}</div></div>"
    )
    st.html(html(template, lines=widgets.paragraphs(changed)))
    st.button("Close", key="ab-changed-close", on_click=lambda: st.session_state.pop(CHANGED, None))
