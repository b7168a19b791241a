"""Carries out what a person clicked, confirms it, and offers to undo it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from recdash.errors import RecdashError
from recdash.formatting import html
from recdash.ui.app import state
from recdash.ui.components import widgets

UNDO = "recdash.undo"


def offer_undo(done: str, undo: Callable[[], object]) -> None:
    """Confirms in a toast what was ``done``, and keeps a button Undo on the page until the next action."""
    st.session_state[UNDO] = (done, undo)
    state.toast(f"{html.markdown(done)} Undo is on top.")


def show_undo() -> None:
    """Draws the button Undo after an action that can be undone."""
    if UNDO not in st.session_state:
        return
    done, undo = st.session_state[UNDO]
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="undo-bar"):
        st.markdown(html.markdown(done))
        if st.button("Undo", key="undo"):
            del st.session_state[UNDO]
            undo()
            st.rerun()


def delete_form(
    noun: str, name: str, key: str, delete: Callable[[str], object], *, called: str = "name"
) -> None:
    """Draws a form that deletes something for good after its name was typed.

    ``called`` is what the name is called, such as "title".
    """
    with st.form(f"delete-{key}", border=False):
        label = f"To delete this {noun} for good, type its {called}"
        typed = st.text_input(label, key=f"delete-name-{key}", placeholder=name, width=420)
        if st.form_submit_button("Delete for good", key=f"delete-{noun}-{key}"):
            attempt(lambda: delete(typed), f"Deleted the {noun} {html.markdown(name)}.")


def attempt(action: Callable[[], object], done: str = "Saved.", *, keeps_undo: bool = False) -> None:
    """Calls ``action``, confirms it and redraws the page; if it fails, shows the error at the form.

    ``keeps_undo`` is whether the action offers an undo itself.
    """
    try:
        action()
    except RecdashError as error:
        widgets.problems(error)
    else:
        if not keeps_undo:
            st.session_state.pop(UNDO, None)
        state.toast(done)
        st.rerun()
