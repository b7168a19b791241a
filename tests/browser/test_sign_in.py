"""Signing in with an OpenID provider, in a browser: who comes in, as what, where to, and out again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from app_pages import lists, store
from browser_tabs import settle
from playwright.sync_api import Browser, BrowserContext, Page, expect
from web_provider import Provider, running_provider, write_secrets

from recdash.service import Workspace

pytestmark = pytest.mark.browser
DOMAIN = "example.org"
PEOPLE = {
    name: {"sub": f"id-of-{name}", "email": f"{name}@{DOMAIN}", "email_verified": name != "unverified"}
    for name in ("viewer", "editor", "admin", "unverified")
} | {
    "stranger": {"sub": "stranger", "email": "stranger@elsewhere.example", "email_verified": True},
    "pretender": {"sub": f"admin@{DOMAIN}", "email": f"admin@{DOMAIN}", "email_verified": False},
}
SETTINGS = {
    "RECDASH_AUTH": "oidc",
    "RECDASH_ADMINS": f"admin@{DOMAIN}",
    "RECDASH_EDITORS": f"editor@{DOMAIN}",
    "RECDASH_VIEWERS": f"*@{DOMAIN}",
}
EDITORS_PAGES = {"Add data"}


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with running_provider(PEOPLE) as found:
        yield found


@pytest.fixture(scope="module")
def films(
    lasting_server: Any, provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, Workspace]:
    """The address of a dashboard, the id of its experiment, and its workspace."""
    data = tmp_path_factory.mktemp("signing-in")
    port = lasting_server.free_port()
    url = f"http://127.0.0.1:{port}"
    secrets = write_secrets(data / "secrets.toml", provider, url)
    lasting_server(f"--secrets.files={secrets}", data=data, settings=SETTINGS, port=port)
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    return url, store(workspace, {"als": lists(1), "popular": lists(2)})["films"], workspace


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for all: each anew would load and compile Streamlit again."""
    with browser.new_context(viewport={"width": 1440, "height": 1000}) as made:
        yield made


@pytest.fixture
def visit(films: tuple[str, str, Workspace], context: BrowserContext) -> Iterator[Callable[[], Page]]:
    """Somebody else each time: a new tab, and nothing that the browser keeps of whoever was here before."""
    url, *_ = films
    tabs: list[Page] = []

    def fresh() -> Page:
        context.clear_cookies()
        tab = context.new_page()
        tabs.append(tab)
        kept = {"origin": url, "storageTypes": "local_storage,indexeddb"}
        context.new_cdp_session(tab).send("Storage.clearDataForOrigin", kept)
        return tab

    yield fresh
    for tab in tabs:
        tab.close()


def sign_in(page: Page, name: str) -> None:
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=name, exact=True).click()


def offered(page: Page) -> set[str]:
    links = page.locator(".st-key-header a:not(.rd-brand)")
    settle(page, links.first)
    return {title.strip() for title in links.all_inner_texts()}


def test_a_visitor_finds_nothing_that_the_one_before_left(
    films: tuple[str, str, Workspace], visit: Callable[[], Page]
) -> None:
    url, *_ = films
    page = visit()
    page.goto(url)
    page.evaluate("localStorage.setItem('left', 'here'); document.cookie = 'left=here'")
    assert page.evaluate("localStorage.getItem('left') + document.cookie").count("here") == 2
    page = visit()
    page.goto(url)
    assert page.evaluate("[localStorage.getItem('left'), document.cookie.includes('left')]") == [None, False]


def test_people_come_back_to_their_deep_link_with_their_role(
    films: tuple[str, str, Workspace], visit: Callable[[], Page]
) -> None:
    url, experiment, _ = films
    wanted = {
        "viewer": ("leaderboard", "als is first on nDCG@3"),
        "editor": ("guide", "Guide"),
        "admin": ("guide", "Guide"),
    }
    for name, (address, heading) in wanted.items():
        page = visit()
        page.goto(f"{url}/{address}?e={experiment}&k=3")
        settle(page, page.get_by_role("heading", name="Sign in to read this"))
        assert page.get_by_text("als").count() == 0
        sign_in(page, name)
        expect(page.get_by_role("heading", level=1, name=heading)).to_be_visible()
        expect(page).to_have_url(re.compile(rf"/{address}\?(?=.*e={experiment})(?=.*k=3)"))
        page.locator(".st-key-person button").click()
        expect(page.get_by_text(f"{name}@{DOMAIN}")).to_be_visible()
        missing = EDITORS_PAGES - offered(page)
        assert missing == (EDITORS_PAGES if name == "viewer" else set())


def test_a_copied_cookie_stops_working_when_its_owner_signs_out(
    films: tuple[str, str, Workspace], visit: Callable[[], Page], context: BrowserContext
) -> None:
    url, *_ = films
    page = visit()
    page.goto(f"{url}/guide")
    sign_in(page, "viewer")
    expect(page.get_by_role("heading", level=1, name="Guide")).to_be_visible()
    copied = context.cookies(url)
    page.locator(".st-key-person button").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to read this")).to_be_visible()
    context.add_cookies(copied)  # type: ignore[arg-type]
    page.goto(f"{url}/guide")
    expect(page.get_by_role("heading", name="Sign in to read this")).to_be_visible()
    sign_in(page, "viewer")
    expect(page.get_by_role("heading", level=1, name="Guide")).to_be_visible()


@pytest.mark.long  # tests/web/test_roles.py opens every page as every visitor
def test_a_reader_finds_plain_words_where_an_editor_uploads(
    films: tuple[str, str, Workspace], visit: Callable[[], Page]
) -> None:
    url, *_ = films
    page = visit()
    page.goto(f"{url}/upload")
    sign_in(page, "viewer")
    settle(page, page.get_by_role("heading", name="Only editors can open Add data"))
    expect(page).to_have_url(f"{url}/upload")
    assert page.get_by_test_id("file-zone-input").count() == 0


def test_who_has_no_role_reads_why_and_signs_out(
    films: tuple[str, str, Workspace], visit: Callable[[], Page]
) -> None:
    """An address in the right domain that the provider has not verified is none."""
    url, *_ = films
    page = visit()
    page.goto(url)
    sign_in(page, "unverified")
    expect(page.get_by_role("heading", name="No role here yet")).to_be_visible()
    expect(page.get_by_text("You are signed in as id-of-unverified")).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in to read this")).to_be_visible()


@pytest.mark.long  # tests/web/test_auth.py knows nobody whom the provider does not vouch for
@pytest.mark.parametrize(
    ("name", "called"),
    [("stranger", "stranger@elsewhere.example"), ("pretender", f"admin@{DOMAIN} (id)")],
)
def test_a_stranger_with_an_account_at_the_provider_sees_nothing(
    films: tuple[str, str, Workspace], visit: Callable[[], Page], name: str, called: str
) -> None:
    url, experiment, _ = films
    page = visit()
    page.goto(f"{url}/leaderboard?e={experiment}")
    sign_in(page, name)
    expect(page.get_by_role("heading", name="No role here yet")).to_be_visible()
    expect(page.get_by_text(f"You are signed in as {called}")).to_be_visible()
    assert page.get_by_text("als").count() == 0
    assert page.request.get(f"{url}/reports/any").status == 403


def test_a_guest_reads_one_experiment_until_the_link_is_taken_back(
    films: tuple[str, str, Workspace], visit: Callable[[], Page]
) -> None:
    url, experiment, workspace = films
    shared = workspace.sharing.share(experiment, days=2)
    page = visit()
    page.goto(f"{url}/s/{shared.token}")
    banner = page.get_by_role("note")
    expect(banner).to_contain_text(f"Read-only link to films, shared by {workspace.person.name}, valid until")
    assert offered(page) & EDITORS_PAGES == set()
    workspace.sharing.revoke(shared.link.id)
    page.locator(".st-key-places a").filter(has_text="Compare").click()
    settle(page, page.get_by_text("This share link was revoked."))
    expect(page.get_by_text("als")).to_have_count(0)
    page.get_by_role("link", name="Leave this link").click()
    page.get_by_role("button", name="Leave this link").click()
    expect(page.get_by_role("heading", name="Sign in to read this")).to_be_visible()
