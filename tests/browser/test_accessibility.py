"""Every page as it reaches people: with a screen reader, a keyboard, other eyes, in a narrow window."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from browser_tabs import persist, settle, turn_to_page
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from recdash.charts.marks import DARK

pytestmark = pytest.mark.browser

HERE = Path(__file__).parents[1] / "support"
PAGES = sorted(page.stem.replace("_", "-") for page in (Path(__file__).parents[2] / "pages").glob("*.py"))
MEASURES = (HERE / "page_measures.js").read_text(encoding="utf-8")
SERIOUS = ("serious", "critical")
ALWAYS = ("heading-order",)
"""What axe calls moderate, and must hold all the same: headings skip no level."""
WINDOWS = {
    "125 %": (1152, 800),
    "150 %": (960, 667),
    "tablet": (768, 1024),
    "phone": (390, 844),
}
"""A zoomed window of 1440 × 1000 px is laid out like a smaller one."""
NARROWEST = "phone"
"""The others are wider: the long tests look at them."""


def quick(*chosen: str) -> list[Any]:
    """All pages as parameters of a test: those chosen each time, the others in the long tests."""
    return [pytest.param(page, marks=() if page in chosen else pytest.mark.long) for page in PAGES]


ONE_QUICK = quick("overview")
UNLIKE_EACH_OTHER = quick("overview", "leaderboard", "users", "ab-results", "upload")
"""A verdict with tiles, a wide table, lists side by side, many small charts, a form."""
OF_EACH_KIND = quick(
    "overview", "leaderboard", "segments", "ab-results", "offline-online", "experiments", "reports", "upload",
    "tokens",
)  # fmt: skip
"""Of each place one page, and of charts each kind."""
DRAWN = """() => [...document.querySelectorAll('.stPlotlyChart')].every(chart => {
  const drawn = chart.querySelector('svg');
  return drawn && Math.abs(drawn.clientWidth - chart.clientWidth) < 2;
})"""
STILL = """() => document.getAnimations().every(one =>
  one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"""
"""The sidebar has slid to its place: on its way its links are cut."""
COUNT_LOOKS = """(() => {
  window.looks = 0;
  const every = window.setInterval;
  window.setInterval = (act, pause, ...how) =>
    every(() => { act(); if (pause === 500) window.looks += 1; }, pause, ...how);
})()"""
"""New widths and themes are noticed where the app looks its page over, twice a second."""
OPEN_ALL = "() => document.querySelectorAll('details:not([open]) > summary').forEach(one => one.click())"
WIDE: ViewportSize = {"width": 1440, "height": 1000}
INK = "getComputedStyle(document.documentElement).getPropertyValue('--ink')"


@dataclass(frozen=True)
class Visit:
    """What was found on one page: axe's findings, the charts, and errors in the console."""

    findings: list[str]
    charts: list[dict[str, Any]]
    errors: list[str]


Look = Callable[[str], Visit]


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for all pages: loading Streamlit anew for each would take longer than looking at them."""
    context = browser.new_context(viewport=WIDE, color_scheme="light")
    context.add_init_script(COUNT_LOOKS)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="module")
def look(demo_server: Any, tab: Page) -> Look:
    """Visit a page once, however many tests ask what was found there."""
    errors: list[str] = []
    tab.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    tab.on("pageerror", lambda error: errors.append(str(error)))

    @cache
    def visit(name: str) -> Visit:
        errors.clear()
        turn_to(tab, demo_server.url, name)
        charts = tab.evaluate(MEASURES)["charts"]
        tab.evaluate(OPEN_ALL)
        wait_for(tab)
        return Visit(axe(tab, {}), charts, list(errors))

    return visit


def turn_to(tab: Page, url: str, name: str) -> None:
    """Turn to a page by the navigation, in a wide and light window: no page is loaded anew."""
    if not tab.url.startswith(url):
        tab.goto(url)
        settle(tab)
    if tab.viewport_size != WIDE or tab.evaluate(INK) == DARK.ink:
        tab.emulate_media(color_scheme="light")
        tab.set_viewport_size(WIDE)
        wait_for(tab)  # the app's own request after a change of the window would turn the page back
    turn_to_page(tab, name)
    wait_for(tab)


def measures(tab: Page, window: str) -> dict[str, Any]:
    """What is cut in a window of this size, and the charts."""
    width, height = WINDOWS[window]
    tab.set_viewport_size({"width": width, "height": height})
    wait_for(tab)
    found: dict[str, Any] = tab.evaluate(MEASURES)
    return found


def wait_for(tab: Page) -> None:
    """Until the app has seen and answered what was changed, and its charts are as wide as their places."""
    settle(tab)
    tab.wait_for_function("before => window.looks > before", arg=tab.evaluate("window.looks"))
    settle(tab)
    tab.wait_for_function(DRAWN)
    tab.wait_for_function(STILL)


def turn_dark(tab: Page) -> None:
    """The page follows the browser by itself: its own colours come with the next run of the script."""
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(f"() => {INK} === '{DARK.ink}'")


def axe(tab: Page, options: dict[str, Any]) -> list[str]:
    """Findings of axe-core that are serious, critical or about headings, one line for each place."""
    tab.evaluate(AXE_SCRIPT)
    answer = tab.evaluate("options => axe.run(document, options)", options | {"resultTypes": ["violations"]})
    return [
        f"{rule['id']}: {' '.join(map(str, node['target']))}: {node['failureSummary']} {node['html'][:200]}"
        for rule in answer["violations"]
        if rule["impact"] in SERIOUS or rule["id"] in ALWAYS
        for node in rule["nodes"]
    ]


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_axe_finds_nothing_serious(look: Look, name: str) -> None:
    assert look(name).findings == []


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_the_console_holds_no_error(look: Look, name: str) -> None:
    assert look(name).errors == []


@pytest.mark.parametrize("name", ONE_QUICK)  # tests/charts/test_palette.py holds the contrast of all colours
def test_axe_finds_every_text_readable_in_the_dark(demo_server: Any, tab: Page, name: str) -> None:
    turn_to(tab, demo_server.url, name)
    tab.evaluate(OPEN_ALL)
    turn_dark(tab)
    wait_for(tab)
    assert axe(tab, {"runOnly": ["color-contrast"]}) == []


@pytest.mark.parametrize("name", ONE_QUICK)
def test_no_text_is_cut_in_wider_windows(demo_server: Any, tab: Page, name: str) -> None:
    turn_to(tab, demo_server.url, name)
    for window in WINDOWS.keys() - {NARROWEST}:
        assert measures(tab, window)["cut"] == []


@pytest.mark.parametrize("name", UNLIKE_EACH_OTHER)
def test_no_text_is_cut_and_the_page_does_not_scroll_sideways(demo_server: Any, tab: Page, name: str) -> None:
    turn_to(tab, demo_server.url, name)
    assert measures(tab, NARROWEST)["cut"] == []


@pytest.mark.parametrize("name", OF_EACH_KIND)
def test_each_chart_has_words_and_a_table(look: Look, name: str) -> None:
    for chart in look(name).charts:
        assert chart["role"] == "figure"
        assert len(chart["alt"].split()) > 4, chart
        assert re.search(r"\d", chart["alt"]), chart
        assert chart["table"], chart


@pytest.mark.long
def test_the_demo_draws_charts_on_most_pages(look: Look) -> None:
    assert sum(bool(look(name).charts) for name in PAGES) >= 9


# ── by keyboard ──────────────────────────────────────────────────────────────────────────────

FOCUSED = """() => {
  const here = document.activeElement;
  return [here.getAttribute('aria-label') ?? '', here.innerText ?? ''].join(' ').trim();
}"""
RING = """() => {
  for (let box = document.activeElement, up = 0; box && up < 3; box = box.parentElement, up += 1) {
    const style = getComputedStyle(box);
    if (style.boxShadow !== 'none') return true;
    if (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1) return true;
  }
  return false;
}"""
FARTHEST = 60


def step_to(tab: Page, name: str, key: str = "Tab") -> None:
    """Press Tab until the focus, which is seen at every step, is on what starts with ``name``."""
    passed = []
    while len(passed) < FARTHEST:
        tab.keyboard.press(key)
        passed.append(tab.evaluate(FOCUSED))
        if passed[-1].startswith(name):
            assert tab.evaluate(RING), f"no ring around {name}"
            return
    pytest.fail(f"{name} was not reached: {passed}")


@pytest.fixture
def overview(demo_server: Any, tab: Page) -> Page:
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(WIDE)
    tab.goto(demo_server.url)
    expect(tab.locator(".rd-lead a").first).to_be_visible()
    wait_for(tab)
    return tab


def test_the_first_tab_offers_to_skip_the_navigation(overview: Page) -> None:
    overview.keyboard.press("Tab")
    assert overview.evaluate(FOCUSED) == "Skip to main content"
    overview.keyboard.press("Enter")
    expect(overview.locator("h1")).to_be_focused()
    overview.keyboard.press("Tab")
    assert not overview.evaluate(
        "document.activeElement.closest('.st-key-header, .st-key-tabs, .st-key-frame')"
    )


def open_by_key(tab: Page, button: str, field: Locator) -> None:
    """Open a popover by keyboard; one that takes no focus, as the page was just drawn, is opened again."""

    def attempt(milliseconds: float) -> None:
        tab.keyboard.press("Escape")
        step_to(tab, button)
        settle(tab)
        tab.keyboard.press("Enter")
        expect(field).to_be_focused(timeout=milliseconds)

    persist(attempt)


def test_metric_k_table_and_a_link_of_the_verdict_by_keyboard_alone(overview: Page) -> None:
    keys = overview.keyboard
    metric = overview.get_by_test_id("stPopoverBody").get_by_role("combobox", name="Primary metric")
    open_by_key(overview, "nDCG", metric)
    keys.press("ControlOrMeta+a")
    keys.type("Recall")
    keys.press("Enter")
    expect(overview).to_have_url(re.compile(r"[?&]m=recall(&|$)"))
    settle(overview)
    step_to(overview, "Any k up to 100")
    keys.press("ControlOrMeta+a")
    keys.type("20")
    keys.press("Enter")
    expect(overview).to_have_url(re.compile(r"[?&]k=20(&|$)"))
    settle(overview)
    keys.press("Escape")
    expect(overview.get_by_test_id("stPopoverBody")).to_have_count(0)
    expect(overview.locator(".st-key-frame-metric-k button").first).to_contain_text("20")
    step_to(overview, "keyboard_arrow_right\n\nTable")
    keys.press("Enter")
    expect(overview.locator("details[open]")).to_have_count(1)
    first = overview.locator(".rd-lead a").first
    step_to(overview, first.inner_text(), "Shift+Tab")
    keys.press("Enter")
    expect(overview).to_have_url(re.compile(r"/[a-z-]+\?.*m=recall&k=20"))


def test_a_key_leads_into_a_popover_and_escape_back_to_its_button(overview: Page) -> None:
    step_to(overview, "vs Popular")
    overview.keyboard.press("Enter")
    body = overview.get_by_test_id("stPopoverBody")
    expect(body.get_by_role("combobox", name="Baseline")).to_be_focused()
    overview.keyboard.press("Escape")
    expect(body).to_have_count(0)
    expect(overview.get_by_role("button", name=re.compile("^vs Popular"))).to_be_focused()
