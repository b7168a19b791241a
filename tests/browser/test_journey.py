"""The journey in Chromium against a server process of its own: files in, numbers out, links kept."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser_tabs import choose, give, open_page, press, settle
from conftest import is_healthy
from journey_tables import HALF, PERFECT, POOR, STRANGERS, TRUTH, as_csv, as_parquet, as_trec
from playwright.sync_api import FilePayload, Page, expect

from recdash.service import Workspace

pytestmark = pytest.mark.browser

Start = Callable[..., Any]
AT_ONE = re.compile(r"@1(?!\d)")


def payload(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}


def open_upload(page: Page, url: str) -> None:
    open_page(page, f"{url}/upload", page.get_by_role("heading", name="Add your data", exact=True))


def stored(data: Path) -> list[str]:
    """Names of all experiments and runs in the store of a server."""
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    experiments = workspace.experiments.all(archived=True)
    runs = [run.name for one in experiments for run in workspace.runs.all(one.id, archived=True)]
    return [*(one.name for one in experiments), *runs]


def row_of(page: Page, run: str) -> str:
    return page.locator("table.rd-board tbody tr").filter(has_text=run).first.inner_text()


def test_three_formats_and_a_truth_become_a_leaderboard_whose_link_opens_on_a_fresh_server(
    server: Start, page: Page, console_errors: list[str]
) -> None:
    running = server()
    open_upload(page, running.url)
    files = [
        payload("films.csv", TRUTH),
        payload("perfect.csv", as_csv(PERFECT)),
        payload("half.parquet", as_parquet(HALF)),
        payload("poor.run", as_trec(POOR)),
    ]
    give(page, *files)
    press(page, "Evaluate 3 candidates")
    expect(page.get_by_text("Evaluated 3 candidates in films")).to_be_visible()

    press(page, "View recommendation")
    expect(page).to_have_url(re.compile(r"[?&]e="))
    page.get_by_role("link", name="Compare").first.click()
    board = page.locator("table.rd-board")
    expect(board).to_contain_text("perfect")
    settle(page)
    assert "1.00" in row_of(page, "perfect")

    page.locator(".st-key-frame-metric-k button").first.click()
    page.get_by_label("Any k up to").fill("1")
    page.keyboard.press("Enter")
    expect(board).to_contain_text(AT_ONE)
    settle(page)
    assert "0.833" in row_of(page, "perfect")  # recall@1: (1/2 + 1 + 1) / 3
    expect(page).to_have_url(re.compile(r"[?&]k=1(&|$)"))
    link = page.url.removeprefix(running.url)

    running.process.terminate()
    running.process.wait()
    page.goto("about:blank")
    console_errors.clear()  # of the server that went away
    fresh = server(data=running.data)
    page.goto(fresh.url + link)
    expect(page.locator("table.rd-board")).to_contain_text(AT_ONE)
    settle(page)
    assert "0.833" in row_of(page, "perfect")
    assert console_errors == []


@pytest.mark.long  # tests/service/test_workspace.py finds the same in the same runs
def test_movietweetings_popular_leads_and_the_page_says_that_another_population_puts_ease_first(
    server: Start, page: Page, shared_data: Path, console_errors: list[str]
) -> None:
    films = shared_data / "movietweetings"
    runs = sorted(films.glob("runs/*.parquet"))
    running = server()
    open_upload(page, running.url)
    give(page, films / "truth.csv", *runs)
    page.get_by_text("Advanced", exact=True).click()
    choose(page, page.get_by_role("combobox", name="Relevance"), "every row is relevant")
    choose(page, page.get_by_role("combobox", name="Baseline"), "popular")
    press(page, f"Evaluate {len(runs) - 1} candidates and the baseline")
    expect(page.get_by_text(f"Evaluated {len(runs) - 1} candidates and the baseline")).to_be_visible()
    press(page, "View recommendation")
    page.get_by_role("link", name="Compare").first.click()
    board = page.locator("table.rd-board tbody")
    expect(board).to_contain_text("popular")
    settle(page)
    assert "0.0482" in row_of(page, "popular")
    assert row_of(page, "popular").split()[0] == "1"
    settle(page)
    page.get_by_role("link", name="Decision").first.click()
    other_rule = page.get_by_text("with recommendations from every run, ease leads by nDCG@10")
    expect(other_rule.first).to_be_visible()
    assert console_errors == []


@pytest.mark.long  # tests/ui/test_upload_journey.py does the same without a browser
@pytest.mark.parametrize(
    ("data", "says"),
    [
        pytest.param(b"user_id,rank\nu1,5\n", ["no item column", "Choose the column"],
                     id="no item column"),
        pytest.param(b"user_id,when,rank\nu1,monday,5\n", ["no item column", "'when'", "Choose the column"],
                     id="a column of days"),
        pytest.param(b"", ["file", "Upload a"], id="empty file"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_says_place_found_and_fix_and_stores_nothing(
    server: Start, page: Page, console_errors: list[str], data: bytes, says: list[str]
) -> None:
    running = server()
    open_upload(page, running.url)
    give(page, payload("als.csv", data), payload("films.csv", TRUTH))
    choose(page, page.get_by_role("combobox", name="What").first, "Recommendations")
    problem = page.get_by_test_id("stAlertContainer").first
    expect(problem).to_be_visible()
    for words in says:
        expect(problem).to_contain_text(words)
    expect(page.get_by_role("button", name=re.compile("^(Evaluate|Create experiment)"))).to_be_disabled()
    assert stored(running.data) == []
    assert console_errors == []


@pytest.mark.long  # tests/ui/test_upload_journey.py does the same without a browser
def test_a_run_that_shares_no_user_says_place_found_and_fix_and_leaves_nothing(
    server: Start, page: Page, console_errors: list[str]
) -> None:
    running = server()
    open_upload(page, running.url)
    give(page, payload("films.csv", TRUTH), payload("strangers.csv", as_csv(STRANGERS)))
    problem = page.get_by_test_id("stAlertContainer").first
    expect(problem).to_be_visible()
    expect(problem).to_contain_text("user")
    expect(page.get_by_role("button", name="Evaluate")).to_be_disabled()
    assert stored(running.data) == []
    assert console_errors == []


@pytest.mark.long  # tests/browser/test_markup.py looks in more places
def test_markup_as_a_file_name_is_shown_as_it_is_and_runs_nothing(
    server: Start, page: Page, console_errors: list[str]
) -> None:
    name = "<img src=x onerror=window.recdash_xss=1>"
    running = server()
    open_upload(page, running.url)
    files = (payload("films.csv", TRUTH), payload("perfect.csv", as_csv(PERFECT)))
    rows = give(page, payload(f"{name}.csv", as_csv(HALF)), *files)
    expect(rows.filter(has_text=name)).to_have_count(1)
    press(page, "Evaluate 2 candidates")
    expect(page.get_by_text("Evaluated 2 candidates in films")).to_be_visible()
    shown = name[:8]  # what a table has no room for is cut in the middle
    for sink, place in (
        ("leaderboard", ".rd-board"),
        ("metric-vs-k", ".stPlotlyChart svg"),
        ("precision-recall", ".stPlotlyChart svg"),
        ("runs", ".rd-table"),
    ):
        page.goto(f"{running.url}/{sink}")
        expect(page.locator(place).filter(has_text=shown).first).to_be_visible()
        settle(page)
        assert page.evaluate("window.recdash_xss") is None
        assert page.locator("img[src=x]").count() == 0
    assert stored(running.data) == ["films", name, "perfect"]
    assert console_errors == []


@pytest.mark.long  # tests/ingest/test_isolated_reader.py does the same without a browser
def test_a_parquet_file_that_ends_its_reader_is_refused_in_words_and_the_next_file_is_read(
    server: Start, page: Page, shared_data: Path
) -> None:
    running = server()
    open_upload(page, running.url)
    rows = give(page, shared_data / "hostile" / "killer.parquet")
    expect(rows.get_by_text("the Parquet file cannot be read")).to_be_visible()
    assert is_healthy(running.url)
    rows = give(page, shared_data / "hostile" / "pq_list_bomb.parquet")
    expect(rows.get_by_text("30,000,000 values")).to_be_visible()
    page.reload()
    settle(page)
    give(page, payload("films.csv", TRUTH), payload("half.csv", as_csv(HALF)))
    press(page, "Evaluate 1 candidate")
    expect(page.get_by_text("Evaluated 1 candidate in films")).to_be_visible()
    assert running.process.poll() is None
