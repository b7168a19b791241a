"""The part of the experiment that a view looks at: some users or items, and what counts as relevant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from recdash.domain.results import WHOLE
from recdash.formatting.html import Html, html, join
from recdash.ui.app import state
from recdash.ui.app.state import View, workspace

ALL = ""
AS_UPLOADED = "as uploaded"


def choose(view: View) -> None:
    """The select boxes, bound to the parameters ``s`` and ``th``."""
    asked = state.params()
    slices = {ALL: "All users and items", **_slices(view)}
    st.session_state["frame-slice"] = asked.get("s", ALL) if asked.get("s", ALL) in slices else ALL
    st.selectbox(
        "Users and items", list(slices), format_func=lambda one: slices[one], key="frame-slice",
        on_change=lambda: state.choose(s=st.session_state["frame-slice"] or None),
    )  # fmt: skip
    thresholds = {f"{one:g}": one for one in workspace().scopes.thresholds(view.experiment.id)}
    if thresholds:
        options = [ALL, *thresholds]
        st.session_state["frame-threshold"] = asked.get("th", ALL) if asked.get("th") in thresholds else ALL
        st.selectbox(
            "Relevant from", options, format_func=lambda one: one or _usual(view), key="frame-threshold",
            on_change=lambda: state.choose(th=st.session_state["frame-threshold"] or None),
        )  # fmt: skip
    st.caption("Overview, Leaderboard, Metric vs k, Precision–recall and Users follow.")


def _slices(view: View) -> Mapping[str, str]:
    return workspace().scopes.of(view.experiment.id, view.scope.threshold)


def _usual(view: View) -> str:
    threshold = view.experiment.settings.get("relevance_threshold")
    return AS_UPLOADED if threshold is None else f"{threshold:g}, as in the experiment"


def show(view: View, *, scoped: bool) -> None:
    """What part is looked at, so that nobody forgets it, and one click back to everything."""
    if scoped and view.scope != WHOLE:
        with st.container(horizontal=True, vertical_alignment="center", key="frame-scope"):
            show_words(view)
            st.button("Show all", key="frame-whole", on_click=lambda: state.choose(s=None, th=None))
    elif not scoped and {"s", "th"} & set(state.params()):
        st.caption("This page shows all users and items, whatever part is chosen.")


def show_words(view: View) -> None:
    """The part as chips; nothing where everybody is looked at."""
    if view.scope != WHOLE:
        st.html(_chips(in_words(view)))


def _chips(words: Sequence[str]) -> Html:
    chips = [html('<span class="rd-chip rd-chip-part"><bdi>{one}</bdi></span>', one=one) for one in words]
    return html('<div class="rd-frame-row"><span>Only</span>{chips}</div>', chips=join(chips))


def in_words(view: View) -> list[str]:
    """``Users new to the service``, ``relevant from 4``."""
    found = [_slices(view)[view.scope.slice]] if view.scope.slice else []
    return found + ([f"relevant from {view.scope.threshold:g}"] if view.scope.threshold is not None else [])
