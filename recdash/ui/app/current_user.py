"""The person who reads the page, as the server's middleware identified them."""

from __future__ import annotations

import streamlit as st

from recdash.domain.access import Person
from recdash.domain.journal import ShareLink
from recdash.errors import RecdashError
from recdash.ingest import Limits
from recdash.service import Workspace
from recdash.settings import settings
from recdash.web import visitor as identity
from recdash.web.visitor import Visitor


@st.cache_resource(show_spinner=False)
def full_workspace() -> Workspace:
    """Returns this process's workspace with full access, and the upload limits of the settings."""
    return Workspace.open(limits=Limits(**settings().limits()))


def guest(token: str) -> Person:
    """Returns the guest of a share link. Raises LinkDead if the link expired or was revoked."""
    return full_workspace().sharing.guest_of(full_workspace().sharing.shared(token))


def has_ended(session: str) -> bool:
    """Returns whether the visitor of this sign-in session has signed out."""
    return full_workspace().sign_ins.has_ended(session)


def end_session(session: str) -> None:
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


def reader() -> Person:
    """Returns the person who reads the page. Raises RecdashError if they must sign in first."""
    known = person()
    if known is None:
        raise RecdashError("Sign in to read this.")
    return known
