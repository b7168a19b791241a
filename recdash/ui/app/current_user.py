"""The person who reads the page, as the server's middleware identified them."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import unquote

import streamlit as st

from recdash.domain.access import Person
from recdash.domain.journal import ApiToken, ShareLink
from recdash.errors import RecdashError
from recdash.ingest import Limits
from recdash.service import Workspace
from recdash.service.access.sharing import NOTED_EVERY
from recdash.service.decisions.journal import MOST_AUTHOR
from recdash.service.validation import one_line
from recdash.settings import settings
from recdash.web import visitor as identity
from recdash.web.visitor import Visitor

_NAME, NAME_COOKIE = "recdash.given-name", "recdash-name"
"""The key of the given name in the session state, and the cookie in which the browser keeps it."""
_NOTED = "recdash.visit-noted"


@st.cache_resource(show_spinner=False)
def full_workspace() -> Workspace:
    """Returns this process's workspace with full access, and the upload limits of the settings."""
    workspace = Workspace.open(limits=Limits(**settings().limits()))
    workspace.also_clear(st.cache_data.clear)
    return workspace


def guest(token: str) -> Person:
    """Returns the guest of a share link. Raises LinkDead if the link expired or was revoked."""
    return full_workspace().sharing.guest_of(full_workspace().sharing.shared(token))


def has_ended(session: str) -> bool:
    """Returns whether the visitor of this sign-in session has signed out."""
    return full_workspace().sign_ins.has_ended(session)


def api_token(secret: str) -> ApiToken:
    """Returns the token of the API that a program sent, and stores that it is used.

    Raises TokenRefused if it gives no access.
    """
    tokens = full_workspace().tokens
    token = tokens.check(secret)
    tokens.note_use(token)
    return token


def end_session(session: str) -> None:
    """Ends a sign-in session, also for a copied cookie."""
    full_workspace().sign_ins.end(session)


def person() -> Person | None:
    """Returns the person who reads the page; None if they must sign in first.

    It is not cached, as links expire and sessions end.

    Raises LinkDead for a share link that expired or was revoked, Forbidden for a name without a role.
    """
    return identity.person_of(st.context.headers, guest, has_ended)


def visitor() -> Visitor:
    """Returns the visitor that the middleware identified."""
    return identity.read_visitor(st.context.headers.get(identity.VISITOR))


def link() -> ShareLink | None:
    """Returns the share link with which this page is read; None without one.

    Raises LinkDead if it does not work.
    """
    token = visitor().share
    return None if token is None else full_workspace().sharing.shared(token)


def note_visit(link: ShareLink) -> None:
    """Stores that a share link is used, at most once an hour in each session of a browser."""
    now = full_workspace().now()
    noted = st.session_state.get(_NOTED)
    if noted is None or now - noted >= NOTED_EVERY:
        st.session_state[_NOTED] = now
        full_workspace().sharing.note_use(link, opened=False)


def reader() -> Person:
    """Returns the person who reads the page, with the name that they gave if none was verified.

    Raises RecdashError if they must sign in first.
    """
    known = person()
    if known is None:
        raise RecdashError("Sign in to read this.")
    return known if known.named else replace(known, name=given_name() or known.name)


def given_name() -> str:
    """Returns the name that somebody gave in a form of this browser; empty if none was given."""
    if _NAME in st.session_state:
        return str(st.session_state[_NAME])
    cookie = unquote(dict(st.context.cookies).get(NAME_COOKIE, ""))
    return one_line("name", cookie[:MOST_AUTHOR], MOST_AUTHOR)


def remember_name(name: str) -> None:
    """Remembers the name that somebody gave; page.js keeps it in a cookie for the next session."""
    st.session_state[_NAME] = name
