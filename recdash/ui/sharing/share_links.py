"""Share links, with which others can read one experiment without signing in: create, list and revoke them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from recdash.domain.journal import LinkUse, ShareLink
from recdash.errors import RecdashError
from recdash.formatting.html import Html, markdown
from recdash.formatting.wording import day
from recdash.metrics.naming import metric_at
from recdash.service import SharedLink
from recdash.service.access.sharing import LABEL_CHARS, MOST_DAYS, USUAL_DAYS
from recdash.ui.app import links, state
from recdash.ui.app.state import View, workspace
from recdash.ui.components import widgets

LIST_HEIGHT = 260
FEW = 4
"""The number of links above which the list scrolls."""


@dataclass
class ShareTab:
    """The state of the tab, which is mutable on purpose.

    The result of a click is recorded at once, so that a second click finds it.
    """

    turn: int = 0
    made: SharedLink | None = None
    refused: RecdashError | None = None


def show(view: View) -> None:
    """Draws the form for a new link, or the new link once, and the list of links."""
    tab: ShareTab = st.session_state.setdefault("recdash.share-desk", ShareTab())
    if tab.made is not None and tab.made.link.experiment == view.experiment.id:
        _show_once(tab, tab.made, view)
    else:
        _form(tab, view)
    _list(tab, workspace().sharing.links(view.experiment.id))


def _form(tab: ShareTab, view: View) -> None:
    anyone = "Anyone with this link can read the experiment (no sign-in)."
    st.caption(f"{anyone} {markdown(_opens(view))}{links.local_only_warning(links.home())}")
    label, days, limit = (f"link-{name}-{tab.turn}" for name in ("label", "days", "limit"))
    with st.form(f"make-link-{tab.turn}", border=False):
        st.text_input("Label", key=label, max_chars=LABEL_CHARS, placeholder="steering group")
        st.number_input("Days until it expires", 1, MOST_DAYS, USUAL_DAYS, key=days)
        st.checkbox(
            "Numbers only", key=limit, help="Its readers see no ids, lists or values of single users."
        )
        make = partial(_make, tab, tab.turn, view, label, days, limit)
        key = f"make-link-{tab.turn}-go"
        st.form_submit_button("Create link", type="primary", key=key, on_click=make)
    if tab.refused is not None:
        widgets.problems(tab.refused)


def _make(tab: ShareTab, turn: int, view: View, label: str, days: str, limit: str) -> None:
    if turn != tab.turn:  # this is the second click of a double click
        return
    name, n_days, is_limited = (st.session_state[key] for key in (label, days, limit))
    try:
        tab.made = workspace().sharing.share(
            view.experiment.id, label=name, days=int(n_days), numbers_only=is_limited
        )
        tab.turn, tab.refused = turn + 1, None
    except RecdashError as error:
        tab.refused = error


def _show_once(tab: ShareTab, made: SharedLink, view: View) -> None:
    query = links.of_shared_view(view, numbers_only=bool(made.link.numbers_only))
    address = f"{links.home()}s/{made.token}{f'?{query}' if query else ''}"
    once = "Copy it now: it is not shown again."
    st.caption(f"{once} {markdown(_opens(view))}{links.local_only_warning(address)}")
    st.code(address, language=None, wrap_lines=True)
    st.button("Done", key=f"link-done-{tab.turn}", on_click=_put_away, args=(tab,))


def _opens(view: View) -> str:
    """Returns a sentence that names the page and the metric with which the link opens."""
    metric = f", {metric_at(view.metric, view.k)}" if view.runs else ""
    return f"It opens what you see ({links.title(state.page())}{metric})."


def _put_away(tab: ShareTab) -> None:
    tab.made = None


def _list(tab: ShareTab, known: Sequence[ShareLink]) -> None:
    if not known:
        return
    uses = workspace().sharing.uses(known[0].experiment)
    with st.container(height=LIST_HEIGHT if len(known) > FEW else "content", border=False, gap="xsmall"):
        for link in known:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.html(_words(link, uses.get(link.id)))
                st.space("stretch")
                _revoke(tab, link)


def _revoke(tab: ShareTab, link: ShareLink) -> None:
    """Draws the button that revokes a link for good; nothing if this person may not, or the link no longer
    works.
    """
    person = workspace().person
    may_revoke = link.author == person.name or person.may("admin")
    if may_revoke and workspace().sharing.link_state(link) == "alive":
        key = f"revoke-{link.id}"
        st.button("Revoke", key=key, type="tertiary", on_click=_take_back, args=(tab, link.id))


def _take_back(tab: ShareTab, link_id: str) -> None:
    workspace().sharing.revoke(link_id)
    if tab.made is not None and tab.made.link.id == link_id:
        tab.made = None


def _words(link: ShareLink, use: LinkUse | None) -> Html:
    subject = "a report" if link.report else "this experiment"
    limit = ", numbers only" if link.numbers_only else ""
    small = f"{subject}{limit} · {link.author} · {_state(link)} · {_used(use)}"
    return widgets.named(link.label or "no label", small)


def _used(use: LinkUse | None) -> str:
    """Returns when a link was last used and how often it was opened, such as ``used 5 March, opened 3×``."""
    return f"used {day(use.last)}, opened {use.n_opened}×" if use else "never used"


def _state(link: ShareLink) -> str:
    state = workspace().sharing.link_state(link)
    if state == "revoked" and link.revoked is not None:
        return f"revoked {day(link.revoked)}"
    return f"{'open until' if state == 'alive' else 'expired'} {day(link.expires)}"
