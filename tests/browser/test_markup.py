"""What strangers name stays text: where a name is written nothing runs, loads, links or computes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import hostile_world
import pytest
from browser_tabs import choose, give, open_choices, open_page, settle, turn_to_page
from conftest import is_outside, start_server, stop_server, wait_until_healthy
from hostile_world import ALL, FAMILIES, KEPT
from playwright.sync_api import Browser, Locator, Page

from recdash.report.digest.digest import Digests
from recdash.report.digest.html import as_html
from recdash.report.digest.text import as_markdown, as_text
from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports
from recdash.service import Workspace

pytestmark = pytest.mark.browser

PAGES = sorted(page.stem.replace("_", "-") for page in (Path(__file__).parents[2] / "pages").glob("*.py"))
PLOT = ".stPlotlyChart svg text"
SINKS = {
    "heading and cases": ("overview", "h1, .rd-cases"),
    "prose of the verdict": ("overview", ".rd-lead"),
    "list of notices": ("offline-online", ".rd-banner, .rd-list, .rd-note"),
    "labels of a forest": ("overview", ".rd-forest"),
    "words for a chart": ("tradeoffs", ".stPlotlyChart"),
    "table of the leaderboard": ("leaderboard", ".rd-board"),
    "tags of a selection": ("leaderboard", "[data-tag]"),
    "labels at the ends of lines": ("metric-vs-k", PLOT),
    "labels beside points": ("tradeoffs", PLOT),
    "ends of parallel axes": ("tradeoffs", ".st-key-parallel svg text"),
    "paths of precision and recall": ("precision-recall", PLOT),
    "rows of bars": ("users", ".st-key-users-split svg text"),
    "titles in a user's lists": ("users", ".rd-column"),
    "rows of segments": ("segments?by=PART", PLOT),
    "table of segments": ("segments?by=PART", ".rd-table"),
    "titles of items": ("items", ".rd-items, .rd-table"),
    "heads of columns": ("items", "th"),
    "values of an attribute": ("catalogue", ".rd-table"),
    "ticks of an axis": ("catalogue", PLOT),
    "hidden cells of a grid": ("catalogue", "[data-testid=stDataFrame]"),
    "variants of a test": ("ab-results", ".rd-lifts"),
    "rules of a test": ("ab-results", "details"),
    "titles of panels": ("ab-results", ".stPlotlyChart svg"),
    "bars of both sides": ("offline-online", PLOT),
    "explanations": ("why?v=WON", ".rd-title p, .rd-why-lead, .rd-why"),
    "choice of a variant": ("why: variants", "[role=option]"),
    "table of runs": ("runs", ".rd-table"),
    "field of a form": ("runs", "textarea"),
    "label of an expander": ("runs", "summary"),
    "tags of a run": ("runs", "[data-tag], .rd-table"),
    "rows of experiments": ("experiments", ".rd-home, .stMain"),
    "decisions and comments": ("reports", ".stMain"),
    "title of a report": ("reports", ".stMain input, .stMain"),
    "warning of a link": ("overview?e=ALL", ".stAlert"),
    "warning of a run that is gone": ("overview?b=ALL", ".stAlert"),
    "warning of an attribute": ("catalogue?by=ALL", ".stAlert"),
    "report as a page": ("reports/ID", "body"),
    "choice of runs in a popover": ("overview: runs", "[data-testid=stPopoverBody]"),
    "choice of segments": ("segments: choice", "[role=option]"),
    "choice of a run to define": ("definitions: choice", "[role=option]"),
    "toast": ("runs: archive", "[data-testid=stToast]"),
    "way back from an act": ("runs: archive", ".st-key-undo-bar"),
    "problems of an upload": ("upload: file", "[data-testid=stAlert]"),
    "digest as a page": ("digest", "body"),
}
"""Where a name is written: the page's address, and the elements that hold it."""
WON = f"{ALL} won"
"""The variant whose run is called by all families, too."""
QUICK = {"overview", "leaderboard", "ab-results", "runs", "reports/ID", "upload: file", "digest"}
"""Looked at each time: a verdict, a table, an A/B test, forms, a report, a refusal, a digest. The long tests
visit every page."""
AT_REST = [page for page, _ in SINKS.values() if ": " not in page and page != "digest"]
ADDRESSES = list(dict.fromkeys([*PAGES, *AT_REST]))


def quick(names: Iterable[str], address_of: Callable[[str], str] = str) -> list[Any]:
    """Parameters of a test: those at an address that is visited each time, the others for the long tests."""
    return [pytest.param(name, marks=() if address_of(name) in QUICK else pytest.mark.long) for name in names]


READ = """([selector]) => [...document.querySelectorAll(selector)].map(one =>
  [one.textContent, one.value ?? '', one.getAttribute('aria-label') ?? ''].join(' ')).join(' ')"""
LIVE = """() => {
  const names = ['href', 'src', 'xlink:href', 'action', 'data', 'poster', 'style', 'onerror', 'onload'];
  const isLive = (name, value) => {
    if (name.startsWith('on')) return true;
    if (name === 'style') return value.includes('evil');
    const where = new URL(value, document.baseURI);
    return ['mailto:', 'javascript:'].includes(where.protocol) || where.hostname.endsWith('evil.example');
  };
  return [...document.querySelectorAll('*')].flatMap(one => names
    .filter(name => one.hasAttribute(name) && isLive(name, one.getAttribute(name)))
    .map(name => `<${one.tagName.toLowerCase()} ${name}="${one.getAttribute(name).slice(0, 80)}">`));
}"""
OPEN_ALL = "() => document.querySelectorAll('details:not([open]) > summary').forEach(one => one.click())"
DRAWN = """() => {
  const grid = document.querySelector('[data-testid=stDataFrame]');
  grid?.scrollIntoView();
  const charts = [...document.querySelectorAll('.stPlotlyChart')];
  return charts.every(chart => chart.querySelector('svg')) && (!grid || grid.textContent.trim());
}"""


@dataclass
class Walk:
    """What was met on the way: the words of each sink, what was live, what was asked of others, what ran."""

    words: dict[str, str] = field(default_factory=dict)
    live: dict[str, list[str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    ran: list[str] = field(default_factory=list)
    tables: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    data = tmp_path_factory.mktemp("hostile")
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    made = hostile_world.make(workspace)
    server = start_server(data)
    wait_until_healthy(server)
    yield {"workspace": workspace, "url": server.url, **made}
    stop_server(server)


@pytest.fixture(scope="module")
def walk(request: pytest.FixtureRequest, browser: Browser, world: dict[str, Any]) -> Walk:
    """Every page that a test is about once, everything on it opened, every table taken away."""
    found = Walk()
    is_long = any(item.get_closest_marker("long") for item in request.session.items)
    context = browser.new_context(viewport={"width": 1440, "height": 1000}, accept_downloads=True)
    context.add_init_script("delete window.showSaveFilePicker")  # it would ask the person where to save
    context.route(is_outside, lambda route: (found.asked.append(route.request.url), route.abort()))
    context.expose_function("pwn", lambda: found.ran.append("pwn()"))
    tab = context.new_page()
    tab.on("dialog", lambda dialog: (found.ran.append(dialog.message), dialog.dismiss()))
    for address in ADDRESSES:
        if is_long or address in QUICK:
            visit(tab, world, address, found)
    for address, act in ACTS.items():
        if is_long or address in QUICK:
            act(tab, world["url"])
            read(tab, address, found)
    tab.goto(f"{world['url']}/reports/none")
    tab.set_content(as_html(Digests(world["workspace"]).digest()))
    read(tab, "digest", found)
    context.close()
    return found


def open_runs(tab: Page, url: str) -> None:
    open_page(tab, url)
    tab.locator(".st-key-frame-runs button").first.click()
    tab.get_by_test_id("stPopoverBody").locator("[data-tag]").first.wait_for()


def open_list(address: str, label: str) -> Callable[[Page, str], None]:
    """Returns what opens the page at the address, and there the list of choices with this label."""

    def act(tab: Page, url: str) -> None:
        open_page(tab, f"{url}/{address}")
        open_choices(tab, tab.get_by_role("combobox", name=label, exact=True))

    return act


def archive_a_run(tab: Page, url: str) -> None:
    open_page(tab, f"{url}/runs")
    tab.get_by_role("tab", name="Archive and delete").click()
    tab.get_by_role("button", name=re.compile("^Archive")).first.click()
    settle(tab, tab.get_by_test_id("stToast"))


def upload_a_file(tab: Page, url: str) -> None:
    """A table without an item column: the page names the columns that it has."""
    open_page(tab, f"{url}/upload")
    written = io.StringIO()
    csv.writer(written).writerows([["user_id", *hostile_world.names("column")], ["u1", *FAMILIES.values()]])
    name = "=1 [m](evil) www.evil.example <img src=x onerror=pwn()>.csv"
    give(tab, {"name": name, "mimeType": "text/csv", "buffer": written.getvalue().encode()})
    kind = tab.get_by_role("combobox", name="What").first
    choose(tab, kind, "Recommendations")
    settle(tab, tab.get_by_test_id("stAlert").filter(has_text="column"))


ACTS = {
    "overview: runs": open_runs,
    "segments: choice": open_list("segments", "Segments"),
    "definitions: choice": open_list("definitions", "Run"),
    "why: variants": open_list("why", "Variant"),
    "upload: file": upload_a_file,
    "runs: archive": archive_a_run,
}


def read(tab: Page, address: str, found: Walk) -> None:
    """The words of the address's sinks, and what is live there."""
    for sink, (page, selector) in SINKS.items():
        if page == address:
            found.words[sink] = plain(tab.evaluate(READ, [selector]))
    found.live[address] = tab.evaluate(LIVE)


def visit(tab: Page, world: dict[str, Any], address: str, found: Walk) -> None:
    go_to(tab, world, address)
    if not address.startswith("reports/"):
        settle(tab)
        tab.evaluate(OPEN_ALL)
        settle(tab)
        tab.wait_for_function(DRAWN)
    read(tab, address, found)
    for button in tab.get_by_role("button", name="Download CSV").all():
        keep_download(tab, button, f"{address}, own button", found)
    for button in tab.get_by_role("button", name=re.compile("^Download as CSV")).all():
        keep_download(tab, button, f"{address}, grid", found)


def go_to(tab: Page, world: dict[str, Any], address: str) -> None:
    """By the navigation, where the address is a page's own: it is not loaded anew."""
    if address in PAGES and tab.url.startswith(world["url"]):
        turn_to_page(tab, address)
        return
    path = address.removeprefix("overview")
    for part, value in {"ALL": ALL, "PART": world["part"], "ID": world["report"], "WON": WON}.items():
        path = path.replace(part, quote(value))
    tab.goto(f"{world['url']}/{path}")


def keep_download(tab: Page, button: Locator, what: str, found: Walk) -> None:
    with tab.expect_download() as started:
        button.dispatch_event("click")  # a grid shows its buttons only where the pointer is
    table = Path(started.value.path()).read_text(encoding="utf-8-sig")
    found.tables[f"{what}: {started.value.suggested_filename}"] = table


def plain(text: str) -> str:
    """Without the word joiners that keep links from coming alive."""
    return text.replace("\u2060", "")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("sink", quick(SINKS, lambda sink: SINKS[sink][0]))
def test_a_name_is_shown_as_it_is(walk: Walk, sink: str, family: str) -> None:
    assert FAMILIES[family][:KEPT] in walk.words[sink]


def test_what_is_live_is_seen(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(
        '<base href="http://here/"><a href="//evil.example/x"></a><a href="mailto:a@b"></a><b onload="x">'
    )
    assert len(page.evaluate(LIVE)) == 3
    page.close()
    assert set(alive("![m](//x)<a href=x> www.evil a@evil")) == set(LIVE_MARKDOWN)


def test_nothing_ran(walk: Walk) -> None:
    assert walk.ran == []


def test_nothing_was_asked_of_another_host(walk: Walk) -> None:
    assert walk.asked == []


@pytest.mark.parametrize("address", quick([*ADDRESSES, *ACTS, "digest"]))
def test_no_name_became_a_link_or_an_image(walk: Walk, address: str) -> None:
    assert walk.live[address] == []


# ── what is taken away ───────────────────────────────────────────────────────────────────────

INVISIBLE = "\ufeff\u200b\u2060\u00a0 \t\r\n"
STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
LIVE_MARKDOWN = {
    "image": r"(?<!\\)!\[m",
    "link": r"(?<!\\)\]\((?://|http)",
    "tag": r"(?<!\\)<(?:img|a |script)",
    "autolink": r"(?:www\.|https?://|mailto:)evil",
    "address": r"(?<!\u2060)@evil",
}


def computes(cell: str) -> bool:
    """Would a spreadsheet take the cell for a formula? A number may have a sign."""
    text = cell.strip(INVISIBLE)
    return text.startswith(STARTS) and re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", text) is None


def cells(table: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(table)) for cell in row]


def test_a_formula_is_known_behind_anything_that_is_not_seen() -> None:
    assert all(computes(formula) for formula in hostile_world.FORMULAS)
    assert not any(computes(text) for text in ("-0.5", "+1", "1e-05", "'=1+1", "a-b", ""))


def test_no_table_that_is_taken_from_a_page_computes(walk: Walk) -> None:
    assert len(walk.tables) > 2
    for way in (", own button", ", grid"):
        assert any("HYPERLINK" in table for name, table in walk.tables.items() if way in name), way
    for name, table in walk.tables.items():
        assert [cell for cell in cells(table) if computes(cell)] == [], name


def test_no_report_computes_or_comes_alive(walk: Walk, world: dict[str, Any]) -> None:
    assert walk.ran == []

    def written(form: str) -> str:
        return str(Reports(world["workspace"]).file(world["report"], form).content, "utf-8-sig")

    assert {"csv", "md", "tex", "json", "html"} <= set(FORMS)
    assert [cell for cell in cells(written("csv")) if computes(cell)] == []
    assert alive(written("md")) == {}
    assert re.search(r"\\(href|url|input|write|includegraphics)\b[^\n]*evil", written("tex")) is None


def test_no_digest_comes_alive(world: dict[str, Any]) -> None:
    digest = Digests(world["workspace"]).digest()
    assert FAMILIES["html"][:KEPT] in as_text(digest)
    assert alive(as_markdown(digest)) == {}


def alive(text: str) -> dict[str, list[str]]:
    """What a reader of Markdown would make of it, outside of code."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    found = {
        what: re.findall(rf".{{0,30}}(?:{pattern}).{{0,30}}", prose)
        for what, pattern in LIVE_MARKDOWN.items()
    }
    return {what: where for what, where in found.items() if where}
