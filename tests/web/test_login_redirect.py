"""Who signs in comes back to the page that they wanted, and to no other site."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from web_requests import Answer, ask, door, no_guest

from recdash.web.auth import AuthConfig

ADA = {"origin": "http://localhost:8501", "email": "ada@example.org", "email_verified": True}
KEPT = "recdash_return_8501"


def visit(path: str, query: str = "", *, kept: str | None = None, known: bool = False) -> Answer:
    base = door(auth="oidc")
    visitors = AuthConfig(base.rules, "", no_guest, lambda _: ADA if known else {}, base.pages)
    headers = {"cookie": f"{KEPT}={quote(kept, safe='')}"} if kept is not None else {}
    return ask(visitors, path, query=query, headers=headers)


def remembered(path: str, query: str = "") -> str | None:
    found = visit(path, query).cookies.get(KEPT)
    return found.value if found else None


@pytest.mark.parametrize(
    ("path", "query", "kept"),
    [
        ("/leaderboard", "e=films&k=20", "leaderboard?e=films&k=20"),
        ("/leaderboard", "", "leaderboard"),
        ("/", "e=films", "?e=films"),
        ("/users", "e=films&next=//evil.example", "users?e=films&next=//evil.example"),
    ],
)
def test_a_page_that_asks_to_sign_in_is_remembered(path: str, query: str, kept: str) -> None:
    assert remembered(path, query) == quote(kept, safe="")


def test_only_this_browser_keeps_it_and_not_for_long() -> None:
    cookie = visit("/leaderboard", "k=20").cookies[KEPT]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "lax", "600")


@pytest.mark.parametrize(
    ("path", "query"),
    [("/", ""), ("/static/js/index.js", "x=1"), ("/nowhere", "x=1"), ("/_stcore/host-config", "x=1"),
     ("//evil.example", "x=1"), ("/leaderboard", "x=" + "y" * 2000)],
)  # fmt: skip
def test_nothing_else_is_remembered(path: str, query: str) -> None:
    assert remembered(path, query) is None


def test_nothing_is_remembered_of_whom_is_known() -> None:
    assert visit("/leaderboard", "k=20", known=True).cookies.get(KEPT) is None


@pytest.mark.parametrize("kept", ["leaderboard?e=films&k=20", "leaderboard", "?e=films"])
def test_after_the_sign_in_the_first_page_leads_there_once(kept: str) -> None:
    asked = visit("/", known=True, kept=kept)
    assert (asked.status, asked.headers["location"]) == (303, f"./{kept}")
    assert asked.cookies[KEPT].value == ""
    assert asked.cookies[KEPT]["max-age"] == "0"


@pytest.mark.parametrize(
    "kept",
    [
        "https://evil.example", "//evil.example", "/leaderboard", "../leaderboard", "leaderboard/../../x",
        "nowhere", "\\\\evil.example", "javascript:alert(1)", "s/token",
        "leaderboard\r\nset-cookie: a=b", "", "?",
    ],
)  # fmt: skip
def test_it_leads_to_no_other_place(kept: str) -> None:
    assert visit("/", known=True, kept=kept).status == 200


def test_a_line_break_in_a_query_does_not_become_a_header() -> None:
    asked = visit("/", known=True, kept="leaderboard?a=1\r\nset-cookie: b=2")
    assert "\n" not in asked.headers["location"]
    assert list(asked.cookies) == [KEPT]


@pytest.mark.parametrize(("path", "query"), [("/", "e=films"), ("/users", "")])
def test_who_asks_for_another_page_gets_that(path: str, query: str) -> None:
    assert visit(path, query, known=True, kept="leaderboard?k=20").status == 200


def test_who_is_not_known_stays_where_the_sign_in_is() -> None:
    assert visit("/", kept="leaderboard?k=20").status == 200
