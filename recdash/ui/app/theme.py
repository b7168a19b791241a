"""The theme's palette and the style sheet of everything that is drawn as HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import streamlit as st

from recdash.charts import mark_html
from recdash.charts.mark_html import glyph, variables
from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.formatting.html import Html, html

PAGE_SCRIPT, _HEARD = "page-script-state", "recdash.heard"
HERE = Path(__file__).parent
RULES = mark_html.RULES + "".join(
    (HERE / name).read_text(encoding="utf-8") for name in ("style.css", "narrow.css")
)
_PAGE = st.components.v2.component("recdash.page", js=(HERE / "page.js").read_text(encoding="utf-8"))


def palette() -> Palette:
    """Returns the palette of the theme that this browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def chip(mark: Mark, short: str = "") -> Html:
    """Returns a run's name, or its ``short`` one, with its mark, tinted with its colour."""
    is_base = mark.role == "baseline"
    look = 'class="rd-chip rd-chip-base"' if is_base else 'class="rd-chip" style="--run:{colour}"'
    template = f'<span {look} title="{{name}}">{{glyph}}<bdi>{{short}}</bdi></span>'
    return html(template, colour=mark.colour, glyph=glyph(mark), name=mark.name, short=short or mark.name)


def show(
    page: str,
    on_history: Callable[[str], None],
    on_link: Callable[[str, str], None],
    *,
    place: str = "",
    tab: str = "",
) -> None:
    """Adds the style sheet, and redraws the page when the browser turns light or dark.

    ``page``: the path of the page's address; ``place`` and ``tab``: what the header marks as shown.
    ``on_history`` is called with the query string after a step back or forward in the browser's history,
    ``on_link`` with path and query string after a click on a link of a text.
    """
    st.html(style_sheet(palette()))
    with st.container(key="page-script"):
        _PAGE(
            key=PAGE_SCRIPT,
            data={"drawn": st.context.theme.type, "page": page, "place": place, "tab": tab},
            on_scheme_change=lambda: None,
            on_address_change=lambda: _tell("address", lambda told: on_history(told["query"])),
            on_link_change=lambda: _tell("link", lambda told: on_link(told["path"], told["query"])),
        )


def _tell(name: str, act: Callable[[Mapping[str, str]], None]) -> None:
    """Calls ``act`` with what page.js says under this name, once: after a change of page it says so again."""
    told = st.session_state[PAGE_SCRIPT][name]
    heard: dict[str, int] = st.session_state.setdefault(_HEARD, {})
    if told["number"] > heard.get(name, 0):
        heard[name] = told["number"]
        act(told)


def style_sheet(colours: Palette) -> str:
    """Returns the <style> of the app; values are ours alone, no user text enters it."""
    return f"<style>:root{{{variables(colours)}}}{RULES}</style>"
