"""Every page as it reaches people: with a screen reader, a keyboard, other eyes, in a narrow window."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Browser, Page

from recdash.charts.marks import DARK

pytestmark = pytest.mark.browser

HERE = Path(__file__).parent
PAGES = sorted(page.stem.replace("_", "-") for page in (HERE.parent / "pages").glob("*.py"))
MEASURES = (HERE / "page_measures.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
WINDOWS = {
    "125 %": (1152, 800),
    "150 %": (960, 667),
    "tablet": (768, 1024),
    "phone": (390, 844),
}
"""A zoomed window of 1440 × 1000 px is laid out like a smaller one."""
DRAWN = """() => [...document.querySelectorAll('.stPlotlyChart')].every(chart => {
  const drawn = chart.querySelector('svg');
  return drawn && Math.abs(drawn.clientWidth - chart.clientWidth) < 2;
})"""
OPEN_ALL = "() => document.querySelectorAll('details:not([open]) > summary').forEach(one => one.click())"
INK = "getComputedStyle(document.documentElement).getPropertyValue('--ink')"


@dataclass
class Visit:
    """What was found on one page: axe's findings by scheme, what was cut by window, the charts."""

    findings: dict[str, list[str]] = field(default_factory=dict)
    cut: dict[str, list[str]] = field(default_factory=dict)
    charts: list[dict[str, Any]] = field(default_factory=list)


Look = Callable[[str], Visit]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all pages: loading Streamlit anew for each would take longer than looking at them."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, color_scheme="light")
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def look(demo_server: Any, tab: Page, settle: Callable[[Page], None]) -> Look:
    """Visit a page once, however many tests ask what was found there."""

    @cache
    def visit(name: str) -> Visit:
        tab.emulate_media(color_scheme="light")
        tab.goto(f"{demo_server.url}/{'' if name == 'overview' else name}")
        wait_for(tab, settle)
        found = Visit()
        for window, (width, height) in WINDOWS.items():
            tab.set_viewport_size({"width": width, "height": height})
            wait_for(tab, settle)
            measured = tab.evaluate(MEASURES)
            found.cut[window], found.charts = measured["cut"], measured["charts"]
        tab.set_viewport_size({"width": 1440, "height": 1000})
        tab.evaluate(OPEN_ALL)
        wait_for(tab, settle)
        tab.evaluate(AXE_SCRIPT)
        found.findings["light"] = axe(tab, {})
        turn_dark(tab)
        wait_for(tab, settle)
        found.findings["dark"] = axe(tab, {"runOnly": ["color-contrast"]})
        return found

    return visit


def wait_for(tab: Page, settle: Callable[[Page], None]) -> None:
    tab.wait_for_timeout(600)  # new widths and themes are noticed twice a second
    settle(tab)
    tab.wait_for_function(DRAWN)


def turn_dark(tab: Page) -> None:
    """The page follows the browser by itself: its own colours come with the next run of the script."""
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(f"() => {INK} === '{DARK.ink}'")


def axe(tab: Page, options: dict[str, Any]) -> list[str]:
    """Serious and critical findings of axe-core, one line for each place."""
    answer = tab.evaluate("options => axe.run(document, options)", options | {"resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']} {node['html'][:200]}"
        for rule in answer["violations"]
        if rule["impact"] in SERIOUS
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_serious(look: Look, name: str, scheme: str) -> None:
    assert look(name).findings[scheme] == []


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("name", PAGES)
def test_no_text_is_cut_and_the_page_does_not_scroll_sideways(look: Look, name: str, window: str) -> None:
    assert look(name).cut[window] == []


@pytest.mark.parametrize("name", PAGES)
def test_each_chart_has_words_and_a_table(look: Look, name: str) -> None:
    for chart in look(name).charts:
        assert chart["role"] == "figure"
        assert len(chart["alt"].split()) > 4, chart
        assert re.search(r"\d", chart["alt"]), chart
        assert chart["table"], chart


def test_the_demo_draws_charts_on_most_pages(look: Look) -> None:
    assert sum(bool(look(name).charts) for name in PAGES) >= 9
