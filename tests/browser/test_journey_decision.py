"""From a verdict to its evidence, in Chromium: another question, a link to the chart, a user, a permalink."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser_tabs import choose, headline, settle
from playwright.sync_api import Browser, Page, expect

pytestmark = pytest.mark.browser

Start = Callable[..., Any]


@pytest.fixture
def dashboard(with_demo: Path, server: Start) -> Any:
    """A server whose store holds the demo."""
    return server(data=with_demo)


def open_choices(page: Page, part: str) -> None:
    """Open one of the frame's buttons."""
    page.keyboard.press("Escape")
    page.locator(f".st-key-frame-{part} button").first.click()
    expect(page.get_by_test_id("stPopoverBody")).to_be_visible()


@pytest.mark.long  # tests/ui/test_pages.py follows the links, tests/ui/test_sharing.py opens them elsewhere
def test_a_verdict_leads_to_its_chart_and_a_permalink_shows_the_same_to_somebody_else(
    dashboard: Any, page: Page, browser: Browser, console_errors: list[str]
) -> None:
    page.goto(dashboard.url)
    verdict = headline(page)
    expect(verdict).to_have_text("Ship ALS v3")
    settle(page)

    open_choices(page, "metric-k")
    page.get_by_label("Any k up to 100").fill("20")
    page.keyboard.press("Enter")
    expect(page.get_by_text("nDCG@20").first).to_be_visible()
    settle(page)

    open_choices(page, "against")
    choose(page, page.get_by_role("combobox", name="Baseline"), "ItemKNN 100")
    expect(page.locator(".st-key-frame-against")).to_contain_text("vs ItemKNN 100")
    open_choices(page, "runs")
    page.get_by_role("button", name=re.compile("^Remove Two-tower")).click()
    expect(page.locator(".st-key-frame-runs")).to_contain_text("3 of 4 candidates")
    settle(page)
    open_choices(page, "part")
    choose(page, page.locator(".st-key-frame-slice input"), "Known users (with train rows)")
    expect(page.locator(".st-key-frame-part")).to_contain_text("Known users")
    page.keyboard.press("Escape")
    settle(page)

    page.get_by_role("link", name="Who & what", exact=True).click()
    page.get_by_role("link", name="Users", exact=True).click()
    finding = re.compile(r"^ALS v3 improves results for \d+\u00a0% of users")
    expect(verdict).to_have_text(finding)
    user = page.locator("[data-testid=stMain] h2").filter(has_text=re.compile("^User "))
    expect(user).to_be_visible()
    settle(page)
    first = user.inner_text()
    page.get_by_role("button", name="Next user").click()
    expect(user).not_to_have_text(first)
    settle(page)

    row = ".st-key-frame-row button"
    seen = (verdict.inner_text(), user.inner_text(), page.locator(row).all_inner_texts())
    link = page.url
    for part in ("k=20", "b=", "c=", "s=user_warmth", "u="):
        assert part in link
    other = browser.new_context().new_page()
    other.goto(link)
    expect(headline(other)).to_have_text(seen[0])
    settle(other)
    again = other.locator("[data-testid=stMain] h2").filter(has_text=re.compile("^User "))
    assert (again.inner_text(), other.locator(row).all_inner_texts()) == seen[1:]
    other.context.close()
    assert console_errors == []
