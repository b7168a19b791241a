"""A report in Chromium: opened from the file system with the network off, in both themes, on paper."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from report_tables import films, opened

from recdash.charts.marks import DARK, LIGHT
from recdash.report.document import Document
from recdash.report.formats.registry import FORMS
from recdash.report.reports import Reports

pytestmark = pytest.mark.browser
NAMES = {"als": "ALS 1.25 <b>x</b>"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Document:
    space = opened(tmp_path_factory.mktemp("films"))
    return Reports(space).content(films(space, NAMES), moment=datetime(2026, 4, 1, tzinfo=UTC))


@pytest.fixture(scope="module")
def file(document: Document, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_bytes(FORMS["html"].write(document))
    return path


class Reader:
    """A reader's browser without a network; what it complained of and asked for."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.errors: list[str] = []
        self.asked: list[str] = []

    def opens(self, file: Path, **how: object) -> Page:
        context = self.browser.new_context(offline=True, **how)  # type: ignore[arg-type]
        context.set_default_timeout(60_000)
        tab = context.new_page()
        tab.on(
            "console", lambda one: self.errors.append(one.text) if one.type in ("error", "warning") else None
        )
        tab.on("pageerror", lambda error: self.errors.append(str(error)))
        tab.on("request", lambda one: self.asked.append(one.url))
        tab.goto(file.as_uri())
        return tab


@pytest.fixture
def reader(browser: Browser) -> Iterator[Reader]:
    made = Reader(browser)
    yield made
    for context in browser.contexts:
        context.close()


def ink_of_ticks(page: Page) -> str:
    """The colour of the numbers beside an axis."""
    found: str = page.evaluate("getComputedStyle(document.querySelector('.chart text')).fill")
    return found


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


def test_it_opens_from_the_file_system_draws_its_charts_and_asks_for_nothing(
    reader: Reader, file: Path, document: Document
) -> None:
    page = reader.opens(file)
    assert page.locator("h1").inner_text() == f"Ship {NAMES['als']}"
    figures = page.locator("figure")
    assert figures.count() == page.locator("svg.chart").count() > 8
    assert page.locator("figure details[open]").count() == 0
    assert page.locator("text=ALS 1.25 <b>x</b>").count() > 0
    assert reader.errors == []
    assert [url for url in reader.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert len(document.sections) == page.locator("main section[id]").count()


def test_it_follows_the_theme_of_the_reader_also_when_that_changes(reader: Reader, file: Path) -> None:
    page = reader.opens(file, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == rgb(DARK.background)
    assert ink_of_ticks(page) == rgb(DARK.muted)
    page.emulate_media(color_scheme="light")
    assert ink_of_ticks(page) == rgb(LIGHT.muted)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == rgb(LIGHT.background)
    assert reader.errors == []


def test_numbers_are_written_as_the_reader_writes_them_and_names_are_not(reader: Reader, file: Path) -> None:
    """German: a comma for the point; in a name 1.25 stays."""
    page = reader.opens(file, locale="de-DE")
    cell = page.locator("#evidence table data").first
    assert cell.text_content() == "0,815"
    assert cell.get_attribute("value") == "0.81546"
    assert "1.25" in page.locator("h1").inner_text()
    assert "95 % CI" in page.locator(".why .tile").first.inner_text()
    ticks = page.locator(".chart text[text-anchor=end]").all_text_contents()
    assert "0,5" in ticks
    assert not [tick for tick in ticks if "." in tick and "1.25" not in tick]


def test_without_a_script_the_charts_are_there_and_every_table_can_be_opened(
    reader: Reader, file: Path
) -> None:
    page = reader.opens(file, java_script_enabled=False)
    assert page.locator("svg.chart").first.is_visible()
    page.locator("#evidence summary").first.click()
    cell = page.locator("#evidence table data").first
    assert cell.is_visible()
    assert cell.inner_text() == "0.815"


def test_a_narrow_screen_scrolls_tables_and_not_the_page(reader: Reader, file: Path) -> None:
    page = reader.opens(file, viewport={"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 400


def test_it_prints_to_a_pdf_whose_text_holds_the_verdict_light_and_with_its_charts(
    reader: Reader, file: Path
) -> None:
    from pypdf import PdfReader

    page = reader.opens(file, color_scheme="dark")
    text = " ".join(one.extract_text() for one in PdfReader(io.BytesIO(page.pdf(format="A4"))).pages)
    assert f"Ship {NAMES['als']}" in text
    assert "k = 3" in text, "words inside of a chart"
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == rgb(LIGHT.background)


def test_the_pdf_form_holds_the_verdict_and_the_charts(document: Document) -> None:
    from pypdf import PdfReader

    content = FORMS["pdf"].write(document)
    found = PdfReader(io.BytesIO(content))
    text = " ".join(page.extract_text() for page in found.pages)
    assert f"Ship {NAMES['als']}" in text
    assert "Equal F1" in text or "F1 = " in text, "words inside of a chart"
