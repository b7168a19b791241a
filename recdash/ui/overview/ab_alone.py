"""The page Decision of an experiment with A/B tests but without runs: what the newest test says to do."""

from __future__ import annotations

import streamlit as st

from recdash.decisions import Decision
from recdash.decisions.lift_numbers import lift_numbers, users_of
from recdash.decisions.standing import decision_on_top
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import day, many
from recdash.online import OnlineResults, OnlineRules
from recdash.online.analysis.caveats import caveats
from recdash.online.analysis.next_step import NO_GUARDRAIL, STEP_LOOKS, NextStep, leading_step
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import decision_links, plan_question, verdict_card, widgets

GONE = "Its A/B test was deleted; the decision keeps its numbers."
NEXT = "This experiment has no test set yet. Add one to compare candidates before users see them."


def show(view: View) -> bool:
    """Draws the decision by the newest A/B test with a link to its numbers, and returns True.

    Returns False for an experiment that has a test set, or neither an A/B test nor a decision.
    """
    tests = workspace().online_tests.all(view.experiment.id)
    decision = decision_on_top(workspace().journal.entries(view.experiment.id)[::-1])
    if view.experiment.truth is not None:
        return False
    if not tests:
        return _decision_alone(decision)
    newest = tests[0]
    headline, steps = workspace().online_tests.next_steps(newest.id)
    others = f", the newest of {many(len(tests), 'test')}" if len(tests) > 1 else ""
    if decision is None:
        widgets.title(headline, f"By the A/B test {newest.name}{others}.")
    else:
        today = f"Today's results of {newest.name}{others}: {headline}."
        widgets.title(decision.headline, f"{_decided(decision, names_test=len(tests) > 1)} {today}")
    template = (
        '<li><b class="rd-{tone}">{sign}</b><span><b>{title}: <bdi>{variant}</bdi></b>. {reason}</span></li>'
    )
    rows = []
    for step in steps:
        sign, tone = STEP_LOOKS[step.action]
        row = {"title": step.title, "variant": step.variant, "reason": step.reason}
        rows.append(html(template, sign=sign, tone=tone, **row))
    st.html(html('<ul class="rd-list">{rows}</ul>', rows=join(rows)))
    results = workspace().online_tests.results(newest.id)
    rules = workspace().online_tests.rules(newest.id)
    sample = None if newest.kind == "aggregates" else workspace().online_tests.sample(newest.id)
    if leading := leading_step(steps):
        st.html(numbers_html(view, results, leading, is_planned=bool(rules.split)))
    widgets.note(caveats(results, sample))
    plan_question.show(newest.id, rules, steps, lambda wanted: _save_plan(newest.id, wanted))
    with st.container(horizontal=True):
        _offer_to_decide(decision)
        if st.button("View A/B results", type="primary", key="view-ab-results"):
            state.choose(t=newest.id)
            links.go("ab-results")
    _offer_to_add()
    return True


def _decision_alone(decision: Decision | None) -> bool:
    """Draws the decision of an experiment whose A/B test was deleted; returns False without a decision."""
    if decision is None:
        return False
    widgets.title(decision.headline, f"{_decided(decision)} {GONE}")
    _offer_to_decide(decision)
    _offer_to_add()
    return True


def _decided(decision: Decision, *, names_test: bool = False) -> str:
    """Returns who decided and when; with ``names_test``, also by which A/B test."""
    variant = decision.subject.variant
    by = f", by the A/B test {variant.test.name}" if names_test and variant else ""
    return f"Decided by {decision.author}, {day(decision.created)}{by}."


def _offer_to_add() -> None:
    """Says that there is no test set, with a button to add one."""
    st.caption(NEXT)
    links.page_button("Add data", "upload", kind="secondary")


def _save_plan(test_id: str, rules: OnlineRules) -> None:
    """Stores the rules and draws the page again with them."""
    workspace().online_tests.set_rules(test_id, rules)
    st.rerun()


def _offer_to_decide(decision: Decision | None) -> None:
    """Draws a button to the decision, or for people who may decide to its form."""
    if not links.is_there(decision_links.REVIEWS) or (decision is None and not state.person().may("editor")):
        return
    if st.button("Record a decision" if decision is None else "View decision", key="to-decision"):
        state.choose(dec=decision.id if decision else None)
        links.go(decision_links.REVIEWS)


def numbers_html(view: View, results: OnlineResults, step: NextStep, *, is_planned: bool) -> Html:
    """Returns the key numbers of the variant that the step is about, over how many users, and what the
    test does not show. ``is_planned`` is whether a planned split is given.
    """
    figures = [
        verdict_card.figure_html(number, verdict_card.online_metric_link(view, metric))
        for metric, number in lift_numbers(results, step.variant)
    ]
    facts = [f"{step.variant} against {results.control}"]
    if users := users_of(results):
        facts.append(users)
    if (p := results.health.srm_p) is not None and not results.health.blocked:
        matches = "split as planned" if is_planned else "split even, no planned split is given"
        facts.append(f"{matches} (SRM {numbers.p_equals(p)})")
    has_guardrails = any(row.role == "guardrail" for row in results.rows)
    if not has_guardrails and NO_GUARDRAIL not in step.reason:
        facts.append(NO_GUARDRAIL.lower().rstrip("."))
    return html(
        '<p class="rd-quiet">{facts}</p><div class="rd-tiles rd-figures">{figures}</div>',
        facts=widgets.unbroken(" · ".join(facts)),
        figures=join(figures),
    )
