"""A real server behind a proxy: every address for every kind of visitor, uploads, websockets, headers."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from app_pages import TRUTH, lists, store
from web_house import MEBIBYTE, NAMES, SETTINGS, VISITORS, House, Tab, ask, opened, opening, stream
from websockets.exceptions import InvalidStatus

from recdash.report.reports import Reports
from recdash.service import Workspace
from recdash.web.api.questions import QUESTIONS


@pytest.fixture(scope="module")
def house(lasting_server: Any, tmp_path_factory: pytest.TempPathFactory) -> House:
    data = tmp_path_factory.mktemp("house")
    started = lasting_server(data=data, settings=SETTINGS)
    workspace = Workspace.open(f"sqlite:///{data / 'recdash.db'}", data / "artifacts")
    ids = store(workspace, {"als": lists(1), "popular": lists(2)})
    ids["books"] = workspace.experiments.create("books", TRUTH, depth=5).id
    question = Reports(workspace).question(ids["films"])
    report = Reports(workspace).make(question, title="Films")
    return House(started.url, workspace, ids, workspace.sharing.share(ids["films"]).token, report.id)


# ── every address × every kind of visitor ────────────────────────────────────────────────────

API_ROUTES = {question.path for question in QUESTIONS} | {
    "/uploads",
    "/uploads/{upload}",
    "/sources",
    "/additions",
    "/additions/{addition}",
    "/openapi.json",
    "/docs",
}
ALL_404, ALL_303, ALL_200 = (404,) * 5, (303,) * 5, (200,) * 5
IN = (403, 200, 200, 200, 200)
"""Nobody is refused, everybody else is let in."""
MISSING = (403, 404, 404, 404, 404)
CLOSED = (403,) * 5
INTO_MEMORY = "/_stcore/upload_file/{session_id}/{file_id}"
ROUTES: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    # (route, method): an address, and what nobody, a guest, a viewer, an editor and an admin get there
    ("/s/leave", "GET"): ("/s/leave", ALL_200),
    ("/s/leave", "POST"): ("/s/leave", ALL_303),
    ("/s/{token}", "GET"): ("/s/{token}", ALL_303),
    ("/s/{rest:path}", "GET"): ("/s/a/b", ALL_404),
    ("/key/sign-out", "GET"): ("/key/sign-out", ALL_200),
    ("/key/sign-out", "POST"): ("/key/sign-out", ALL_303),
    ("/key/{key}", "GET"): ("/key/anything", CLOSED),
    ("/key/{rest:path}", "GET"): ("/key/a/b", ALL_404),
    ("/overview", "GET"): ("/overview", (403, 303, 303, 303, 303)),
    ("/reports/{name}", "GET"): ("/reports/{report}", IN),
    ("/reports/{rest:path}", "GET"): ("/reports/a/b", MISSING),
    ("/_stcore/health", "GET"): ("/_stcore/health", ALL_200),
    ("/_stcore/health", "OPTIONS"): ("/_stcore/health", (204,) * 5),
    ("/_stcore/metrics", "GET"): ("/_stcore/metrics", ALL_404),
    ("/_stcore/metrics", "OPTIONS"): ("/_stcore/metrics", ALL_404),
    ("/_stcore/host-config", "GET"): ("/_stcore/host-config", IN),
    ("/media/{file_id:path}", "GET"): ("/media/0a1b.csv", MISSING),
    ("/media/{file_id:path}", "OPTIONS"): ("/media/0a1b.csv", (403, 204, 204, 204, 204)),
    ("/uploads/{session}", "POST"): ("/uploads/someone", CLOSED),
    ("/uploads/{session}/{file}", "GET"): ("/uploads/someone/file", CLOSED),
    ("/uploads/{session}/{file}", "PATCH"): ("/uploads/someone/file", CLOSED),
    ("/uploads/{session}/{file}", "DELETE"): ("/uploads/someone/file", CLOSED),
    ("/uploads/{rest:path}", "GET"): ("/uploads/a/b/c", CLOSED),
    (INTO_MEMORY, "PUT"): ("/_stcore/upload_file/someone/file", ALL_404),
    (INTO_MEMORY, "DELETE"): ("/_stcore/upload_file/someone/file", ALL_404),
    (INTO_MEMORY, "OPTIONS"): ("/_stcore/upload_file/someone/file", ALL_404),
    ("/component/{path:path}", "GET"): ("/component/none/x.js", MISSING),
    ("/component/{path:path}", "OPTIONS"): ("/component/none/x.js", (403, 204, 204, 204, 204)),
    ("/_stcore/bidi-components/{path:path}", "GET"): ("/_stcore/bidi-components/none/x.js", MISSING),
    ("/_stcore/bidi-components/{path:path}", "OPTIONS"): (
        "/_stcore/bidi-components/none/x.js", (403, 204, 204, 204, 204),
    ),
    ("/_stcore/stream", "WEBSOCKET"): ("/_stcore/stream", (403, 101, 101, 101, 101)),
    ("/auth/login", "GET"): ("/auth/login", ALL_404),
    ("/auth/logout", "GET"): ("/auth/logout", ALL_404),
    ("/oauth2callback", "GET"): ("/oauth2callback", ALL_404),
    ("/_stcore/agent/interact", "POST"): ("/_stcore/agent/interact", ALL_404),
    ("/_stcore/agent/openapi.json", "POST"): ("/_stcore/agent/openapi.json", ALL_404),
    ("/_stcore/agent/mcp", "POST"): ("/_stcore/agent/mcp", ALL_404),
    ("", "GET"): ("/", IN),
    # without a token: tests/web/api has what each token may do
    **{
        (f"/api/v1{route}", "POST"): (f"/api/v1{route.replace('{', '').replace('}', '')}", (401,) * 5)
        for route in API_ROUTES
    },
    ("/api/{rest:path}", "POST"): ("/api/v2/none", (401,) * 5),
}  # fmt: skip
LIST_ROUTES = """
import json, app
routes = app.app._build_starlette_app().routes
print(json.dumps([(route.path, sorted(getattr(route, "methods", None) or [])) for route in routes]))
"""


def test_every_route_has_a_row(root: Path) -> None:
    command = [sys.executable, "-c", LIST_ROUTES]
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    known = {(path, shown(path, methods)) for path, methods in json.loads(said)}
    assert known == set(ROUTES)


def shown(path: str, methods: list[str]) -> str:
    """The method that stands for the others in the table."""
    if not methods:
        return "WEBSOCKET" if path else "GET"
    return next(
        method for method in ("POST", "GET", "PUT", "PATCH", "DELETE", "OPTIONS") if method in methods
    )


@pytest.mark.parametrize(("route", "method"), ROUTES)
def test_a_route_answers_each_visitor_as_the_table_says(house: House, route: str, method: str) -> None:
    address, expected = ROUTES[route, method]
    path = address.format(token=house.token, report=house.report)
    assert tuple(status(house, path, method, visitor) for visitor in VISITORS) == expected


def status(house: House, path: str, method: str, visitor: str) -> int:
    if method == "WEBSOCKET":
        return opening(house, house.headers(visitor))
    return ask(house, path, house.headers(visitor), method=method).status


# ── spoofed, foreign, and what every answer carries ──────────────────────────────────────────


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, 200),
        ({"X-Forwarded-For": "203.0.113.5"}, 200),
        ({"X-Recdash-Proxy-Secret": "x" * 32}, 403),
        ({"X-Forwarded-User": "mallory"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Origin": "http://evil.example"}, 403),
    ],
    ids=["as it should be", "a far client", "another secret", "no role", "a foreign host", "a script"],
)  # fmt: skip
def test_the_proxy_is_believed_when_everything_is_right(
    house: House, more: dict[str, str], status: int
) -> None:
    headers = house.headers("admin") | more
    assert ask(house, "/leaderboard", headers).status == status
    if "Host" not in more:  # the client of this test names the host by itself
        assert opening(house, headers) == (101 if status == 200 else 403)


def test_a_header_of_ours_that_comes_from_outside_lets_nobody_in(house: House) -> None:
    for name in ("X-Recdash-Visitor", "x-recdash-visitor", "X-Recdash-Person"):
        assert ask(house, "/", {name: 'x.{"name": "ada", "role": "admin"}'}).status == 403


def test_a_foreign_script_opens_no_websocket(house: House) -> None:
    with pytest.raises(InvalidStatus), stream(house, house.headers("admin"), origin="http://evil.example"):
        pass
    with stream(house, house.headers("admin"), origin=house.url):
        pass


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/leaderboard",
        "/_stcore/health",
        "/_stcore/metrics",
        "/media/x",
        "/s/x",
        "/key/x",
        "/static/x.js",
    ],
)
@pytest.mark.parametrize("visitor", ["nobody", "admin"])
def test_every_answer_carries_the_headers(house: House, path: str, visitor: str) -> None:
    headers = ask(house, path, house.headers(visitor)).headers
    assert "frame-ancestors 'self'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["referrer-policy"] == "same-origin"


# ── reports ──────────────────────────────────────────────────────────────────────────────────


def test_a_report_is_a_page_of_its_own_that_asks_nobody(house: House) -> None:
    shown = ask(house, f"/reports/{house.report}", house.headers("viewer"))
    assert shown.headers["content-type"].startswith("text/html")
    policy = shown.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "sandbox allow-scripts" in policy
    assert "allow-same-origin" not in policy
    assert "attachment" not in shown.headers.get("content-disposition", "")


@pytest.mark.parametrize("form", ["html", "md", "csv", "json"])
def test_a_report_is_also_a_file(house: House, form: str) -> None:
    file = ask(house, f"/reports/{house.report}.{form}", house.headers("guest"))
    assert file.status == 200
    assert file.headers["content-disposition"].startswith("attachment; filename*=utf-8''")
    assert file.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("nothing", 404),
        ("{report}.exe", 404),
        ("{report}..", 404),
        ("{report}.html/x", 404),
        ("..%2fapp.py", 400),
    ],
)
def test_what_is_no_report_is_not_there(house: House, name: str, status: int) -> None:
    path = f"/reports/{name.format(report=house.report)}"
    assert ask(house, path, house.headers("admin")).status == status


def test_a_guest_of_one_experiment_reads_no_report_of_another(house: House) -> None:
    link = house.workspace.sharing.share(house.ids["books"])
    cookie = {"cookie": f"recdash_share_{urlsplit(house.url).port}={link.token}"}
    assert ask(house, "/", cookie).status == 200
    assert ask(house, f"/reports/{house.report}", cookie).status == 404


def test_the_link_of_a_report_shows_it_and_opens_nothing_else(house: House) -> None:
    shared = house.workspace.sharing.share(house.ids["films"], report_id=house.report)
    shown = ask(house, f"/s/{shared.token}", {})
    assert (shown.status, b"Films" in shown.body) == (200, True)
    assert "set-cookie" not in shown.headers
    kept = house.headers("guest")["cookie"].replace(house.token, shared.token)  # by hand, as a cookie
    for path in ("/", "/media/x.csv", f"/reports/{house.report}"):
        assert ask(house, path, {"cookie": kept}).status == 404
    assert shown.headers["content-security-policy"].startswith("default-src 'none'")
    house.workspace.sharing.revoke(shared.link.id)
    assert ask(house, f"/s/{shared.token}", {}).status == 410


# ── uploads ──────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def tabs(house: House) -> Iterator[dict[str, Tab]]:
    """One page each of a guest, a viewer, an editor and an admin."""
    with ExitStack() as stack:
        yield {one: stack.enter_context(opened(house, one)) for one in VISITORS if one != "nobody"}


def test_an_editor_uploads_into_the_own_page_and_takes_it_back(tabs: dict[str, Tab]) -> None:
    assert tabs["editor"].put(1000) == 200
    file = json.loads(tabs["editor"].announce(1000).body)["id"]
    assert tabs["editor"].remove(file=file) == 204


def test_a_script_of_another_site_uploads_nothing(tabs: dict[str, Tab]) -> None:
    assert tabs["editor"].put(1000, origin="http://evil.example") == 403


@pytest.mark.parametrize("visitor", ["guest", "viewer"])
def test_who_only_reads_uploads_nothing_anywhere(tabs: dict[str, Tab], visitor: str) -> None:
    for session in (tabs[visitor].session, tabs["editor"].session, "made-up"):
        assert tabs[visitor].put(10, session) == 403
        assert tabs[visitor].remove(session) == 403


def test_an_editor_uploads_into_nobody_elses_page(tabs: dict[str, Tab]) -> None:
    for session in (tabs["admin"].session, tabs["viewer"].session, "made-up"):
        assert tabs["editor"].put(10, session) == 403


def test_a_file_beyond_the_limit_and_an_hour_beyond_the_budget_are_cut_off(tabs: dict[str, Tab]) -> None:
    admin = tabs["admin"]
    assert admin.put(3 * MEBIBYTE) == 413
    assert [admin.put(MEBIBYTE) for _ in range(5)] == [200, 200, 200, 429, 429]
    assert tabs["editor"].put(10) == 200


# ── who reads, on the page ───────────────────────────────────────────────────────────────────


def test_each_page_tells_its_reader_who_they_are(tabs: dict[str, Tab]) -> None:
    author = tabs["guest"].house.workspace.person.name
    assert f"shared by <bdi>{author}</bdi>" in tabs["guest"].said
    for visitor, name in NAMES.items():
        assert f"<bdi>{name}</bdi></b><small>{visitor}</small>" in tabs[visitor].said


def test_a_link_that_is_taken_back_ends_with_the_next_click(house: House) -> None:
    shared = house.workspace.sharing.share(house.ids["films"])
    with opened(replace(house, token=shared.token), "guest") as tab:
        assert "als" in tab.said
        house.workspace.sharing.revoke(shared.link.id)
        tab.said = ""
        tab.run()
        assert "This share link was revoked." in tab.said
        assert "als" not in tab.said
        assert ask(house, "/", tab.headers).status == 410
