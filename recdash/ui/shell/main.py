"""The script of the dashboard: identifies the person, then draws the header and the chosen page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from recdash.domain.access import Person
from recdash.errors import RecdashError
from recdash.ui.app import current_user, links, state, theme
from recdash.ui.app.streamlit_internals import script_session
from recdash.ui.components.widgets import problems
from recdash.ui.sharing import popover
from recdash.ui.shell import access_pages, header, iframe, navigation
from recdash.web.upload_quota import quota

OPENED = "recdash.opened-view"


def main() -> None:
    """Draws everything that a person sees; runs at each interaction."""
    st.set_page_config("recdash", "📊", layout="wide", initial_sidebar_state="collapsed")
    try:
        reader = current_user.person()
    except RecdashError as why:
        reader, instead = None, access_pages.refused(why)
    else:
        instead = access_pages.sign_in
    if session := script_session():  # only editors' sessions may receive files
        quota.record_session(session, reader)
    if reader is None:
        _nothing_but(instead)
    else:
        _pages(reader)


def _nothing_but(draw: Callable[[], None]) -> None:
    """Shows the same content at the address of every page."""
    pages = navigation.pages(None, lambda _title, _role: draw)
    page = st.navigation(pages, position="hidden")
    theme.show(page.url_path, state.return_to, links.record_click)
    page.run()


def _pages(reader: Person) -> None:
    pages = navigation.pages(reader, access_pages.not_for)
    page = st.navigation(pages, position="hidden")
    navigation.keep(pages)
    st.set_page_config(f"{page.title} · recdash")
    place, tab = navigation.place_and_tab(page.url_path)
    name = "" if reader.named else current_user.given_name()
    theme.show(page.url_path, state.return_to, links.record_click, place=place, tab=tab, name=name)
    state.begin(page.url_path)
    try:
        if not iframe.is_on():
            header.show(reader)
        if (link := current_user.link()) is not None:
            current_user.note_visit(link)
            if not iframe.is_on():
                access_pages.show_guest(link)
        _open_saved_view()
        state.show_toast()
        links.follow_click()
        page.run()
    except RecdashError as error:
        problems(error)
    state.to_url()


def _open_saved_view() -> None:
    """Opens the saved view that ``?view=NAME`` names, once per session."""
    name = st.query_params.get(popover.VIEW)
    if name is None or st.session_state.get(OPENED) == name:
        return
    st.session_state[OPENED] = name
    state.write(popover.VIEW, None)
    page = popover.open_saved_view(name)
    if page is not None and page != state.page():
        links.go(page)


main()
