"""The HTML that shows a view within a page of a wiki."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from recdash.formatting.html import html
from recdash.formatting.wording import listed
from recdash.metrics.naming import metric_at
from recdash.settings import settings
from recdash.ui.app import links
from recdash.ui.app.state import View
from recdash.ui.components import widgets

THEMES: Mapping[str, str] = {"reader": "As the reader has it", "light_theme": "Light", "dark_theme": "Dark"}
HEIGHT = 760


def show_snippet(view: View) -> None:
    """Draws the HTML for a wiki, and which setting allows the wiki to show it."""
    theme = widgets.one_of("Colours", THEMES, "reader", "embed-theme")
    st.code(snippet(view, theme), language="html", wrap_lines=True)
    st.caption(_what_must_be_set())


def snippet(view: View, theme: str = "reader") -> str:
    """Returns the HTML of an iframe with this view; its address and title are escaped."""
    options = "" if theme == "reader" else f"&embed_options={theme}"
    address = f"{links.current_url()}&embed=true{options}"
    of = f", {metric_at(view.metric, view.k)}" if view.runs else ""
    title = f"recdash: {view.experiment.name}{of}"
    size = f'width="100%" height="{HEIGHT}" style="border:0"'
    return html(f'<iframe src="{{src}}" title="{{title}}" {size}></iframe>', src=address, title=title)


def _what_must_be_set() -> str:
    """Returns a sentence on which sites may show pages of the dashboard, and that their readers need
    access.
    """
    sites = settings().embedders()
    if sites:
        named = listed([f"`{site}`" for site in sites])
        return f"Pages of {named} may show it. Their readers must be allowed to read here."
    return (
        "No site may show it yet: name the wiki in `RECDASH_EMBED_FROM`, such as `https://wiki.example.org`, "
        "and start the dashboard again. Its readers must be allowed to read here."
    )
