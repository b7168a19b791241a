"""The choice of a part of the experiment: some users or items, and what counts as relevant."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.domain.results import WHOLE
from recdash.formatting.html import html, join
from recdash.ui.app import state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

ALL = ""
AS_UPLOADED = "as uploaded"


def choose(view: View) -> None:
    """Draws the select boxes for the parameters ``s`` and ``th``."""
    params = state.params()
    slices = {ALL: "All users and items", **_slices(view)}
    chosen = params.get("s", ALL) if params.get("s", ALL) in slices else ALL
    bound = widgets.bound_to_url("s", "frame-slice", chosen, _or_default)
    st.selectbox("Users and items", **widgets.titled(slices), **bound)
    in_force = view.experiment.settings.get("relevance_threshold")
    possible = workspace().scopes.thresholds(view.experiment.id)
    thresholds = [f"{value:g}" for value in possible if value != in_force]
    if thresholds:
        usual = AS_UPLOADED if in_force is None else f"{in_force:g}, as in the experiment"
        titles = {ALL: usual, **{threshold: threshold for threshold in thresholds}}
        chosen = params.get("th", ALL) if params.get("th") in thresholds else ALL
        bound = widgets.bound_to_url("th", "frame-threshold", chosen, _or_default)
        st.selectbox("Relevant from", **widgets.titled(titles), **bound)
    st.caption("Applies to Decision, Compare and Users.")


def title(view: View) -> str:
    """Returns the chosen part in words, or ``All users``."""
    return ", ".join(in_words(view)) or "All users"


def _or_default(chosen: str) -> str | None:
    return chosen or None


def _slices(view: View) -> Mapping[str, str]:
    return workspace().scopes.of(view.experiment.id, view.scope.threshold)


def show(view: View, *, scoped: bool) -> None:
    """Draws the chosen part with a button to show all; if the page ignores a chosen part, says so."""
    if scoped and view.scope != WHOLE:
        with st.container(horizontal=True, vertical_alignment="center", key="frame-scope"):
            show_words(view)
            st.button("Show all", key="frame-whole", on_click=lambda: state.choose(s=None, th=None))
    elif not scoped and {"s", "th"} & set(state.params()):
        st.caption("This page always shows all users and items.")


def show_words(view: View) -> None:
    """Draws the chosen part as chips; nothing for the whole experiment."""
    if view.scope != WHOLE:
        chip = '<span class="rd-chip rd-chip-part"><bdi>{words}</bdi></span>'
        chips = join([html(chip, words=words) for words in in_words(view)])
        st.html(html('<div class="rd-frame-row"><span>Only</span>{chips}</div>', chips=chips))


def in_words(view: View) -> list[str]:
    """Returns the chosen part in words, such as [``Users new to the service``, ``relevant from 4``]; empty
    for all.
    """
    words = [_slices(view)[view.scope.slice]] if view.scope.slice else []
    return words + ([f"relevant from {view.scope.threshold:g}"] if view.scope.threshold is not None else [])
