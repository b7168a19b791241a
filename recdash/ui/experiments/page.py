"""The page Home: experiments and A/B tests in one list, with search and order."""

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
from recdash.ui.experiments import rows

SEARCH, PAGE, ARCHIVED = "find", "at", "old"
ORDERS = {"change": "Last change", "name": "Name", "size": "Runs"}
AT_ONCE = 50
"""The number of rows on one page of the list."""
_BY: Mapping[str, Callable[[Card], Any]] = {
    "change": lambda card: -card.last_change.when.timestamp(),
    "name": lambda card: card.experiment.name.casefold(),
    "size": lambda card: -len(card.own_runs),
}


@dataclass(frozen=True)
class Listed:
    """The experiments that match the search ``words``, of ``n`` in all; ``archived`` is the number of hidden
    matches.
    """

    cards: Sequence[Card]
    n: int
    archived: int
    words: str


def show() -> None:
    title = st.container()
    listed = state.workspace().overview.cards(archived=True)
    words, order, archived_too = "", "change", False
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        if len(listed) > 1 or SEARCH in state.params():
            words, order = _search(), widgets.choice("Order", "sort", ORDERS, "change")
        if any(card.experiment.archived for card in listed):
            archived_too = _archived_too()
    cards = gather(listed, words, archived=archived_too)
    with title:
        widgets.title(finding(cards), subtitle(cards))
    matching = _page_of(sorted(cards.cards, key=_BY[order]), AT_ONCE)
    if matching:
        rows.draw(matching)
    else:
        _nothing(cards)


def gather(listed: Sequence[Card], words: str, *, archived: bool) -> Listed:
    """Returns the experiments that match the words; archived ones only if ``archived``."""
    holding = [card for card in listed if card.mentions(words)]
    if archived:
        return Listed(holding, len(listed), 0, words)
    active = [card for card in holding if card.experiment.archived is None]
    n = sum(card.experiment.archived is None for card in listed)
    return Listed(active, n, len(holding) - len(active), words)


def finding(cards: Listed) -> str:
    matching = many(len(cards.cards), "experiment").capitalize()
    if not cards.words:
        return f"{matching}, {_decided(cards.cards)}" if cards.cards else matching
    verb = "holds" if len(cards.cards) == 1 else "hold"
    return f"{matching} of {numbers.count(cards.n)} {verb} “{cards.words}”"


def _decided(cards: Sequence[Card]) -> str:
    """Returns how many experiments have a decision, such as ``2 decided`` or ``none decided yet``."""
    n = sum(card.decision is not None for card in cards)
    if len(cards) == 1:
        return "decided" if n else "not decided yet"
    return f"{numbers.count(n)} decided" if n else "none decided yet"


def subtitle(cards: Listed) -> str:
    """Returns the line below the headline: the last change, and how many archived matches are hidden."""
    hidden = many(cards.archived, "archived experiment").capitalize()
    archived = f" {hidden} not shown." if cards.archived else ""
    newest = max(cards.cards, key=lambda card: card.last_change.when, default=None)
    if newest is None:
        return archived.strip() or "Names, tags and notes of experiments and runs are searched."
    last = newest.last_change
    return f"Last change: {newest.experiment.name}, {last.inside}, {day(last.when)} (days in UTC).{archived}"


def _search() -> str:
    box = widgets.bound_to_url(SEARCH, "experiments-search", state.params().get(SEARCH, ""), reset=(PAGE,))
    placeholder = "name, run, tag or note"
    text = st.text_input("Search", type="search", width=300, placeholder=placeholder, **box)
    words = (text or "").strip()
    state.write(SEARCH, words or None)
    return words


def _archived_too() -> bool:
    """Draws the switch for archived experiments, and returns whether it is on."""
    chosen = state.option(ARCHIVED, "hide", ("hide", "show"))
    box = widgets.bound_to_url(
        ARCHIVED, "experiments-archived", chosen == "show", lambda shown: "show" if shown else None
    )
    is_on = st.toggle("Show archived", **box)
    state.write(ARCHIVED, "show" if is_on else None)
    return is_on


def _nothing(cards: Listed) -> None:
    if cards.archived:
        st.info("Only archived experiments match. Switch on “Show archived” to see them.")
    elif cards.words:
        st.info("Every word must occur in a name, a tag or a note. Try fewer of them.")


# ── pages of the list ────────────────────────────────────────────────────────────────────────


def _page_of(cards: Sequence[Card], at_once: int) -> Sequence[Card]:
    """Draws the buttons between pages of the list, and returns the cards of the page in the link, or of the
    last page.
    """
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
