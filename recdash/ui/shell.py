"""The UI script: page config, navigation, then the chosen page inside its frame."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from recdash.errors import RecdashError
from recdash.ui import state, theme
from recdash.ui.widgets import problems

PAGES = Path(__file__).resolve().parents[2] / "pages"
SECTIONS = {
    "Decide": {"overview": "Overview", "leaderboard": "Leaderboard"},
    "Compare": {
        "metric_vs_k": "Metric vs k",
        "precision_recall": "Precision–recall",
        "tradeoffs": "Trade-offs",
        "users": "Users",
        "segments": "Segments",
        "items": "Items",
        "catalogue": "Catalogue",
        "definitions": "Definitions",
    },
    "Online": {
        "ab_results": "A/B results",
        "offline_online": "Offline vs online",
        "off_policy": "Off-policy",
    },
    "Share and data": {"upload": "Upload", "runs": "Runs", "guide": "Guide"},
}


def main() -> None:
    """Everything a person sees; runs on each interaction."""
    page = st.navigation(_navigation(), expanded=True)
    st.set_page_config(f"{page.title} · recdash", "📊", layout="wide", initial_sidebar_state=224)
    st.html(theme.style_sheet(theme.palette()))
    try:
        page.run()
    except RecdashError as error:
        problems(error)
    state.to_url()


def _navigation() -> dict[str, list[st.Page]]:
    """Pages by section; their addresses are kept for links between pages."""
    sections = {
        section: [
            st.Page(
                PAGES / f"{name}.py", title=title, url_path=name.replace("_", "-"), default=name == "overview"
            )
            for name, title in pages.items()
        ]
        for section, pages in SECTIONS.items()
    }
    names = [name.replace("_", "-") for pages in SECTIONS.values() for name in pages]
    pages = [page for section in sections.values() for page in section]
    st.session_state["recdash.pages"] = dict(zip(names, pages, strict=True))
    return sections


main()
