"""An A/B test in Chromium: its logs in, health and lifts out, offline beside online, and why they differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from browser_tabs import choose, give, headline, open_page, press, settle, turn_to
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

import recdash
from recdash.demo.ab_tests import Simulated, simulate
from recdash.formatting import numbers
from recdash.online import OnlineResults, OnlineRow
from recdash.service import Workspace

pytestmark = pytest.mark.browser

Start = Callable[..., Any]
Files = Mapping[str, Path]
N_USERS, SEED = 1500, 2
ENGAGEMENT, VISITS = "engagement_rate", "sessions_per_user"
ARMS = {"control": {}, "bold": {ENGAGEMENT: -0.24, VISITS: 0.5}, "calm": {ENGAGEMENT: 0.24}}
"""Bold is engaging in fewer sessions, of which it has more; calm is better for everybody."""
HITS = {"popular": (5, 5), "calm": (2, 5), "bold": (1, 3)}
"""At which rank a run has the item of an odd and an even user: bold is best offline, then calm."""
EXPOSED = b"experiment_id,unit_id,variant,ts\nx,u1,control,2026-11-02T09:00:00Z\nx,u2,new,2026-11-02T09:00Z\n"
NEGATIVE = b"unit_id,session_id,ts,event,item_id,watch_s\nu1,s1,2026-11-02T09:01:00Z,watch,i1,-30\n"
NOBODY = b"session_id,ts,event,item_id\ns1,2026-11-02T09:01:00Z,click,i1\n"


# ── what is there before ─────────────────────────────────────────────────────────────────────


def lists(hits: tuple[int, int]) -> pd.DataFrame:
    """Lists of five for the users 1 to 60, whose item is called as they are."""
    rows = [
        (user, user if rank == hits[1 - user % 2] else 100 + rank, rank)
        for user in range(1, 61)
        for rank in range(1, 6)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


def workspace_in(data: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")


@pytest.fixture
def with_films(tmp_path: Path, server: Start) -> Any:
    """A server whose store holds the experiment films with three runs, and no online test."""
    data = tmp_path / "data"
    data.mkdir()
    workspace = workspace_in(data)
    truth = pd.DataFrame({"user_id": range(1, 61), "item_id": range(1, 61)})
    films = workspace.experiments.create("films", truth, depth=5)
    for name, hits in HITS.items():
        workspace.runs.add(films.id, lists(hits), name=name)
    return server(data=data)


def online_tests(data: Path) -> list[str]:
    """The names of those that are stored."""
    workspace = workspace_in(data)
    return [test.name for one in workspace.experiments.all() for test in workspace.online_tests.all(one.id)]


def written(made: Simulated, folder: Path) -> Files:
    """The logs of a test as files, by kind."""
    assert made.logs is not None
    files = {name: folder / f"{name}.csv" for name in ("exposures", "served")}
    for name, file in files.items():
        pyarrow.csv.write_csv(getattr(made.logs, name), file)
    files["events"] = folder / "events.parquet"
    pyarrow.parquet.write_table(made.logs.events, files["events"])
    return files


def as_file(name: str, data: bytes) -> FilePayload:
    return {"name": name, "mimeType": "text/csv", "buffer": data}


# ── what a person does ───────────────────────────────────────────────────────────────────────


def begin_upload(page: Page, url: str) -> None:
    open_page(page, f"{url}/upload", page.get_by_role("heading", name="Add your data", exact=True))


def give_all(page: Page, files: Files, kinds: tuple[str, ...]) -> None:
    """Every file is read and is in order."""
    give(page, *(files[kind] for kind in kinds))
    expect(page.get_by_role("button", name="Analyze A/B test")).to_be_enabled()


def link_to_films(page: Page) -> None:
    """Add the test to the experiment whose runs it served; runs of the same name are linked already."""
    choose(page, page.get_by_role("combobox", name="Add to"), "films")
    page.get_by_text("Advanced", exact=True).click()
    for run in ("bold", "calm"):
        expect(page.get_by_role("combobox", name=f"{run} served")).to_have_value(run)
    control = page.get_by_role("combobox", name="control served")
    choose(page, control, "popular")
    expect(control).to_have_value("popular")


def store(page: Page, name: str) -> None:
    page.get_by_label("Name of the A/B test").fill(name)
    page.keyboard.press("Enter")
    press(page, "Analyze A/B test")
    expect(page.get_by_text(f"Analyzed the A/B test {name}")).to_be_visible()


# ── what is seen ─────────────────────────────────────────────────────────────────────────────


def lift_of(found: OnlineResults, metric: str, variant: str) -> OnlineRow:
    return next(row for row in found.rows if (row.metric, row.variant) == (metric, variant))


def in_percent(lift: float | None) -> str:
    """As the page writes lifts of some ten per cent."""
    assert lift is not None
    return numbers.signed(100 * lift, 1)


def line_of(page: Page, title: str, variant: str) -> Locator:
    """The line of a metric and variant among the lifts; a metric is named in its first line, bold's, only."""
    bold = page.locator("table.rd-lifts tbody tr").filter(has_text=title)
    calm = bold.locator("xpath=following-sibling::tr[1]")
    return {"bold": bold, "calm": calm}[variant].filter(has_text=variant)


def last_words(table: Locator) -> set[str]:
    """What a table says at the ends of its lines."""
    cells = table.locator("tbody td:last-child").all_inner_texts()
    return {cell.strip() for cell in cells if cell.strip()}


def check_of(page: Page, title: str) -> Locator:
    """One of the twelve checks of "Why?"."""
    named = page.locator("summary b").get_by_text(title, exact=True)
    return page.locator(".rd-why details").filter(has=named)


def seen(page: Page) -> list[str]:
    """What a link must bring back: the headline, the question and what the checks sum up to."""
    return [headline(page).inner_text(), *page.locator(".rd-title p, p.rd-lead").all_inner_texts()]


# ── the tests ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.long  # tests/browser/test_journey_share.py uploads a test, tests/ui/ follows the rest
def test_logs_become_health_lifts_a_quadrant_and_a_reason_and_a_link_opens_them_on_a_fresh_server(
    with_films: Any,
    server: Start,
    page: Page,
    browser: Browser,
    console_errors: list[str],
    tmp_path: Path,
) -> None:
    made = simulate(N_USERS, SEED, events=True, crossover=0.005, arms=ARMS)
    files = written(made, tmp_path)
    found = recdash.ab_test(**files, control="control")
    upload_the_test(page, with_films.url, files, found, made.known.crossed)
    read_health_and_lifts(page, made, found)
    read_both_sides(page)

    read_why(page, found)
    choose(page, page.get_by_role("combobox", name="Variant"), "calm")
    expect(page).to_have_url(re.compile(r"[?&]v=calm(&|$)"))
    expect(page.get_by_role("heading", name="calm won both; ")).to_be_visible()
    settle(page)
    link, there = page.url.removeprefix(with_films.url), seen(page)
    page.goto("about:blank")
    with_films.process.terminate()
    with_films.process.wait()
    fresh = server(data=with_films.data)
    other = browser.new_context(viewport={"width": 1440, "height": 1000}).new_page()
    other.on("console", lambda said: console_errors.append(said.text) if said.type == "error" else None)
    other.on("pageerror", lambda error: console_errors.append(str(error)))
    other.goto(fresh.url + link)
    expect(other.get_by_role("heading", name="calm won both; ")).to_be_visible()
    settle(other)
    assert seen(other) == there
    other.context.close()
    assert console_errors == []


def upload_the_test(page: Page, url: str, files: Files, found: OnlineResults, crossed: int) -> None:
    begin_upload(page, url)
    give_all(page, files, ("exposures", "events", "served"))
    page.get_by_text(re.compile(r"^Notes \(\d+\)$")).click()
    expect(page.get_by_text(f"{crossed} of 1,500 users saw several variants")).to_be_visible()
    for removed in found.removed:
        expect(page.get_by_text(f"{removed.count:,} {removed.unit} {removed.what}")).to_be_visible()
    expect(
        page.get_by_text("2 segments: country and platform")
    ).to_be_visible()  # a column without a role is kept
    link_to_films(page)
    store(page, "Autumn")


def read_health_and_lifts(page: Page, made: Simulated, found: OnlineResults) -> None:
    shipped = "Ship calm if this size was planned, but the guardrail sessions per user is inconclusive"
    turn_to(page, "ab-results", f"{shipped}; roll back bold")
    health = page.get_by_role("group", name="Health of the test")
    assert found.health.srm_p is not None
    for told in (
        f"even\np = {found.health.srm_p:.3f}; no planned split is given",
        f"{made.known.crossed} users\n",
        "2 full weeks\n2 to 15 Nov 2026",
    ):
        assert told in re.sub(r"\n+", "\n", health.inner_text()).replace("\xa0", " ")
    for variant, word in (("bold", "worse"), ("calm", "better")):
        row = lift_of(found, ENGAGEMENT, variant)
        low, high = row.corrected_low, row.corrected_high
        assert low is not None
        assert high is not None
        assert low < made.known.lifts[variant][ENGAGEMENT] < high
        line = line_of(page, "Engagement rate", variant)
        expect(line).to_contain_text(f"{in_percent(row.lift)}{in_percent(low)} to {in_percent(high)}")
        expect(line).to_contain_text(word)
    expect(line_of(page, "Sessions per user", "bold")).to_contain_text("✓ holds")
    expect(line_of(page, "Sessions per user", "calm")).to_contain_text("inconclusive")


def read_both_sides(page: Page) -> None:
    turn_to(page, "offline-online", "bold won offline, lost online; ")
    agreement = "Offline picked the online winner in 1 of 3 decided pairs, and the loser in 2."
    expect(page.get_by_text(agreement)).to_be_visible()
    expect(page.get_by_role("link", name="Why bold won offline, lost online →")).to_be_visible()


def read_why(page: Page, found: OnlineResults) -> None:
    because = "most likely because of lists served that were not evaluated"  # simulated items were served
    turn_to(page, "why", f"bold won offline, lost online, {because}")
    check = check_of(page, "Sessions per user")
    reading = check.get_by_text("Users come more often, so engagement rate is measured over other sessions")
    expect(reading).to_be_hidden()
    check.locator("summary").click()
    expect(reading).to_be_visible()
    expect(check).to_contain_text(f"{in_percent(lift_of(found, VISITS, 'bold').lift)} %")
    expect(check.locator("summary")).to_contain_text("possible cause")


@pytest.mark.long  # tests/ui/test_pages.py and tests/ui/test_ab_results.py ask the same of the pages
def test_where_users_are_missing_from_a_variant_no_page_judges_anything(
    with_films: Any, page: Page, console_errors: list[str], tmp_path: Path
) -> None:
    files = written(simulate(N_USERS, SEED, events=True, srm=0.35, arms=ARMS), tmp_path)
    begin_upload(page, with_films.url)
    give_all(page, files, ("exposures", "events"))
    expect(page.get_by_text("Sample ratio mismatch (SRM)")).to_be_visible()
    link_to_films(page)
    store(page, "Winter")

    turn_to(page, "ab-results", "Sample ratio mismatch (SRM): no metric is judged")
    expect(page.get_by_role("group", name="Health of the test")).to_contain_text("! mismatch")
    assert last_words(page.locator("table.rd-lifts")) == {"– not judged"}

    turn_to(page, "offline-online", "Offline and online: not judged, the split of users is broken")
    expect(page.get_by_text("Sample ratio mismatch (SRM): no metric is judged.")).to_be_visible()
    expect(page.get_by_text("Agreement cannot be judged")).to_be_visible()
    tables = page.locator("table.rd-table")
    reading = tables.filter(has_text="Result")
    assert last_words(reading) == {"not judged (SRM)"}
    expect(reading.locator("td:nth-child(3)")).to_have_text(["–", "–"])
    expect(tables.filter(has_text="Finding")).not_to_contain_text(
        re.compile("better|worse|holds|inconclusive")
    )
    assert console_errors == []


@pytest.mark.long  # tests/ingest/test_online.py refuses the same, tests/ui/test_upload_journey.py on the page
def test_events_that_cannot_be_true_are_refused_with_place_and_reason_and_nothing_is_stored(
    with_films: Any, page: Page, console_errors: list[str]
) -> None:
    begin_upload(page, with_films.url)
    for data, place, reason in (
        (NEGATIVE, "seconds watched column, line 2", "'-30' is below 0"),
        (NOBODY, "columns", "no unit column; found: session_id, ts, event, item_id. Choose the column"),
    ):
        begin_upload(page, with_films.url)
        rows = give(page, as_file("exposures.csv", EXPOSED), as_file("events.csv", data))
        expect(rows.filter(has_text="events.csv")).to_contain_text(reason)
        expect(rows.filter(has_text="events.csv").get_by_test_id("stAlertContainer")).to_contain_text(place)
        expect(page.get_by_role("button", name="Analyze A/B test")).to_be_disabled()
    assert online_tests(with_films.data) == []
    assert console_errors == []
