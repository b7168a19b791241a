"""The door of the web server: who is let in, and what every answer carries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from recdash.settings import settings
from recdash.ui.guard import Guard, TellAddress

PAGE = b'<html><head><script type="module" src="x"></script></head></html>'
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]


async def application(scope: dict[str, Any], receive: Receive, send: Send) -> None:
    await receive()
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    headers = [(b"content-length", str(len(PAGE)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": PAGE[:20], "more_body": True})
    await send({"type": "http.response.body", "body": PAGE[20:]})


def answers(app: Any, headers: dict[str, str], kind: str = "http", path: str = "/leaderboard") -> list[Any]:
    """The messages that ``app`` sends for one request."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": f"{kind}.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(app({"type": kind, "method": "GET", "path": path, "headers": raw}, receive, send))
    return sent


def status(host: str, hosts: frozenset[str] = frozenset(), **more: str) -> int:
    first = answers(Guard(application, hosts), {"host": host, **more})[0]
    return int(first["status"])


@pytest.mark.parametrize("host", ["localhost:8501", "127.0.0.1", "[::1]:8501", "127.0.0.2:80"])
def test_this_machine_is_let_in(host: str) -> None:
    assert status(host) == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "10.0.0.1:8501", "", "[::1", "[x]", "::1]"]
)
def test_an_unknown_host_is_refused(host: str) -> None:
    assert status(host) == 403


def test_a_listed_host_is_let_in() -> None:
    assert status("team.example:8501", frozenset({"team.example"})) == 200


@pytest.fixture
def fresh_settings() -> Iterator[None]:
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.mark.usefixtures("fresh_settings")
def test_hosts_are_listed_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECDASH_ALLOWED_HOSTS", "Team.example")
    assert Guard(application).hosts == {"team.example"}


@pytest.mark.usefixtures("fresh_settings")
def test_a_setting_that_cannot_be_used_keeps_the_door_closed_but_the_server_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RECDASH_ALLOWED_HOSTS", "team.example")
    monkeypatch.setenv("RECDASH_MAX_ROWS", "many")
    assert Guard(application).hosts == frozenset()


def test_another_sites_script_is_refused() -> None:
    assert status("localhost:8501", origin="http://localhost:8501") == 200
    assert status("localhost:8501", origin="http://evil.example") == 403


@pytest.mark.parametrize("origin", ["http://[::1", "http://[x]", "null"])
def test_an_origin_that_is_no_address_is_refused(origin: str) -> None:
    assert status("localhost:8501", origin=origin) == 403


def test_a_foreign_websocket_is_closed_before_it_opens() -> None:
    headers = {"host": "localhost:8501", "origin": "http://evil.example"}
    assert answers(Guard(application, frozenset()), headers, "websocket") == [
        {"type": "websocket.close", "code": 1008}
    ]


def test_every_answer_forbids_other_hosts() -> None:
    for host in ("localhost", "evil.example"):
        first = answers(Guard(application, frozenset()), {"host": host})[0]
        policy = dict(first["headers"])[b"content-security-policy"].decode()
        assert "img-src 'self' data: blob:" in policy
        assert "http" not in policy


def test_a_page_is_told_where_its_server_is() -> None:
    start, body = answers(TellAddress(application), {"host": "localhost"})
    assert body["body"].index(b"BACKEND_BASE_URL") < body["body"].index(b"module")
    assert dict(start["headers"])[b"content-length"] == str(len(body["body"])).encode()


def test_files_are_passed_on_untouched() -> None:
    sent = answers(TellAddress(application), {"host": "localhost"}, path="/static/js/index.js")
    assert b"".join(message.get("body", b"") for message in sent) == PAGE
