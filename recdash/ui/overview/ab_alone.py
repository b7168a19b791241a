"""The page Decision of an experiment with A/B tests but without runs: what the newest test says to do."""

from __future__ import annotations

import streamlit as st

from recdash.formatting.html import html, join
from recdash.formatting.wording import many
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

SIGNS = {"ship": ("▲", "better"), "roll back": ("▼", "worse")}
NEXT = "This experiment has no test set yet. Add one to compare candidates before users see them."


def show(view: View) -> bool:
    """Draws the decision by the newest A/B test with a link to its numbers, and returns True.

    Returns False for an experiment that has a test set or no A/B test.
    """
    tests = workspace().online_tests.all(view.experiment.id)
    if view.experiment.truth is not None or not tests:
        return False
    newest = max(tests, key=lambda test: test.created)
    headline, steps = workspace().online_tests.next_steps(newest.id)
    others = f", the newest of {many(len(tests), 'test')}" if len(tests) > 1 else ""
    widgets.title(headline, f"By the A/B test {newest.name}{others}.")
    template = (
        '<li><b class="rd-{tone}">{sign}</b><span><b>{title}: <bdi>{variant}</bdi></b>. {reason}</span></li>'
    )
    rows = []
    for step in steps:
        sign, tone = SIGNS.get(step.action, ("–", "muted"))
        row = {"title": step.title, "variant": step.variant, "reason": step.reason}
        rows.append(html(template, sign=sign, tone=tone, **row))
    st.html(html('<ul class="rd-list">{rows}</ul>', rows=join(rows)))
    if st.button("View A/B results", type="primary", key="view-ab-results"):
        state.choose(t=newest.id)
        links.go("ab-results")
    st.caption(NEXT)
    if links.is_there("upload") and st.button("Add data", key="go-upload"):
        links.go("upload")
    return True
