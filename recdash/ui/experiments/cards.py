"""Experiments as cards or as a table; what takes long, the verdict, comes beside the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from recdash.comparison.badges import badge_of
from recdash.comparison.wording import plain
from recdash.formatting import numbers
from recdash.formatting.html import Html, html, join
from recdash.formatting.tables import number_columns, text_columns
from recdash.formatting.wording import day, many
from recdash.service.catalog.overview import Card, CardVerdict
from recdash.ui.app import cached, links
from recdash.ui.components import widgets

IN_A_ROW = 2
AT_A_TIME = 5
"""After so many verdicts the table is drawn again."""
COLUMNS = [
    *text_columns("Experiment", "Verdict"),
    *number_columns("Users", "Runs"),
    *text_columns("Decision", "Last change"),
]


def draw(cards: Sequence[Card]) -> None:
    for first in range(0, len(cards), IN_A_ROW):
        row = st.columns(IN_A_ROW, gap="medium")
        for column, card in zip(row, cards[first : first + IN_A_ROW], strict=False):
            with column:
                _draw_card(card)


def _draw_card(card: Card) -> None:
    with st.container(border=True, key=f"card-{card.experiment.id}", height="stretch", gap=None):
        st.html(head(card))
        _verdict(card.experiment.id)
        st.html(foot(card))


@st.fragment(parallel=True)
@widgets.show_errors
def _verdict(experiment_id: str) -> None:
    """Worked out beside the page, so that the list stands at once."""
    st.html(verdict_html(cached.card_verdict(experiment_id)))


def verdict_html(card: CardVerdict) -> Html:
    """Badge, headline, and the sentence that gives the evidence."""
    if card.verdict is None:
        return html('<p class="rd-glance-none">{why}.</p>', why=card.why_not)
    badge = badge_of(card.verdict)
    label = widgets.badge(f"{badge.sign} {badge.name}", badge.tone)
    first = plain(card.verdict.sentences[0]) if card.verdict.sentences else ""
    glance = '<div class="rd-glance-verdict">{label}<b>{headline}</b><p>{first}</p></div>'
    return html(glance, label=label, headline=card.verdict.headline, first=first)


def head(card: Card) -> Html:
    note = html("<p>{note}</p>", note=card.experiment.note) if card.experiment.note else Html("")
    glance = '<div class="rd-glance"><h2>{title}</h2><p>{question}.</p>{note}</div>'
    return html(glance, title=_title(card), question=card.question, note=note)


def _title(card: Card) -> Html:
    return html("{name} {marks}", name=_name(card), marks=_marks(card))


def _name(card: Card) -> Html:
    """Leads to the experiment's overview, where it is not archived."""
    if card.experiment.archived is not None:
        return html("<bdi>{name}</bdi>", name=card.experiment.name)
    to = f"./?{urlencode({'e': card.experiment.id, **links.embedded()})}"
    return html('<a class="rd-name" href="{to}"><bdi>{name}</bdi></a>', to=to, name=card.experiment.name)


def _marks(card: Card) -> Html:
    marks = [*(["Demo"] if card.experiment.demo else []), *(["Archived"] if card.experiment.archived else [])]
    return join(list(map(widgets.badge, marks)), " ")


def foot(card: Card) -> Html:
    """How many candidates, what was decided, what was done last."""
    tests = f" · {many(len(card.tests), 'A/B test')}" if card.tests else ""
    last = f"{card.last_change}, {day(card.last_change.when)}"
    lines = (f"{many(len(card.own), 'run').capitalize()}{tests}", card.stands, last)
    cells = join([html("<div>{line}</div>", line=line) for line in lines if line])
    return html('<div class="rd-glance-foot">{cells}</div>', cells=cells)


# ── the table ────────────────────────────────────────────────────────────────────────────────


@st.fragment(parallel=True)
@widgets.show_errors
def draw_table(cards: Sequence[Card]) -> None:
    """The table stands at once; verdicts come as they are worked out."""
    place = st.empty()
    known: dict[str, CardVerdict] = {}
    for index, card in enumerate(cards):
        if index % AT_A_TIME == 0:
            place.html(table_html(cards, known))
        known[card.experiment.id] = cached.card_verdict(card.experiment.id)
    place.html(table_html(cards, known))


def table_html(cards: Sequence[Card], known: Mapping[str, CardVerdict]) -> Html:
    rows = []
    for card in cards:
        experiment, last = card.experiment, card.last_change
        n_users, n_runs = numbers.count(experiment.settings.get("truth_users")), numbers.count(len(card.own))
        change = html("{change}<br><small>{when}</small>", change=str(last), when=day(last.when))
        verdict, stands = _short(known.get(experiment.id)), card.stands or numbers.NONE
        rows.append([_title(card), verdict, n_users, n_runs, stands, change])
    return widgets.table_html(COLUMNS, rows, kind="rd-words rd-experiments")


def _short(card: CardVerdict | None) -> Html:
    if card is None:
        return widgets.muted("working it out …")
    if card.verdict is None:
        return widgets.muted(card.why_not)
    badge = badge_of(card.verdict)
    sign, headline = widgets.toned(badge.sign, badge.tone), card.verdict.headline
    cell = "{sign} {headline}<br><small>{metric}</small>"
    return html(cell, sign=sign, headline=headline, metric=card.metric)
