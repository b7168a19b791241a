"""The theme's palette and the style sheet of everything that is drawn as HTML."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from recdash.charts.marks import DARK, LIGHT, Mark, Palette
from recdash.formatting.html import Html, html

HERE = Path(__file__).parent
RULES = "".join((HERE / name).read_text(encoding="utf-8") for name in ("style.css", "narrow.css"))
_PAGE = st.components.v2.component("recdash.page", js=(HERE / "page.js").read_text(encoding="utf-8"))


def palette() -> Palette:
    """The palette of the theme that this browser shows."""
    return DARK if st.context.theme.type == "dark" else LIGHT


def glyph(mark: Mark) -> Html:
    """A run's mark in HTML: two dashes for the baseline, else its shape in its colour."""
    if mark.role == "baseline":
        return html('<span class="rd-dash" aria-hidden="true"></span>')
    return html(
        '<span class="rd-glyph rd-{shape}" style="background:{colour}" aria-hidden="true"></span>',
        shape=mark.shape,
        colour=mark.colour,
    )


def chip(mark: Mark) -> Html:
    """A run's name with its mark, tinted with its colour."""
    is_base = mark.role == "baseline"
    look = 'class="rd-chip rd-chip-base"' if is_base else 'class="rd-chip" style="--run:{colour}"'
    template = f'<span {look} title="{{name}}">{{glyph}}<bdi>{{name}}</bdi></span>'
    return html(template, colour=mark.colour, glyph=glyph(mark), name=mark.name)


def show() -> None:
    """Add the style sheet, and redraw the page when the browser turns light or dark."""
    st.html(style_sheet(palette()))
    with st.container(key="page-script"):
        _PAGE(key="page-script-state", data={"drawn": st.context.theme.type}, on_scheme_change=lambda: None)


def style_sheet(colours: Palette) -> str:
    """The <style> of the app; values are ours alone, no user text enters it."""
    tint = 26 if colours.dark else 14
    variables = (
        f"--ink:{colours.ink};--muted:{colours.muted};--faint:{colours.faint};--line:{colours.border};"
        f"--panel:{colours.panel};--bg:{colours.background};--better:{colours.better};--same:{colours.same};"
        f"--worse:{colours.worse};--base:{colours.baseline};--primary:{colours.primary};--tint:{tint}%;"
    )
    return f"<style>:root{{{variables}}}{RULES}</style>"
