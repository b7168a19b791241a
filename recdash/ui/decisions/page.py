"""The page Reports & decisions: what holds now, the reviews, what can be done, and who did what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.decisions import Decision, Review, decisions, last_decision, reviews
from recdash.domain.journal import Entry
from recdash.formatting.html import html, join
from recdash.formatting.wording import day
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import idempotent_form, widgets
from recdash.ui.components.decision_links import excerpt
from recdash.ui.components.widgets import TableColumn, table_html
from recdash.ui.decisions import card, forms, review, wording

GUIDE = {
    "review": "the review of a candidate", "checklist": "its checklist", "decision": "what a decision keeps",
}  # fmt: skip
FEW = 12
"""The history shows so many lines at first."""


def show(view: View) -> None:
    """Everything but the reports."""
    idempotent_form.show_toast()
    entries = workspace().journal.entries(view.experiment.id)
    made, asked = decisions(entries[::-1]), reviews(entries[::-1])
    open_ = [one for one in asked if one.is_open]
    if not entries:
        _nothing(view)
        return
    widgets.title(wording.finding(last_decision(entries[::-1]), open_), wording.subtitle(entries))
    _show_decision(view, made)
    _show_reviews(view, asked)
    forms.begin(view)
    show_history(entries)
    _show_guide(view)


def _nothing(view: View) -> None:
    """What there will be, and how to begin."""
    may = forms.may_write()
    widgets.empty(
        "Nothing is decided yet",
        "Propose a candidate for a review, which collects offline and online evidence, or decide right away. "
        "The numbers are kept as they stand at that moment."
        if may
        else "Once an editor proposes a candidate or decides, it stands here with its reasons and numbers.",
    )
    forms.begin(view)


def _show_decision(view: View, made: Sequence[Decision]) -> None:
    if not made:
        return
    known = {one.id: one for one in made}
    held = next((one for one in made if one.is_current), made[0])
    chosen = _choose("Decision", "dec", {one.id: wording.label(one) for one in made}, held.id)
    one = known[chosen]
    card.show(view, one, known.get(one.superseded_by or ""))


def _show_reviews(view: View, asked: Sequence[Review]) -> None:
    if not asked:
        return
    count = len([one for one in asked if one.is_open])
    widgets.section("Reviews", f"{count or 'None'} of {len(asked)} open")
    review.show_list(view, asked)
    known = {one.id: one for one in asked}
    first = next((one for one in asked if one.is_open), asked[0])
    labels = {one.id: f"{one.about}: {one.state}, proposed {day(one.entry.created)}" for one in asked}
    review.show(view, known[_choose("Review", "rev", labels, first.id)])


def _choose(label: str, name: str, options: Mapping[str, str], default: str) -> str:
    """One of several, bound to the URL; nothing to choose of one."""
    links.tell_unknown(name, label.lower(), options)
    value = state.option(name, default, list(options))
    if len(options) > 1:
        st.session_state[f"choose-{name}"] = value
        st.selectbox(
            label, list(options), format_func=lambda one: options[one], key=f"choose-{name}", width=560,
            on_change=lambda: state.choose(**{name: st.session_state[f"choose-{name}"]}),
        )  # fmt: skip
    state.write(name, value)
    return value


def _show_guide(view: View) -> None:
    """Where the page's words are explained."""
    found = [links.link(view, text, "guide", {"metric": slug}) for slug, text in GUIDE.items()]
    st.html(html('<div class="rd-note"><p>In the guide: {links}.</p></div>', links=join(found, ", ")))


def show_history(entries: Sequence[Entry]) -> None:
    """Who did what, the newest first."""
    widgets.section("History", "Who did what, the newest first. All days on this page are in UTC.")
    known = {one.id: one for one in entries}
    columns = [TableColumn("When"), TableColumn("Who"), TableColumn("What"), TableColumn("Words")]
    rows = [
        [wording.moment(one.created), one.author, wording.deed(one, known),
         excerpt(one.text)]
        for one in entries
    ]  # fmt: skip
    st.html(table_html(columns, rows[:FEW], kind="rd-words rd-history"))
    if rows[FEW:]:
        with st.expander(f"{len(rows) - FEW} earlier lines"):
            st.html(table_html(columns, rows[FEW:], kind="rd-words rd-history"))
