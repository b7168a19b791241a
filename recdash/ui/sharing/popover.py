"""What "Share" in the frame holds: the link of this view, saved views, a share link, a frame for a wiki."""

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
"""The parameter of a link that names a saved view."""
WIDTH, LIST_HEIGHT = 470, 240
FEW = 5
"""More saved views than these scroll."""


def show(place: DeltaGenerator, view: View) -> None:
    """Fill the popover; to be called when the page is drawn and the whole view is known."""
    with place, st.container(width=WIDTH):
        _panel(view)


@st.fragment
@widgets.show_errors
def _panel(view: View) -> None:
    """Draw the popover as a fragment: work in it does not draw the page again."""
    parts = _parts()
    tabs = st.tabs(list(parts), on_change="rerun", key="share-part")
    for tab, draw in zip(tabs, parts.values(), strict=True):
        with tab:
            if tab.open:
                draw(view)


def _parts() -> Mapping[str, Callable[[View], None]]:
    """Returns what this person may do: a guest reads, a viewer may quote, an editor shares."""
    person = workspace().person
    parts: dict[str, Callable[[View], None]] = {"Link": _link, "Saved views": _saved_views}
    if person.may("editor"):
        parts["Share link"] = share_links.show
    if not person.is_guest:
        parts["Embed"] = embed.show_snippet
    return parts


def _link(_: View) -> None:
    address = links.here()
    guests = " A reader needs your share link first." if workspace().person.is_guest else ""
    st.caption(f"Link to this exact view.{guests}{links.reach(address)}")
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
    """``Weekly check`` → ``weekly-check``."""
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
            st.button("Forget", key=key, type="tertiary", on_click=_forget, args=(saved.id,))


def _forget(view_id: str) -> None:
    """Delete a saved view; a second click does nothing."""
    with suppress(NotFound):
        workspace().sharing.forget_view(view_id)


def _words(saved: SavedView) -> str:
    small = f"{links.title(saved.page)} · {saved.author}, {day(saved.created)}"
    return widgets.named(saved.name, small)


def open_saved_view(name: str) -> str | None:
    """Turn the view to the saved one of this name; returns its page. To be called before a page runs.

    Of an unknown name it warns and returns None; of a page that this person does not have, the overview.
    """
    try:
        saved = workspace().sharing.saved_view(name)
    except NotFound:
        st.warning(f"{unavailable('saved view', markdown(name), '')}. It may be deleted or in another store.")
        return None
    state.turn_to(saved.params)
    return saved.page if links.is_there(saved.page) else "overview"
