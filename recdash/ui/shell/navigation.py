"""Which pages there are, in which order, and who sees them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import streamlit as st

from recdash.domain.access import AccessRole, Person

PAGES = Path(__file__).resolve().parents[3] / "pages"
SECTIONS = {
    "Decide": {"overview": "Overview", "experiments": "Experiments", "leaderboard": "Leaderboard"},
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
    "Share and data": {
        "reports": "Reports & decisions",
        "upload": "Upload",
        "runs": "Runs",
        "guide": "Guide",
    },
}
FIRST = "overview"
NEEDS: dict[str, AccessRole] = {"off_policy": "editor", "upload": "editor", "runs": "editor"}
"""The role that a page is for: one that takes files or changes things. All others are for viewers."""


def address(name: str) -> str:
    return name.replace("_", "-")


ADDRESSES = [address(name) for pages in SECTIONS.values() for name in pages]


def sees(person: Person, name: str) -> bool:
    return person.may(NEEDS.get(name, "viewer"))


def pages(person: Person | None, instead: Callable[[str], Callable[[], None]]) -> dict[str, list[st.Page]]:
    """Pages by section, each at its address. What the person may not see is hidden, and ``instead`` is shown.

    ``instead``: page's title → what draws in its place.
    """
    return {
        section: [_page(name, title, person, instead) for name, title in of_section.items()]
        for section, of_section in SECTIONS.items()
    }


def _page(
    name: str, title: str, person: Person | None, instead: Callable[[str], Callable[[], None]]
) -> st.Page:
    is_first = name == FIRST
    if person is not None and sees(person, name):
        return st.Page(PAGES / f"{name}.py", title=title, url_path=address(name), default=is_first)
    return st.Page(instead(title), title=title, url_path=address(name), default=is_first, visibility="hidden")


def keep(sections: dict[str, list[st.Page]]) -> None:
    """Remember the pages that this person sees by their addresses, for links between them."""
    offered = [page for pages in sections.values() for page in pages]
    known = dict(zip(ADDRESSES, offered, strict=True))
    st.session_state["recdash.pages"] = {
        where: page for where, page in known.items() if page.visibility == "visible"
    }
