"""Places, tabs, links and the browser's Back: one history entry per action, no page loaded anew."""

from __future__ import annotations

import re
from typing import Any

import pytest
from browser_tabs import headline, settle, turn_to_page
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def metric_shown(page: Page) -> str:
    return page.locator(".st-key-frame-metric-k button").first.inner_text().split("\n")[0]


def choose_k(page: Page, k: int) -> None:
    page.locator(".st-key-frame-metric-k button").first.click()
    page.get_by_test_id("stPopoverBody").get_by_text(str(k), exact=True).click()
    settle(page)
    page.keyboard.press("Escape")


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


@pytest.mark.long
def test_back_and_forward_restore_every_choice_and_a_link_loads_nothing_anew(
    demo_server: Any, page: Page, console_errors: list[str]
) -> None:
    loads: list[str] = []
    page.on("load", lambda loaded: loads.append(loaded.url))
    page.goto(f"{demo_server.url}/leaderboard")
    settle(page, headline(page))
    before = entries(page)
    turn_to_page(page, "metric-vs-k")
    ten = metric_shown(page)
    choose_k(page, 20)
    assert metric_shown(page) != ten
    assert entries(page) == before + 2  # the tab, and k
    page.go_back()
    expect(page.locator(".st-key-frame-metric-k button").first).to_contain_text(ten)
    expect(page).to_have_url(re.compile(r"/metric-vs-k\?.*\bk=10\b"))
    settle(page)
    page.go_back()
    expect(page).to_have_url(re.compile(r"/leaderboard\?"))
    settle(page, page.locator("table.rd-board"))
    page.go_forward()
    expect(page).to_have_url(re.compile(r"/metric-vs-k\?.*\bk=10\b"))
    settle(page)
    assert page.locator(".st-key-tabs a[aria-current=page]").inner_text() == "By k"
    page.locator(".st-key-header .rd-brand").click()
    expect(page).to_have_url(re.compile(rf"^{re.escape(demo_server.url)}/\?e="))
    settle(page)
    assert len(loads) == 1
    assert console_errors == []
