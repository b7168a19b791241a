"""What editors can do about decisions and reviews; viewers and guests see none of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from recdash.decisions import LABELS, OUTCOMES, Decision, Review, not_holding, shortcomings
from recdash.domain.records import OnlineTest
from recdash.formatting.html import markdown
from recdash.metrics.naming import metric_at
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import idempotent_form, widgets
from recdash.ui.decisions import wording

NOBODY = ""
"""The choice of a decision that is about no single run, or that takes no other's place."""
SAME = "same"
"""The choice of the earlier decision about whichever run is chosen beside it."""
APPROVALS = {"ship": "Approve: Ship", "do not ship": "Reject: Don't ship"}


OUTCOME_NAMES: dict[str, str] = {one: LABELS[one] for one in OUTCOMES}


def may_write() -> bool:
    return workspace().person.may("editor")


def _instead(form: str, held: Sequence[Decision], run_id: str) -> str | None:
    """Which of the decisions that hold this one takes the place of; at first the one about the same run.

    A form does not look again when another run is chosen in it, so that one is found when it is sent.
    """
    if not held:
        return None
    labels = {SAME: "The one about the same run, if any", NOBODY: "No earlier decision"}
    labels |= {one.id: wording.label(one) for one in held}
    chosen = idempotent_form.pick(form, "Supersedes", labels, name="instead")
    return _about(held, run_id) if chosen == SAME else chosen or None


def _about(held: Sequence[Decision], run_id: str) -> str | None:
    """The newest about this very run."""
    same = (one.id for one in held if run_id and one.subject.run and one.subject.run.id == run_id)
    return next(same, None)


def _held(view: View) -> list[Decision]:
    return [one for one in workspace().journal.decisions(view.experiment.id) if one.is_current]


# ── begin ────────────────────────────────────────────────────────────────────────────────────


def begin(view: View) -> None:
    """Propose a candidate, or decide right away."""
    if not may_write():
        return
    wanted = state.params().get("pr")
    state.write("pr", wanted)
    widgets.section(
        "Propose or decide", f"Both keep the numbers as they stand now: {_where(view)}, as chosen above."
    )
    review, right_away = st.tabs(["Propose for a review", "Decide without a review"])
    with review:
        _propose(view, wanted)
    with right_away:
        _decide(view, wanted)


def _where(view: View) -> str:
    base = f" against {view.baseline.name}" if view.baseline else ""
    return f"{metric_at(view.metric, view.k)}{base}"


def _propose(view: View, wanted: str | None) -> None:
    names = _candidates(view)
    if not names:
        st.caption("There is no candidate beside the baseline to propose. Add a second run under Upload.")
        return
    form = f"propose-{view.experiment.id}"
    with st.form(form, border=False):
        run_id = idempotent_form.pick(form, "Candidate", names, wanted)
        text = idempotent_form.words(form, "Why this one? (optional)")
        idempotent_form.author(form)
        if st.form_submit_button("Propose", type="primary", key="propose-send"):
            idempotent_form.send(form, lambda sent: _proposed(view, run_id, text, sent), "Proposed.")


def _proposed(view: View, run_id: str, text: str, sent: idempotent_form.Sent) -> None:
    found = workspace().reviews.propose(view.experiment.id, run_id, text=text, **_asked(view), **sent)
    state.choose(rev=found.id, pr=None)


def _asked(view: View) -> dict[str, Any]:
    baseline = view.baseline.id if view.baseline else None
    return {"baseline": baseline, "metric": view.metric, "k": view.k, "runs": view.candidate_ids}


def _candidates(view: View) -> dict[str, str]:
    """Every run beside the baseline, the chosen candidates first."""
    chosen = [run for run in view.candidates if not run.reference]
    others = [run for run in view.runs if run not in chosen and run != view.baseline]
    return {run.id: run.name for run in (*chosen, *others)}


def _decide(view: View, wanted: str | None) -> None:
    names = {NOBODY: "No single run", **{run.id: run.name for run in view.runs}}
    first = next(iter(_candidates(view)), NOBODY)
    form = f"decide-{view.experiment.id}"
    with st.form(form, border=False):
        outcome = idempotent_form.outcome(form, OUTCOME_NAMES)
        run_id = idempotent_form.pick(form, "About", names, wanted or first)
        instead = _instead(form, [one for one in _held(view) if one.review is None], run_id)
        text = idempotent_form.words(form, "Why?")
        idempotent_form.author(form)
        if st.form_submit_button("Decide", type="primary", key="decide-send"):
            idempotent_form.send(
                form,
                lambda sent: _decided(view, outcome, run_id, text, sent | {"supersedes": instead}),
                "Decided.",
            )


def _decided(view: View, outcome: str, run_id: str, text: str, sent: idempotent_form.Sent) -> None:
    workspace().decisions.decide(
        view.experiment.id, outcome, run_id=run_id or None, text=text, **_asked(view), **sent
    )
    state.choose(dec=None, pr=None)


# ── a review goes on ─────────────────────────────────────────────────────────────────────────


def next_step(view: View, review: Review) -> None:
    """What comes next first, then what else can be done."""
    if not may_write():
        return
    tabs = {"Offline evidence": _offline, "A/B test": _online, "Approve or reject": _answer}
    first = {"proposed": 0, "offline evidence": 1}.get(review.state, 2)
    names = list(tabs)
    for tab, name in zip(
        st.tabs(names, default=names[first], key=f"steps-{review.id}-{first}"), names, strict=True
    ):
        with tab:
            tabs[name](view, review)


def _offline(_: View, review: Review) -> None:
    form = f"offline-{review.id}"
    again = "It is attached already; once more takes the numbers of today." if review.offline else ""
    st.caption(f"The verdict, every pair, guardrails and slices of {markdown(review.about)}, as they stand "
               f"now. {again}")  # fmt: skip
    with st.form(form, border=False):
        text = idempotent_form.words(form, "What do you see in them? (optional)", height=80)
        idempotent_form.author(form)
        if st.form_submit_button("Attach offline evidence", type="primary", key=f"{form}-send"):
            idempotent_form.send(
                form,
                lambda sent: workspace().reviews.add_offline_evidence(review.id, text, **sent),
                "Attached.",
            )


def _online(view: View, review: Review) -> None:
    form = f"online-{review.id}"
    tests = {one.id: one.name for one in workspace().reviews.tests_for(review.id)}
    if not tests:
        _no_test(view, review)
        return
    wanted = state.params().get("t")
    state.write("t", wanted)
    with st.form(form, border=False):
        test = idempotent_form.pick(form, "A/B test", tests, wanted)
        text = idempotent_form.words(form, "What do you see in it? (optional)", height=80)
        idempotent_form.author(form)
        if st.form_submit_button("Attach A/B test", type="primary", key=f"{form}-send"):
            idempotent_form.send(
                form,
                lambda sent: workspace().reviews.add_online_evidence(review.id, test, text, **sent),
                "Attached.",
            )


def _no_test(view: View, review: Review) -> None:
    """Link one that is there, right here; or upload one."""
    st.caption(f"No A/B test in which a variant served {markdown(review.about)} is here yet.")
    tests = [one for one in workspace().online_tests.all(view.experiment.id) if _free(one)]
    if not tests or review.subject.run is None:
        if st.button("Upload an A/B test", key="go-upload"):
            links.go("upload")
        return
    form, run_id = f"link-{review.id}", review.subject.run.id
    choices = {
        f"{at}~{variant}": f"{test.name}: {variant}"
        for at, test in enumerate(tests)
        for variant in _free(test)
    }
    with st.form(form, border=False):
        chosen = idempotent_form.pick(form, "Which variant served it?", choices)
        if st.form_submit_button("Link it", key=f"{form}-send"):
            at, _, variant = chosen.partition("~")
            test = tests[int(at)]
            idempotent_form.send(
                form,
                lambda _: workspace().online_tests.link_variants(test.id, {**test.links, variant: run_id}),
                "Linked.",
            )


def _free(test: OnlineTest) -> list[str]:
    """Variants beside the control that are linked to no run."""
    variants = dict.fromkeys(str(row["variant"]) for row in test.results)
    return [one for one in variants if one != test.control and one not in test.links]


def _answer(view: View, review: Review) -> None:
    form = f"answer-{review.id}"
    with st.form(form, border=False):
        outcome = idempotent_form.outcome(
            form, {one: APPROVALS.get(one, name) for one, name in OUTCOME_NAMES.items()}
        )
        text = idempotent_form.words(form, "Why?")
        although = _although(form, review)
        run_id = review.subject.run.id if review.subject.run else NOBODY
        instead = _instead(form, _held(view), run_id)
        idempotent_form.author(form)
        if st.form_submit_button("Decide", type="primary", key=f"{form}-send"):
            idempotent_form.send(
                form,
                lambda sent: workspace().decisions.decide(
                    view.experiment.id,
                    outcome,
                    text=text,
                    about=review.id,
                    although=although,
                    supersedes=instead,
                    **sent,
                ),
                "Decided.",
            )


def _although(form: str, review: Review) -> str:
    """Asked where an approval needs a reason."""
    left = not_holding(review.checklist)
    if not left:
        return ""
    return idempotent_form.words(
        form, f"To approve, say why although {shortcomings(left)}", name="although", height=80
    )


# ── a decision goes on ───────────────────────────────────────────────────────────────────────


def supersede(view: View, old: Decision) -> None:
    if not may_write():
        return
    form = f"supersede-{old.id}"
    with st.expander("Supersede this decision"), st.form(form, border=False):
        st.caption("It stays where it is, marked; the new one takes its place.")
        outcome = idempotent_form.outcome(form, OUTCOME_NAMES)
        text = idempotent_form.words(form, "What changed?")
        review = workspace().journal.review(old.review) if old.review else None
        although = _although(form, review) if review else ""
        idempotent_form.author(form)
        if st.form_submit_button("Supersede", type="primary", key=f"{form}-send"):
            idempotent_form.send(
                form, lambda sent: _superseded(view, old, outcome, text, although, sent), "Superseded."
            )


def _superseded(
    view: View, old: Decision, outcome: str, text: str, although: str, sent: idempotent_form.Sent
) -> None:
    workspace().decisions.decide(
        view.experiment.id, outcome, text=text, supersedes=old.id, although=although, **_asked(view), **sent
    )
    state.choose(dec=None)


def comment(view: View, about: str) -> None:
    if not may_write():
        return
    form = f"comment-{about}"
    with st.expander("Comment"), st.form(form, border=False):
        text = idempotent_form.words(form, "Comment", height=80)
        idempotent_form.author(form)
        if st.form_submit_button("Comment", key=f"{form}-send"):
            idempotent_form.send(
                form,
                lambda sent: workspace().journal.comment(view.experiment.id, about, text, **sent),
                "Said.",
            )
