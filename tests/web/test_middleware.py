"""The door of the web server: which hosts, whose scripts, and what every answer carries."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from web_requests import AFAR, HERE, Answer, ask, door, no_guest, request

from recdash.web.base_url import TellAddress
from recdash.web.middleware import AuthMiddleware
from recdash.web.routes import server_error
from recdash.web.sessions import new_session
from recdash.web.visitor import VISITOR, Visitor, read_visitor

PAGE = b'<html><head><script type="module" src="x"></script></head></html>'


def status(host: str, hosts: str = "", **more: str) -> int:
    return ask(door(allowed_hosts=hosts), headers={"host": host, **more}).status


# ── hosts and origins ────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1", "[::1]:8501", "127.0.0.2:80"])
def test_this_machine_is_let_in(host: str) -> None:
    assert status(host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1:8501", "", "[::1", "[x]", "::1]"]
)
def test_an_unknown_host_is_refused(host: str) -> None:
    assert status(host) == 403


def test_a_listed_host_is_let_in() -> None:
    assert status("team.example:8501", "Team.example") == 200


def test_another_sites_script_is_refused() -> None:
    assert status("localhost:8501", origin="http://localhost:8501") == 200
    assert status("localhost:8501", origin="http://evil.example") == 403


@pytest.mark.parametrize("origin", ["http://[::1", "http://[x]", "null"])
def test_an_origin_that_is_no_address_is_refused(origin: str) -> None:
    assert status("localhost:8501", origin=origin) == 403


@pytest.mark.parametrize(
    "headers",
    [{"origin": "http://evil.example"}, {"host": "evil.example"}, {"origin": "null"}],
    ids=["origin", "host", "origin null"],
)
def test_a_foreign_websocket_is_closed_before_it_opens(headers: dict[str, str]) -> None:
    asked = ask(door(), "/_stcore/stream", headers=headers, kind="websocket")
    assert asked.messages == [{"type": "websocket.close", "code": 1008}]
    assert not asked.passed


# ── what is not for anybody ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "path",
    [
        "/_stcore/metrics", "/_stcore/metrics/", "/_stcore", "/_stcore/script-health-check",
        "/_stcore/agent/mcp", "/_stcore/agent/openapi.json", "/_stcore/agent/interact",
        "/auth/login", "/auth/logout", "/oauth2callback",
    ],
)  # fmt: skip
def test_what_is_for_nobody_is_not_there(path: str) -> None:
    asked = ask(door(), path)
    assert (asked.status, asked.passed) == (404, False)


@pytest.mark.parametrize("path", ["/nowhere/at/all", "/leaderboard/x", "/leaderboard//x", "/a/static/b"])
def test_below_a_page_there_is_nothing(path: str) -> None:
    asked = ask(door(), path, headers={"accept": "text/html"})
    assert (asked.status, asked.passed) == (404, False)
    assert "This page does not exist." in asked.messages[1]["body"].decode()


@pytest.mark.parametrize("path", ["/", "/leaderboard", "/leaderboard/", "/static/js/index.js", "/icon.png"])
def test_pages_and_their_files_are_let_in(path: str) -> None:
    assert ask(door(), path).status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "DELETE"])
def test_metrics_are_off_whatever_the_method(method: str) -> None:
    assert ask(door(), "/_stcore/metrics", method=method).status == 404


def test_the_health_check_needs_no_name() -> None:
    assert ask(door(auth="key"), "/_stcore/health").status == 200


# ── what every answer carries ────────────────────────────────────────────────────────────────

EVERY = [
    "content-security-policy",
    "cross-origin-resource-policy",
    "permissions-policy",
    "referrer-policy",
    "x-content-type-options",
    "x-frame-options",
]


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (ask(door()), 200),
        (ask(door(), headers={"host": "evil.example"}), 403),
        (ask(door(auth="key")), 403),
        (ask(door(), "/_stcore/metrics"), 404),
        (ask(door(), headers={"cookie": "recdash_share_8501=x"}), 503),
    ],
    ids=["a page", "a foreign host", "nobody", "nothing there", "no store"],
)
def test_every_answer_forbids_other_hosts(asked: Answer, status: int) -> None:
    assert asked.status == status
    assert set(EVERY) <= set(asked.headers)
    policy = asked.headers["content-security-policy"]
    assert "img-src 'self' data: blob:" in policy
    assert policy.endswith("frame-ancestors 'self'")
    assert "http" not in policy


def test_pages_may_be_framed_by_the_sites_that_are_named_and_by_no_other() -> None:
    headers = ask(door(embed_from="https://Wiki.example.org, http://intra:8080")).headers
    policy = headers["content-security-policy"]
    assert policy.endswith("frame-ancestors 'self' https://wiki.example.org http://intra:8080")
    assert "x-frame-options" not in headers  # it knows no lists, and would forbid them


def test_an_answer_keeps_the_policy_that_it_has() -> None:
    sent: list[Any] = []

    async def own(_scope: Any, _receive: Any, send: Any) -> None:
        headers = [(b"Content-Security-Policy", b"default-src 'none'")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "client": HERE,
             "headers": [(b"host", b"localhost")]}  # fmt: skip
    asyncio.run(AuthMiddleware(own, door())(scope, None, send))  # type: ignore[arg-type]
    policies = [value for name, value in sent[0]["headers"] if name.lower() == b"content-security-policy"]
    assert policies == [b"default-src 'none'"]


def test_an_error_of_the_program_says_nothing_of_it_and_carries_the_headers() -> None:
    def divide(_: Request) -> Response:
        return Response(str(1 / 0))

    here = door()
    app = Starlette(
        routes=[Route("/", divide)],
        middleware=[Middleware(AuthMiddleware, config=here)],
        exception_handlers={500: server_error(here)},
    )
    answer = Answer()
    with pytest.raises(ZeroDivisionError):  # for the log
        request(app, "/", answer=answer)
    assert (answer.status, "division" in answer.text) == (500, False)
    assert set(EVERY) <= set(answer.headers)


def test_a_websocket_to_an_upload_is_closed() -> None:
    asked = ask(door(), "/uploads/session/file", kind="websocket")
    assert asked.messages == [{"type": "websocket.close", "code": 1008}]


def test_a_refusal_is_a_page_for_a_browser_and_a_line_for_a_program() -> None:
    browser = ask(door(auth="key"), headers={"accept": "text/html"})
    program = ask(door(auth="key"))
    assert "<h1>You are not signed in</h1>" in browser.text
    assert "<" not in program.text
    assert browser.headers["cache-control"] == program.headers["cache-control"] == "no-store"


# ── this machine only ────────────────────────────────────────────────────────────────────────


def test_without_sign_in_only_this_machine_is_answered() -> None:
    assert ask(door(), client=HERE).status == 200
    assert ask(door(), client=("::ffff:127.0.0.1", 5)).status == 200
    for client in (AFAR, ("testclient", 5), None):
        asked = ask(door(allowed_hosts="*"), client=client)
        assert (asked.status, asked.passed) == (403, False)


def test_a_proxy_of_this_machine_does_not_open_the_house() -> None:
    """The web server puts the far client in the proxy's place, with port 0."""
    asked = ask(
        door(allowed_hosts="team.example"), headers={"host": "team.example"}, client=("203.0.113.5", 0)
    )
    assert (asked.status, "RECDASH_AUTH=key" in asked.text) == (403, True)


# ── what is told behind the door ─────────────────────────────────────────────────────────────


def test_who_asks_is_told_behind_the_door() -> None:
    cookie = f"recdash_key_8501={new_session('the-key')}"
    person = ask(door(auth="key", user="mara"), headers={"cookie": cookie}).person(no_guest)
    assert person is not None
    assert (person.name, person.role, person.named) == ("mara", "admin", False)


def test_nobody_tells_from_outside_who_they_are() -> None:
    forged = Visitor("mallory", "admin").sealed()  # even one that this process made
    for name in (VISITOR, VISITOR.upper(), "x-recdash-anything"):
        told = ask(door(), headers={name: forged}).told[0]
        assert [given for header, given in told.items() if header.startswith("x-recdash-")] != [forged]
        assert forged not in told.values()


def test_a_header_that_another_process_made_is_worth_nothing() -> None:
    sealed = Visitor("mara", "admin").sealed()
    seal, _, body = sealed.partition(".")
    assert read_visitor(sealed).name == "mara"
    last = "y" if seal.endswith("x") else "x"
    for forged in (body, f".{body}", f"{seal[:-1]}{last}.{body}", f"{seal}é.{body}", "", None):
        assert read_visitor(forged) == Visitor()


# ── where the server is ──────────────────────────────────────────────────────────────────────


async def page(_scope: Any, receive: Any, send: Any) -> None:
    await receive()
    headers = [(b"content-length", str(len(PAGE)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": PAGE[:20], "more_body": True})
    await send({"type": "http.response.body", "body": PAGE[20:]})


def told_address(path: str) -> list[Any]:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    asyncio.run(TellAddress(page)(scope, receive, send))
    return sent


def test_a_page_is_told_where_its_server_is() -> None:
    start, body = told_address("/leaderboard")
    assert body["body"].index(b"BACKEND_BASE_URL") < body["body"].index(b"module")
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()


def test_a_page_runs_its_own_inline_scripts_and_no_other() -> None:
    start, body = told_address("/leaderboard")
    policy = dict(start["headers"])[b"content-security-policy"].decode()
    inline = [
        script.partition(b">")[2].partition(b"</script>")[0]
        for script in body["body"].split(b"<script")[1:]
        if b"src=" not in script.partition(b">")[0]
    ]
    hashes = [base64.b64encode(hashlib.sha256(script).digest()).decode() for script in inline]
    assert hashes
    scripts = next(part for part in policy.split("; ") if part.startswith("script-src"))
    assert scripts.split()[1:] == ["'self'", *(f"'sha256-{one}'" for one in hashes), "blob:"]
    assert "script-src 'self' blob:;" in ask(door()).headers["content-security-policy"]


def test_a_page_is_never_confirmed_without_its_hashes() -> None:
    """With "not modified", a browser would take the policy of an empty page for the page that it has."""
    seen: list[Any] = []

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(scope["headers"])
        await page(scope, receive, send)

    given = {"if-none-match": "x", "if-modified-since": "y", "cookie": "z"}
    assert request(TellAddress(inner), "/leaderboard", headers=given).status == 200
    assert [name for name, _ in seen] == [b"host", b"cookie"]


def test_files_are_passed_on_untouched() -> None:
    sent = told_address("/static/js/index.js")
    assert b"".join(message.get("body", b"") for message in sent) == PAGE


# ── HTTPS ────────────────────────────────────────────────────────────────────────────────────


async def setting_cookies(_scope: Any, _receive: Any, send: Any) -> None:
    cookies = [
        (b"set-cookie", b"a=1; Path=/"),
        (b"Set-Cookie", b"secure=2; Path=/"),
        (b"set-cookie", b"c=3; Secure"),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": cookies})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize(("https", "scheme"), [("1", "http"), ("", "https")])
def test_behind_a_tls_proxy_every_cookie_is_secure(https: str, scheme: str) -> None:
    answer = Answer()
    here = door(https=bool(https))
    request(AuthMiddleware(setting_cookies, here), "/leaderboard", scheme=scheme, answer=answer)
    cookies = [value for name, value in answer.messages[0]["headers"] if name.lower() == b"set-cookie"]
    assert cookies == [b"a=1; Path=/; Secure", b"secure=2; Path=/; Secure", b"c=3; Secure"]


def test_only_a_server_behind_tls_asks_browsers_for_https() -> None:
    assert ask(door(https=True)).headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in ask(door()).headers
    assert "strict-transport-security" not in ask(door(), scheme="https").headers
