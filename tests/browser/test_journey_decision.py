"""From a verdict to its evidence, in Chromium: another question, a link to the chart, a user, a permalink."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import browser_tabs
import pytest
from browser_tabs import headline, settle
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

Start = Callable[..., Any]


@pytest.fixture
def dashboard(with_demo: Path, server: Start) -> Any:
    """A server whose store holds the demo."""
    return server(data=with_demo)


def choose(page: Page, key: str, option: str) -> None:
    """Pick an option of the select box with this key."""
    browser_tabs.choose(page, page.locator(f".st-key-{key} input"), option)


@pytest.mark.long  # tests/ui/test_pages.py follows the links, tests/ui/test_sharing.py opens them elsewhere
def test_a_verdict_leads_to_its_chart_and_a_permalink_shows_the_same_to_somebody_else(
    dashboard: Any, page: Page, browser: Browser, console_errors: list[str]
) -> None:
    page.goto(dashboard.url)
    verdict = headline(page)
    expect(verdict).to_have_text("Two-tower 2026-10 is a trade-off")
    settle(page)

    page.get_by_label("Any k to 100").fill("20")
    page.keyboard.press("Enter")
    expect(page.get_by_text("nDCG@20 is").first).to_be_visible()
    settle(page)

    page.get_by_role("button", name="Change runs").click()
    choose(page, "frame-baseline", "ItemKNN 100")
    expect(page.get_by_text("above ItemKNN 100").first).to_be_visible()
    settle(page)
    page.get_by_role("button", name=re.compile("^Remove Two-tower")).click()
    expect(verdict).not_to_contain_text("Two-tower")
    settle(page)
    page.keyboard.press("Escape")

    page.get_by_role("button", name="Narrow down").click()
    choose(page, "frame-slice", "Known users (with train rows)")
    expect(page.locator(".st-key-frame-scope")).to_contain_text("Known users")
    settle(page)
    page.keyboard.press("Escape")

    page.get_by_role("link", name=re.compile("^better for")).first.click()
    finding = re.compile(r"is better for \d+ of 100 users")
    expect(verdict).to_have_text(finding)
    user = page.locator("[data-testid=stMain] h2").filter(has_text=re.compile("^User "))
    expect(user).to_be_visible()
    settle(page)
    first = user.inner_text()
    page.get_by_role("button", name="Next user").click()
    expect(user).not_to_have_text(first)
    settle(page)

    seen = (verdict.inner_text(), user.inner_text(), page.locator(".rd-chip-part").all_inner_texts())
    link = page.url
    for part in ("k=20", "b=", "c=", "s=user_warmth", "u="):
        assert part in link
    other = browser.new_context().new_page()
    other.goto(link)
    expect(headline(other)).to_have_text(seen[0])
    settle(other)
    again = other.locator("[data-testid=stMain] h2").filter(has_text=re.compile("^User "))
    expect(other.locator(".rd-chip-part")).to_have_count(len(seen[2]))
    assert (again.inner_text(), other.locator(".rd-chip-part").all_inner_texts()) == seen[1:]
    other.context.close()
    assert console_errors == []
