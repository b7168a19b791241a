"""The places of the dashboard, their tabs, and which people see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import streamlit as st

from recdash.domain.access import AccessRole, Person
from recdash.web.dashboard_files import FIRST_PAGE, dashboard_folder

PAGES = dashboard_folder() / "pages"
PLACES: Mapping[str, Mapping[str, str]] = {
    "Home": {"experiments": "Home"},
    "Decision": {"overview": "Recommendation", "review": "Review"},
    "Compare": {
        "leaderboard": "Ranking",
        "metric_vs_k": "By k",
        "precision_recall": "Precision–recall",
        "tradeoffs": "Trade-offs",
    },
    "Who & what": {"segments": "Segments", "users": "Users", "items": "Items", "catalogue": "Catalogue"},
    "Online": {
        "ab_results": "Results",
        "offline_online": "Offline vs online",
        "why": "Why",
        "off_policy": "Off-policy",
    },
    "Reports": {"reports": "Reports"},
}
"""Place → its tabs: {file in pages/: title}."""
TOOLS: Mapping[str, Mapping[str, str]] = {
    "Add data": {"upload": "Add data"},
    "Help": {"guide": "Guide", "definitions": "Definitions"},
    "Settings": {
        "settings": "Decision rules",
        "runs": "Runs",
        "metric_library": "Metric library",
        "tokens": "API tokens",
    },
}
"""The tools at the right end of the header, with their tabs."""
EVERYTHING = {**PLACES, **TOOLS}
HELP: Mapping[str, str] = {
    "experiments": "recommendation",
    "overview": "recommendation",
    "review": "review",
    "leaderboard": "rank-shared",
    "metric_vs_k": "interval",
    "precision_recall": "precision",
    "tradeoffs": "pareto",
    "segments": "segments",
    "users": "users-items",
    "items": "users-items",
    "catalogue": "shown-by",
    "ab_results": "guardrail",
    "offline_online": "offline-online",
    "why": "why",
    "off_policy": "off-policy",
    "reports": "reports",
    "upload": "files",
    "settings": "decision-rules",
    "runs": "population",
    "metric_library": "metric-library",
    "tokens": "api-tokens",
}
"""Page → the guide's entry that *Help* opens from there; pages of *Help* have none."""
FIRST = FIRST_PAGE
NEEDS: dict[str, AccessRole] = {
    "off_policy": "editor", "upload": "editor", "runs": "editor", "metric_library": "editor",
    "tokens": "admin",
}  # fmt: skip
"""The role for a page that receives files, changes data or gives access. All other pages are for viewers."""


def address(name: str) -> str:
    return name.replace("_", "-")


ADDRESSES = [address(name) for tabs in EVERYTHING.values() for name in tabs]


@dataclass(frozen=True)
class Tab:
    """A tab that the person can open; ``page`` is an argument for ``st.page_link``."""

    title: str
    address: str
    page: st.Page


def sees(person: Person, name: str) -> bool:
    return person.may(NEEDS.get(name, "viewer"))


def full_title(place: str, tab: str) -> str:
    """Returns the title with its place, such as ``Compare: By k``; only the place if both are equal."""
    return place if place == tab else f"{place}: {tab}"


Instead = Callable[[str, AccessRole], Callable[[], None]]


def pages(person: Person | None, instead: Instead) -> list[st.Page]:
    """Returns a page per tab.

    For a page that the person may not see, ``instead(title, role)`` returns the function that draws it.
    """
    return [_page(name, full_title(place, tab), person, instead) for place, name, tab in _tabs()]


def _tabs() -> Iterator[tuple[str, str, str]]:
    """Yields (place, name of the page, title of the tab)."""
    for place, tabs in EVERYTHING.items():
        for name, title in tabs.items():
            yield place, name, title


def _page(name: str, title: str, person: Person | None, instead: Instead) -> st.Page:
    is_first = name == FIRST
    if person is not None and sees(person, name):
        return st.Page(PAGES / f"{name}.py", title=title, url_path=address(name), default=is_first)
    return st.Page(
        instead(title, NEEDS.get(name, "viewer")),
        title=title,
        url_path=address(name),
        default=is_first,
        visibility="hidden",
    )


def keep(offered: list[st.Page]) -> None:
    """Stores the pages that this person can open by their addresses, for links between pages."""
    known = dict(zip(ADDRESSES, offered, strict=True))
    st.session_state["recdash.pages"] = {
        where: page for where, page in known.items() if page.visibility == "visible"
    }


def place_and_tab(path: str) -> tuple[str, str]:
    """Returns the place and the tab's title of the page at this path; "" is the first page."""
    shown = path or address(FIRST)
    return next((place, title) for place, name, title in _tabs() if address(name) == shown)


def help_entry(path: str) -> str | None:
    """Returns the guide's entry about the page at this path; None for pages of *Help*."""
    shown = path or address(FIRST)
    return next((entry for name, entry in HELP.items() if address(name) == shown), None)


def tabs_of(place: str) -> list[Tab]:
    """Returns the tabs of a place that this person can open; empty if there are none."""
    known: Mapping[str, st.Page] = st.session_state["recdash.pages"]
    tabs = {address(name): title for name, title in EVERYTHING[place].items()}
    return [Tab(title, where, known[where]) for where, title in tabs.items() if where in known]
