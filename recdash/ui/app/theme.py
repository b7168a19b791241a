"""The theme's palette and the style sheet of everything that is drawn as HTML."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from recdash.charts import mark_html
from recdash.charts.mark_html import glyph, variables
from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.formatting.html import Html, html

HERE = Path(__file__).parent
RULES = mark_html.RULES + "".join(
    (HERE / name).read_text(encoding="utf-8") for name in ("style.css", "narrow.css")
)
_PAGE = st.components.v2.component("recdash.page", js=(HERE / "page.js").read_text(encoding="utf-8"))


def palette() -> Palette:
    """The palette of the theme that this browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def chip(mark: Mark, short: str = "") -> Html:
    """A run's name, or its ``short`` one, with its mark, tinted with its colour."""
    is_base = mark.role == "baseline"
    look = 'class="rd-chip rd-chip-base"' if is_base else 'class="rd-chip" style="--run:{colour}"'
    template = f'<span {look} title="{{name}}">{{glyph}}<bdi>{{short}}</bdi></span>'
    return html(template, colour=mark.colour, glyph=glyph(mark), name=mark.name, short=short or mark.name)


def show() -> None:
    """Add the style sheet, and redraw the page when the browser turns light or dark."""
    st.html(style_sheet(palette()))
    with st.container(key="page-script"):
        _PAGE(key="page-script-state", data={"drawn": st.context.theme.type}, on_scheme_change=lambda: None)


def style_sheet(colours: Palette) -> str:
    """The <style> of the app; values are ours alone, no user text enters it."""
    return f"<style>:root{{{variables(colours)}}}{RULES}</style>"
