"""The header of every page: the places, the tools at its right, and the tabs of the current place."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from recdash.domain.access import Person
from recdash.formatting.html import html
from recdash.settings import settings
from recdash.ui.app import links, state
from recdash.ui.shell import navigation

_LAST_TAB = "recdash.last-tab"
"""The key in the session state of {experiment: {place: address of the tab that was opened last}}."""
_LINK = "recdash.link-place"
SIGN_OUT_OF_KEY = html('<a class="rd-way" href="key/sign-out" target="_self">Sign out</a>')


def show(person: Person) -> None:
    """Draws the header, and below it the tabs of the current place if it has several."""
    present, _ = navigation.place_and_tab(state.page())
    _last_tabs()[present] = state.page()
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="header"):
        st.html(
            html('<a class="rd-brand" href="{home}" target="_self">recdash</a>', home=links.first_page()),
            width="content",
        )
        with st.container(horizontal=True, gap=None, width="content", wrap=False, key="places"):
            for place in navigation.PLACES:
                _to_place(place)
        with st.container(
            horizontal=True,
            horizontal_alignment="right",
            vertical_alignment="center",
            gap=None,
            wrap=False,
            key="tools",
        ):
            _to_place("Add data")
            st.session_state[_LINK] = st.container(
                horizontal=True,
                vertical_alignment="center",
                gap=None,
                width="content",
                wrap=False,
                key="links",
            )
            _to_help()
            _to_place("Settings")
            _show_person(person)
    tabs = navigation.tabs_of(present)
    if len(tabs) > 1:
        with st.container(horizontal=True, gap="medium", wrap=False, key="tabs"):
            for tab in tabs:
                st.page_link(tab.page, label=tab.title, query_params=links.carried())


def place_for_link() -> DeltaGenerator:
    """Returns the container for *Copy link* and *Share*, which a page with a view fills."""
    place: DeltaGenerator = st.session_state[_LINK]
    return place


def _last_tabs() -> dict[str, str]:
    by_experiment: dict[str, dict[str, str]] = st.session_state.setdefault(_LAST_TAB, {})
    return by_experiment.setdefault(state.params().get("e", ""), {})


def _to_place(place: str) -> None:
    """Draws a link to the last opened tab of a place; nothing if the person can open none of its tabs."""
    tabs: Mapping[str, navigation.Tab] = {tab.address: tab for tab in navigation.tabs_of(place)}
    if tabs:
        tab = tabs.get(_last_tabs().get(place, ""), next(iter(tabs.values())))
        st.page_link(tab.page, label=place, query_params=links.carried())


def _to_help() -> None:
    """Draws a link to the guide's entry about the current page; on pages of *Help*, to the open tab."""
    entry = navigation.help_entry(state.page())
    if entry is None:
        _to_place("Help")
        return
    guide = navigation.tabs_of("Help")[0]
    st.page_link(guide.page, label="Help", query_params=links.carried() | links.of_entry(entry))


def _show_person(person: Person) -> None:
    """Draws the person's name and role, if the name is verified, and how to sign out; nothing for guests."""
    if person.is_guest:
        return
    if settings().auth == "key":
        with st.popover("Account", type="tertiary", key="person"):
            st.html(SIGN_OUT_OF_KEY)
        return
    if not person.named:
        return
    with st.popover(_initials(person.name), type="tertiary", key="person"):
        template = '<div class="rd-person"><b><bdi>{name}</bdi></b><small>{role}</small></div>'
        st.html(html(template, name=person.name, role=person.role))
        if settings().auth == "oidc":
            sign_out()


def _initials(name: str) -> str:
    """Returns the initials of a name, such as ``AL`` for ``Ada Lovelace``; "Account" if it has no letters or
    digits.
    """
    words = [word for word in "".join(c if c.isalnum() else " " for c in name).split() if word]
    return "".join(word[0] for word in words[:2]).upper() or "Account"


def sign_out() -> None:
    if st.button("Sign out", type="tertiary", key="sign-out"):
        st.logout()
