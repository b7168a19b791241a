"""The forms with which editors decide and review; viewers and guests do not see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash.comparison import ComparisonQuery
from recdash.decisions import LABELS, OUTCOMES, Decision, Review, not_holding, shortcomings
from recdash.decisions.snapshot import SubjectKind
from recdash.decisions.standing import RunOfVariant, outcome_for, run_of, runs_of_variants
from recdash.domain.journal import Outcome
from recdash.domain.records import OnlineTest
from recdash.formatting.html import markdown
from recdash.metrics.naming import metric_at
from recdash.online.analysis.next_step import NextStep, leading_step
from recdash.ui.app import cached, links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import idempotent_form, widgets
from recdash.ui.decisions import wording

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Recommendation

NO_CHOICE = ""
"""The value of a choice for a decision that is about no single run, or supersedes no other."""
SAME = "same"
"""The value of a choice for the earlier decision about the run that is chosen in the same form."""
WITHOUT_RUNS = "A decision is about a run or a variant of an A/B test. Add either under Add data."
"""What it takes to decide in an experiment without runs and variants."""
OUTCOME_BY_STEP: Mapping[str, Outcome] = {
    "ship": "ship",
    "roll back": "do not ship",
    "inconclusive": "inconclusive",
}
"""The outcome that follows each next step after an A/B test; the others leave it open."""
APPROVALS = {"ship": "Approve: Ship", "do not ship": "Reject: Don't ship"}


BEGINNINGS = ["Propose for a review", "Decide without a review"]
"""The tabs of the forms with which a decision begins."""
NEEDS_REVIEW = "By the decision rules, *Ship* needs a review that another person decides."
OUTCOME_NAMES: dict[str, str] = {outcome: LABELS[outcome] for outcome in OUTCOMES}


def may_write() -> bool:
    return workspace().person.may("editor")


def _superseded_id(view: View, form: str, held: Sequence[Decision], run_id: str) -> str | None:
    """Draws the choice of the decision to supersede and returns its id, at first of the one about the same
    run; None for none.

    The form is not redrawn when another run is chosen in it; so that decision is looked up when the form is
    sent.
    """
    if not held:
        return None
    labels = {SAME: "The one about the same run, if any", NO_CHOICE: "No earlier decision"}
    labels |= {decision.id: wording.label(decision) for decision in held}
    chosen = idempotent_form.pick(form, "Replaces", labels, name="instead")
    if chosen != SAME:
        return chosen or None
    links = _links(view)
    of_run = (decision.id for decision in held if run_id and run_of(decision, links) == run_id)
    return next(of_run, None)  # the newest is the first


def _links(view: View) -> RunOfVariant:
    """Returns the runs that the variants of the experiment's A/B tests served."""
    return runs_of_variants(workspace().online_tests.all(view.experiment.id))


def _outcomes(kind: SubjectKind) -> dict[str, str]:
    """Returns the outcomes of a decision on such a subject; a variant is in an A/B test already."""
    return {
        outcome: label
        for outcome, label in OUTCOME_NAMES.items()
        if outcome != "needs A/B" or kind != "variant"
    }


def _two_people(view: View) -> bool:
    """Returns whether *Ship* needs a review that another person decides."""
    return workspace().rules.of(view.experiment.id).two_people


def _held(view: View) -> list[Decision]:
    return [decision for decision in workspace().journal.decisions(view.experiment.id) if decision.is_current]


# ── propose or decide ────────────────────────────────────────────────────────────────────────


def recommendation(view: View) -> Recommendation | None:
    """Returns the recommendation for the view; None without runs to compare."""
    return cached.verdict(view) if view.shown else None


def recommended(view: View) -> str | None:
    """Returns the id of the candidate that should be shipped or tested; None if there is none."""
    today = recommendation(view)
    return today.run if today is not None and today.action in ("ship", "test") else None


def begin(view: View) -> None:
    """Draws the forms to propose a candidate and to decide without a review, filled as recommended.

    If the baseline is to be kept, no candidate is chosen for a review, and the form to decide comes first.
    Nothing for people who may not write.
    """
    if not may_write():
        return
    if not view.runs:
        _begin_on_variants(view)
        return
    wanted = state.params().get("pr")
    state.write("pr", wanted)
    today = recommendation(view)
    keeps = today is not None and today.action == "keep"
    numbers, keep = metric_at(view.metric, view.k), "A proposal and a decision keep"
    if not _candidates(view):
        numbers, keep = f"{numbers} of {view.runs[0].name}", "A decision keeps"
    elif view.baseline:
        numbers = f"{numbers} against {view.baseline.name}"
    kept = f"{keep} the numbers as they stand now: {numbers}, as chosen above."
    if not _candidates(view):
        widgets.section("Decide without a review", kept)
        _decide(view, wanted, today)
        return
    widgets.section("Propose or decide", kept)
    place = int(keeps and not wanted)
    key = f"begin-{view.experiment.id}-{place}"
    review, right_away = st.tabs(BEGINNINGS, default=BEGINNINGS[place], key=key)
    with review:
        _propose(view, wanted or _to_propose(view), may_be_empty=keeps)
    with right_away:
        _decide(view, wanted, today)


def _to_propose(view: View) -> str | None:
    """Returns the recommended candidate; None if there is none, or if it is decided to ship it."""
    run, links = recommended(view), _links(view)
    shipped = [run_of(decision, links) for decision in _held(view) if decision.outcome == "ship"]
    return None if run in shipped else run


def _propose(view: View, wanted: str | None, *, may_be_empty: bool) -> None:
    """Draws the form; ``may_be_empty``: without ``wanted`` no candidate is chosen at first."""
    names = _candidates(view)
    form = f"propose-{view.experiment.id}"
    with st.form(form, border=False):
        if may_be_empty and not wanted:
            names = {NO_CHOICE: "Choose a candidate", **names}
        run_id = idempotent_form.pick(form, "Candidate", names, wanted)
        text = idempotent_form.text_area(form, "Why this one? (optional)")

        def propose(sent: idempotent_form.Sent) -> None:
            review = workspace().reviews.propose(view.experiment.id, run_id, _query(view), text=text, **sent)
            state.choose(rev=review.id, pr=None)

        idempotent_form.submit(form, "Propose", propose, "Proposed.", key="propose-send")


def _query(view: View) -> ComparisonQuery | None:
    return view.query if view.shown else None


def _candidates(view: View) -> dict[str, str]:
    """Returns {run id: name} of all runs except the baseline, the chosen candidates first."""
    chosen = [run for run in view.candidates if not run.reference]
    others = [run for run in view.runs if run not in chosen and run != view.baseline]
    return {run.id: run.name for run in (*chosen, *others)}


def _decide(view: View, wanted: str | None, today: Recommendation | None) -> None:
    candidates = _candidates(view)
    names = {run.id: run.name for run in view.runs}
    if candidates:
        names = {NO_CHOICE: "All candidates", **names}
    leader = today.evidence.leader if today is not None else None
    best = leader.candidate if leader is not None else next(iter(candidates or names))
    keeps = today is not None and today.action == "keep"
    first = wanted or (NO_CHOICE if keeps else best)  # to keep the baseline is about every candidate
    outcomes = dict(OUTCOME_NAMES)
    if view.baseline and candidates:
        outcomes["do not ship"] += f" (keep {view.baseline.name})"
    if _two_people(view):
        st.caption(NEEDS_REVIEW)
    form = f"decide-{view.experiment.id}"
    with st.form(form, border=False):
        outcome = idempotent_form.outcome(form, outcomes, outcome_for(first or best, today))
        run_id = idempotent_form.pick(form, "About", names, first)
        held = [decision for decision in _held(view) if decision.review is None]
        instead = _superseded_id(view, form, held, run_id)
        text = idempotent_form.text_area(form, "Why?")

        def decide(sent: idempotent_form.Sent) -> None:
            workspace().decisions.decide(
                view.experiment.id,
                outcome,
                run_id=run_id or None,
                text=text,
                supersedes=instead,
                query=_query(view),
                **sent,
            )
            state.choose(dec=None, pr=None)

        idempotent_form.submit(form, "Decide", decide, "Decided.", key="decide-send")


def _begin_on_variants(view: View) -> None:
    """Draws the forms to propose a variant of an A/B test and to decide on one, in an experiment without
    runs.
    """
    tests = workspace().online_tests.all(view.experiment.id)
    variants = {
        f"{place}~{variant}": variant if len(tests) == 1 else f"{test.name}: {variant}"
        for place, test in enumerate(tests)
        for variant in test.challengers
    }
    if not variants:
        st.caption(WITHOUT_RUNS)
        return
    widgets.section("Propose or decide", "A decision keeps the results of the A/B test as they stand now.")
    leading = leading_step(workspace().online_tests.next_steps(tests[0].id)[1])
    first = f"0~{leading.variant}" if leading else None
    review, right_away = st.tabs(BEGINNINGS, key=f"begin-{view.experiment.id}")
    with review:
        _propose_variant(view, tests, variants, first)
    with right_away:
        _decide_on_variant(view, tests, variants, first, leading)


def _propose_variant(
    view: View, tests: Sequence[OnlineTest], variants: Mapping[str, str], first: str | None
) -> None:
    form = f"propose-{view.experiment.id}"
    with st.form(form, border=False):
        place, _, variant = idempotent_form.pick(form, "Variant", variants, first).partition("~")
        text = idempotent_form.text_area(form, "Why this one? (optional)")

        def propose(sent: idempotent_form.Sent) -> None:
            test = tests[int(place)].id
            proposed = workspace().reviews.propose(
                view.experiment.id, variant=variant, test=test, text=text, **sent
            )
            state.choose(rev=proposed.id)

        idempotent_form.submit(form, "Propose", propose, "Proposed.", key="propose-send")


def _decide_on_variant(
    view: View,
    tests: Sequence[OnlineTest],
    variants: Mapping[str, str],
    first: str | None,
    leading: NextStep | None,
) -> None:
    two_people = _two_people(view)
    if two_people:
        st.caption(NEEDS_REVIEW)
    form = f"decide-{view.experiment.id}"
    outcomes = _outcomes("variant")
    outcomes["do not ship"] += f" (keep {tests[0].control})" if len(tests) == 1 else " (keep the control)"
    advised = OUTCOME_BY_STEP.get(leading.action) if leading else None
    if advised == "ship" and two_people:  # then it would be refused
        advised = None
    with st.form(form, border=False):
        outcome = idempotent_form.outcome(form, outcomes, advised)
        place, _, variant = idempotent_form.pick(form, "Variant", variants, first).partition("~")
        text = idempotent_form.text_area(form, "Why?")

        def decide(sent: idempotent_form.Sent) -> None:
            test = tests[int(place)]
            about = (test.id, variant)
            held = next((decision for decision in _held(view) if decision.subject.key == about), None)
            workspace().decisions.decide(
                view.experiment.id,
                outcome,
                variant=variant,
                test=test.id,
                text=text,
                supersedes=held.id if held else None,
                **sent,
            )
            state.choose(dec=None)

        idempotent_form.submit(form, "Decide", decide, "Decided.", key="decide-send")


# ── continue a review ────────────────────────────────────────────────────────────────────────


def next_step(view: View, review: Review) -> None:
    """Draws the forms for what can be done in a review, the next step first; nothing for people who may not
    write.
    """
    if not may_write():
        return
    attach = {"offline evidence": ("Offline evidence", _offline), "online evidence": ("A/B test", _online)}
    tabs = dict([*(attach[step] for step in review.steps[1:]), ("Approve or reject", _answer)])
    first = review.steps.index(review.state)
    drawn = st.tabs(list(tabs), default=list(tabs)[first], key=f"steps-{review.id}-{first}")
    for tab, draw in zip(drawn, tabs.values(), strict=True):
        with tab:
            draw(view, review)


def _offline(_: View, review: Review) -> None:
    form = f"offline-{review.id}"
    again = "It is attached already; once more takes the numbers of today." if review.offline else ""
    numbers = f"The verdict, every pair, guardrails and segments of {markdown(review.about)}"
    st.caption(f"{numbers}, as they stand now. {again}")
    with st.form(form, border=False):
        text = idempotent_form.text_area(form, "What do you see in them? (optional)", height=80)

        def attach(sent: idempotent_form.Sent) -> None:
            workspace().reviews.add_offline_evidence(review.id, text, **sent)

        label = "Attach offline evidence"
        idempotent_form.submit(form, label, attach, "Attached.", key=f"{form}-send")


def _online(view: View, review: Review) -> None:
    form = f"online-{review.id}"
    names = {test.id: test.name for test in workspace().reviews.tests_for(review.id)}
    if not names:
        _no_test(view, review)
        return
    wanted = state.params().get("t")
    state.write("t", wanted)
    with st.form(form, border=False):
        test_id = idempotent_form.pick(form, "A/B test", names, wanted)
        text = idempotent_form.text_area(form, "What do you see in it? (optional)", height=80)

        def attach(sent: idempotent_form.Sent) -> None:
            workspace().reviews.add_online_evidence(review.id, test_id, text, **sent)

        idempotent_form.submit(form, "Attach A/B test", attach, "Attached.", key=f"{form}-send")


def _no_test(view: View, review: Review) -> None:
    """Draws a form to link an existing A/B test to the run; without such a test, a button to upload one."""
    if review.subject.variant is not None:
        st.caption(f"Its A/B test {markdown(review.subject.variant.test.name)} was deleted.")
        return
    st.caption(f"No A/B test in which a variant served {markdown(review.about)} is here yet.")
    tests = [test for test in workspace().online_tests.all(view.experiment.id) if _unlinked_variants(test)]
    if not tests or review.subject.run is None:
        links.page_button("Upload an A/B test", "upload", kind="secondary")
        return
    form, run_id = f"link-{review.id}", review.subject.run.id
    choices: dict[str, str] = {}
    for place, test in enumerate(tests):
        choices |= {f"{place}~{variant}": f"{test.name}: {variant}" for variant in _unlinked_variants(test)}
    with st.form(form, border=False):
        chosen = idempotent_form.pick(form, "Which variant served it?", choices)
        if st.form_submit_button("Link it", key=f"{form}-send"):
            index, _, variant = chosen.partition("~")
            test = tests[int(index)]
            linked = {**test.links, variant: run_id}
            tests_of = workspace().online_tests
            idempotent_form.send(form, lambda _: tests_of.link_variants(test.id, linked), "Linked.")


def _unlinked_variants(test: OnlineTest) -> list[str]:
    """Returns the variants other than control that are not linked to a run."""
    return [variant for variant in test.challengers if variant not in test.links]


def _answer(view: View, review: Review) -> None:
    form = f"answer-{review.id}"
    about = review.subject.run.id if review.subject.run else None
    if _two_people(view):
        author = markdown(review.entry.author)
        st.caption(
            f"By the decision rules, another person than {author} decides this review. "
            f"{author} can withdraw the proposal: *Reject*."
        )
    with st.form(form, border=False):
        outcome = idempotent_form.outcome(
            form, _outcomes(review.subject.kind) | APPROVALS, outcome_for(about, recommendation(view))
        )
        text = idempotent_form.text_area(form, "Why?")
        although = _although(form, review)
        run_id = review.subject.run.id if review.subject.run else NO_CHOICE
        instead = _superseded_id(view, form, _held(view), run_id)

        def decide(sent: idempotent_form.Sent) -> None:
            workspace().decisions.decide(
                view.experiment.id,
                outcome,
                text=text,
                about=review.id,
                although=although,
                supersedes=instead,
                **sent,
            )

        idempotent_form.submit(form, "Decide", decide, "Decided.", key=f"{form}-send")


def _although(form: str, review: Review) -> str:
    """Draws the box for the reason to approve although checks fail, and returns the text; "" if no check
    fails.
    """
    left = not_holding(review.checklist)
    if not left:
        return ""
    label = f"To approve, say why although {shortcomings(left)}"
    return idempotent_form.text_area(form, label, name="although", height=80)


# ── supersede a decision ─────────────────────────────────────────────────────────────────────


def supersede(view: View, old: Decision) -> None:
    if not may_write():
        return
    form = f"supersede-{old.id}"
    with st.expander("Replace this decision"), st.form(form, border=False):
        st.caption("It stays where it is, marked; the new one takes its place.")
        outcome = idempotent_form.outcome(form, _outcomes(old.subject.kind))
        text = idempotent_form.text_area(form, "What changed?")
        review = workspace().journal.review(old.review) if old.review else None
        although = _although(form, review) if review else ""

        def decide(sent: idempotent_form.Sent) -> None:
            workspace().decisions.decide(
                view.experiment.id,
                outcome,
                text=text,
                supersedes=old.id,
                although=although,
                query=_query(view),
                **sent,
            )
            state.choose(dec=None)

        idempotent_form.submit(form, "Replace decision", decide, "Replaced.", key=f"{form}-send")


def comment(view: View, about: str) -> None:
    if not may_write():
        return
    form = f"comment-{about}"
    with st.expander("Comment"), st.form(form, border=False):
        text = idempotent_form.text_area(form, "Comment", height=80)

        def write(sent: idempotent_form.Sent) -> None:
            workspace().journal.comment(view.experiment.id, about, text, **sent)

        key = f"{form}-send"
        idempotent_form.submit(form, "Comment", write, "Said.", key=key, kind="secondary")
