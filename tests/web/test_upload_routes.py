"""Files come in parts: each continues where the last one ended, and only from the person whose page it is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.types import ASGIApp
from web_requests import Answer, door, request

from recdash.domain.access import Person
from recdash.web.middleware import AuthMiddleware
from recdash.web.received_files import ReceivedFiles
from recdash.web.sessions import new_session
from recdash.web.upload_quota import UploadQuota
from recdash.web.upload_routes import MOST_ANNOUNCED, UploadRoutes

MARA = Person("key holder", "admin", named=False)
SESSION = "/uploads/session-1"
CONTENT = b"user_id,item_id\nu1,a\n"


class Server:
    """The routes behind the door, with one page of an editor."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.files, self.quota = ReceivedFiles(lambda: folder), UploadQuota(lambda: 0.0)
        self.quota.record_session("session-1", MARA)
        config = door(auth="key", **settings)
        self.app: ASGIApp = Starlette(
            routes=UploadRoutes(config.rules, self.quota, self.files).routes(),
            middleware=[Middleware(AuthMiddleware, config=config, quota=self.quota)],
        )

    def ask(self, method: str, path: str, *body: bytes, key: str = "the-key", **headers: str) -> Answer:
        cookie = {"cookie": f"recdash_key_8501={new_session(key)}"}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return request(self.app, path, method=method, headers={**cookie, **named}, body=list(body) or [b""])

    def begin(self, name: str = "als.csv", size: int = len(CONTENT), **more: Any) -> Answer:
        facts = {"name": name, "size": size, "zone": "files"}
        return self.ask("POST", SESSION, json.dumps(facts).encode(), **more)

    def begun(self) -> str:
        return f"{SESSION}/{json.loads(self.begin().text)['id']}"

    def send(self, path: str, offset: int, *parts: bytes, **more: str) -> Answer:
        return self.ask("PATCH", path, *parts, upload_offset=str(offset), **more)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    running.files.stop()


def received(answer: Answer) -> tuple[int, int]:
    return answer.status, json.loads(answer.text)["received"]


# ── parts ────────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_announced_sent_in_parts_and_complete(server: Server) -> None:
    begun = server.begin()
    assert (begun.status, json.loads(begun.text)["received"]) == (201, 0)
    path = f"{SESSION}/{json.loads(begun.text)['id']}"
    assert received(server.send(path, 0, CONTENT[:3], CONTENT[3:8])) == (200, 8)
    assert server.files.complete("session-1", "files") == []
    assert received(server.send(path, 8, CONTENT[8:])) == (200, len(CONTENT))
    (file,) = server.files.complete("session-1", "files")
    assert (file.name, file.owner, file.path.read_bytes()) == ("als.csv", "key holder", CONTENT)


@pytest.mark.parametrize("offset", ["0", "7", "9", "9" * 20])
def test_a_part_that_does_not_continue_the_file_adds_nothing(server: Server, offset: str) -> None:
    path = server.begun()
    server.send(path, 0, CONTENT[:8])
    assert received(server.ask("PATCH", path, b"xxxx", upload_offset=offset)) == (409, 8)
    assert received(server.ask("GET", path)) == (200, 8)
    assert received(server.send(path, 8, CONTENT[8:])) == (200, len(CONTENT))


@pytest.mark.parametrize("headers", [{}, *({"upload_offset": text} for text in ("", "-1", "many", "9" * 21))])
def test_a_part_without_an_offset_is_refused(server: Server, headers: dict[str, str]) -> None:
    path = server.begun()
    refused = server.ask("PATCH", path, CONTENT, **headers)
    assert refused.status == 400
    assert "The header Upload-Offset must say how many bytes came before" in refused.text
    assert received(server.ask("GET", path)) == (200, 0)


def test_what_arrived_before_the_connection_was_lost_counts(server: Server) -> None:
    path = server.begun()
    cut_off(server, path, CONTENT[:5], CONTENT[5:9])
    assert received(server.ask("GET", path)) == (200, 9)
    assert received(server.send(path, 9, CONTENT[9:])) == (200, len(CONTENT))
    (file,) = server.files.complete("session-1", "files")
    assert file.path.read_bytes() == CONTENT


def cut_off(server: Server, path: str, *parts: bytes) -> None:
    """Sends some parts of a request whose connection then ends."""
    messages = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    messages.append({"type": "http.disconnect"})

    async def receive() -> Any:
        return messages.pop(0)

    async def send(_message: Any) -> None:
        pass

    headers = {
        "host": "localhost:8501",
        "cookie": f"recdash_key_8501={new_session('the-key')}",
        "upload-offset": "0",
    }
    scope = {
        "type": "http", "method": "PATCH", "path": path, "query_string": b"", "scheme": "http",
        "client": ("127.0.0.1", 50_000), "server": ("127.0.0.1", 8501), "root_path": "",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    asyncio.run(server.app(scope, receive, send))


def test_more_than_was_announced_is_refused(server: Server) -> None:
    path = server.begun()
    assert server.send(path, 0, CONTENT + b"x").status == 413
    assert received(server.ask("GET", path)) == (200, 0)


def test_a_cancelled_file_leaves_nothing(server: Server, tmp_path: Path) -> None:
    path = server.begun()
    server.send(path, 0, CONTENT[:8])
    assert server.ask("DELETE", path).status == 204
    assert server.ask("DELETE", path).status == 204  # also where the answer to the first was lost
    assert [file.name for file in tmp_path.rglob("*") if file.is_file() and file.name != "lock"] == []
    for method in ("GET", "PATCH"):
        assert server.ask(method, path, b"x", upload_offset="8").status == 404


# ── announcements ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'{"name": "a.csv", "zone": "files"}',
        b'{"name": "a.csv", "size": -1, "zone": "files"}',
        b'{"name": "a.csv", "size": true, "zone": "files"}',
        b'{"name": "", "size": 1, "zone": "files"}',
        b'{"name": "a.csv", "size": 1e30, "zone": "files"}',
        b"\xff\xfe",
    ],
)
def test_what_is_no_announcement_is_refused(server: Server, body: bytes) -> None:
    assert server.ask("POST", SESSION, body).status in {400, 413}


def test_a_long_announcement_is_not_read(server: Server) -> None:
    assert server.ask("POST", SESSION, b" " * MOST_ANNOUNCED, b"  ").status == 413


def test_a_file_announced_again_after_a_lost_answer_is_the_same_file(server: Server, tmp_path: Path) -> None:
    facts = json.dumps({"id": "0a" * 16, "name": "als.csv", "size": 9, "zone": "files"}).encode()
    first = server.ask("POST", SESSION, facts)
    assert (first.status, json.loads(first.text)) == (201, {"id": "0a" * 16, "received": 0})
    server.send(f"{SESSION}/{'0a' * 16}", 0, CONTENT[:4])
    again = server.ask("POST", SESSION, facts)
    assert (again.status, json.loads(again.text)) == (201, {"id": "0a" * 16, "received": 4})
    assert [file.name for file in tmp_path.rglob("*.csv")] == ["als.csv"]


@pytest.mark.parametrize("file_id", ["", "..", "a/b", "0a" * 15, "0A" * 16, "0a" * 17])
def test_an_id_that_a_page_does_not_make_is_refused(server: Server, file_id: str) -> None:
    facts = {"id": file_id, "name": "als.csv", "size": 9, "zone": "files"}
    assert server.ask("POST", SESSION, json.dumps(facts).encode()).status == 400


def test_limits_are_told_before_the_file_is_sent(tmp_path: Path) -> None:
    server = Server(tmp_path, max_upload_bytes=1000, upload_budget_bytes=1500)
    large = server.begin(size=1001)
    assert (large.status, "A file can have at most 1,000 bytes." in large.text) == (413, True)
    server.quota.count("key holder", 1000)
    over = server.begin(size=900)
    assert (over.status, "continue in the next hour" in over.text) == (429, True)


# ── who ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_nobody_else_reaches_a_file(server: Server, method: str) -> None:
    path = server.begun()
    server.quota.record_session("session-2", Person("another", "editor"))
    assert server.ask(method, path, b"x", key="another", upload_offset="0").status == 403
    assert server.ask(method, path, b"x", upload_offset="0", origin="http://evil.example").status == 403
    assert server.ask(method, path.replace("session-1", "session-2"), b"x").status == 403
    server.quota.record_session("session-1", Person("key holder", "viewer"))
    assert server.ask(method, path, b"x", upload_offset="0").status == 403


def test_a_file_is_found_in_its_own_page_only(server: Server) -> None:
    path = server.begun()
    server.quota.record_session("session-2", MARA)
    other = path.replace("session-1", "session-2")
    assert server.ask("GET", other).status == 404
    assert server.ask("DELETE", other).status == 204
    assert received(server.ask("GET", path)) == (200, 0)


def test_nobody_else_announces_a_file(server: Server) -> None:
    assert server.begin(key="another").status == 403
    assert server.begin(origin="http://evil.example").status == 403
    server.quota.record_session("session-1", Person("key holder", "viewer"))
    assert server.begin().status == 403
