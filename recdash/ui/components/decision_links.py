"""Links from other pages to decisions and reviews: propose, approve, or use an A/B test in a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import streamlit as st

from recdash.decisions import LABELS, Review, not_holding
from recdash.domain.journal import Outcome
from recdash.domain.records import OnlineTest
from recdash.formatting.html import Html, markdown
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Recommendation
    from recdash.decisions.standing import DecisionStanding

REVIEWS = "review"
"""The address of the page of decisions and reviews."""


def offer_to_decide(
    view: View, today: Recommendation, standing: DecisionStanding | None, *, off_rules: bool = False
) -> None:
    """Draws a button for the next step towards a decision; nothing for viewers, and if there is no next
    step. ``off_rules`` is whether the rules of the experiment give another recommendation.
    """
    known = workspace().journal.reviews(view.experiment.id)
    step = next_step(today, standing, known, off_rules=off_rules)
    if step is None or not workspace().person.may("editor") or not links.is_there(REVIEWS):
        return
    label = view.with_short_names(step.label)
    if st.button(label, key="to-decide", type="primary" if step.is_due else "secondary"):
        state.choose(**step.params)
        links.go(REVIEWS)


@dataclass(frozen=True)
class Step:
    """A step towards a decision: the label of its button, and parameters with which the page of reviews
    opens.

    ``is_due`` is False if the step only shows a decision.
    """

    label: str
    params: Mapping[str, str | None]
    is_due: bool = True


def next_step(
    today: Recommendation,
    standing: DecisionStanding | None,
    known: Sequence[Review],
    *,
    off_rules: bool = False,
) -> Step | None:
    """Returns the next step after a recommendation; None if nothing can be compared.

    Unless today's evidence contradicts the latest decision, the step shows that decision. Else it continues
    the open review of the candidate in question, proposes the candidate, or records a decision. A step
    against the rules of the experiment (``off_rules``) says so, and is not due.
    """
    end = " against the rules" if off_rules else ""
    leader = today.evidence.leader
    if standing is not None and standing.agrees is not False:
        return Step("View decision", {"dec": standing.decision.id, "pr": None}, is_due=False)
    if leader is None or today.action == "not comparable":
        return None
    name, run = today.evidence.name, leader.candidate
    own = [review for review in known if review.subject.run and review.subject.run.id == run]
    review = next((review for review in own if review.is_open), None)
    if review is not None:
        is_ready = review.state == "online evidence" or not not_holding(review.checklist)
        params = {"rev": review.id, "pr": None}
        if is_ready and today.action == "ship":
            return Step(f"Approve {name}{end}", params, is_due=not off_rules)
        return Step(f"Continue review of {name}", params, is_due=not off_rules)
    if today.action in ("ship", "test"):
        return Step(f"Propose {name}{end}", {"pr": run}, is_due=not off_rules)
    return Step("Record a decision", {"pr": None}, is_due=False)


def offer_to_reviews(view: View, test: OnlineTest) -> None:
    """Draws a line with a button for each open review of a variant of the test or of a run that one served,
    if it has no evidence from the test.
    """
    if not workspace().person.may("editor"):
        return
    for review in workspace().journal.reviews(view.experiment.id):
        if _awaits(review, test):
            with st.container(horizontal=True, vertical_alignment="center", key=f"awaits-{review.id}"):
                st.markdown(f"The review of **{markdown(review.about)}** has no evidence of this test yet.")
                if st.button("Use in the review", key=f"to-review-{review.id}"):
                    state.choose(rev=review.id, t=test.id)
                    links.go(REVIEWS)


def _awaits(review: Review, test: OnlineTest) -> bool:
    attached = {online.test.id for online in review.online}
    run, variant = review.subject.run, review.subject.variant
    is_own = variant is not None and variant.test.id == test.id
    is_served = run is not None and run.id in test.served
    return review.is_open and (is_own or is_served) and test.id not in attached


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


def excerpt(text: str, longest: int = EXCERPT) -> str:
    """Returns the beginning of a text on one line, with at most ``longest`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[:longest].rstrip()}…"
