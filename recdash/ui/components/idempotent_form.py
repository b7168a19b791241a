"""Forms that store one entry even if they are sent several times."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from typing import Any, Literal

import streamlit as st

from recdash.errors import InputError, Problem, RecdashError
from recdash.service.context import KEY_HOLDER, UNNAMED
from recdash.service.decisions.journal import MOST_AUTHOR, MOST_CHARS
from recdash.ui.app import current_user, state
from recdash.ui.app.state import workspace
from recdash.ui.components import widgets

Sent = dict[str, Any]
"""The author and key of a form, as arguments of a service's method."""
_KEYS = "recdash.form-keys"
NO_NAME = Problem("no-name", "your name", "it is empty", "Enter the name that others will see.")


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
    is_asked = _author_key(form) in st.session_state
    name = str(st.session_state.get(_author_key(form), "")).strip()
    try:
        if is_asked and not name:
            raise InputError(NO_NAME)
        write({"key": key(form), "author": name})
    except RecdashError as error:
        widgets.problems(error)
        return
    if name:
        current_user.remember_name(name)
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
    if not workspace().person.named:
        st.text_input(
            "Your name",
            _known_name(),
            key=_author_key(form),
            max_chars=MOST_AUTHOR,
            placeholder="Others see it beside what you write",
            width=300,
        )


def _known_name() -> str:
    """Returns the person's name; empty if it only stands for a name that is missing."""
    name = workspace().person.name
    return "" if name in {UNNAMED, KEY_HOLDER} else name


def _author_key(form: str) -> str:
    """Returns the key of the name's box, which is a new one once the name is known."""
    return f"{form}-author-{_known_name()}"


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
