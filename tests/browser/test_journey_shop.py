"""A shop's and a news site's A/B test in Chromium: table in, lift, offline beside it, reason, report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from browser_tabs import choose, give, open_page, press, settle, turn_to, words_of
from other_products import CONTROL, NEW, csv, customers, lists, truth, visits, words_of_videos
from playwright.sync_api import Page, expect

import recdash
from recdash.formatting import numbers
from recdash.service import Workspace

pytestmark = pytest.mark.browser

Start = Callable[..., Any]


@pytest.fixture
def with_shop(tmp_path: Path, server: Start) -> Any:
    """A server whose store holds a shop's test set and two runs."""
    data = tmp_path / "data"
    data.mkdir()
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    shop = workspace.experiments.create("shop", truth(), depth=5)
    for run in (CONTROL, NEW):
        workspace.runs.add(shop.id, lists(run), name=run)
    return server(data=data)


@pytest.mark.long  # tests/ui/test_other_products.py asks the same of the pages
@pytest.mark.parametrize(
    ("file", "data", "primary"),
    [("shop.csv", csv(customers()), "revenue"), ("visits.csv", csv(visits()), "reads")],
    ids=["shop", "news"],
)
def test_a_table_becomes_lifts_a_quadrant_a_reason_and_a_report(
    with_shop: Any, page: Page, console_errors: list[str], file: str, data: bytes, primary: str
) -> None:
    heading = page.get_by_role("heading", name="Add your data", exact=True)
    open_page(page, f"{with_shop.url}/upload", heading)
    give(page, {"name": file, "mimeType": "text/csv", "buffer": data})
    choose(page, page.get_by_role("combobox", name="Add to"), "shop")
    choose(page, page.get_by_role("combobox", name="Primary metric"), primary)
    texts = [words_of(page)]
    press(page, "Analyze A/B test")
    expect(page.get_by_role("button", name="View A/B results")).to_be_visible()

    results = recdash.ab_test(sessions=data, control=CONTROL, primary=primary)
    (row,) = [row for row in results.rows if row.metric == primary and row.variant == NEW]
    assert row.lift is not None
    press(page, "View A/B results")
    expect(page.locator("table.rd-lifts")).to_contain_text(numbers.signed(100 * row.lift, 1))
    settle(page)
    texts.append(words_of(page))
    for tab, says in (("offline-online", "als won offline and online"), ("why", "als won both")):
        turn_to(page, tab, says)
        texts.append(words_of(page))
    page.goto(f"{with_shop.url}/reports")
    press(page, "Make report")
    settle(page)
    texts.append(words_of(page))
    assert words_of_videos(" ".join(texts)) == []
    assert console_errors == []
