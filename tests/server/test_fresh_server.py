"""A fresh server process, asked as a browser asks: health, deep links, foreign hosts, no outside requests."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser_tabs import open_page, settle
from playwright.sync_api import Page, expect

from recdash.ui.shell import navigation

PAGES = {
    "" if name == navigation.FIRST else navigation.address(name): title
    for of_section in navigation.SECTIONS.values()
    for name, title in of_section.items()
}
"""Address → title."""
pytestmark = pytest.mark.browser
StartServer = Callable[..., Any]


def offered(page: Page) -> list[str]:
    """Titles of the pages that the sidebar offers."""
    links = page.get_by_test_id("stSidebarNavLink")
    settle(page, links)
    return [title.strip() for title in links.all_inner_texts()]


def shows_no_error(page: Page) -> None:
    expect(page.get_by_test_id("stException")).to_have_count(0)


@pytest.mark.parametrize("path", ["guide"])
def test_a_deep_link_on_a_fresh_server_shows_the_page_inside_its_frame(
    server: StartServer, page: Page, path: str
) -> None:
    open_page(page, f"{server().url}/{path}", page.get_by_role("heading", level=1, name=PAGES[path]))
    shows_no_error(page)
    assert offered(page) == list(PAGES.values())


@pytest.mark.long  # server/test_server.py opens every page, ui/test_pages.py each on an empty store
def test_every_page_opens_on_an_empty_store(server: StartServer, page: Page) -> None:
    url = server().url
    for path in PAGES:
        open_page(page, f"{url}/{path}", page.get_by_test_id("stMain").locator("h1, h2, h3"))
        shows_no_error(page)


def test_looking_at_an_empty_dashboard_writes_no_evidence(
    server: StartServer, page: Page, tmp_path: Path
) -> None:
    open_page(page, server(data=tmp_path / "data").url, page.get_by_test_id("stSidebarNavLink"))
    assert list((tmp_path / "data").rglob("*.parquet")) == []


def answer(url: str, host: str, path: str = "/") -> int:
    parts = urlsplit(url)
    assert parts.hostname is not None
    with closing(http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=180)) as connection:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status


def test_a_foreign_host_name_is_refused(server: StartServer) -> None:
    url = server().url
    assert answer(url, urlsplit(url).netloc) == 200
    assert answer(url, "dashboard.attacker.example") == 403
