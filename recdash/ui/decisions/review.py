"""One review: its state, its checklist, its evidence, and what can be done next."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.decisions import ChecklistItem, Online, Review
from recdash.decisions.checklist import ITEM_SIGNS, asks_for_guardrail
from recdash.domain.journal import Entry
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import text_columns
from recdash.formatting.wording import capital, day
from recdash.ui.app import links, theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.decisions import card, forms
from recdash.ui.decisions import tiles as decision_tiles
from recdash.ui.decisions.wording import prose, signature, state_badge

EXPLAINED = {"Split of users": ("srm", "sample ratio mismatch (SRM)")}
"""The entry of the guide, and its title, that explains an item of the checklist."""


def show_list(view: View, reviews: Sequence[Review]) -> None:
    """Draws a table of all reviews: candidate, state, author, and what is next. A single review has all of it
    in its card.
    """
    if len(reviews) == 1:
        return
    columns = text_columns("Candidate", "State", "Proposed by", "Next step")
    rows = []
    for review in reviews:
        run, decision, proposal = review.subject.run, review.decision, review.entry
        closed = f"Closed by {decision.author}, {day(decision.created)}" if decision else ""
        cell = widgets.run_cell(decision_tiles.mark_of(view, run)) if run else review.about
        by = f"{proposal.author}, {day(proposal.created)}"
        rows.append([cell, state_badge(review.state), by, review.missing or closed])
    st.html(widgets.stacked_table_html(columns, rows, kind="rd-words rd-reviews"))


def show(view: View, review: Review) -> None:
    with st.container(border=True, key="review", gap="small"):
        st.html(_head(view, review))
        st.html(checklist_html(view, review.checklist, review.online if review.is_open else ()))
        tiles = decision_tiles.show(view, review.offline, review.online)
        if tiles and review.is_open:  # else the decision shows them
            st.html(tiles)
        for entry in review.evidence:
            card.show_evidence(entry)
        card.show_comments(review.comments)
        forms.comment(view, review.id)
        if review.is_open:
            forms.next_step(view, review)


def _head(view: View, review: Review) -> Html:
    subject = review.subject
    chip = theme.chip(decision_tiles.mark_of(view, subject.run)) if subject.run else Html("")
    base = subject.baseline.name if subject.baseline else "the control"
    about = f"Proposed by {signature(review.entry)} · {subject.where} against {base}."
    return html(
        '<div class="rd-review"><h2>Review of {name}</h2><div class="rd-badges">{state}{chip}</div>'
        '{steps}{prose}<p class="rd-quiet">{about} {next}</p></div>',
        name=review.about,
        state=state_badge(review.state),
        chip=chip,
        steps=stepper(review),
        prose=prose(review.entry.text),
        about=about,
        next=f"Next: {review.missing}" if review.missing else "",
    )


def stepper(review: Review) -> Html:
    """Returns the steps of a review; those that are done say by which person and when."""
    done = {"proposed": review.entry}
    for entry in review.evidence:
        done["offline evidence" if entry.facts.get("offline") else "online evidence"] = entry
    held = review.decision.entry if review.decision and not review.is_open else None
    last = review.state if held else "approved or rejected"
    steps = [*((name, done.get(name)) for name in review.steps), (last, held)]
    return html('<ol class="rd-steps">{rows}</ol>', rows=join([_step(review, *step) for step in steps]))


def _step(review: Review, name: str, entry: Entry | None) -> Html:
    kind, sign, by = "", "○", "to come" if review.is_open else "left out"
    if entry:
        kind, sign, by = "rd-done", "●", f"{entry.author}, {day(entry.created)}"
    current = ' aria-current="step"' if name == review.state else ""
    text = '<b><span aria-hidden="true">{sign}</span> {name}</b><small>{by}</small>'
    return html(f'<li class="{kind}"{current}>{text}</li>', sign=sign, name=capital(name), by=by)


def checklist_html(view: View, items: Sequence[ChecklistItem], online: Sequence[Online] = ()) -> Html:
    """Returns the checklist with a row per check, which opens to show its numbers; ``online`` is the evidence
    of A/B tests that may still change.
    """
    rows = [_line(view, item, online) for item in items]
    return widgets.folding_rows(("Checklist", "State", "Why"), rows)


def _line(view: View, item: ChecklistItem, online: Sequence[Online]) -> Html:
    sign, tone = ITEM_SIGNS[item.state]
    marked = '<span><i class="rd-{tone}">{sign}</i> {state}</span>'
    state = html(marked, tone=tone, sign=sign, state=item.state)
    numbers = widgets.paragraphs(item.numbers)
    mark = links.explained(view, *EXPLAINED[item.name]) if item.name in EXPLAINED else ""
    question = html("{question}. {mark}", question=item.question, mark=mark)
    reason: object = item.reason
    if asks_for_guardrail(item) and (link := _to_set_guardrail(view, online)):
        reason = html("{reason} {link}", reason=item.reason, link=link)
    return widgets.folding_row(item.title, state, reason, question, numbers)


def _to_set_guardrail(view: View, online: Sequence[Online]) -> Html:
    """Returns a link to where a metric of an A/B test becomes a guardrail; empty if there is one, and for
    people who may not change it.
    """
    if not online or not forms.may_write() or any(test.of_role("guardrail") for test in online):
        return Html("")
    link = links.link(view, "Set one on Results", "ab-results", {"t": online[0].test.id})
    return html("{link} and attach the test again.", link=link)
