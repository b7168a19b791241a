"""A button that completes a candidate with popular items for users without a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import streamlit as st

from recdash.domain.defaults import MOST_CANDIDATES
from recdash.errors import RecdashError
from recdash.formatting.html import markdown
from recdash.formatting.wording import many
from recdash.service import FallbackOffer
from recdash.ui.app import answers, cached, state
from recdash.ui.components import widgets

if TYPE_CHECKING:
    from recdash.comparison import ComparisonQuery


def in_popover(run_ids: Sequence[str], query: ComparisonQuery, shown: Sequence[str], key: str) -> None:
    """Draws the offers in a popover; nothing if there are none, and for viewers."""
    if offers := _offers(run_ids):
        # Another key closes the popover once a run was added: it would offer the next run over the page.
        with st.popover("Add popular items", type="tertiary", key=f"{key}-{len(offers)}"):
            _choose(offers, query, shown)


def offer(run_ids: Sequence[str], query: ComparisonQuery) -> None:
    """Draws the offers of the runs; nothing if there are none, and for viewers. ``query`` has the metric for
    which they say what a completed run would have.
    """
    if offers := _offers(run_ids):
        _choose(offers, query, ())


def _offers(run_ids: Sequence[str]) -> list[FallbackOffer]:
    workspace = state.workspace()
    return workspace.runs.fallback_offer(run_ids) if workspace.person.may("editor") else []


def _choose(offers: Sequence[FallbackOffer], query: ComparisonQuery, shown: Sequence[str]) -> None:
    """Draws the offer of one run, with a choice of it if there are several.

    ``shown`` are the candidates that the page compares. The new run is added to them, unless they are already
    as many as a page can compare.
    """
    names = {known.run_id: known.name for known in offers}
    chosen = offers[0].run_id
    if len(offers) > 1:
        label, key = f"{len(offers)} runs leave out users", "run-to-complete"
        chosen = widgets.pick(label, names, chosen, key, width=widgets.BOX)
    known = next(known for known in offers if known.run_id == chosen)
    comparisons = state.workspace().comparisons
    others = comparisons.verdict_state(query.baseline)  # a run of popular items may have been added
    expected = answers.answer(comparisons.completion, (query, chosen), version=others)
    with st.container(key=f"fallback-{known.run_id}", gap="small"):
        st.markdown(markdown(" ".join([sentence(known), *(expected.sentences if expected else ())])))
        if st.button("Add it with popular items for them", key=f"add-fallback-{known.run_id}"):
            _add(known, shown)
        if len(shown) >= MOST_CANDIDATES:
            text = f"At most {MOST_CANDIDATES} candidates are compared: then choose it in the row above."
            st.caption(text)


def sentence(known: FallbackOffer) -> str:
    """Returns a sentence such as ``110 users with a relevant item get no recommendations from ItemKNN.``"""
    get = "gets" if known.n_users == 1 else "get"
    return f"{many(known.n_users, 'user')} with a relevant item {get} no recommendations from {known.name}."


def _add(known: FallbackOffer, shown: Sequence[str]) -> None:
    progress = cached.progress(f"Completing {known.name}")
    try:
        added = state.workspace().runs.add_fallback(known.run_id, progress)
    except RecdashError as error:
        widgets.problems(error)
    else:
        is_compared = 0 < len(shown) < MOST_CANDIDATES
        if is_compared:
            state.choose(c=state.SEPARATOR.join([*shown, added.run.id]))
        how = " and compared with the others" if is_compared else ""
        state.toast(f"{markdown(added.run.name)} is added{how}.")
        st.rerun()
