"""One review: where it stands, its checklist, its evidence, and what can be done next."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.decisions import ChecklistItem, Review
from recdash.domain.journal import Entry
from recdash.formatting.html import Html, html, join
from recdash.formatting.wording import day
from recdash.ui.app import theme
from recdash.ui.app.state import View
from recdash.ui.components import widgets
from recdash.ui.components.widgets import TableColumn, table_html
from recdash.ui.decisions import card, forms
from recdash.ui.decisions import tiles as decision_tiles
from recdash.ui.decisions.card import ITEM_SIGNS
from recdash.ui.decisions.wording import capital, prose, signature, state_badge

STEPS = ("proposed", "offline evidence", "online evidence")


def show_list(view: View, reviews: Sequence[Review]) -> None:
    """All reviews: whom, how far, who asked, what is next."""
    columns = [
        TableColumn("Candidate"),
        TableColumn("State"),
        TableColumn("Proposed by"),
        TableColumn("Next"),
    ]
    rows = [
        [_run_cell(view, one), state_badge(one.state), f"{one.entry.author}, {day(one.entry.created)}",
         one.missing or _closed(one)]
        for one in reviews
    ]  # fmt: skip
    st.html(table_html(columns, rows, kind="rd-words rd-reviews"))


def _run_cell(view: View, one: Review) -> Html:
    run = one.subject.run
    return widgets.run_cell(decision_tiles.mark_of(view, run)) if run else Html("")


def _closed(one: Review) -> str:
    held = one.decision
    return f"by {held.author}, {day(held.created)}" if held else ""


def show(view: View, one: Review) -> None:
    with st.container(border=True, key="review", gap="small"):
        st.html(_head(view, one))
        st.html(checklist_html(one.checklist))
        tiles = decision_tiles.show(view, one.offline, one.online)
        if tiles:
            st.html(tiles)
        for entry in one.evidence:
            card.show_evidence(entry)
        card.show_comments(one.comments)
        forms.comment(view, one.id)
        if one.is_open:
            forms.next_step(view, one)


def _head(view: View, one: Review) -> Html:
    asked = one.subject
    chip = theme.chip(decision_tiles.mark_of(view, asked.run)) if asked.run else Html("")
    base = asked.baseline.name if asked.baseline else ""
    return html(
        '<div class="rd-review"><h2>Review of {name}</h2><div class="rd-badges">{state}{chip}</div>'
        '{steps}{prose}<p class="rd-quiet">Proposed by {by} · {where} against {base}. {next}</p></div>',
        name=one.about, state=state_badge(one.state), chip=chip, steps=stepper(one),
        prose=prose(one.entry.text), by=signature(one.entry), where=asked.where, base=base,
        next=f"Next: {one.missing}" if one.missing else "",
    )  # fmt: skip


def stepper(one: Review) -> Html:
    """Four steps, those that are done with who did them and when."""
    done = {
        "proposed": one.entry,
        **{("offline evidence" if entry.facts.get("offline") else "online evidence"): entry
           for entry in one.evidence},
    }  # fmt: skip
    held = one.decision.entry if one.decision and not one.is_open else None
    last = one.state if held else "approved or rejected"
    steps = [*((name, done.get(name)) for name in STEPS), (last, held)]
    return html('<ol class="rd-steps">{rows}</ol>', rows=join([_step(one, *step) for step in steps]))


def _step(one: Review, name: str, entry: Entry | None) -> Html:
    by = "to come" if one.is_open else "left out"
    return html(
        '<li class="{kind}"{current}><b><span aria-hidden="true">{sign}</span> {name}</b>'
        "<small>{by}</small></li>",
        kind="rd-done" if entry else "", sign="●" if entry else "○", name=capital(name),
        current=Html(' aria-current="step"') if name == one.state else Html(""),
        by=f"{entry.author}, {day(entry.created)}" if entry else by,
    )  # fmt: skip


def checklist_html(items: Sequence[ChecklistItem]) -> Html:
    """One line per item, which opens to its numbers."""
    head = html('<div class="rd-why-head"><span>Checklist</span><span>State</span><span>Why</span></div>')
    return html('<div class="rd-why">{head}{rows}</div>', head=head, rows=join([_line(one) for one in items]))


def _line(one: ChecklistItem) -> Html:
    sign, tone = ITEM_SIGNS[one.state]
    numbers = join([html("<p>{line}</p>", line=line) for line in one.numbers])
    return html(
        '<details><summary><b>{name}</b><span><i class="rd-{tone}">{sign}</i> {state}</span>'
        '<span>{reason}</span></summary><div class="rd-why-body"><p class="rd-muted">{question}.</p>{numbers}'
        "</div></details>",
        name=one.name, tone=tone, sign=sign, state=one.state, reason=one.reason, question=one.question,
        numbers=numbers,
    )  # fmt: skip
