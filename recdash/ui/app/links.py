"""Addresses of views, which the dialog Share shows and to which words of a verdict link."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal, NoReturn
from urllib.parse import urlencode, urlsplit

import streamlit as st

from recdash.domain.journal import USER_PARAM
from recdash.formatting.html import Html, html, join, markdown
from recdash.formatting.wording import unavailable
from recdash.service.access.sharing import PAGE
from recdash.service.question import frame_parameters
from recdash.ui.app import state
from recdash.ui.app.state import SEPARATOR, View

_CLICKED = "recdash.clicked"
OWN = ("localhost", "127.0.0.1", "::1")
FRAME = ("e", "b", "c", "m", "k")
"""The parameters of the frame: experiment, baseline, candidates, metric, and k."""
PART = ("s", "th")
"""The parameters that limit a view to a part of the experiment: a slice, and a relevance threshold."""


def of_view(view: View) -> dict[str, str]:
    """Returns the address parameters of the frame's view.

    A value in the link that does not exist here stays in the address.
    """
    params = state.params()
    baseline = view.baseline.id if view.baseline else ""
    of_frame = frame_parameters(view.experiment.id, baseline, view.chosen_ids, view.metric, view.k)
    of_part = {name: params[name] for name in PART if name in params}
    return {name: params.get(name, value) for name, value in of_frame.items()} | of_part


def carried() -> dict[str, str]:
    """Returns the frame's parameters that were chosen, for a link to another page, before the view is
    known.
    """
    params = state.params()
    return {name: params[name] for name in (*FRAME, *PART) if name in params}


def first_page() -> str:
    """Returns the address of the first page, relative to any page, with the chosen parameters."""
    return f"./?{_query(carried() | embedded())}"


def current_url() -> str:
    """Returns the address of the current view, with all its parameters."""
    return f"{_address()}?{_query(state.shown())}"


def of_shared_view(view: View, *, numbers_only: bool) -> str:
    """Returns the query of a share link that opens this view; "" if it is the experiment's usual view.

    What is as usual is left out, so that the link follows the experiment's rules and new runs; with
    ``numbers_only`` also the id of the user that is shown.
    """
    left_out = {"e", USER_PARAM} if numbers_only else {"e"}
    shown = {name: value for name, value in state.shown().items() if name not in left_out}
    if view.runs:
        usual = state.workspace().queries.of(view.experiment.id)
        is_usual = {
            "b": view.baseline is not None and view.baseline.id == usual.baseline,
            "c": set(view.chosen_ids) == set(usual.runs),
            "m": view.metric == usual.metric,
            "k": view.k == usual.k,
        }
        shown = {name: value for name, value in shown.items() if not is_usual.get(name)}
    place = {} if state.page() == "overview" else {PAGE: state.page()}
    return _query(place | shown)


def url_of_view(view: View) -> str:
    """Returns the address of this page with the parameters that are known before the page is drawn."""
    return f"{_address()}?{_query(of_view(view) | state.params())}"


def local_only_warning(address: str) -> str:
    """Returns a warning if the address only works on this computer; else empty."""
    return (
        " recdash runs locally, so it opens on this computer only."
        if urlsplit(address).hostname in OWN
        else ""
    )


def home() -> str:
    """Returns the URL of the dashboard as this browser sees it, with a slash at its end."""
    address = _address()
    page = state.page()
    return address.removesuffix(page) if page != "overview" else f"{address.rstrip('/')}/"


def _address() -> str:
    """Returns the URL of the current page without parameters; that of the first page ends with a slash."""
    address = (st.context.url or "").split("?")[0]
    return f"{address}/" if address and not urlsplit(address).path else address


def to(view: View, page: str, params: Mapping[str, str]) -> str:
    """Returns the address of another page, relative to any page, with the frame's view and the page's own
    ``params``.
    """
    path = "./" if page == "overview" else page
    return f"{path}?{_query(of_view(view) | dict(params) | embedded())}"


def to_rules(view: View) -> str:
    """Returns the address of the page Decision with the experiment's own rules, relative to any page."""
    return f"./?{_query({'e': view.experiment.id} | embedded())}"


def embedded() -> dict[str, str]:
    """Returns the parameters that keep a link in the frame and theme of another site's page; empty outside of
    one.
    """
    if not st.context.is_embedded:
        return {}
    return {"embed": "true", "embed_options": f"{st.context.theme.type or 'light'}_theme"}


def is_there(page: str) -> bool:
    return page in st.session_state["recdash.pages"]


def title(page: str) -> str:
    """Returns a page's name in the navigation; its address if this person cannot open the page."""
    return str(st.session_state["recdash.pages"][page].title) if is_there(page) else page


def page_button(label: str, page: str, kind: Literal["primary", "secondary"] = "primary") -> None:
    """Draws a button that opens another page; nothing for people who cannot open that page."""
    if is_there(page) and st.button(label, type=kind, key=f"go-{page}"):
        go(page)


def go(page: str) -> NoReturn:
    """Opens another page of the navigation by its address, with the same view."""
    st.switch_page(st.session_state["recdash.pages"][page])


def record_click(path: str, query: str) -> None:
    """Takes over the view's parameters from a link in a text that was clicked: see :func:`follow_click`."""
    page = path.rsplit("/", 1)[-1] or "overview"
    if is_there(page):
        state.return_to(query)
        st.session_state[_CLICKED] = page


def follow_click() -> None:
    """Opens the page of the link that was clicked, unless it is the current one."""
    page = st.session_state.pop(_CLICKED, state.page())
    if page != state.page():
        go(page)


def redirect(page: str, *, instead_of: Collection[str]) -> None:
    """Opens ``page`` if the URL has one of the parameters ``instead_of``.

    These are parameters that this page had in earlier releases and that ``page`` has now.
    """
    if is_there(page) and set(instead_of) & set(st.query_params):
        go(page)


def link(view: View, text: str, page: str, params: Mapping[str, str], hint: str = "") -> Html:
    """Returns the text as a link to another page, with ``hint`` as its tooltip; plain text if this person
    cannot open it.
    """
    if not page or not is_there(page):
        return html("{text}", text=text)
    title = html(' title="{hint}"', hint=hint) if hint else Html("")
    return html('<a href="{to}"{title}>{text}</a>', to=to(view, page, params), title=title, text=text)


def of_entry(slug: str) -> dict[str, str]:
    """Returns the address parameters of the guide for an entry that leads back to this page."""
    return {"metric": slug, "back": state.page()}


def to_guide(view: View, topics: Mapping[str, str]) -> Html:
    """Returns a note with links to entries of the guide; ``topics`` are {slug of the entry: text of the
    link}.
    """
    ways = [link(view, words, "guide", of_entry(slug)) for slug, words in topics.items()]
    return html('<div class="rd-note"><p>In the guide: {ways}.</p></div>', ways=join(ways, ", "))


def explained(view: View, slug: str, what: str) -> Html:
    """Returns a "?" that opens the guide's entry; empty if this person cannot open the guide."""
    if not is_there("guide"):
        return Html("")
    mark = '<a class="rd-help" href="{to}" title="{label}" aria-label="{label}">?</a>'
    return html(mark, to=to(view, "guide", of_entry(slug)), label=f"What is this? Guide: {what}")


def tell_unknown(name: str, noun: str, known: Collection[str], showing: str = "another") -> None:
    """Warns if the link's value of a page's own parameter is not in ``known``.

    ``noun`` is what the parameter is.
    """
    wanted = state.params().get(name)
    if wanted is not None and wanted not in known:
        st.warning(f"{unavailable(noun, markdown(wanted), markdown(showing))}.")


def _query(params: Mapping[str, str]) -> str:
    return urlencode(params, safe=SEPARATOR)
