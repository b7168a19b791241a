"""Tabs of a browser on the app: whether the app has finished, what a tab shows, what people do there."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Error,
    FilePayload,
    Locator,
    Page,
    WebSocket,
    expect,
)
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from recdash.ui.shell import navigation

SECONDS_TO_WAIT = 180
"""For anything in a browser: beside two busy processes a page takes ten times as long as alone."""
CHARACTERS_OF_A_TAB = 20_000
SENDINGS = 3
"""So often is a form sent whose outcome does not come: whoever sees nothing happen presses again."""
SECONDS_TO_SHOW = 20
"""Until what has been drawn is seen. The app has finished by then."""
LAST_MESSAGES = 30
AT_REST = """async () => {
  await new Promise(done => setTimeout(done, 30));  // what has arrived is drawn by then
  const app = document.querySelector('[data-testid=stApp]');
  const { testScriptState, testConnectionState } = app?.dataset ?? {};
  const unfinished = document.querySelectorAll('[data-stale=true], [data-testid=stSkeleton]').length;
  return { script: testScriptState, connection: testConnectionState, unfinished };
}"""
REST = {"script": "notRunning", "connection": "CONNECTED", "unfinished": 0}


# ── has the app finished? ────────────────────────────────────────────────────────────────────


class ScriptRuns:
    """Whether the app owes a tab a run of its script.

    The page's own mark of a running script comes with the server's answer only: right after a click it
    still says that nothing runs, and between a run and its rerun it says so again.
    """

    def __init__(self, tab: Page) -> None:
        self.owed = False
        self.told: deque[str] = deque(maxlen=LAST_MESSAGES)
        tab.on("websocket", self._follow)

    def _follow(self, socket: WebSocket) -> None:
        if "/_stcore/stream" in socket.url:
            self.owed = False  # what an earlier connection was owed, it will not get
            self._tell("connected")
            socket.on("close", lambda _: self._tell("connection ended"))
            socket.on("framesent", self._note_request)
            socket.on("framereceived", self._note_answer)

    def _tell(self, what: str) -> None:
        self.told.append(f"{time.monotonic():.2f} {what}")

    def _note_request(self, frame: str | bytes) -> None:
        if not isinstance(frame, bytes):
            return
        message = BackMsg.FromString(frame)
        kind = message.WhichOneof("type")
        self._tell(f"asked: {kind} {pressed_in(message)}")
        if kind == "rerun_script":
            self.owed = True

    def _note_answer(self, frame: str | bytes) -> None:
        if not isinstance(frame, bytes):
            return
        message = ForwardMsg.FromString(frame)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self._tell("answered: a run begins")
            self.owed = True
        elif kind == "script_finished":
            self._tell(f"answered: {ForwardMsg.ScriptFinishedStatus.Name(message.script_finished)}")
            self.owed = message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN


def pressed_in(message: BackMsg) -> list[str]:
    """The buttons that a request says were pressed."""
    return [state.id for state in message.rerun_script.widget_states.widgets if state.trigger_value]


RUNS: WeakKeyDictionary[Page, ScriptRuns] = WeakKeyDictionary()


def follow(browser: Browser) -> None:
    """Know of every tab that is opened from here on what the app owes it, and wait long enough in each."""

    def follow_tab(tab: Page) -> None:
        RUNS[tab] = ScriptRuns(tab)

    def follow_context(context: BrowserContext) -> None:
        context.set_default_timeout(1000 * SECONDS_TO_WAIT)
        context.on("page", follow_tab)

    expect.set_options(timeout=1000 * SECONDS_TO_WAIT)
    browser.on("context", follow_context)


def settle(tab: Page, *shown: Locator) -> None:
    """Wait until the tab shows this, and the app has run and drawn everything that it was asked for."""
    for locator in shown:
        expect(locator.first).to_be_visible()
    end = time.monotonic() + SECONDS_TO_WAIT
    while not is_at_rest(tab):
        if time.monotonic() > end:
            pytest.fail(f"The app has not finished: {state_of(tab)}\n{words_of(tab)}", pytrace=False)
        tab.wait_for_timeout(20)


def is_at_rest(tab: Page) -> bool:
    """Asked before and after: the page tells of a run later than its connection does."""
    tab.evaluate("() => true")  # first hear of all that was sent before this
    return not RUNS[tab].owed and tab.evaluate(AT_REST) == REST and not RUNS[tab].owed


def state_of(tab: Page) -> dict[str, Any]:
    return {"owed": RUNS[tab].owed, **tab.evaluate(AT_REST)}


# ── what a tab shows ─────────────────────────────────────────────────────────────────────────


def words_of(tab: Page) -> str:
    """The address and the words of a tab, for whoever reads of a failed test."""
    try:
        words = tab.evaluate("document.body.innerText")
    except Error as error:
        words = f"(not readable: {error.message})"
    lines = [line for line in words.splitlines() if line.strip()]
    told = list(RUNS[tab].told) if tab in RUNS else []
    return "\n".join([tab.url, *told, *lines])[:CHARACTERS_OF_A_TAB]


def open_tabs() -> list[Page]:
    return [tab for tab in RUNS if not tab.is_closed()]


def headline(tab: Page) -> Locator:
    return tab.locator("[data-testid=stMain] h1").first


# ── what people do ───────────────────────────────────────────────────────────────────────────


def open_page(tab: Page, url: str, *shown: Locator) -> None:
    """Load an address anew, and wait until its page is drawn."""
    tab.goto(url)
    settle(tab, *shown)


def press(tab: Page, label: str | re.Pattern[str], inside: Locator | None = None) -> None:
    """Press a button once the page stands still, and wait until the app has answered."""
    settle(tab)
    (inside or tab).get_by_role("button", name=label, exact=isinstance(label, str)).click()
    settle(tab)


def write(tab: Page, field: Locator, words: str) -> None:
    """Write into a field, leave it, and see that the words stay there."""
    settle(tab)
    field.fill(words)
    tab.keyboard.press("Tab")
    settle(tab)
    expect(field).to_have_value(words)


def send(tab: Page, label: str, outcome: Locator, inside: Locator | None = None) -> None:
    """Press the button of a form until the outcome is there.

    Only for a form that is written down once, however often it is sent: a press is lost where the
    connection ends meanwhile, and on a busy machine it may.
    """

    def attempt(milliseconds: float) -> None:
        press(tab, label, inside)
        expect(outcome.first).to_be_visible(timeout=milliseconds)

    persist(attempt)


def persist(attempt: Callable[[float], None]) -> None:
    """Try again what a page that was just drawn may lose; ``attempt`` gets its patience in milliseconds."""
    for _ in range(SENDINGS - 1):
        with suppress(AssertionError, PlaywrightTimeoutError):
            attempt(1000 * SECONDS_TO_SHOW)
            return
    attempt(1000 * SECONDS_TO_WAIT)


def turn_to_page(tab: Page, name: str) -> None:
    """Turn to the page at the address ``/name`` by the header: its place, then its tab."""
    settle(tab)
    path = "/" if name == "overview" else f"/{name}"
    place, title = navigation.place_and_tab(name)
    tab.locator(".st-key-header a").filter(has_text=whole(place)).click()
    tab.wait_for_url(lambda url: urlsplit(url).path.strip("/").replace("-", "_") in addresses(place))
    settle(tab)
    if urlsplit(tab.url).path != path:
        tab.locator(".st-key-tabs a").filter(has_text=whole(title)).click()
        tab.wait_for_url(lambda url: urlsplit(url).path == path)
        settle(tab)


def whole(title: str) -> re.Pattern[str]:
    """This text and nothing else, where a link may have blanks around it."""
    return re.compile(rf"^\s*{re.escape(title)}\s*$")


def addresses(place: str) -> set[str]:
    """The paths of a place's tabs, with underscores; the first page's is empty."""
    return {"" if name == navigation.FIRST else name for name in navigation.EVERYTHING[place]}


def turn_to(tab: Page, name: str, says: str | re.Pattern[str]) -> None:
    """Turn to another page by its address: it is there, and its headline says this."""
    turn_to_page(tab, name)
    expect(headline(tab)).to_contain_text(says)


def choose(tab: Page, box: Locator, option: str) -> None:
    """Pick an option; a list that is open closes when the page moves under it, and is opened again."""
    row = tab.get_by_role("option", name=option, exact=True)
    open_choices(tab, box, lambda milliseconds: row.click(timeout=milliseconds))
    settle(tab)


def open_choices(tab: Page, box: Locator, act: Callable[[float], None] | None = None) -> None:
    """Open a box's list of options, and do there what ``act`` does; it gets its patience in milliseconds."""
    settle(tab)
    box.scroll_into_view_if_needed()

    def attempt(milliseconds: float) -> None:
        if box.get_attribute("aria-expanded") != "true":
            box.click()
        if act is None:
            tab.get_by_role("option").first.wait_for(timeout=milliseconds)
        else:
            act(milliseconds)

    persist(attempt)


def give(tab: Page, *files: FilePayload | Path) -> Locator:
    """Drop files on the page Add data, and wait until each has its row; returns the rows."""
    settle(tab)  # a place that is just being drawn again may lose what is put into it
    zone = tab.locator(".st-key-drop-zone")
    zone.get_by_test_id("file-zone-input").set_input_files(list(files))  # type: ignore[arg-type]
    rows = tab.locator("[class*=st-key-file_]")
    expect(rows).to_have_count(len(files))
    settle(tab)
    return rows
