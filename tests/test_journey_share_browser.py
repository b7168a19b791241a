"""The whole story in Chromium: files, verdict, review, decision, and a reader until links are dead."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pyarrow.csv
import pytest
from playwright.sync_api import Browser, BrowserContext, FilePayload, Locator, Page, expect

from recdash.online.simulated import simulate
from recdash.service import Workspace

pytestmark = pytest.mark.browser

Start = Callable[..., Any]
Settle = Callable[[Page], None]
SLOW = 120_000
N_USERS, SEED, EFFECT = 1_500, 2, 0.24
HITS = {"popular": (5, 5), "calm": (3, 2)}
"""At which rank a run has the item of an odd and an even user: calm is better for everybody."""
TITLE, WHY = "Calm for the spring", "Better for everybody, before the test and in it."
HEADLINE = "Ship calm"


# ── files ────────────────────────────────────────────────────────────────────────────────────


def as_file(name: str, frame: pd.DataFrame) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": frame.to_csv(index=False).encode()}


def truth() -> FilePayload:
    return as_file("films.csv", pd.DataFrame({"user_id": range(1, 61), "item_id": range(1, 61)}))


def lists(name: str) -> FilePayload:
    """Lists of five for the users 1 to 60, whose item is called as they are."""
    rows = [
        (user, user if rank == HITS[name][1 - user % 2] else 100 + rank, rank)
        for user in range(1, 61)
        for rank in range(1, 6)
    ]
    return as_file(f"{name}.csv", pd.DataFrame(rows, columns=["user_id", "item_id", "rank"]))


def sessions() -> FilePayload:
    """A test in which calm, called so there too, is more engaging by a quarter."""
    made = simulate(N_USERS, SEED, arms={"control": {}, "calm": {"engagement_rate": EFFECT}})
    sink = io.BytesIO()
    pyarrow.csv.write_csv(made.sessions, sink)
    return {"name": "spring.csv", "mimeType": "text/csv", "buffer": sink.getvalue()}


# ── what people do ───────────────────────────────────────────────────────────────────────────


def headline(page: Page) -> Locator:
    return page.locator("[data-testid=stMain] h1").first


def give(page: Page, kind: str, *files: FilePayload) -> None:
    box = page.locator(f"[class*=st-key-upload_{kind}_] [data-testid=stFileUploaderDropzoneInput]")
    box.set_input_files(list(files))


def press(page: Page, label: str, settle: Settle) -> None:
    settle(page)
    page.get_by_role("button", name=label, exact=True).click()


def turn_to(page: Page, title: str, says: str | re.Pattern[str], settle: Settle) -> None:
    page.get_by_role("link", name=title, exact=True).click()
    expect(headline(page)).to_contain_text(says, timeout=SLOW)
    settle(page)


def upload(page: Page, url: str, settle: Settle) -> None:
    page.goto(f"{url}/upload")
    expect(page.get_by_role("heading", name="Upload", exact=True)).to_be_visible(timeout=SLOW)
    settle(page)
    give(page, "truth", truth())
    expect(page.get_by_label("Name of the experiment")).to_be_visible(timeout=SLOW)
    press(page, "Create the experiment", settle)
    expect(page.get_by_text("Stored the experiment")).to_be_visible(timeout=SLOW)
    give(page, "run", lists("popular"), lists("calm"))
    press(page, "Score and store 2 candidates", settle)
    expect(page.get_by_text("Stored the candidate")).to_have_count(2, timeout=SLOW)


def upload_the_test(page: Page, settle: Settle) -> None:
    """The variant that is called as its run is linked to it."""
    page.get_by_role("link", name="Upload", exact=True).click()
    page.get_by_role("radio", name="An online test").click(timeout=SLOW)
    page.get_by_role("radio", name="Sessions", exact=True).click(timeout=SLOW)
    settle(page)
    give(page, "sessions", sessions())
    expect(page.get_by_label("Name of the test")).to_be_visible(timeout=SLOW)
    settle(page)
    expect(page.get_by_role("combobox", name="calm served")).to_have_value("calm")
    box = page.get_by_role("combobox", name="control served")
    box.scroll_into_view_if_needed()
    settle(page)
    box.click()
    page.get_by_role("option", name="popular", exact=True).click()
    expect(box).to_have_value("popular")
    press(page, "Store the online test", settle)
    expect(page.get_by_text("Stored the online test spring.")).to_be_visible(timeout=SLOW)


def review(page: Page, settle: Settle) -> None:
    """Propose calm, attach both kinds of evidence, approve."""
    turn_to(page, "Reports & decisions", "Nothing is decided yet", settle)
    press(page, "Propose", settle)
    expect(page.get_by_role("heading", name="Review of calm")).to_be_visible(timeout=SLOW)
    press(page, "Attach offline evidence", settle)
    press(page, "Attach A/B test", settle)
    expect(page.get_by_role("radio", name="Approve: Ship")).to_be_visible(timeout=SLOW)
    settle(page)
    box = page.locator(".st-key-review")
    box.get_by_label("Why?").fill(WHY)
    although = box.get_by_label(re.compile("^To approve, say why although"))
    if although.count():
        although.fill("They are few, and nothing points the other way.")
    box.get_by_role("button", name="Decide", exact=True).click()
    expect(headline(page)).to_contain_text("Ship calm", timeout=SLOW)
    expect(page.get_by_text(WHY).first).to_be_visible()
    settle(page)


def make_the_report(page: Page, settle: Settle) -> str:
    """Its own link for others."""
    page.get_by_text("Make a report", exact=True).click()
    page.get_by_label("Title").fill(TITLE)
    page.keyboard.press("Tab")
    press(page, "Make the report", settle)
    expect(page.get_by_role("link", name=TITLE)).to_be_visible(timeout=SLOW)
    page.get_by_text("Share, archive or delete a report").click()
    press(page, "Make a share link", settle)
    return link_of(page.locator("[data-testid=stCode]").filter(has_text="/s/"))


def share_the_experiment(page: Page, settle: Settle) -> str:
    press(page, "Share", settle)
    page.get_by_role("tab", name="Share link").click()
    page.get_by_label("For whom").fill("the board")
    press(page, "Make link", settle)
    found = link_of(page.locator("[data-testid=stPopoverBody] [data-testid=stCode]").filter(has_text="/s/"))
    page.get_by_role("button", name="Done", exact=True).click()
    return found


def link_of(code: Locator) -> str:
    expect(code).to_be_visible(timeout=SLOW)
    return code.inner_text().strip()


def stranger(browser: Browser, errors: list[str]) -> tuple[BrowserContext, Page]:
    """Somebody with a browser of their own."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    context.set_default_timeout(SLOW)
    page = context.new_page()
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return context, page


def numbers_of(page: Page) -> list[str]:
    """The verdict in words, and the tiles below it."""
    return [headline(page).inner_text(), *page.locator("p.rd-lead, .rd-tile").all_inner_texts()]


# ── the story ────────────────────────────────────────────────────────────────────────────────


def test_an_editor_decides_and_shares_and_a_reader_sees_the_same_until_the_links_are_revoked(
    server: Start, page: Page, browser: Browser, settle: Settle, console_errors: list[str]
) -> None:
    running = server()
    upload(page, running.url, settle)
    turn_to(page, "Overview", HEADLINE, settle)
    verdict = numbers_of(page)
    upload_the_test(page, settle)
    review(page, settle)
    to_report = make_the_report(page, settle)
    to_experiment = share_the_experiment(page, settle)
    page.keyboard.press("Escape")
    turn_to(page, "Overview", HEADLINE, settle)
    said = numbers_of(page)
    assert said[0] == verdict[0]

    context, reader = stranger(browser, console_errors)
    reader.goto(to_report)
    expect(reader.get_by_role("heading", name=re.compile(HEADLINE)).first).to_be_visible(timeout=SLOW)
    told = re.sub(r"\s+", " ", reader.locator("body").inner_text())
    lead = re.search(r"nDCG@10 is [\d,.]+ % above popular", re.sub(r"[\u2060\u00a0\s]+", " ", " ".join(said)))
    assert lead is not None
    assert lead[0] in re.sub(r"[\u2060\u00a0\s]+", " ", told)
    assert WHY in told

    reader.goto(to_experiment)
    expect(headline(reader)).to_contain_text(HEADLINE, timeout=SLOW)
    settle(reader)
    assert numbers_of(reader) == said
    can_change_nothing(reader, running.url, settle)

    revoke_all(page, settle)
    for dead in (to_report, to_experiment, running.url):
        reader.goto(dead)
        expect(reader.get_by_text("revoked").first).to_be_visible(timeout=SLOW)
        expect(reader.get_by_text(HEADLINE)).to_have_count(0)
    context.close()
    gone = re.compile("410")
    assert [said for said in console_errors if not gone.search(said)] == []


def can_change_nothing(reader: Page, url: str, settle: Settle) -> None:
    """No page and no form for it, by no address."""
    for title in ("Upload", "Runs"):
        expect(reader.get_by_role("link", name=title, exact=True)).to_have_count(0)
        reader.goto(f"{url}/{title.lower()}")
        expect(headline(reader)).to_be_visible(timeout=SLOW)
        settle(reader)
        expect(reader.locator("input[type=file]")).to_have_count(0)
    reader.goto(f"{url}/reports")
    expect(reader.get_by_text(WHY).first).to_be_visible(timeout=SLOW)
    settle(reader)
    expect(reader.locator("[data-testid=stForm]")).to_have_count(0)
    expect(reader.get_by_role("link", name=TITLE)).to_be_visible()
    press(reader, "Share", settle)
    expect(reader.get_by_role("tab", name="Link", exact=True)).to_be_visible(timeout=SLOW)
    expect(reader.get_by_role("tab", name="Share link")).to_have_count(0)


def revoke_all(page: Page, settle: Settle) -> None:
    press(page, "Share", settle)
    page.get_by_role("tab", name="Share link").click()
    revoke = page.get_by_role("button", name="Revoke", exact=True)
    expect(revoke).to_have_count(2, timeout=SLOW)
    for left in (1, 0):
        revoke.first.click()
        expect(revoke).to_have_count(left, timeout=SLOW)
        settle(page)


def test_what_the_story_wrote_is_signed_and_in_the_log(tmp_path: Any) -> None:
    """The same from Python: who did what, in order, unbroken."""
    space = Workspace.open(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")
    home = space.create_experiment("films", pd.DataFrame({"user_id": [1], "item_id": [1]}))
    space.decide(home.id, "inconclusive", text="Too few users.", author="ann")
    space.revoke(space.share(home.id).link.id)
    assert [deed.action for deed in space.audit_log()[::-1]] == [
        "add experiment", "add entry", "add share link", "change share link",
    ]  # fmt: skip
    assert space.audit_breaks() == []
