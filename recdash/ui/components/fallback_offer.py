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


def offer(run_ids: Sequence[str], *, n_shown: int = 0) -> None:
    """One line and one button for each of the runs that leaves users out; nothing for viewers.

    ``n_shown`` is the number of candidates that the page compares; with the most that it can, a new one
    stays out until it is chosen.
    """
    workspace = state.workspace()
    if not workspace.person.may("editor"):
        return
    for known in workspace.runs.fallback_offer(run_ids):
        with st.container(horizontal=True, vertical_alignment="center", key=f"fallback-{known.run_id}"):
            st.markdown(f"{markdown(sentence(known))}")
            if st.button("Add it with popular items for them", key=f"add-fallback-{known.run_id}"):
                _add(known)
            if n_shown >= MOST_CANDIDATES:
                st.caption(
                    f"At most {MOST_CANDIDATES} candidates are compared: then choose it in the row above."
                )


def sentence(known: FallbackOffer) -> str:
    """Returns ``ItemKNN 100 gives 110 users no recommendations.``"""
    return f"{known.name} gives {many(known.n_users, 'user')} no recommendations."


def _add(known: FallbackOffer) -> None:
    progress = cached.progress(f"Completing {known.name}")
    try:
        added = state.workspace().runs.add_fallback(known.run_id, progress)
    except RecdashError as error:
        widgets.problems(error)
    else:
        st.session_state["recdash.toast"] = f"Added {markdown(added.run.name)}."
        st.rerun()
