"""A fresh server process, asked as a browser asks: health, deep links, foreign hosts, no outside requests."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from browser_tabs import open_page, settle
from playwright.sync_api import Page, expect

from recdash.ui.shell import navigation

PAGES = {
    "" if name == navigation.FIRST else navigation.address(name): title
    for tabs in navigation.EVERYTHING.values()
    for name, title in tabs.items()
}
"""Address → title."""
pytestmark = pytest.mark.browser
StartServer = Callable[..., Any]


def offered(page: Page) -> list[str]:
    """The places and tools that the header offers."""
    links = page.locator(".st-key-header a:not(.rd-brand)")
    settle(page, links.first)
    return [title.strip() for title in links.all_inner_texts()]


def shows_no_error(page: Page) -> None:
    expect(page.get_by_test_id("stException")).to_have_count(0)


@pytest.fixture(scope="module")
def empty(lasting_server: StartServer) -> Any:
    """A dashboard on an empty store. None of the tests writes."""
    return lasting_server()


@pytest.mark.parametrize("path", ["guide"])
def test_a_deep_link_on_a_fresh_server_shows_the_page_inside_its_frame(
    empty: Any, page: Page, path: str
) -> None:
    open_page(page, f"{empty.url}/{path}", page.get_by_role("heading", level=1, name=PAGES[path]))
    shows_no_error(page)
    assert offered(page) == list(navigation.EVERYTHING)


@pytest.mark.long  # server/test_server.py opens every page, ui/test_pages.py each on an empty store
def test_every_page_opens_on_an_empty_store(empty: Any, page: Page) -> None:
    for path in PAGES:
        open_page(page, f"{empty.url}/{path}", page.get_by_test_id("stMain").locator("h1, h2, h3"))
        shows_no_error(page)


def test_looking_at_an_empty_dashboard_writes_no_evidence(empty: Any, page: Page) -> None:
    open_page(page, empty.url, page.locator(".st-key-places a").first)
    assert (empty.data / "recdash.db").is_file()
    assert list(empty.data.rglob("*.parquet")) == []


def answer(url: str, host: str, path: str = "/") -> int:
    parts = urlsplit(url)
    assert parts.hostname is not None
    with closing(http.client.HTTPConnection(parts.hostname, parts.port or 80, timeout=180)) as connection:
        connection.request("GET", path, headers={"Host": host})
        return connection.getresponse().status


def test_a_foreign_host_name_is_refused(empty: Any) -> None:
    assert answer(empty.url, urlsplit(empty.url).netloc) == 200
    assert answer(empty.url, "dashboard.attacker.example") == 403
