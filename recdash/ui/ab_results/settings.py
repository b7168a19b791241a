"""The forms with which editors change the metrics and counting rules of a stored A/B test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from recdash.errors import RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import html
from recdash.online.analysis.next_step import size_of
from recdash.ui.ab_results import metric_form, rules_form
from recdash.ui.ab_results.health import changes
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import state
from recdash.ui.components import widgets

CHANGED = "recdash.ab-changed"


def show(ab_test: AbTest) -> None:
    """Draws the forms; nothing for viewers."""
    if not state.workspace().person.may("editor"):
        return
    st.html('<hr class="rd-rule">')
    widgets.section("Change this test", "Its metrics, and how its logs are counted.")
    with st.expander("Metrics: add one, change a role or margin"):
        metric_form.show(ab_test, save)
    with st.expander("Counting rules"):
        rules_form.show(ab_test, save)


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
        st.session_state[CHANGED] = (test_id, list(changed))
        st.rerun()


def ask_for_plan(ab_test: AbTest) -> None:
    """Draws a button that stores the size reached as the planned one, where the decision depends on it;
    nothing for viewers.
    """
    open_ = [step for step in ab_test.steps if step.action == "check the plan"]
    if not open_ or not state.workspace().person.may("editor"):
        return
    size = min(size_of(ab_test.results, step) for step in open_)
    wanted = replace(ab_test.rules, planned_users=size)
    if st.button(f"Yes, {numbers.count(size)} users were planned", key="ab-planned"):
        test_id = ab_test.test.id
        changed = changes(ab_test.rules, wanted)
        save(test_id, lambda: state.workspace().online_tests.set_rules(test_id, wanted), changed)


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
