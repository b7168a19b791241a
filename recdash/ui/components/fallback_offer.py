"""A button that completes a candidate with popular items for users without a list."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from recdash.domain.defaults import MOST_CANDIDATES
from recdash.errors import RecdashError
from recdash.formatting.html import markdown
from recdash.formatting.wording import many
from recdash.service import FallbackOffer
from recdash.ui.app import cached, state
from recdash.ui.components import widgets


def offer(run_ids: Sequence[str], *, shown: Sequence[str] = (), expected: str = "") -> None:
    """Draws a button for each of the runs that can be completed with popular items; nothing for viewers.

    ``expected`` says what may come of it. ``shown`` are the candidates that the page compares. A new one is
    added to them, unless they are already as many as a page can compare.
    """
    workspace = state.workspace()
    if not workspace.person.may("editor"):
        return
    for known in workspace.runs.fallback_offer(run_ids):
        _draw(known, shown, expected)


def offer_one(run_ids: Sequence[str]) -> None:
    """Draws the same for one of the runs, with a choice of it if there are several; nothing for viewers."""
    workspace = state.workspace()
    offers = workspace.runs.fallback_offer(run_ids) if workspace.person.may("editor") else []
    if not offers:
        return
    names = {known.run_id: known.name for known in offers}
    chosen = offers[0].run_id
    if len(offers) > 1:
        label, key = f"{len(offers)} runs leave out users", "run-to-complete"
        chosen = widgets.pick(label, names, chosen, key, width=widgets.BOX)
    _draw(next(known for known in offers if known.run_id == chosen), (), "")


def _draw(known: FallbackOffer, shown: Sequence[str], expected: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"fallback-{known.run_id}"):
        st.markdown(markdown(" ".join(filter(None, (sentence(known), expected)))))
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
        if 0 < len(shown) < MOST_CANDIDATES:
            state.choose(c=state.SEPARATOR.join([*shown, added.run.id]))
        state.toast(f"Added {markdown(added.run.name)}.")
        st.rerun()
