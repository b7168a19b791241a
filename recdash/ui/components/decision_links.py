"""Ways from other pages to Reports & decisions: the last decision, proposing, using a test in a review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from recdash.decisions import LABELS, Review
from recdash.domain.journal import Outcome
from recdash.domain.records import OnlineTest
from recdash.formatting.html import Html, html, markdown
from recdash.formatting.wording import day, many
from recdash.service.decisions.reviews import served_by
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Recommendation

PAGE = "reports"


def show_last(view: View) -> None:
    """What was decided last and is not superseded, and how many candidates are under review."""
    decision = workspace().journal.last_decision(view.experiment.id)
    open_ = [review for review in workspace().journal.reviews(view.experiment.id) if review.is_open]
    if decision is None and not open_:
        return
    widgets.section("Last decision")
    if decision is not None:
        about = links.link(view, decision.about or "no single run", PAGE, {"dec": decision.id})
        lines = html("{badge} {about}", badge=outcome_badge(decision.outcome), about=about)
        by, text = f"{decision.author}, {day(decision.created)}", f"“{excerpt(decision.text)}”"
        notes = widgets.paragraphs([lines, by, text])
        st.html(html('<div class="rd-note rd-last">{notes}</div>', notes=notes))
    if open_:
        text = f"{many(len(open_), 'candidate')} under review"
        widgets.note([links.link(view, text, PAGE, {"rev": open_[0].id})])


def offer_to_decide(verdict: Recommendation) -> None:
    """The way from a verdict to a proposal or a decision about the same run."""
    leader = verdict.evidence.leader
    if leader is None or not workspace().person.may("editor") or not links.is_there(PAGE):
        return
    if st.button("Propose or decide", key="to-decide", help="Opens Reports & decisions with this candidate."):
        state.choose(pr=leader.candidate)
        links.go(PAGE)


def offer_to_reviews(view: View, test: OnlineTest) -> None:
    """Open reviews of runs that a variant of the test served, and that do not rest on it yet."""
    if not workspace().person.may("editor"):
        return
    for review in workspace().journal.reviews(view.experiment.id):
        if _awaits(review, test):
            with st.container(horizontal=True, vertical_alignment="center", key=f"awaits-{review.id}"):
                st.markdown(f"The review of **{markdown(review.about)}** has no evidence of this test yet.")
                if st.button("Use in the review", key=f"to-review-{review.id}"):
                    state.choose(rev=review.id, t=test.id)
                    links.go(PAGE)


def _awaits(review: Review, test: OnlineTest) -> bool:
    attached = {online.test.id for online in review.online}
    run = review.subject.run
    return review.is_open and run is not None and served_by(test, run.id) and test.id not in attached


SIGNS: Mapping[Outcome, tuple[str, str]] = {
    "ship": ("▲", "better"),
    "do not ship": ("▼", "worse"),
    "inconclusive": ("?", "same"),
    "needs A/B": ("⇄", "same"),
}
"""Outcome → sign and tone."""


EXCERPT = 150


def outcome_badge(outcome: Outcome) -> Html:
    sign, tone = SIGNS[outcome]
    return widgets.badge(f"{sign} {LABELS[outcome]}", tone)


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else f"{line[:EXCERPT].rstrip()}…"
