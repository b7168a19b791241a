"""What editors can do about decisions and reviews; viewers and guests see none of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from recdash.decisions import LABELS, OUTCOMES, Decision, Review, not_holding, shortcomings
from recdash.domain import OnlineTest
from recdash.errors import RecdashError
from recdash.service.journals import MOST_AUTHOR, MOST_CHARS
from recdash.ui import links, state, widgets
from recdash.ui.escaping import markdown
from recdash.ui.state import View, workspace
from recdash.ui.words import metric_at

NOBODY = ""
"""The choice of a decision that is about no single run."""
APPROVALS = {"ship": "Approve: Ship", "do not ship": "Reject: Don't ship"}


Sent = Mapping[str, Any]
"""Author and key, as the service takes them."""
OUTCOME_NAMES: dict[str, str] = {one: LABELS[one] for one in OUTCOMES}


def may_write() -> bool:
    return workspace().person.may("editor")


# ── a form, sent once ────────────────────────────────────────────────────────────────────────


def _key(form: str) -> str:
    """The same until the form was accepted, so that a second click writes nothing more."""
    known: dict[str, str] = st.session_state.setdefault("recdash.decision-keys", {})
    return known.setdefault(form, secrets.token_hex(8))


def _send(form: str, write: Callable[[Sent], object], done: str) -> None:
    """Write it down, then start with an empty form; a refusal is shown where the form stands."""
    try:
        write({"key": _key(form), "author": st.session_state.get(f"{form}-author", "")})
    except RecdashError as error:
        widgets.problems(error)
        return
    st.session_state["recdash.decision-keys"].pop(form)
    st.session_state["recdash.toast"] = done
    st.rerun()


def _words(form: str, label: str, *, height: int = 110, help_: str | None = None) -> str:
    return str(
        st.text_area(label, key=f"{form}-text-{_key(form)}", max_chars=MOST_CHARS, height=height, help=help_)
    )


def _author(form: str) -> None:
    """Asked where nobody checked the name."""
    person = workspace().person
    if not person.named:
        st.text_input("Your name", person.name, key=f"{form}-author", max_chars=MOST_AUTHOR, width=300)


def _pick(form: str, label: str, options: Mapping[str, str], wanted: str | None = None) -> str:
    """One of ``options`` {value: label}; the wanted one at first."""
    values = list(options)
    at = values.index(wanted) if wanted in values else 0
    return str(
        st.selectbox(
            label, values, index=at, format_func=lambda one: options[one], key=f"{form}-pick-{_key(form)}",
            width=420,
        )
    )  # fmt: skip


def show_toast() -> None:
    if toast := st.session_state.pop("recdash.toast", None):
        st.toast(toast)


# ── begin ────────────────────────────────────────────────────────────────────────────────────


def begin(view: View) -> None:
    """Propose a candidate, or decide right away."""
    if not may_write():
        return
    wanted = state.params().get("pr")
    widgets.section(
        "Propose or decide",
        f"Both keep the numbers as they stand now: {_where(view)}, as chosen above.",
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
    with st.form("propose", border=False):
        run_id = _pick("propose", "Candidate", names, wanted)
        text = _words("propose", "Why this one? (optional)")
        _author("propose")
        if st.form_submit_button("Propose", type="primary", key="propose-send"):
            _send("propose", lambda sent: _proposed(view, run_id, text, sent), "Proposed.")


def _proposed(view: View, run_id: str, text: str, sent: Sent) -> None:
    found = workspace().propose(view.experiment.id, run_id, text=text, **_asked(view), **sent)
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
    with st.form("decide", border=False):
        outcome = _outcome("decide", OUTCOME_NAMES)
        run_id = _pick("decide", "About", names, wanted or first)
        text = _words("decide", "Why?")
        _author("decide")
        if st.form_submit_button("Decide", type="primary", key="decide-send"):
            _send("decide", lambda sent: _decided(view, outcome, run_id, text, sent), "Decided.")


def _decided(view: View, outcome: str, run_id: str, text: str, sent: Sent) -> None:
    workspace().decide(view.experiment.id, outcome, run_id=run_id or None, text=text, **_asked(view), **sent)
    state.choose(dec=None, pr=None)


def _outcome(form: str, options: Mapping[str, str]) -> str:
    return str(
        st.radio(
            "Outcome", list(options), format_func=lambda one: options[one], horizontal=True,
            key=f"{form}-outcome-{_key(form)}",
        )
    )  # fmt: skip


# ── a review goes on ─────────────────────────────────────────────────────────────────────────


def next_step(view: View, review: Review) -> None:
    """What comes next first, then what else can be done."""
    if not may_write():
        return
    tabs = {
        "Offline evidence": _offline,
        "A/B test": _online,
        "Approve or reject": _answer,
    }
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
        text = _words(form, "What do you see in them? (optional)", height=80)
        _author(form)
        if st.form_submit_button("Attach offline evidence", type="primary", key=f"{form}-send"):
            _send(form, lambda sent: workspace().add_offline_evidence(review.id, text, **sent), "Attached.")


def _online(view: View, review: Review) -> None:
    form = f"online-{review.id}"
    tests = {one.id: one.name for one in workspace().tests_for(review.id)}
    if not tests:
        _no_test(view, review)
        return
    with st.form(form, border=False):
        test = _pick(form, "A/B test", tests, state.params().get("t"))
        text = _words(form, "What do you see in it? (optional)", height=80)
        _author(form)
        if st.form_submit_button("Attach A/B test", type="primary", key=f"{form}-send"):
            _send(
                form, lambda sent: workspace().add_online_evidence(review.id, test, text, **sent), "Attached."
            )


def _no_test(view: View, review: Review) -> None:
    """Link one that is there, right here; or upload one."""
    st.caption(f"No A/B test in which a variant served {markdown(review.about)} is here yet.")
    tests = [one for one in workspace().online_tests(view.experiment.id) if _free(one)]
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
        chosen = _pick(form, "Which variant served it?", choices)
        if st.form_submit_button("Link it", key=f"{form}-send"):
            at, _, variant = chosen.partition("~")
            test = tests[int(at)]
            _send(
                form, lambda _: workspace().link_variants(test.id, {**test.links, variant: run_id}), "Linked."
            )


def _free(test: OnlineTest) -> list[str]:
    """Variants beside the control that are linked to no run."""
    variants = dict.fromkeys(str(row["variant"]) for row in test.results)
    return [one for one in variants if one != test.control and one not in test.links]


def _answer(view: View, review: Review) -> None:
    form = f"answer-{review.id}"
    with st.form(form, border=False):
        outcome = _outcome(form, {one: APPROVALS.get(one, name) for one, name in OUTCOME_NAMES.items()})
        text = _words(form, "Why?")
        although = _although(form, review)
        _author(form)
        if st.form_submit_button("Decide", type="primary", key=f"{form}-send"):
            _send(
                form,
                lambda sent: workspace().decide(
                    view.experiment.id, outcome, text=text, about=review.id, although=although, **sent
                ),
                "Decided.",
            )


def _although(form: str, review: Review) -> str:
    """Asked where an approval needs a reason."""
    left = not_holding(review.checklist)
    if not left:
        return ""
    return _words(f"{form}-although", f"To approve, say why although {shortcomings(left)}", height=80)


# ── a decision goes on ───────────────────────────────────────────────────────────────────────


def supersede(view: View, old: Decision) -> None:
    if not may_write():
        return
    form = f"supersede-{old.id}"
    with st.expander("Supersede this decision"), st.form(form, border=False):
        st.caption("It stays where it is, marked; the new one takes its place.")
        outcome = _outcome(form, OUTCOME_NAMES)
        text = _words(form, "What changed?")
        review = workspace().review(old.review) if old.review else None
        although = _although(form, review) if review else ""
        _author(form)
        if st.form_submit_button("Supersede", type="primary", key=f"{form}-send"):
            _send(form, lambda sent: _superseded(view, old, outcome, text, although, sent), "Superseded.")


def _superseded(view: View, old: Decision, outcome: str, text: str, although: str, sent: Sent) -> None:
    workspace().decide(
        view.experiment.id, outcome, text=text, supersedes=old.id, although=although, **_asked(view), **sent
    )
    state.choose(dec=None)


def comment(view: View, about: str) -> None:
    if not may_write():
        return
    form = f"comment-{about}"
    with st.expander("Comment"), st.form(form, border=False):
        text = _words(form, "Comment", height=80)
        _author(form)
        if st.form_submit_button("Comment", key=f"{form}-send"):
            _send(form, lambda sent: workspace().comment(view.experiment.id, about, text, **sent), "Said.")
