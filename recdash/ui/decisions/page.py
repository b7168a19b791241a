"""The page Review: the current decision, the reviews, what can be done, and the history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.decisions import Decision, Review, decisions, last_decision, reviews
from recdash.domain.journal import Entry
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import day, moment
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import online_tests, widgets
from recdash.ui.components.decision_links import excerpt
from recdash.ui.components.widgets import stacked_table_html
from recdash.ui.decisions import card, forms, wording
from recdash.ui.decisions import review as review_card

GUIDE = {
    "review": "the review of a candidate",
    "checklist": "its checklist",
    "decision": "what a decision keeps",
}
FEW = 12
"""The number of lines of the history that are shown at first."""


def show(view: View) -> None:
    """Draws the page, except the reports."""
    entries = workspace().journal.entries(view.experiment.id)
    made, proposed = decisions(entries[::-1]), reviews(entries[::-1])
    open_ = [review for review in proposed if review.is_open]
    if not entries:
        _nothing(view)
        return
    widgets.title(wording.finding(last_decision(entries[::-1]), open_), wording.subtitle(entries))
    recommended = forms.recommended(view)
    in_review = [review.subject.run.id for review in open_ if review.subject.run]
    begins = not made and recommended is not None and recommended not in in_review
    if begins:  # what to do comes first
        forms.begin(view)
    _show_decision(view, made)
    _show_reviews(view, proposed)
    if not begins and (made or open_) and not state.params().get("pr") and forms.may_write():
        _begin_again(view, len(entries))
    elif not begins:
        forms.begin(view)
    show_history(entries)
    st.html(links.to_guide(view, GUIDE))


@st.fragment
@widgets.show_errors
def _begin_again(view: View, n_entries: int) -> None:
    """Draws the forms in an expander, once it is opened, as they take a browser longer than the rest."""
    # its key changes with each entry, so that it is closed after a proposal or decision
    box = widgets.opened("Propose or decide again", f"again-{view.experiment.id}-{n_entries}")
    if box is not None:
        with box:
            forms.begin(view)


def _nothing(view: View) -> None:
    """Draws the page of an experiment without decisions and reviews: what it will show, and how to begin."""
    text = "Proposals and decisions appear here, with their reasons and numbers."
    tests = online_tests.tests(view)
    if not view.runs and tests:
        headline, _ = workspace().online_tests.next_steps(tests[0].id)
        text = f"By {tests[0].name}: {headline}. {text}"
    if forms.may_write() and len(view.runs) == 1:
        text = f"{text} A review needs a second run to compare."
        widgets.empty("Add a second run to compare", text)
        links.page_button("Upload a run", "upload")
        forms.begin(view)
        return
    if forms.may_write() and view.runs:
        text = (
            "Propose a candidate for a review, which collects offline and online evidence, or decide right "
            "away. The numbers are kept as they stand at that moment."
        )
    today = forms.recommendation(view)
    if today is not None and today.action == "not comparable":
        text = f"{today.headline}. {text}"
    elif today is not None:
        text = f"Recommended: {today.headline}. {text}"
    widgets.empty("Nothing is decided yet", view.with_short_names(text))
    forms.begin(view)


def _show_decision(view: View, made: Sequence[Decision]) -> None:
    if not made:
        return
    known = {decision.id: decision for decision in made}
    held = next((decision for decision in made if decision.is_current), made[0])
    labels = {decision.id: wording.label(decision) for decision in made}
    decision = known[_choose("Decision", "dec", labels, held.id)]
    card.show(view, decision, known.get(decision.superseded_by or ""))


def _show_reviews(view: View, reviews: Sequence[Review]) -> None:
    if not reviews:
        return
    open_ = [review for review in reviews if review.is_open]
    widgets.section("Reviews", f"{len(open_)} open, {len(reviews) - len(open_)} closed")
    review_card.show_list(view, reviews)
    known = {review.id: review for review in reviews}
    labels = {}
    for review in reviews:
        labels[review.id] = f"{review.about}: {review.state}, proposed {day(review.entry.created)}"
    review_card.show(view, known[_choose("Review", "rev", labels, (*open_, *reviews)[0].id)])


def _choose(label: str, name: str, options: Mapping[str, str], default: str) -> str:
    """Draws a choice that the URL keeps, and returns its value; if there is only one option, returns it."""
    links.tell_unknown(name, label.lower(), options)
    value = state.option(name, default, list(options))
    if len(options) > 1:
        return widgets.select(label, name, options, value, f"choose-{name}", 560)
    state.write(name, value)
    return value


def show_history(entries: Sequence[Entry]) -> None:
    """Draws a table of who did what, the newest first."""
    widgets.section("History", "Who did what, the newest first. All days on this page are in UTC.")
    known = {entry.id: entry for entry in entries}
    columns = text_columns("When", "Who", "What", "Comment")
    rows = []
    for entry in entries:
        action, text = wording.action(entry, known), excerpt(entry.text)
        rows.append([moment(entry.created), entry.author, action, text])
    st.html(stacked_table_html(columns, rows[:FEW], kind="rd-words rd-history"))
    if rows[FEW:]:
        with st.expander(f"{len(rows) - FEW} earlier lines"):
            st.html(stacked_table_html(columns, rows[FEW:], kind="rd-words rd-history"))
