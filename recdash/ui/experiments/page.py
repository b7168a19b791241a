"""The list of experiments: search, order, cards or a table, each with its verdict."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from recdash.formatting import numbers
from recdash.formatting.wording import day, many
from recdash.service.catalog.overview import Card
from recdash.ui.app import state
from recdash.ui.components import widgets
from recdash.ui.experiments import cards as experiment_cards

SEARCH, PAGE = "find", "at"
ORDERS = {"change": "Last change", "name": "Name", "size": "Runs"}
KINDS = {"cards": "Cards", "table": "Table"}
AT_ONCE = {"cards": 12, "table": 25}
"""So many are drawn at a time."""
_BY: Mapping[str, Callable[[Card], Any]] = {
    "change": lambda card: -card.last_change.when.timestamp(),
    "name": lambda card: card.experiment.name.casefold(),
    "size": lambda card: -len(card.own),
}


@dataclass(frozen=True)
class Listed:
    """The cards that match the ``words``, of ``n`` in all; ``archived``: how many archived ones match too."""

    cards: Sequence[Card]
    n: int
    archived: int
    words: str


def show() -> None:
    title = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        words = _search()
        order = widgets.choice("Order", "sort", ORDERS, "change")
        kind = widgets.choice("Show as", "as", KINDS, "cards")
        old = widgets.choice("Archived", "old", {"hide": "Hide", "show": "Show"}, "hide") == "show"
    cards = gather(words, archived=old)
    with title:
        widgets.title(finding(cards), subtitle(cards))
    matching = _page_of(sorted(cards.cards, key=_BY[order]), AT_ONCE[kind])
    if not matching:
        _nothing(cards)
    elif kind == "cards":
        experiment_cards.draw(matching)
    else:
        experiment_cards.draw_table(matching)


def gather(words: str, *, archived: bool) -> Listed:
    space = state.workspace()
    holding = space.overview.cards(words, archived=True)
    everything = space.overview.cards(archived=True)
    if archived:
        return Listed(holding, len(everything), 0, words)
    active = [card for card in holding if card.experiment.archived is None]
    n = sum(card.experiment.archived is None for card in everything)
    return Listed(active, n, len(holding) - len(active), words)


def finding(cards: Listed) -> str:
    matching = many(len(cards.cards), "experiment").capitalize()
    if not cards.words:
        return matching
    verb = "holds" if len(cards.cards) == 1 else "hold"
    return f"{matching} of {numbers.count(cards.n)} {verb} “{cards.words}”"


def subtitle(cards: Listed) -> str:
    """What happened last, and what is not shown."""
    hidden = many(cards.archived, "archived experiment").capitalize()
    archived = f" {hidden} not shown." if cards.archived else ""
    newest = max(cards.cards, key=lambda card: card.last_change.when, default=None)
    if newest is None:
        return archived.strip() or "Names, tags and notes of experiments and runs are searched."
    last = newest.last_change
    return f"Last change: {newest.experiment.name}, {last.inside}, {day(last.when)} (days in UTC).{archived}"


def _search() -> str:
    box = widgets.bound(SEARCH, "experiments-search", state.params().get(SEARCH, ""), reset=(PAGE,))
    placeholder = "name, run, tag or note"
    text = st.text_input("Search", type="search", width=300, placeholder=placeholder, **box)
    words = (text or "").strip()
    state.write(SEARCH, words or None)
    return words


def _nothing(cards: Listed) -> None:
    if cards.archived:
        st.info("Only archived experiments hold this: show them above.")
    elif cards.words:
        st.info("Every word must occur in a name, a tag or a note. Try fewer of them.")


# ── pages of the list ────────────────────────────────────────────────────────────────────────


def _page_of(cards: Sequence[Card], at_once: int) -> Sequence[Card]:
    """The cards of the page that the link names; of one beyond the last, those of the last."""
    pages = max(1, -(-len(cards) // at_once))
    wanted = state.params().get(PAGE, "1")
    number = min(pages, int(wanted)) if wanted.isdecimal() and 0 < len(wanted) < 7 and int(wanted) else 1
    state.write(PAGE, str(number) if pages > 1 else None)
    first = (number - 1) * at_once
    if pages > 1:
        last = min(len(cards), first + at_once)
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _turn_to("← Before", number - 1, disabled=number == 1)
            _turn_to("Next →", number + 1, disabled=number == pages)
            st.caption(f"{first + 1} to {last} of {numbers.count(len(cards))}")
    return cards[first : first + at_once]


def _turn_to(label: str, number: int, *, disabled: bool) -> None:
    turn = partial(state.choose, **{PAGE: str(number)})
    st.button(label, key=f"experiments-{label}", disabled=disabled, on_click=turn)
