"""Pages for people who may not see the requested page, and the line above the pages of a share link."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode

import streamlit as st

from recdash.domain.access import DEAD_LINK, LEAVE_LINK, NUMBERS_ONLY, READ_ONLY_LINK, AccessRole
from recdash.domain.journal import ShareLink
from recdash.errors import Forbidden, RecdashError
from recdash.formatting.html import html
from recdash.formatting.wording import day
from recdash.settings import settings
from recdash.ui.app import current_user, state
from recdash.ui.components import widgets
from recdash.ui.shell import header, oidc

LEAVE = html('<a class="rd-way" href="s/leave" target="_self">{words}</a>', words=LEAVE_LINK)


def sign_in() -> None:
    """Draws the page with the buttons to sign in, in place of every other page."""
    widgets.empty("Sign in to read this", "This dashboard shows its experiments to signed-in users only.")
    if settings().auth != "oidc":
        return
    for provider in oidc.providers():
        is_only = provider == oidc.ONLY
        label = "Sign in" if is_only else f"Sign in with {provider.title()}"
        if st.button(label, type="primary", key=f"sign-in-{provider}"):
            st.login() if is_only else st.login(provider)


def refused(why: RecdashError) -> Callable[[], None]:
    """Returns a function that draws, in place of every page, why this person may read none, and how to
    leave.
    """
    heading = "No role here yet" if isinstance(why, Forbidden) else DEAD_LINK

    def show() -> None:
        widgets.empty(heading, str(why))
        if current_user.visitor().share is not None:
            st.html(html("<p>{leave}</p>", leave=LEAVE))
        elif settings().auth == "oidc":
            header.sign_out()

    return show


def not_for(title: str, least: AccessRole) -> Callable[[], None]:
    """Returns a function that draws, in place of a page for a higher role, why this person cannot see it."""

    def show() -> None:
        why = READ_ONLY_LINK
        person = state.workspace().person
        if not person.is_guest and least == "admin":
            why = f"Your role is {person.role}. Ask an admin."
        elif not person.is_guest:
            why = "Your role is viewer: you can read all other pages. Ask an admin for the role editor."
        widgets.empty(f"Only {least}s can open {title}", why)
        viewed = {name: value for name, value in state.params().items() if name == "e"}
        st.html(
            html('<p><a class="rd-way" href="./?{query}">View the decision</a></p>', query=urlencode(viewed))
        )

    return show


def show_guest(link: ShareLink) -> None:
    """Draws the line above each page of a share link, with the link's author and last day."""
    experiment = current_user.full_workspace().experiments.get(link.experiment).name
    template = (
        '<div class="rd-guest" role="note"><span>Read-only link to <b><bdi>{experiment}</bdi></b>, shared by '
        "<bdi>{author}</bdi>, valid until {until}.{limit}</span> {leave}</div>"
    )
    until = day(link.expires)
    limit = f" {NUMBERS_ONLY}" if link.numbers_only else ""
    st.html(html(template, experiment=experiment, author=link.author, until=until, limit=limit, leave=LEAVE))
