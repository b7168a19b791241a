"""The page API tokens: create, list and revoke the tokens with which programs use the HTTP API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import streamlit as st

from recdash.domain.access import AccessRole
from recdash.domain.journal import ApiToken
from recdash.errors import RecdashError
from recdash.formatting.html import Html, markdown
from recdash.formatting.wording import capital, day, many
from recdash.service.access.tokens import LABEL_CHARS, MOST_DAYS, USUAL_DAYS, NewToken
from recdash.ui.app import links
from recdash.ui.app.state import workspace
from recdash.ui.components import actions, widgets

ROLES: Mapping[AccessRole, str] = {
    "viewer": "Viewer: reads",
    "editor": "Editor: reads and stores files",
    "admin": "Admin",
}
SUBTITLE = "Programs send a token instead of signing in. The audit log says who created and revoked which."
WIDTH, NARROW = 300, 190
ROW_WIDTH = 520
"""The width of a token's words in px, so that its button stands near them in a wide window, too."""


@dataclass
class TokenForm:
    """The state of the form, which is mutable on purpose.

    The result of a click is recorded at once, so that a second click finds it.
    """

    turn: int = 0
    made: NewToken | None = None
    refused: RecdashError | None = None


def show() -> None:
    """Draws the list of tokens, and the form for a new one, or the new one once."""
    form: TokenForm = st.session_state.setdefault("recdash.token-form", TokenForm())
    tokens = workspace().tokens.all()
    active = [token for token in tokens if workspace().tokens.state(token) == "active"]
    if tokens:
        widgets.title(capital(f"{many(len(active), 'token')} in use by programs"), SUBTITLE)
    else:
        widgets.empty("No program has a token", SUBTITLE)
    if form.made is not None:
        _show_once(form, form.made)
    else:
        _create(form)
    if tokens:
        widgets.section("Tokens")
        uses = workspace().tokens.last_uses()
        for token in sorted(tokens, key=lambda token: token not in active):
            _row(token, uses.get(token.id))


def _create(form: TokenForm) -> None:
    widgets.section("Create a token")
    label, role, days = (f"token-{name}-{form.turn}" for name in ("label", "role", "days"))
    with st.form(f"make-token-{form.turn}", border=False):
        st.text_input(
            "Program", key=label, max_chars=LABEL_CHARS, placeholder="nightly training", width=WIDTH
        )
        st.selectbox("Role", list(ROLES), format_func=ROLES.__getitem__, key=role, width=WIDTH)
        st.number_input(
            "Days until it expires",
            min_value=1,
            max_value=MOST_DAYS,
            value=USUAL_DAYS,
            key=days,
            width=NARROW,
            placeholder="never",
            help="Empty: it works until it is revoked.",
        )
        make = partial(_make, form, form.turn, label, role, days)
        st.form_submit_button("Create token", type="primary", key=f"{label}-go", on_click=make)
    if form.refused is not None:
        widgets.problems(form.refused)


def _make(form: TokenForm, turn: int, label: str, role: str, days: str) -> None:
    if turn != form.turn:  # this is the second click of a double click
        return
    name, chosen, n_days = (st.session_state[key] for key in (label, role, days))
    try:
        form.made = workspace().tokens.create(name, chosen, days=n_days)
        form.turn, form.refused = turn + 1, None
    except RecdashError as error:
        form.refused = error


def _show_once(form: TokenForm, made: NewToken) -> None:
    widgets.section("The new token")
    st.caption(f"Copy it now: it is not shown again. It is for {markdown(made.token.label)}.")
    st.code(made.secret, language=None, wrap_lines=True)
    address = f"{links.home()}api/v1"
    st.caption(f"Send it as the header Authorization: Bearer … to {markdown(address)}.")
    st.button("Done", key=f"token-done-{form.turn}", on_click=_put_away, args=(form,))


def _put_away(form: TokenForm) -> None:
    form.made = None


def _row(token: ApiToken, used: datetime | None) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(_words(token, used), width=ROW_WIDTH)
        if workspace().tokens.state(token) == "active" and st.button(
            "Revoke", key=f"revoke-token-{token.id}", type="tertiary"
        ):
            done = f"Revoked the token of {markdown(token.label)}."
            actions.attempt(partial(workspace().tokens.revoke, token.id), done)


def _words(token: ApiToken, used: datetime | None) -> Html:
    last = f"used {day(used)}" if used else "never used"
    return widgets.named(token.label, f"{token.role} · made by {token.author} · {_state(token)} · {last}")


def _state(token: ApiToken) -> str:
    state = workspace().tokens.state(token)
    if state == "revoked" and token.revoked is not None:
        return f"revoked {day(token.revoked)}"
    if token.expires is None:
        return "no expiry"
    return f"{'expired' if state == 'expired' else 'until'} {day(token.expires)}"
