"""What is shown instead of a page that a person may not see, and above pages read by a share link."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from recdash.domain.journal import ShareLink
from recdash.errors import Forbidden, RecdashError
from recdash.formatting.html import html
from recdash.settings import settings
from recdash.ui.app import current_user
from recdash.ui.components import widgets
from recdash.ui.shell import header, oidc

LEAVE = html('<a class="rd-leave" href="s/leave" target="_self">Leave this link</a>')


def sign_in() -> None:
    """What people see instead of every page before they sign in."""
    widgets.empty("Sign in to read this", "recdash shows its experiments to people who are known here.")
    if settings().auth != "oidc":
        return
    for provider in oidc.providers():
        is_only = provider == oidc.ONLY
        label = "Sign in" if is_only else f"Sign in with {provider.title()}"
        if st.button(label, type="primary", key=f"sign-in-{provider}"):
            st.login() if is_only else st.login(provider)


def refused(why: RecdashError) -> Callable[[], None]:
    """What is shown instead of every page to people who may read none: the reason, and how to leave."""
    heading = "No role here yet" if isinstance(why, Forbidden) else "This link is closed"

    def show() -> None:
        widgets.empty(heading, str(why))
        if current_user.visitor().share is not None:
            st.html(html("<p>{leave}</p>", leave=LEAVE))
        elif settings().auth == "oidc":
            header.sign_out()

    return show


def not_for(title: str) -> Callable[[], None]:
    """What viewers see instead of a page that is for editors."""

    def show() -> None:
        widgets.empty(
            f"{title} is for editors",
            "You may read everything else here. Ask an admin to make you an editor.",
        )

    return show


def show_guest(link: ShareLink) -> None:
    """Above each page for readers by a share link: who shared it, and until when."""
    experiment = current_user.full_workspace().experiments.get(link.experiment).name
    template = (
        '<div class="rd-guest" role="note"><span>You read <b><bdi>{experiment}</bdi></b> by a link that '
        "<bdi>{author}</bdi> shared until {until}.</span> {leave}</div>"
    )
    until = f"{link.expires:%-d %b %Y}"
    st.html(html(template, experiment=experiment, author=link.author, until=until, leave=LEAVE))
