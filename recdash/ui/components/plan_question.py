"""Asks whether the size that an A/B test has reached was planned, where the decision depends on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import streamlit as st

from recdash.formatting import numbers
from recdash.online import OnlineRules
from recdash.online.analysis.next_step import NextStep
from recdash.ui.app import state

UNPLANNED = (
    "Without a planned size, the gain may come from looking at the results early, so it is not enough to "
    "ship. Plan a larger size (Results, Counting rules) and run the test until it is reached."
)


def show(
    test_id: str,
    rules: OnlineRules,
    steps: Sequence[NextStep],
    save: Callable[[OnlineRules], None],
) -> None:
    """Draws the question; *Yes* calls ``save`` with the rules that plan this size, *No* says what follows.

    Draws nothing for viewers, and if the decision does not depend on the answer.
    """
    open_ = [step for step in steps if step.action == "check the plan"]
    if not open_ or not state.workspace().person.may("editor"):
        return
    size = min(step.size for step in open_)
    unplanned = f"recdash.unplanned-{test_id}"
    with st.container(horizontal=True, vertical_alignment="center", key="plan-question"):
        st.markdown(f"Were {numbers.users(size)} planned before the test began?", width="content")
        if st.button("Yes", key="plan-yes"):
            save(replace(rules, planned_users=size))
        if st.button("No", key="plan-no"):
            st.session_state[unplanned] = True
    if unplanned in st.session_state:
        st.caption(UNPLANNED)
