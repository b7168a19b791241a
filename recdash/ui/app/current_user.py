"""Who reads this page, as the middleware of the server found out."""

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
    """Returns the one workspace of this process, with everything in it and the upload limits of the
    settings.
    """
    return Workspace.open(limits=Limits(**settings().limits()))


def guest(token: str) -> Person:
    """Returns the guest of a share link. Raises LinkDead where it expired or was revoked."""
    return full_workspace().sharing.guest_of(full_workspace().sharing.shared(token))


def person() -> Person | None:
    """Returns who reads the page; None where they have to sign in first. Not cached: links expire.

    Raises LinkDead for a share link that expired or was revoked, Forbidden for a name without a role.
    """
    return identity.person_of(st.context.headers, guest)


def visitor() -> Visitor:
    """Returns what the middleware found out."""
    return identity.read_visitor(st.context.headers.get(identity.VISITOR))


def link() -> ShareLink | None:
    """Returns the share link that this page is read by. Raises LinkDead like :func:`person`."""
    token = visitor().share
    return None if token is None else full_workspace().sharing.shared(token)


def reader() -> Person:
    """Returns who reads a page. Raises RecdashError where they have to sign in first."""
    known = person()
    if known is None:
        raise RecdashError("Sign in to read this.")
    return known
