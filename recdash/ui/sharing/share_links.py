"""Links with which others may read one experiment without signing in: make one, list them, revoke."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from recdash.domain.journal import ShareLink
from recdash.errors import RecdashError
from recdash.formatting.html import Html, html
from recdash.formatting.wording import day
from recdash.service import SharedLink
from recdash.service.access.sharing import LABEL_CHARS, MOST_DAYS, USUAL_DAYS
from recdash.ui.app import links
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

LIST_HEIGHT = 260
FEW = 4
"""More links than these scroll."""


@dataclass
class ShareTab:
    """Mutable and plain: what a click achieved is noted at once, so that a second finds it done."""

    turn: int = 0
    made: SharedLink | None = None
    refused: RecdashError | None = None


def show(view: View) -> None:
    """A new link, shown once, and the links there are."""
    desk: ShareTab = st.session_state.setdefault("recdash.share-desk", ShareTab())
    if desk.made is not None and desk.made.link.experiment == view.experiment.id:
        _show_once(desk, desk.made)
    else:
        _form(desk, view)
    _list(desk, workspace().sharing.share_links(view.experiment.id))


def _form(desk: ShareTab, view: View) -> None:
    st.caption("Whoever has the link reads this experiment and nothing else, without signing in.")
    label, days = f"link-label-{desk.turn}", f"link-days-{desk.turn}"
    with st.form(f"make-link-{desk.turn}", border=False):
        st.text_input("For whom", key=label, max_chars=LABEL_CHARS, placeholder="steering group")
        st.number_input("Days until it expires", 1, MOST_DAYS, USUAL_DAYS, key=days)
        st.form_submit_button(
            "Make link", type="primary", key=f"make-link-{desk.turn}-go",
            on_click=_make, args=(desk, desk.turn, view, label, days),
        )  # fmt: skip
    if desk.refused is not None:
        widgets.problems(desk.refused)


def _make(desk: ShareTab, turn: int, view: View, label: str, days: str) -> None:
    if turn != desk.turn:  # the second click of two
        return
    asked = st.session_state[label], int(st.session_state[days])
    try:
        desk.made = workspace().sharing.share(view.experiment.id, label=asked[0], days=asked[1])
        desk.turn, desk.refused = turn + 1, None
    except RecdashError as error:
        desk.refused = error


def _show_once(desk: ShareTab, made: SharedLink) -> None:
    address = f"{links.home()}s/{made.token}"
    st.caption(f"Copy it now: it is not shown again.{links.reach(address)}")
    st.code(address, language=None, wrap_lines=True)
    st.button("Done", key=f"link-done-{desk.turn}", on_click=_put_away, args=(desk,))


def _put_away(desk: ShareTab) -> None:
    desk.made = None


def _list(desk: ShareTab, known: Sequence[ShareLink]) -> None:
    if not known:
        return
    with st.container(height=LIST_HEIGHT if len(known) > FEW else "content", border=False, gap="xsmall"):
        for one in known:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(_words(one))
                st.space("stretch")
                _revoke(desk, one)


def _revoke(desk: ShareTab, link: ShareLink) -> None:
    """For good: whoever reads by it sees why it is dead."""
    person, is_alive = workspace().person, workspace().sharing.link_state(link) == "alive"
    mine = link.author == person.name or person.may("admin")
    if is_alive and mine:
        st.button("Revoke", key=f"revoke-{link.id}", type="tertiary", on_click=_take_back,
                  args=(desk, link.id))  # fmt: skip


def _take_back(desk: ShareTab, link_id: str) -> None:
    workspace().sharing.revoke(link_id)
    if desk.made is not None and desk.made.link.id == link_id:
        desk.made = None


def _words(link: ShareLink) -> Html:
    what = "a report" if link.report else "this experiment"
    return html(
        '<div class="rd-named"><b>{label}</b><small>{what} · {author} · {state}</small></div>',
        label=link.label or "no label", what=what, author=link.author, state=_state(link),
    )  # fmt: skip


def _state(link: ShareLink) -> str:
    state = workspace().sharing.link_state(link)
    if state == "revoked" and link.revoked is not None:
        return f"revoked {day(link.revoked)}"
    return f"{'open until' if state == 'alive' else 'expired'} {day(link.expires)}"
