"""The whole story in Chromium: own files, recommendation, A/B test, decision, report, readers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import browser_tabs
import pandas as pd
import pytest
from browser_tabs import choose, give, headline, open_page, press, send, settle, turn_to, turn_to_page, write
from playwright.sync_api import Browser, BrowserContext, FilePayload, Locator, Page, expect

from recdash.service import Workspace

pytestmark = pytest.mark.browser

Start = Callable[..., Any]
SHOPPERS, SEED = 4_000, 2
ORDERED = {"control": 0.25, "calm": 0.32}
"""Share of each variant's customers who order something."""
HITS = {"popular": (5, 5), "calm": (3, 2)}
"""At which rank a run has the item of an odd and an even user: calm is better for everybody."""
TITLE, WHY = "Calm for the spring", "Better for everybody, before the test and in it."
HEADLINE = "Ship calm"


# ── files ────────────────────────────────────────────────────────────────────────────────────


def as_file(name: str, frame: pd.DataFrame) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": frame.to_csv(index=False).encode()}


def sales() -> FilePayload:
    """What 60 customers bought, one item each; no list of names has these columns."""
    rows = [(f"K{user}", f"A{user}", 1 + user % 3) for user in range(1, 61)]
    return as_file("verkauf.csv", pd.DataFrame(rows, columns=["kunde", "artikel", "menge"]))


def lists(name: str) -> FilePayload:
    """Lists of five for the 60 customers."""
    rows = [
        (f"K{user}", f"A{user if rank == HITS[name][1 - user % 2] else 100 + rank}", rank)
        for user in range(1, 61)
        for rank in range(1, 6)
    ]
    return as_file(f"{name}.csv", pd.DataFrame(rows, columns=["kunde", "artikel", "folge"]))


def shop_test() -> FilePayload:
    """A shop's own A/B test, one row per customer; a variant is called as the candidate that it served."""
    draw = random.Random(SEED)
    rows = []
    for customer in range(SHOPPERS):
        group = draw.choice(list(ORDERED))
        ordered = int(draw.random() < ORDERED[group])
        rows.append((f"C{customer}", group, ordered, ordered * draw.randint(5, 60)))
    return as_file("spring.csv", pd.DataFrame(rows, columns=["customer", "group", "ordered", "revenue"]))


# ── what people do ───────────────────────────────────────────────────────────────────────────


def upload(page: Page, url: str) -> None:
    open_page(page, f"{url}/upload", page.get_by_role("heading", name="Add your data", exact=True))
    give(page, sales(), lists("popular"), lists("calm"))
    press(page, "Evaluate 1 candidate and the baseline")
    expect(page.get_by_text("Evaluated 1 candidate and the baseline")).to_be_visible()


def upload_the_test(page: Page) -> None:
    """The variant that is called as its run is linked to it."""
    turn_to(page, "upload", "Add your data")
    give(page, shop_test())
    page.get_by_text("Advanced", exact=True).click()
    expect(page.get_by_role("combobox", name="calm served")).to_have_value("calm")
    box = page.get_by_role("combobox", name="control served")
    choose(page, box, "popular")
    expect(box).to_have_value("popular")
    press(page, "Analyze A/B test")
    expect(page.get_by_text("Analyzed the A/B test spring")).to_be_visible()


def review(page: Page) -> None:
    """Propose calm, attach both kinds of evidence, approve."""
    turn_to(page, "review", "Nothing is decided yet")
    press(page, "Propose")
    expect(page.get_by_role("heading", name="Review of calm")).to_be_visible()
    press(page, "Attach offline evidence")
    press(page, "Attach A/B test")
    expect(page.get_by_role("radio", name="Approve: Ship")).to_be_visible()
    box = page.locator(".st-key-review")
    write(page, box.get_by_label("Why?"), WHY)
    although = box.get_by_label(re.compile("^To approve, say why although"))
    if although.count():
        write(page, although, "They are few, and nothing points the other way.")
    send(page, "Decide", headline(page).filter(has_text="Ship calm"), inside=box)
    expect(page.get_by_text(WHY).first).to_be_visible()


def make_the_report(page: Page) -> str:
    """Its own link for others."""
    turn_to_page(page, "reports")
    write(page, page.get_by_label("Title"), TITLE)
    report = page.get_by_role("link", name=TITLE)
    send(page, "Make report", report.first)
    expect(report).to_have_count(2)  # the confirmation, and the list: it was made once
    page.get_by_text("Manage a report").click()
    code = page.locator("[data-testid=stCode]").filter(has_text="/s/")
    send(page, "Create link", code)  # the box that was just opened still moves: a press may miss the button
    return link_of(code)


def share_the_experiment(page: Page) -> str:
    press(page, "Share")
    page.get_by_role("tab", name="Share link").click()
    page.get_by_label("Label").fill("the board")
    code = page.locator("[data-testid=stPopoverBody] [data-testid=stCode]").filter(has_text="/s/")
    send(page, "Create link", code)
    link = link_of(code)
    press(page, "Done")
    return link


def link_of(code: Locator) -> str:
    expect(code).to_be_visible()
    return code.inner_text().strip()


def stranger(browser: Browser, errors: list[str]) -> tuple[BrowserContext, Page]:
    """Somebody with a browser of their own."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: errors.append(str(error)))
    return context, page


def numbers_of(page: Page) -> list[str]:
    """The verdict in words, and the tiles below it."""
    return [headline(page).inner_text(), *page.locator("p.rd-lead, .rd-tile, p.rd-quiet").all_inner_texts()]


# ── the story ────────────────────────────────────────────────────────────────────────────────


def test_an_editor_decides_and_shares_and_a_reader_sees_the_same_until_the_links_are_revoked(
    server: Start, page: Page, browser: Browser, console_errors: list[str]
) -> None:
    running = server()
    upload(page, running.url)
    turn_to(page, "overview", HEADLINE)
    verdict = numbers_of(page)
    upload_the_test(page)
    turn_to(page, "overview", HEADLINE)
    expect(page.get_by_text("It won offline and online").first).to_be_visible()
    review(page)
    to_report = make_the_report(page)
    turn_to(page, "overview", HEADLINE)  # which the link opens: it keeps the view
    to_experiment = share_the_experiment(page)
    page.keyboard.press("Escape")
    said = numbers_of(page)
    assert said[0] == verdict[0]

    context, reader = stranger(browser, console_errors)
    reader.goto(to_report)
    expect(reader.locator("h1").first).to_have_text(HEADLINE)
    lead = reader.locator(".lead")
    expect(lead.locator(".badges").first).to_contain_text("Decided")
    expect(lead.locator("blockquote")).to_have_text(WHY)
    expect(lead).to_contain_text("Evidence today: agrees")
    first_number = re.sub(r"\s+", " ", reader.locator(".why .tile .big").first.inner_text()).split()[1]
    assert first_number in page.locator(".rd-tile").first.inner_text()

    reader.goto(to_experiment)
    expect(headline(reader)).to_contain_text(HEADLINE)
    settle(reader)
    assert numbers_of(reader) == said
    can_change_nothing(reader, running.url)

    revoke_all(page)
    for dead in (to_report, to_experiment, running.url):
        reader.goto(dead)
        expect(reader.get_by_text("revoked").first).to_be_visible()
        expect(reader.get_by_text(HEADLINE)).to_have_count(0)
    context.close()
    gone = re.compile("410")
    assert [said for said in console_errors if not gone.search(said)] == []


def can_change_nothing(reader: Page, url: str) -> None:
    """No page and no form for it, by no address."""
    for title, address in (("Add data", "upload"), ("Runs", "runs")):
        expect(reader.get_by_role("link", name=title, exact=True)).to_have_count(0)
        reader.goto(f"{url}/{address}")
        expect(headline(reader)).to_be_visible()
        settle(reader)
        expect(reader.locator("input[type=file]")).to_have_count(0)
    reader.goto(f"{url}/review")
    expect(reader.get_by_text(WHY).first).to_be_visible()
    settle(reader)
    expect(reader.locator("[data-testid=stForm]")).to_have_count(0)
    reader.goto(f"{url}/reports")
    expect(reader.get_by_role("link", name=TITLE)).to_be_visible()
    press(reader, "Share")
    expect(reader.get_by_role("tab", name="View link", exact=True)).to_be_visible()
    expect(reader.get_by_role("tab", name="Share link")).to_have_count(0)


def revoke_all(page: Page) -> None:
    press(page, "Share")
    page.get_by_role("tab", name="Share link").click()
    revoke = page.get_by_role("button", name="Revoke", exact=True)
    expect(revoke).to_have_count(2)
    for left in (1, 0):
        revoke.first.click()
        expect(revoke).to_have_count(left)
        settle(page)


DEAF = """<div data-testid=stApp data-test-script-state=notRunning data-test-connection-state=CONNECTED>
<button onclick="this.title += 'x'; if (this.title === 'xx') this.outerHTML = 'sent'">Go</button></div>"""
"""A page at rest whose button hears the second press only."""


def test_a_form_is_sent_again_where_a_press_was_lost(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser_tabs, "SECONDS_TO_SHOW", 0.2)
    page.set_content(DEAF)
    press(page, "Go")
    expect(page.get_by_text("sent")).to_have_count(0)
    page.set_content(DEAF)
    send(page, "Go", page.get_by_text("sent"))


def test_what_the_story_wrote_is_signed_and_in_the_log(tmp_path: Any) -> None:
    """The same from Python: who did what, in order, unbroken."""
    space = Workspace.open(f"sqlite:///{tmp_path / 'r.db'}", tmp_path / "artifacts")
    home = space.experiments.create("films", pd.DataFrame({"user_id": [1], "item_id": [1]}))
    space.decisions.decide(home.id, "inconclusive", text="Too few users.", author="ann")
    space.sharing.revoke(space.sharing.share(home.id).link.id)
    assert [deed.action for deed in space.audit.events()[::-1]] == [
        "add experiment", "add entry", "add share link", "change share link",
    ]  # fmt: skip
    assert space.audit.breaks() == []


@pytest.mark.long
def test_the_address_of_the_view_is_copied_with_one_click(server: Start, browser: Browser) -> None:
    """Without a clipboard, as over http from another computer, the address is shown."""
    running = server()
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    open_page(page, f"{running.url}/upload", page.get_by_role("heading", name="Add your data", exact=True))
    upload(page, running.url)
    turn_to(page, "overview", HEADLINE)
    press(page, "Copy link")
    expect(page.get_by_role("button", name="Link copied", exact=True)).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    assert "e=" in page.url
    page.evaluate("""() => {
      Object.defineProperty(navigator, "clipboard", { value: undefined });
      document.execCommand = () => false;
    }""")
    shown: list[str] = []
    page.on("dialog", lambda dialog: (shown.append(dialog.default_value), dialog.dismiss()))
    page.locator(".rd-copy-link").click()
    settle(page)
    assert shown == [page.url]
    context.close()


def test_a_name_given_once_is_known_in_the_next_session(server: Start, browser: Browser) -> None:
    running = server()
    context = browser.new_context()
    page = context.new_page()
    upload(page, running.url)
    turn_to(page, "review", "Nothing is decided yet")
    form = page.locator("[data-testid=stForm]").filter(has=page.get_by_role("button", name="Propose"))
    write(page, form.get_by_label("Your name"), "Mary O’Hara")
    send(page, "Propose", page.get_by_role("heading", name="Review of calm"))
    next_session = context.new_page()
    open_page(next_session, page.url, next_session.get_by_role("heading", name="Review of calm"))
    expect(next_session.get_by_label("Your name").first).to_have_value("Mary O’Hara")
    context.close()
