"""Uploads in Chromium: progress, cancel, retry, and a lost connection after which the file goes on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser_tabs import give, headline, open_page, press, settle, turn_to_page
from fragile_line import FragileLine, fragile_line
from journey_tables import HALF, TRUTH, as_csv
from playwright.sync_api import FilePayload, Locator, Page, Route, expect

pytestmark = pytest.mark.browser

MIB = 2**20
PART = 8 * MIB
LISTS = b"user_id,item_id,rank\n" + b"".join(
    b"u%d,i%d,%d\n" % (n // 10, n, n % 10 + 1) for n in range(1_300_000)
)
"""A table of three parts."""


@pytest.fixture(scope="module")
def running(lasting_server: Callable[..., Any]) -> Any:
    return lasting_server()


@pytest.fixture
def line(running: Any) -> Iterator[FragileLine]:
    with fragile_line(running.url) as found:
        yield found


@pytest.fixture
def lists(tmp_path: Path) -> Path:
    file = tmp_path / "lists.csv"
    file.write_bytes(LISTS)
    assert 2 * PART < len(LISTS) < 3 * PART
    return file


def payload(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": data}


def open_upload(page: Page, url: str) -> None:
    open_page(page, f"{url}/upload", page.get_by_role("heading", name="Add your data", exact=True))


def choose(page: Page, *files: Any) -> None:
    """Choose files, and do not wait for them."""
    settle(page)
    page.get_by_test_id("file-zone-input").set_input_files(list(files))


def file_row(page: Page, name: str) -> Locator:
    return page.locator(".rd-drop-file").filter(has_text=name)


def on_server(running: Any, name: str) -> list[Path]:
    return list(running.data.glob(f"artifacts/uploads/*/*/{name}"))


def test_a_file_goes_on_after_the_connection_was_lost(
    running: Any, line: FragileLine, page: Page, lists: Path
) -> None:
    open_upload(page, line.url)
    line.stop_after(PART + PART // 2, breaks=True)
    choose(page, lists.rename(lists.with_name("resumed.csv")))  # others may still lie on the server
    row = file_row(page, "resumed.csv")
    expect(row).to_contain_text("connection lost, trying again")
    expect(row.get_by_role("progressbar")).to_be_visible()
    (half,) = on_server(running, "resumed.csv")
    assert 0 < half.stat().st_size < len(LISTS)
    before = line.carried
    line.mend()
    expect(page.locator("[class*=st-key-file_]")).to_have_count(1)
    settle(page)
    assert half.read_bytes() == LISTS
    assert line.carried - before < len(LISTS) - PART + MIB, "what had arrived was not sent again"
    expect(row).to_have_attribute("data-state", "complete")


def test_a_file_is_cancelled_half_way_and_chosen_again(
    running: Any, line: FragileLine, page: Page, lists: Path, console_errors: list[str]
) -> None:
    open_upload(page, line.url)
    line.stop_after(PART + PART // 2)
    choose(page, lists)
    row = file_row(page, "lists.csv")
    expect(row).to_contain_text(re.compile(r"[1-9]\d % of 21\.6 MB"))
    expect(row.get_by_role("progressbar")).to_have_attribute("aria-label", "Uploading lists.csv")
    row.get_by_role("button", name="Cancel lists.csv").click()
    expect(row).to_have_count(0)
    line.mend()
    while on_server(running, "lists.csv"):
        page.wait_for_timeout(50)
    settle(page)
    choose(page, lists)
    expect(page.locator("[class*=st-key-file_]")).to_have_count(1)
    expect(file_row(page, "lists.csv")).to_have_count(1)
    settle(page)
    assert console_errors == []


def test_a_refused_file_says_why_and_is_tried_again(running: Any, page: Page) -> None:
    refusals = ["No room. The server's disk has no room for this file.\n"]

    def answer(route: Route) -> None:
        if refusals and route.request.method == "POST":
            route.fulfill(status=507, content_type="text/plain", body=refusals.pop())
        else:
            route.continue_()

    page.route("**/uploads/**", answer)
    open_upload(page, running.url)
    choose(page, payload("films.csv", TRUTH))
    row = file_row(page, "films.csv")
    expect(row).to_contain_text("not uploaded. No room. The server's disk has no room for this file.")
    expect(page.locator(".rd-drop [role=status]")).to_contain_text("films.csv: not uploaded. No room.")
    row.get_by_role("button", name="Retry films.csv").click()
    expect(page.locator("[class*=st-key-file_]")).to_have_count(1)
    expect(row).to_have_attribute("data-state", "complete")


def test_a_file_whose_first_answer_is_lost_is_once_on_the_server(running: Any, page: Page) -> None:
    begun: list[int] = []

    def answer(route: Route) -> None:
        if route.request.method == "POST":
            begun.append(route.fetch().status)
        if begun == [201]:
            route.abort()
        else:
            route.continue_()

    page.route("**/uploads/**", answer)
    open_upload(page, running.url)
    choose(page, payload("answer-lost.csv", TRUTH))
    expect(page.locator("[class*=st-key-file_]")).to_have_count(1)
    expect(file_row(page, "answer-lost.csv")).to_have_attribute("data-state", "complete")
    assert len(begun) > 1
    assert len(on_server(running, "answer-lost.csv")) == 1


def test_a_server_that_starts_anew_gets_the_files_again(server: Any, page: Page) -> None:
    """A page shows what it had until the next click, which a new session answers."""
    running = server()
    open_upload(page, running.url)
    give(page, payload("films.csv", TRUTH), payload("half.csv", as_csv(HALF)))
    running.process.kill()
    running.process.wait()
    assert len(on_server(running, "films.csv")) == 1
    server(data=running.data, port=int(running.url.rpartition(":")[2]))
    assert on_server(running, "films.csv") == [], "those of the killed server are gone"
    press(page, "Evaluate 1 candidate")
    while len(on_server(running, "*.csv")) < 2:
        page.wait_for_timeout(50)
    expect(page.locator("[class*=st-key-file_]")).to_have_count(2)
    press(page, "Evaluate 1 candidate")
    expect(page.get_by_text("Evaluated 1 candidate in films")).to_be_visible()


@pytest.mark.long
def test_a_server_that_starts_anew_in_the_middle_gets_the_file_from_its_beginning(
    server: Any, page: Page, lists: Path
) -> None:
    running = server()
    with fragile_line(running.url) as line:
        open_upload(page, line.url)
        line.stop_after(PART + PART // 2, breaks=True)
        choose(page, lists)
        expect(file_row(page, "lists.csv")).to_contain_text("connection lost, trying again")
        running.process.kill()
        running.process.wait()
        server(data=running.data, port=int(running.url.rpartition(":")[2]))
        line.mend()
        expect(page.locator("[class*=st-key-file_]")).to_have_count(1)
        (whole,) = on_server(running, "lists.csv")
        assert whole.read_bytes() == LISTS


def test_stored_and_removed_files_leave_the_disk_and_others_wait_on_their_page(
    server: Any, page: Page, console_errors: list[str]
) -> None:
    running = server()
    open_upload(page, running.url)
    give(page, payload("films.csv", TRUTH), payload("half.csv", as_csv(HALF)), payload("empty.csv", b""))
    file_row(page, "empty.csv").get_by_role("button", name="Remove empty.csv").click()
    expect(page.locator("[class*=st-key-file_]")).to_have_count(2)
    settle(page)
    assert on_server(running, "empty.csv") == []
    turn_to_page(page, "guide")
    turn_to_page(page, "upload")
    expect(page.locator("[class*=st-key-file_]")).to_have_count(2)
    expect(page.locator(".rd-drop-file")).to_have_count(2)
    settle(page)
    press(page, "Evaluate 1 candidate")
    expect(page.get_by_text("Evaluated 1 candidate in films")).to_be_visible()
    settle(page)
    assert on_server(running, "*") == []
    expect(page.locator(".rd-drop-file")).to_have_count(0)
    assert console_errors == []


def test_files_are_dropped_and_chosen_with_keys(running: Any, page: Page) -> None:
    open_upload(page, running.url)
    area = page.locator(".rd-drop-area")
    transfer = page.evaluate_handle(
        """text => {
          const files = new DataTransfer();
          files.items.add(new File([text], "films.csv", { type: "text/csv" }));
          return files;
        }""",
        TRUTH.decode(),
    )
    area.dispatch_event("dragover", {"dataTransfer": transfer})
    expect(area).to_have_class("rd-drop-area rd-drop-over")
    area.dispatch_event("drop", {"dataTransfer": transfer})
    expect(page.locator("[class*=st-key-file_]")).to_have_count(1)
    settle(page)
    with page.expect_file_chooser() as choice:
        page.get_by_role("button", name="Choose files").press("Enter")
    choice.value.set_files(payload("half.csv", as_csv(HALF)))  # type: ignore[arg-type]
    expect(page.locator("[class*=st-key-file_]")).to_have_count(2)
    settle(page)
    expect(headline(page)).to_contain_text("1 candidate")
