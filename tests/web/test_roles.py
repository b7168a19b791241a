"""Every page for every kind of visitor: what is shown, what is refused, and what stands in its place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from app_pages import TRUTH, USERS, file_zones, forget, link, lists, passed, said, shell, store
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from recdash.domain.access import AccessRole, Person
from recdash.errors import Forbidden
from recdash.service.access.sharing import LinkDead
from recdash.ui.app import current_user
from recdash.ui.shell import navigation
from recdash.web import visitor as identity

PAGES: dict[str, AccessRole] = {
    "overview": "viewer",
    "review": "viewer",
    "experiments": "viewer",
    "leaderboard": "viewer",
    "metric_vs_k": "viewer",
    "precision_recall": "viewer",
    "tradeoffs": "viewer",
    "users": "viewer",
    "segments": "viewer",
    "items": "viewer",
    "catalogue": "viewer",
    "definitions": "viewer",
    "ab_results": "viewer",
    "offline_online": "viewer",
    "why": "viewer",
    "off_policy": "editor",
    "metric_library": "editor",
    "tokens": "admin",
    "reports": "viewer",
    "upload": "editor",
    "settings": "viewer",
    "runs": "editor",
    "guide": "viewer",
}
"""The role that each page is for: editors where it takes files or changes things, admins
where it gives access. A new page must be given
its role here, whatever the navigation says.
"""


def settings_of(data: Path) -> dict[str, str]:
    return {"RECDASH_DATABASE_URL": f"sqlite:///{data}/recdash.db", "RECDASH_ARTIFACTS": f"{data}/artifacts"}


VISITORS = ["nobody", "guest", "viewer", "editor", "admin"]
Visit = Callable[[str, str], AppTest]


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The id of an experiment with two runs, beside another; the store is the same for all of this file."""
    forget()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings_of(tmp_path_factory.mktemp("films")).items():
            patch.setenv(name, value)
        found = store(current_user.full_workspace(), {"als": lists(1), "popular": lists(2)})
        current_user.full_workspace().experiments.create("books", TRUTH, depth=5)
        yield found["films"]
    forget()


def person_of(visitor: str, experiment: str) -> Person | None:
    people = {
        "guest": Person("guest of mara", "viewer", experiment),
        "viewer": Person("vi", "viewer"),
        "editor": Person("ed", "editor"),
        "admin": Person("ada", "admin"),
    }
    return people.get(visitor)


@pytest.fixture
def come_as(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Person | None]], None]:
    """Have the door find out this."""

    def turn(found: Callable[[], Person | None]) -> None:
        monkeypatch.setattr(identity, "person_of", lambda *_: found())

    return turn


@pytest.fixture
def visit(films: str, come_as: Callable[..., None]) -> Visit:
    """``visit("viewer", "leaderboard")``: open that page's address as such a visitor.

    Editors and admins look at an experiment without runs, which is quickly drawn.
    """
    without_runs = next(one.id for one in current_user.full_workspace().experiments.all() if one.id != films)

    def open_at(visitor: str, page: str) -> AppTest:
        come_as(lambda: person_of(visitor, films))
        may_write = visitor in {"editor", "admin"}
        return at(page, e=without_runs if may_write else films)

    return open_at


def at(page: str, **link: str) -> AppTest:
    """The app at the address of a page."""
    app = shell(link)
    app._page_hash = calc_hash("" if page == navigation.FIRST else navigation.address(page))
    return passed(app.run())


# ── the pages ────────────────────────────────────────────────────────────────────────────────


def test_every_page_is_in_the_navigation(root: Path) -> None:
    listed = [name for pages in navigation.EVERYTHING.values() for name in pages]
    assert sorted(file.stem for file in (root / "pages").glob("*.py")) == sorted(listed)


def test_each_page_is_given_its_role_and_the_navigation_keeps_to_it() -> None:
    listed = [name for pages in navigation.EVERYTHING.values() for name in pages]
    assert {name: navigation.NEEDS.get(name, "viewer") for name in listed} == PAGES


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_shown_to_whom_it_is_for_and_changes_nothing_for_readers(visit: Visit, page: str) -> None:
    seen = {visitor: visit(visitor, page) for visitor in VISITORS}
    least = VISITORS.index(PAGES[page])
    allowed = {visitor: PAGES[page] == "viewer" or VISITORS.index(visitor) >= least for visitor in VISITORS}
    assert {visitor: is_shown(app) for visitor, app in seen.items()} == {**allowed, "nobody": False}
    if not allowed["guest"]:
        assert "This is a read-only link" in said(seen["guest"])
        words = {"editor": "Ask an admin for the role editor.", "admin": "Ask an admin."}[PAGES[page]]
        assert words in said(seen["viewer"])
    for reader in ("nobody", "guest", "viewer"):
        assert file_zones(seen[reader]) == []
        assert {button.label for button in seen[reader].button} & CHANGING == set()


@pytest.mark.parametrize("page", [page for page, role in PAGES.items() if role == "viewer"])
def test_a_page_of_numbers_only_names_no_user(films: str, come_as: Callable[..., None], page: str) -> None:
    guest = Person("guest of mara", "viewer", films)
    shown = []
    for person in (guest, replace(guest, numbers_only=True)):  # the first fills the caches
        come_as(lambda person=person: person)
        app = at(page, e=films, u="u3", ex="run")
        options = [option for box in app.selectbox for option in box.options]
        shown.append({word for word in USERS if re.search(rf"\b{word}\b", " ".join([said(app), *options]))})
    assert shown[1] == set()
    assert bool(shown[0]) == (page in {"users", "definitions"})


CHANGING = {"Upload", "Upload a run", "Upload an online test", "Load the demo", "Add reference candidates"}
"""Labels of what writes to the store, or leads there."""


def is_shown(app: AppTest) -> bool:
    """Is the page there, and no plain words in its place? What is refused has nothing to choose from."""
    words = said(app)
    refused = re.search("Sign in to read this|Only (editors|admins) can open", words) is not None
    widgets = [*app.selectbox, *app.button, *app.text_input, *file_zones(app)]
    assert not (refused and widgets), "refused and drawn"
    return not refused


# ── the navigation, and the name ─────────────────────────────────────────────────────────────


def offered(app: AppTest) -> list[str]:
    return sorted(app.session_state["recdash.pages"])


def test_readers_are_not_offered_what_is_for_editors(visit: Visit) -> None:
    everything = sorted(navigation.ADDRESSES)
    assert offered(visit("admin", "guide")) == everything
    for_admins = {navigation.address(name) for name, role in PAGES.items() if role == "admin"}
    assert offered(visit("editor", "guide")) == sorted({*everything} - for_admins)
    kept = sorted(navigation.address(name) for name, role in PAGES.items() if role == "viewer")
    assert [offered(visit(visitor, "guide")) for visitor in ("viewer", "guest")] == [kept, kept]


def test_the_name_and_the_role_are_in_the_header(visit: Visit) -> None:
    for visitor, name in (("viewer", "vi"), ("editor", "ed"), ("admin", "ada")):
        assert f"{name} {visitor}" in said(visit(visitor, "guide"))


def test_a_name_that_nobody_checked_is_not_shown_as_one(visit: Visit, come_as: Callable[..., None]) -> None:
    visit("admin", "guide")
    come_as(lambda: Person("mara", "admin", named=False))
    assert "mara" not in said(passed(shell({}).run()))


def test_a_name_made_of_markup_is_words(films: str, come_as: Callable[..., None]) -> None:
    assert films
    come_as(lambda: Person("<img src=//evil.example/x>", "viewer"))
    bodies = " ".join(str(one.proto.body) for one in passed(shell({}).run()).get("html"))
    assert "&lt;img src=//evil.example/x&gt;" in bodies
    assert "<img" not in bodies


# ── in place of everything ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("page", ["overview", "leaderboard", "upload", "guide"])
@pytest.mark.parametrize(
    ("error", "heading"),
    [
        (LinkDead("expired"), "This link no longer works This share link has expired."),
        (LinkDead("revoked"), "This link no longer works This share link was revoked."),
        (Forbidden("You are signed in as kim."), "No role here yet You are signed in as kim."),
    ],
    ids=["expired", "revoked", "no role"],
)
def test_why_nobody_comes_in_is_all_that_is_shown(
    films: str, come_as: Callable[..., None], page: str, error: Exception, heading: str
) -> None:
    assert films

    def fail() -> Person:
        raise error

    come_as(fail)
    app = at(page, e=films)
    assert said(app).strip().startswith(heading)
    assert [*app.selectbox, *app.get("plotly_chart"), *file_zones(app)] == []
    assert "als" not in said(app)


def test_a_saved_view_opens_by_its_short_link(films: str, come_as: Callable[..., None]) -> None:
    come_as(lambda: Person("ed", "editor"))
    current_user.full_workspace().sharing.save_view(films, "weekly", "leaderboard", {"e": films, "k": "3"})
    app = at("overview", view="weekly")
    assert "is first on nDCG@3" in said(app)
    assert link(app)["k"] == "3"
    assert "view" not in link(app)
