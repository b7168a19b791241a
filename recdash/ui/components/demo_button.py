"""A button that loads the demo."""

from __future__ import annotations

from typing import Literal

import streamlit as st

from recdash.ui.app import cached, links, state


def draw(key: str, page: str = "overview", kind: Literal["secondary", "tertiary"] = "secondary") -> None:
    """Draws the button, which opens a page of the demo afterwards."""
    if st.button("Load the demo", key=key, type=kind):
        demo = state.workspace().demo.load(progress=cached.progress("Making the demo"))
        state.show_experiment(demo.id)
        links.go(page)
