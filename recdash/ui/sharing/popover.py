"""The popover Share in the frame: the link of the view, saved views, a share link, and the HTML for a
wiki.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from recdash.domain.journal import SavedView
from recdash.errors import NotFound, RecdashError
from recdash.formatting.html import markdown
from recdash.formatting.wording import day, unavailable
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets
from recdash.ui.sharing import embed, share_links

VIEW = "view"
"""The name of the URL parameter with the name of a saved view."""
NEEDS_SHARE_LINK = "A reader needs your share link first."
WIDTH, LIST_HEIGHT = 470, 240
FEW = 5
"""The number of saved views above which the list scrolls."""


def show(place: DeltaGenerator, view: View) -> None:
    """Fills the popover.

    It must be called when the page is drawn, as then all parameters of the view are known.
    """
    with place, st.container(width=WIDTH):
        _panel(view)


@st.fragment
@widgets.show_errors
def _panel(view: View) -> None:
    """Draws the popover as a fragment, so that a click in it does not redraw the page."""
    parts = _parts()
    tabs = st.tabs(list(parts), on_change="rerun", key="share-part")
    for tab, draw in zip(tabs, parts.values(), strict=True):
        with tab:
            if tab.open:
                draw(view)


def _parts() -> Mapping[str, Callable[[View], None]]:
    """Returns {tab's title: function that draws it} for what this person may do.

    Guests get the link and saved views, viewers also the HTML for a wiki, and editors also share links.
    """
    person = workspace().person
    parts: dict[str, Callable[[View], None]] = {"View link": _link, "Saved views": _saved_views}
    if person.may("editor"):
        parts["Share link"] = share_links.show
    if not person.is_guest:
        parts["Embed"] = embed.show_snippet
    return parts


def _link(_: View) -> None:
    address = links.current_url()
    person = workspace().person
    others = f" {NEEDS_SHARE_LINK}" if person.is_guest else ""
    if person.may("editor"):
        others = " For all others make a share link."
    st.caption(f"For people who can open this dashboard.{others}{links.local_only_warning(address)}")
    st.code(address, language=None, wrap_lines=True)


# ── saved views ──────────────────────────────────────────────────────────────────────────────


def _saved_views(view: View) -> None:
    known = workspace().sharing.saved_views(view.experiment.id)
    may_write = workspace().person.may("editor")
    if may_write:
        _save(view)
    if not known:
        st.caption(f"No view of this experiment is saved yet.{'' if may_write else ' Editors save them.'}")
        return
    with st.container(height=LIST_HEIGHT if len(known) > FEW else "content", border=False, gap="xsmall"):
        for saved in known:
            _row(saved, may_write=may_write)


def _save(view: View) -> None:
    with st.form("save-view", border=False, enter_to_submit=True):
        name = st.text_input("Short name", key="view-name", max_chars=40, placeholder="weekly-check")
        submitted = st.form_submit_button("Save this view", key="save-view")
    if not submitted:
        return
    params = {name: value for name, value in state.shown().items() if name != VIEW}
    try:
        saved = workspace().sharing.save_view(view.experiment.id, _as_slug(name), state.page(), params)
    except RecdashError as error:
        widgets.problems(error)
        return
    st.caption("Saved. This short link opens it:")
    st.code(_address(saved), language=None, wrap_lines=True)


def _as_slug(name: str) -> str:
    """Returns the name for an address, such as ``weekly-check`` for ``Weekly check``."""
    return "-".join(name.lower().split())


def _address(saved: SavedView) -> str:
    return f"{links.home()}?{VIEW}={saved.name}"


def _row(saved: SavedView, *, may_write: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(_words(saved))
        st.space("stretch")
        if st.button("Open", key=f"open-view-{saved.id}", help=f"{markdown(_address(saved))}"):
            page = open_saved_view(saved.name)
            if page is not None:
                links.go(page)
        if may_write:
            key = f"forget-view-{saved.id}"
            st.button("Delete", key=key, type="tertiary", on_click=_forget, args=(saved.id,))


def _forget(view_id: str) -> None:
    """Deletes a saved view; does nothing if it is deleted already."""
    with suppress(NotFound):
        workspace().sharing.forget_view(view_id)


def _words(saved: SavedView) -> str:
    small = f"{links.title(saved.page)} · {saved.author}, {day(saved.created)}"
    return widgets.named(saved.name, small)


def open_saved_view(name: str) -> str | None:
    """Replaces the view by the saved view with this name, and returns its page.

    It must be called before a page runs.

    Warns and returns None for an unknown name; returns the overview if this person cannot open the page.
    """
    try:
        saved = workspace().sharing.saved_view(name)
    except NotFound:
        st.warning(f"{unavailable('saved view', markdown(name), '')}. It may be deleted or in another store.")
        return None
    state.turn_to(saved.params)
    return saved.page if links.is_there(saved.page) else "overview"
