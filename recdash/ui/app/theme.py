"""The palette of the theme, and the style sheet of everything that is drawn as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from recdash.charts import mark_html
from recdash.charts.mark_html import glyph, variables
from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.formatting.html import Html, html
from recdash.formatting.wording import cut_inside

PAGE_SCRIPT, _HEARD = "page-script-state", "recdash.heard"
LONGEST_ON_A_CHIP = 32
HERE = Path(__file__).parent
RULES = mark_html.RULES + "".join(
    (HERE / name).read_text(encoding="utf-8") for name in ("style.css", "narrow.css")
)
_PAGE = st.components.v2.component("recdash.page", js=(HERE / "page.js").read_text(encoding="utf-8"))


def palette() -> Palette:
    """Returns the palette of the theme that this browser uses."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def chip(mark: Mark, short: str = "") -> Html:
    """Returns a run's mark and name (or ``short`` name) on a background of its colour."""
    is_base = mark.role == "baseline"
    look = 'class="rd-chip rd-chip-base"' if is_base else 'class="rd-chip" style="--run:{colour}"'
    template = f'<span {look} title="{{name}}">{{glyph}}<bdi>{{short}}</bdi></span>'
    shown = short or cut_inside(mark.name, LONGEST_ON_A_CHIP)
    return html(template, colour=mark.colour, glyph=glyph(mark), name=mark.name, short=shown)


def show(
    page: str,
    on_history: Callable[[str], None],
    on_link: Callable[[str, str], None],
    *,
    place: str = "",
    tab: str = "",
    name: str = "",
) -> None:
    """Adds the style sheet and page.js, and redraws the page when the browser changes between light and dark.

    ``page`` is the path of the page; ``place`` and ``tab`` are what the header marks as current, ``name``
    what the browser remembers as the name of the person.
    ``on_history`` is called with the query string after a step in the browser's history, ``on_link`` with
    path and query string after a click on a link in a text.
    """
    st.html(style_sheet(palette()))
    with st.container(key="page-script"):
        _PAGE(
            key=PAGE_SCRIPT,
            data={"drawn": st.context.theme.type, "page": page, "place": place, "tab": tab, "name": name},
            on_scheme_change=lambda: None,
            on_address_change=lambda: _on_message("address", lambda message: on_history(message["query"])),
            on_link_change=lambda: _on_message(
                "link", lambda message: on_link(message["path"], message["query"])
            ),
        )


def _on_message(name: str, act: Callable[[Mapping[str, str]], None]) -> None:
    """Calls ``act`` once with each message of page.js with this name; page.js repeats its message after a
    change of page.
    """
    message = st.session_state[PAGE_SCRIPT][name]
    heard: dict[str, int] = st.session_state.setdefault(_HEARD, {})
    if message["number"] > heard.get(name, 0):
        heard[name] = message["number"]
        act(message)


def style_sheet(colours: Palette) -> str:
    """Returns the <style> element of the dashboard, which contains no text of users."""
    return f"<style>:root{{{variables(colours)}}}{RULES}</style>"
