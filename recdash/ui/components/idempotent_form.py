"""Forms that store one entry even if they are sent several times."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from recdash.errors import RecdashError
from recdash.service.decisions.journal import MOST_AUTHOR, MOST_CHARS
from recdash.ui.app import state
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets

Sent = dict[str, Any]
"""The author and key of a form, as arguments of a service's method."""
_KEYS = "recdash.form-keys"


def key(form: str) -> str:
    """Returns the form's key, which stays the same until it was accepted, so that a second click stores
    nothing more.
    """
    known: dict[str, str] = st.session_state.setdefault(_KEYS, {})
    return known.setdefault(form, secrets.token_hex(8))


def send(form: str, write: Callable[[Sent], object], done: str) -> None:
    """Stores what the form says, and starts with an empty form; if that fails, shows the error at the
    form.
    """
    try:
        write({"key": key(form), "author": st.session_state.get(f"{form}-author", "")})
    except RecdashError as error:
        widgets.problems(error)
        return
    st.session_state[_KEYS].pop(form)
    state.toast(done)
    st.rerun()


def submit(
    form: str,
    label: str,
    write: Callable[[Sent], object],
    done: str,
    *,
    key: str,
    kind: Literal["primary", "secondary"] = "primary",
) -> None:
    """Draws the author's box and the button at the end of a form: see :func:`send`."""
    author(form)
    if st.form_submit_button(label, type=kind, key=key):
        send(form, write, done)


def text_area(form: str, label: str, *, name: str = "text", height: int = 110) -> str:
    return str(st.text_area(label, key=f"{form}-{name}-{key(form)}", max_chars=MOST_CHARS, height=height))


def author(form: str) -> None:
    """Draws a box for the person's name; nothing if people sign in."""
    person = workspace().person
    if not person.named:
        st.text_input("Your name", person.name, key=f"{form}-author", max_chars=MOST_AUTHOR, width=300)


def pick(
    form: str, label: str, options: Mapping[str, str], wanted: str | None = None, *, name: str = "pick"
) -> str:
    """Draws a choice of ``options`` ({value: label}) in a form and returns the chosen value, at first
    ``wanted``.
    """
    return str(widgets.pick(label, options, wanted, f"{form}-{name}-{key(form)}", width=420))


def outcome(form: str, options: Mapping[str, str], wanted: str | None = None) -> str:
    """Draws the choice of an outcome and returns it, at first ``wanted``; empty as long as none is chosen."""
    radio, values = f"{form}-outcome-{key(form)}", list(options)
    index = values.index(wanted) if wanted in values else None
    chosen = st.radio("Outcome", **widgets.titled(options), index=index, key=radio, horizontal=True)
    return str(chosen or "")
