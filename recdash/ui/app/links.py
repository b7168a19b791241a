"""Addresses of views: what "Share" shows, and where the words of a verdict lead."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NoReturn
from urllib.parse import urlencode, urlsplit

import streamlit as st

from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.wording import unavailable
from recdash.service.question import frame_parameters
from recdash.ui.app import state
from recdash.ui.app.state import SEPARATOR, View

_CLICKED = "recdash.clicked"
OWN = ("localhost", "127.0.0.1", "::1")
FRAME = ("e", "b", "c", "m", "k")
"""The parameters of the frame: experiment, baseline, candidates, metric, k."""
PART = ("s", "th")
"""The parameters of a part of the experiment: its slice, and the relevance from which a row counts."""


def of_view(view: View) -> dict[str, str]:
    """Returns the frame's parameters, those included that the link names and that do not exist here."""
    params = state.params()
    baseline = view.baseline.id if view.baseline else ""
    of_frame = frame_parameters(view.experiment.id, baseline, view.candidate_ids, view.metric, view.k)
    of_part = {name: params[name] for name in PART if name in params}
    return {name: params.get(name, value) for name, value in of_frame.items()} | of_part


def carried() -> dict[str, str]:
    """Returns the chosen parameters that a link to another place takes along, before the view is known."""
    params = state.params()
    return {name: params[name] for name in (*FRAME, *PART) if name in params}


def first_page() -> str:
    """Returns the address of the first page, seen from any page, with what was chosen."""
    return f"./?{_query(carried() | embedded())}"


def here() -> str:
    """Returns the address of the view that is shown, with all its parameters."""
    return f"{_address()}?{_query(state.shown())}"


def here_so_far(view: View) -> str:
    """Returns the address of this page with the frame's view and what was chosen on it, before the page is
    drawn.
    """
    return f"{_address()}?{_query(of_view(view) | state.params())}"


def reach(address: str) -> str:
    """Returns a warning if the address works on this computer only; else empty."""
    return (
        " recdash runs locally, so it opens on this computer only."
        if urlsplit(address).hostname in OWN
        else ""
    )


def home() -> str:
    """Returns where the dashboard is, as this browser sees it; ends with a slash."""
    address = _address()
    page = state.page()
    return address.removesuffix(page) if page != "overview" else f"{address.rstrip('/')}/"


def _address() -> str:
    """Returns the present page's address (``st.context.url`` has no query string, and at home no slash)."""
    address = (st.context.url or "").split("?")[0]
    return f"{address}/" if address and not urlsplit(address).path else address


def to(view: View, page: str, params: Mapping[str, str]) -> str:
    """Another page's address, seen from any page, with the frame's view and ``params`` of its own."""
    path = "./" if page == "overview" else page
    return f"{path}?{_query(of_view(view) | dict(params) | embedded())}"


def embedded() -> dict[str, str]:
    """Returns the parameters that keep a link inside another site's page in its frame and theme."""
    if not st.context.is_embedded:
        return {}
    return {"embed": "true", "embed_options": f"{st.context.theme.type or 'light'}_theme"}


def is_there(page: str) -> bool:
    return page in st.session_state["recdash.pages"]


def title(page: str) -> str:
    """Returns the name of a page in the navigation; its address where this person does not have it."""
    return str(st.session_state["recdash.pages"][page].title) if is_there(page) else page


def offer(label: str, page: str) -> None:
    """A button that leads to another page; none for people who do not have that page."""
    if is_there(page) and st.button(label, type="primary", key=f"go-{page}"):
        go(page)


def go(page: str) -> NoReturn:
    """Turn to another page of the navigation by its address, keeping the view."""
    st.switch_page(st.session_state["recdash.pages"][page])


def clicked(path: str, query: str) -> None:
    """Takes the view's parameters from a link of a text that was clicked; see :func:`follow_click`."""
    page = path.rsplit("/", 1)[-1] or "overview"
    if is_there(page):
        state.return_to(query)
        st.session_state[_CLICKED] = page


def follow_click() -> None:
    """Turns to the page of the link that was clicked, if it is another one."""
    page = st.session_state.pop(_CLICKED, state.page())
    if page != state.page():
        go(page)


def follow(page: str, *, instead_of: Collection[str]) -> None:
    """Turn to ``page`` where the link has a parameter that this page showed once and ``page`` shows now."""
    if is_there(page) and set(instead_of) & set(st.query_params):
        go(page)


def link(view: View, text: str, page: str, params: Mapping[str, str], hint: str = "") -> Html:
    """``text`` leading to the chart that shows it, with a hint; plain where there is no such page."""
    if not page or not is_there(page):
        return html("{text}", text=text)
    title = html(' title="{hint}"', hint=hint) if hint else Html("")
    return html('<a href="{to}"{title}>{text}</a>', to=to(view, page, params), title=title, text=text)


def to_guide(view: View, topics: Mapping[str, str]) -> Html:
    """Returns where the guide explains the words of a page; ``topics``: the guide's slug → words."""
    ways = [link(view, words, "guide", {"metric": slug}) for slug, words in topics.items()]
    return html('<div class="rd-note"><p>In the guide: {ways}.</p></div>', ways=join(ways, ", "))


def tell_unknown(name: str, noun: str, known: Collection[str], showing: str = "another") -> None:
    """Warns if a link's value of a page's own parameter is not among the ``known``."""
    wanted = state.params().get(name)
    if wanted is not None and wanted not in known:
        st.warning(f"{unavailable(noun, markdown(wanted), markdown(showing))}.")


def _query(params: Mapping[str, str]) -> str:
    return urlencode(params, safe=SEPARATOR)
