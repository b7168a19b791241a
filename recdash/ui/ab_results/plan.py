"""Shows the analysis plan of an A/B test: what differs from it, its changes, and forms to plan and to
change it.
"""

from __future__ import annotations

import streamlit as st

from recdash.formatting.html import Html
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import moment, small
from recdash.online.analysis.plan_check import PlanCheck
from recdash.online.plan import TITLES, PlanHistory
from recdash.ui.ab_results import plan_form
from recdash.ui.ab_results.page import AbTest
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import widgets

GUIDE = ("analysis-plan", "the analysis plan")


def show(view: View, ab_test: AbTest) -> None:
    """Draws who planned the test and what differs, the plan with its changes, and for editors a form to
    change it; nothing for a test without a plan.
    """
    check = ab_test.plan
    if check is None:
        return
    widgets.section("Analysis plan", check.sentence, links.explained(view, *GUIDE))
    if check.deviations:
        st.html(deviations_html(check))
    with st.expander("Plan and changes"):
        show_plan(check.history)
        if state.workspace().person.may("editor"):
            plan_form.change(view, check.history)


def deviations_html(check: PlanCheck) -> Html:
    """Returns a banner with what differs from the plan."""
    lines = widgets.paragraphs(deviation.text for deviation in check.deviations)
    return widgets.banner(lines, "What differs from the plan")


def show_plan(history: PlanHistory) -> None:
    """Draws the current plan as a table, what its duration lacks, and who made and changed it."""
    plan = history.current.plan
    widgets.table(text_columns("Planned", ""), plan.rows())
    widgets.note([plan.weekday_note, *changes(history)])


def changes(history: PlanHistory) -> list[str]:
    """Returns a line for each version of a plan: who made it and when, with what it changed and why."""
    first = history.first
    lines = [f"Planned by {first.author}, {moment(first.created)}."]
    for before, after in zip(history.versions, history.versions[1:], strict=False):
        changed = "; ".join(
            f"{small(TITLES[name])} {was} → {now}" for name, was, now in before.plan.changes(after.plan)
        )
        lines.append(f"Changed by {after.author}, {moment(after.created)}: {changed}. {after.reason}")
    return lines


# ── tests to come ────────────────────────────────────────────────────────────────────────────


def to_come(view: View) -> None:
    """Draws the plans that no A/B test of the experiment has yet."""
    plans = state.workspace().plans.without_test(view.experiment.id)
    if not plans:
        return
    may_write = state.workspace().person.may("editor")
    explained = links.explained(view, *GUIDE)
    widgets.section("Planned A/B tests", "Results compare each test with its plan.", explained)
    for history in plans:
        _show_one(view, history, may_write=may_write)


def before_tests(view: View) -> None:
    """Draws the plans of an experiment without A/B tests, and for editors the form of a new plan."""
    to_come(view)
    if state.workspace().person.may("editor"):
        with st.expander("Plan an A/B test"):
            plan_form.add(view)


def _show_one(view: View, history: PlanHistory, *, may_write: bool) -> None:
    plan = history.current.plan
    title = f"{plan.test or 'The next A/B test'}: {plan.primary}"
    with st.expander(title, expanded=True):
        show_plan(history)
        if may_write:
            plan_form.change(view, history)
