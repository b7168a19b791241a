"""Lets the reader choose a few runs of the leaderboard to compare."""

from __future__ import annotations

import streamlit as st

from recdash.domain.defaults import MOST_CANDIDATES
from recdash.formatting.wording import named_number
from recdash.ui.app import links, state
from recdash.ui.app.state import SEPARATOR, View
from recdash.ui.components import widgets
from recdash.ui.leaderboard.table import Board


def select(view: View, board: Board) -> None:
    """Draws the choice of the frame's candidates among the ranked runs."""
    baseline = view.shown[0].id
    ranked = [run for run in board.order if run != baseline]
    names = {run: _ranked_name(view, board, run) for run in (*view.candidate_ids, *ranked)}
    label, chosen = f"Runs to compare (at most {MOST_CANDIDATES})", list(view.candidate_ids)
    bound = widgets.bound_to_url("c", "leaderboard-selected", chosen, SEPARATOR.join)
    st.multiselect(label, **widgets.titled(names), max_selections=MOST_CANDIDATES, **bound)


def _ranked_name(view: View, board: Board, run_id: str) -> str:
    place = board.places.get(run_id)
    return f"{place.text} · {view.short(run_id)}" if place else view.short(run_id)


def compare_button(view: View, board: Board) -> None:
    """Draws a button that compares the runs that share the first rank, or else the chosen ones, over k."""
    first = shared_first(view, board)
    wanted = first or list(view.candidate_ids)
    label = "Compare with the baseline by k"
    if first:
        label = f"Compare the {named_number(len(first)).lower()} leaders by k"
    elif len(wanted) > 1:
        label = f"Compare the {named_number(len(wanted)).lower()} candidates by k"
    if wanted and st.button(label, type="primary", key="leaderboard-compare"):
        state.choose(c=SEPARATOR.join(run for run in wanted if run != view.shown[0].id))
        links.go("metric-vs-k")


def shared_first(view: View, board: Board) -> list[str]:
    """Returns the runs that share rank 1 if all of them can be shown at once; else an empty list."""
    baseline = view.shown[0].id
    first = [run for run, place in board.places.items() if place.rank == 1 and place.shared]
    few = len([run for run in first if run != baseline]) <= MOST_CANDIDATES
    return sorted(first, key=list(board.order).index) if few and set(first) <= set(board.order) else []
