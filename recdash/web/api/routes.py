"""The addresses below /api/v1, and how a request becomes an answer."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from math import isfinite
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from recdash.domain.access import Person
from recdash.errors import Forbidden, RecdashError
from recdash.service import Workspace
from recdash.web import access_log
from recdash.web.api.limits import RequestLimit, Workers
from recdash.web.api.parameters import read
from recdash.web.api.problems import PRIVATE, error_answer, refusal_answer
from recdash.web.api.questions import QUESTIONS, FileAnswer, Question
from recdash.web.auth import AuthConfig
from recdash.web.hosts import address_of
from recdash.web.plain_pages import Refused
from recdash.web.visitor import VISITOR, person_of, read_visitor

BASE = "/api/v1"
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")
Handler = Callable[[Request], Awaitable[Response]]


class ApiRoutes:
    """The routes of the API. ``workspace`` returns the workspace with full access."""

    def __init__(self, config: AuthConfig, workspace: Callable[[], Workspace]) -> None:
        self.config, self.workspace = config, workspace
        self.limit, self.workers = RequestLimit(config.rules.api_requests_per_minute), Workers()

    def routes(self) -> list[Route]:
        handlers: dict[str, dict[str, Handler]] = {}
        for question in QUESTIONS:
            handlers.setdefault(question.path, {})["GET"] = self.answering(question)
        return [
            *(self.route(f"{BASE}{path}", by_method) for path, by_method in handlers.items()),
            Route("/api/{rest:path}", self.unknown, methods=list(METHODS)),
        ]

    def route(self, path: str, by_method: Mapping[str, Handler]) -> Route:
        """Returns the route of an address, which answers errors and unknown methods with JSON."""
        methods = {**by_method, **({"HEAD": by_method["GET"]} if "GET" in by_method else {})}

        async def endpoint(request: Request) -> Response:
            try:
                self.limit.count(reader_of(request))
                handler = methods.get(request.method)
                return await handler(request) if handler else not_allowed(request, methods)
            except Refused as refusal:
                return refusal_answer(refusal, request.url.path)
            except RecdashError as error:
                return error_answer(error, request.url.path)

        return Route(path, endpoint, methods=list(METHODS))

    def answering(self, question: Question) -> Handler:
        async def handler(request: Request) -> Response:
            asked, path = read(question.parameters, request.query_params), dict(request.path_params)

            def answer() -> bytes | FileAnswer:
                given = question.answer(self.seen(request), path, asked)
                return given if isinstance(given, FileAnswer) else json_bytes(given)

            content = await self.workers.answer(reader_of(request), answer)
            log(request)
            return file_response(content) if isinstance(content, FileAnswer) else json_response(content)

        return handler

    def seen(self, request: Request) -> Workspace:
        """Returns the workspace as the person who asks sees it. Raises Forbidden without a person."""
        return self.workspace().seen_by(self.person(request))

    def person(self, request: Request) -> Person:
        person = person_of(request.headers, self.config.guest, self.config.has_ended)
        if person is None:
            raise Forbidden("Sign in to read this.")
        return person

    async def unknown(self, request: Request) -> Response:
        return refusal_answer(Refused(404, "Not found", "The API has no such address"), request.url.path)


def not_allowed(request: Request, methods: Iterable[str]) -> Response:
    words = f"{request.method} is not possible here"
    answer = refusal_answer(Refused(405, "Unknown method", words), request.url.path)
    answer.headers["allow"] = ", ".join(sorted(methods))
    return answer


def reader_of(request: Request) -> str:
    """Returns a key for who asks: the token, the person, or the share link and address of a guest."""
    visitor = read_visitor(request.headers.get(VISITOR))
    if visitor.share:
        return f"{address_of(request)} {visitor.share}"
    return visitor.session or str(visitor.name)


def log(request: Request) -> None:
    visitor = read_visitor(request.headers.get(VISITOR))
    facts = {"method": request.method, "path": request.url.path, **access_log.reader(visitor)}
    access_log.record("api", request, **facts)


def json_bytes(answer: Any) -> bytes:
    """Returns an answer as JSON, in which null stands for numbers that JSON cannot write."""
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(answer), ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def json_response(content: bytes, status: int = 200) -> Response:
    return Response(content, status, media_type="application/json", headers=PRIVATE)


def file_response(file: FileAnswer) -> Response:
    disposition = f"attachment; filename*=utf-8''{quote(file.name, safe='')}"
    return Response(
        file.content, media_type=file.media_type, headers={**PRIVATE, "content-disposition": disposition}
    )
