"""Requests to the door without a server: who asks from where, and what is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from recdash.domain.access import Person
from recdash.errors import RecdashError
from recdash.service import Workspace
from recdash.settings import Settings
from recdash.web.auth import AuthConfig
from recdash.web.middleware import AuthMiddleware
from recdash.web.routes import routes
from recdash.web.upload_quota import UploadQuota
from recdash.web.visitor import VISITOR, read_visitor

HERE = ("127.0.0.1", 50_000)
AFAR = ("203.0.113.5", 50_000)
PROXY_SECRET = "0123456789-abcdefghij-ABCDEFGHIJ"  # noqa: S105


@dataclass
class Answer:
    """What was sent back, and what the application behind the door was told of the visitor."""

    messages: list[Any] = field(default_factory=list)
    told: list[dict[str, str]] = field(default_factory=list)
    read: int = 0

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"])

    @property
    def passed(self) -> bool:
        return bool(self.told)

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.messages[0]["headers"]}

    @property
    def cookies(self) -> SimpleCookie:
        found = SimpleCookie()
        for name, value in self.messages[0]["headers"]:
            if name == b"set-cookie":
                found.load(value.decode())
        return found

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.messages).decode()

    def person(self, guest: Callable[[str], Person]) -> Person | None:
        """Whom the application behind the door takes the visitor for."""
        return read_visitor(self.told[0].get(VISITOR)).person(guest)


def behind(answer: Answer) -> ASGIApp:
    """An application that takes in all of what is sent to it, and notes the headers."""

    async def application(scope: Scope, receive: Receive, send: Send) -> None:
        answer.told.append({name.decode().lower(): value.decode() for name, value in scope["headers"]})
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.accept"})
            return
        more = True
        while more:
            message = await receive()
            answer.read += len(message.get("body", b""))
            more = message.get("more_body", False)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"inside"})

    return application


def no_guest(_: str) -> Person:
    raise RecdashError("No share link is known here.")


def rules(**given: Any) -> Settings:
    """Settings of a test's own; nothing of the environment."""
    return Settings(**{"database_url": "sqlite:///unused.db", **given})


def door(guest: Callable[[str], Person] = no_guest, **given: Any) -> AuthConfig:
    return AuthConfig(rules(**given), key="the-key", guest=guest, pages=frozenset({"leaderboard", "users"}))


def request(
    app: ASGIApp,
    path: str,
    *,
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
    method: str = "GET",
    kind: str = "http",
    query: str = "",
    scheme: str = "http",
    client: tuple[str, int] | None = HERE,
    body: list[bytes] | None = None,
    answer: Answer | None = None,
) -> Answer:
    """One request to an application; its Host is this machine unless ``headers`` say otherwise."""
    pairs = list(headers.items() if isinstance(headers, Mapping) else headers)
    if not any(name.lower() == "host" for name, _ in pairs):
        pairs = [("host", "localhost:8501"), *pairs]
    answer = answer or Answer()
    left = list(body or [b""])

    async def receive() -> Any:
        if kind == "websocket":
            return {"type": "websocket.connect"}
        chunk = left.pop(0)
        return {"type": "http.request", "body": chunk, "more_body": bool(left)}

    async def send(message: Any) -> None:
        answer.messages.append(message)

    scope = {
        "type": kind, "method": method, "path": path, "query_string": query.encode(), "client": client,
        "scheme": scheme, "server": ("127.0.0.1", 8501), "root_path": "",
        "headers": [(name.lower().encode(), value.encode()) for name, value in pairs],
    }  # fmt: skip
    if kind == "websocket":
        del scope["method"]
    asyncio.run(app(scope, receive, send))  # type: ignore[arg-type]
    return answer


def ask(
    who: AuthConfig, path: str = "/leaderboard", *, desk: UploadQuota | None = None, **more: Any
) -> Answer:
    """One request through the door, behind which everything is let in."""
    answer = Answer()
    return request(AuthMiddleware(behind(answer), who, desk or UploadQuota()), path, answer=answer, **more)


@dataclass
class Browser:
    """Keeps the cookies that an application gives it, and goes nowhere by itself."""

    app: ASGIApp
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, **more: Any) -> Answer:
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = request(self.app, path, headers=[("cookie", kept)] if kept else [], **more)
        for name, cookie in answer.cookies.items():
            self.cookies[name] = cookie.value
            if cookie["max-age"] == "0":
                del self.cookies[name]
        return answer


def browser_of(workspace: Workspace, auth: str = "key") -> Browser:
    """A browser without a name before the door and our addresses; behind them the pages say who reads."""

    def guest(token: str) -> Person:
        return workspace.sharing.guest_of(workspace.sharing.shared(token))

    async def page(asked: Request) -> PlainTextResponse:
        person = read_visitor(asked.headers.get(VISITOR)).person(guest)
        return PlainTextResponse(f"{person.name} reads {person.experiment}" if person else "nobody")

    ends = workspace.sign_ins
    pages = frozenset({"leaderboard"})
    door = AuthConfig(
        rules(auth=auth), "the-key", guest, pages=pages, end_session=ends.end, has_ended=ends.has_ended
    )
    inside = [*routes(door, lambda: workspace), Route("/{rest:path}", page)]
    app = Starlette(routes=inside, middleware=[Middleware(AuthMiddleware, config=door, quota=UploadQuota())])
    return Browser(app)
