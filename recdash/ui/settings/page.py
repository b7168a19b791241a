"""The page Decision rules: the rules of the recommendation, and what it is with the rules in the form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import streamlit as st

from recdash.comparison import relative
from recdash.comparison.guardrails import EXCEEDS, GuardrailResult
from recdash.comparison.rules import PRESETS, DecisionRules, checked
from recdash.errors import InputError, RecdashError
from recdash.formatting import numbers
from recdash.formatting.html import html, markdown
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import capital, listed, many
from recdash.online import OnlineResults
from recdash.ui.app import links, state
from recdash.ui.app.state import View
from recdash.ui.components import actions, widgets
from recdash.ui.settings import form
from recdash.ui.settings.form import Choice

if TYPE_CHECKING:
    from recdash.comparison import ComparisonQuery
    from recdash.comparison.recommendation import Recommendation

BEGIN = "With these rules: "
FIXED = "Fixed when the experiment was created"
HOW_TO_CHANGE = (
    "To change these settings, add the same files as a new experiment. To only try another relevance "
    "threshold, open the menu “All users” above Decision."
)
ONLY_EDITORS = "Only editors can change these rules."
RAILS = "What a gain in accuracy may cost, as a share of the baseline's value."
ONE_RUN = "They are checked once there is a second run."


def show(view: View) -> None:
    """Draws the form of the decision rules, with what they recommend; viewers cannot change it."""
    actions.show_undo()
    workspace = state.workspace()
    if not view.runs:
        _without_runs(view)
        return
    rules, may_change = workspace.rules.of(view.experiment.id), workspace.person.may("editor")
    suggested = workspace.queries.baseline(view.experiment, view.runs).id
    if may_change:
        _form(view, rules, suggested)
    else:
        _read(view, Choice(rules, suggested))
    _about_tests(view)
    widgets.section(FIXED, HOW_TO_CHANGE if may_change else "")
    widgets.table(text_columns("Setting", "Value"), _fixed(view))


def _form(view: View, rules: DecisionRules, suggested: str) -> None:
    key = form.key_of(view, rules)
    heading = st.container()
    choice = form.comparison(view, rules, key, suggested)
    today = _today(view, choice)
    with heading:
        widgets.title(today.headline, _subtitle(view, rules, choice, today))
    widgets.section("Guardrails", RAILS if today.where else f"{RAILS} {ONE_RUN}")
    form.choose_preset(choice, key)
    if today.where:
        st.caption(_by_preset(view, choice))
    form.guardrails(rules, key, today.findings, form.NOT_MEASURED if today.where else "")
    _save(view, rules, choice.rules, choice.baseline, key)


def _read(view: View, choice: Choice) -> None:
    """Shows the stored rules as text, for people who cannot change them."""
    today = _today(view, choice)
    widgets.title(today.headline, _subtitle(view, choice.rules, choice, today))
    st.info(ONLY_EDITORS)
    widgets.table(text_columns("Rule", "Value"), form.in_words(view, choice))
    widgets.section("Guardrails", RAILS if today.where else f"{RAILS} {ONE_RUN}")
    unknown = form.NOT_MEASURED if today.where else numbers.NONE
    rows = [
        (title, limit, today.findings.get(metric, unknown) if metric in choice.rules.guardrails else "")
        for metric, title, limit in form.guardrails_in_words(choice.rules)
    ]
    widgets.table(text_columns("Metric", "Guardrail", "With these rules"), rows)
    if why := _why_the_same(today):
        st.caption(why)


def _without_runs(view: View) -> None:
    """Says what decides in an experiment without runs: its newest A/B test, or nothing yet."""
    tests = state.workspace().online_tests.all(view.experiment.id)
    if view.experiment.truth is not None or not tests:
        who = "Add" if state.workspace().person.may("editor") else "An editor adds"
        text = f"{who} candidates first; one of them is the baseline."
        widgets.empty("No candidate to decide on yet", text)
        _about_tests(view)
        return
    newest = tests[0]
    headline, _ = state.workspace().online_tests.next_steps(newest.id)
    widgets.title("The A/B test decides", f"Its recommendation: {headline}.")
    results = state.workspace().online_tests.results(newest.id)
    planned = state.workspace().online_tests.rules(newest.id).planned_users
    rules = [
        ("A/B test", newest.name),
        ("Goals", _metrics(results, "goal") or "none"),
        ("Guardrails", _metrics(results, "guardrail") or "none"),
        ("Planned sample size", many(planned, "user") if planned else "none"),
    ]
    widgets.table(text_columns("Rule", "Value"), rules)
    if not state.workspace().person.may("editor"):
        st.info(ONLY_EDITORS)
    elif st.button("Change under A/B results", type="primary", key="go-ab"):
        state.choose(t=newest.id)
        st.session_state["recdash.ab-change-metrics"] = True
        links.go("ab-results")
    _people(view)


def _people(view: View) -> None:
    """Shows who answers for the decision; editors can change it."""
    workspace, experiment = state.workspace(), view.experiment
    rules = workspace.rules.of(experiment.id)
    if not workspace.person.may("editor"):
        people = [("Owner", rules.owner), ("Review", form.TWO_PEOPLE if rules.two_people else "")]
        known = [(rule, value) for rule, value in people if value]
        if known:
            widgets.table(text_columns("Rule", "Value"), known)
        return
    widgets.section("Who decides")
    key = form.key_of(view, rules)
    owner = form.owner_box(rules, key)
    two_people = form.two_people_box(rules, key)
    wanted = replace(rules, owner=owner, two_people=two_people)
    _save(view, rules, wanted, experiment.baseline, key)


def _metrics(results: OnlineResults, role: str) -> str:
    """Returns the titles of the metrics with this role, guardrails with their margin."""
    margins = {row.title: row.margin for row in results.rows if row.role == role and not row.is_control}
    return listed(
        [f"{title}, margin {100 * margin:g} %" if margin else title for title, margin in margins.items()]
    )


@dataclass(frozen=True)
class Today:
    """The recommendation with the rules in the form.

    ``findings`` are {guardrail's metric: its change and finding}.
    """

    headline: str
    where: str = ""
    findings: Mapping[str, str] = field(default_factory=dict)


def _today(view: View, choice: Choice) -> Today:
    try:
        query = _query(view, choice)
        if query is None:
            return Today("One run; a second is needed to compare")
        verdict = state.workspace().comparisons.verdict(query)
    except InputError as error:
        return Today(f"No recommendation by these rules: {error.problems[0].found}")
    except RecdashError as error:
        return Today(f"No recommendation by these rules: {str(error).rstrip('.')}")
    evidence = verdict.evidence
    findings = {rail.metric: _finding(evidence.name, rail) for rail in evidence.guardrails}
    for metric, others in _also_broken(verdict).items():
        also = "also exceeded by" if EXCEEDS in findings[metric] else "exceeded by"
        findings[metric] = f"{findings[metric]}; {also} {listed(others)}"
    return Today(f"{BEGIN}{verdict.headline}", query.where, findings)


def _why_the_same(today: Today) -> str:
    """Returns what a broken guardrail changes; empty if the candidate in question breaks none."""
    broken = any(EXCEEDS in finding for finding in today.findings.values())
    return "A broken guardrail counts as a risk, which a won A/B test outweighs." if broken else ""


def _by_preset(view: View, choice: Choice) -> str:
    """Returns what each preset recommends, such as ``Strict: keep Popular. Usual: ship ALS v3. …``"""
    headlines = {
        name: _today(view, replace(choice, rules=replace(choice.rules, guardrails=guardrails))).headline
        for name, guardrails in PRESETS.items()
    }
    if len(set(headlines.values())) == 1:
        return f"Each preset gives the same recommendation. {_why_the_same(_today(view, choice))}".strip()
    plain = {name: headline.removeprefix(BEGIN) for name, headline in headlines.items()}
    return " ".join(f"{capital(name)}: {markdown(headline)}." for name, headline in plain.items())


def _query(view: View, choice: Choice) -> ComparisonQuery | None:
    """Returns the comparison with the rules in the form; None if there is no second run."""
    rules = checked(choice.rules, view.depth)
    queries, run_ids = state.workspace().queries, [run.id for run in view.runs]
    candidates = [run.id for run in queries.candidates(view.experiment, run_ids, choice.baseline, rules)]
    if not candidates:
        return None
    return queries.of(
        view.experiment.id, candidates, choice.baseline, rules.metric, rules.k, terms=rules.terms
    )


def _subtitle(view: View, rules: DecisionRules, choice: Choice, today: Today) -> str:
    owner = f"Owner: {rules.owner}. " if rules.owner else ""
    judged = f"{today.where} against {view.name(choice.baseline)}. " if today.where else ""
    ignored = f"Differences below {form.margin_shown(choice.rules.margin)} are too small to matter."
    saved = " Not saved yet." if choice.rules != rules or _is_another_baseline(view, choice) else ""
    return f"{owner}{judged}{ignored}{saved}"


def _is_another_baseline(view: View, choice: Choice) -> bool:
    """Returns whether the form's baseline differs from the stored one; a suggestion is none."""
    return view.experiment.baseline not in (None, choice.baseline)


def _finding(name: str, rail: GuardrailResult) -> str:
    """Returns the change in words, such as ``ALS v3: −4.2 %, within its guardrail``; ``×9.57`` for at least a
    doubling.
    """
    return f"{name}: {relative.rail_change(rail)}, {rail.shown}"


def _also_broken(verdict: Recommendation) -> dict[str, list[str]]:
    """Returns {guardrail's metric: the other candidates that break it, with their change}."""
    leader, measured = verdict.evidence.leader, {rail.metric for rail in verdict.evidence.guardrails}
    broken: dict[str, list[str]] = {}
    for case in verdict.cases:
        for rail in case.evidence.guardrails:
            if rail.is_broken and case.pair != leader and rail.metric in measured:
                broken.setdefault(rail.metric, []).append(f"{case.name} ({relative.rail_change(rail)})")
    return broken


def _save(view: View, rules: DecisionRules, wanted: DecisionRules, baseline: str | None, key: str) -> None:
    """Draws the button that stores the rules ``wanted``, and the baseline, in place of ``rules``."""
    workspace, experiment = state.workspace(), view.experiment

    def write(wanted: DecisionRules, baseline: str | None) -> None:
        workspace.rules.set(experiment.id, wanted, baseline=baseline)
        state.choose(b=None, c=None, m=None, k=None)

    def save() -> None:
        write(wanted, baseline)
        actions.offer_undo(
            f"Changed the decision rules of {experiment.name}.", lambda: write(rules, experiment.baseline)
        )

    is_new = wanted != rules or baseline != experiment.baseline
    if st.button("Save rules", type="primary", key=f"{key}-save", disabled=not is_new):
        actions.attempt(save, "Saved. Pages, reports and the terminal follow.", keeps_undo=True)


def _about_tests(view: View) -> None:
    """Writes a link to the rules of A/B tests, if the experiment has any."""
    if state.workspace().online_tests.all(view.experiment.id):
        where = links.link(view, "Online: Results", "ab-results", {})
        widgets.note([html("Goals and guardrails of an A/B test are under {where}.", where=where)])


def _fixed(view: View) -> list[tuple[str, str]]:
    settings = view.experiment.settings
    threshold = settings.get("relevance_threshold")
    return [
        ("Relevant from", "any relevance above 0" if threshold is None else f"{threshold:g}"),
        ("Depth of the lists", str(settings["depth"])),
    ]
