"""The addresses below /api/v1, and how a request becomes an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from recdash.domain.access import Person
from recdash.errors import Forbidden, RecdashError
from recdash.service import Workspace
from recdash.web import access_log
from recdash.web.api.actions import Actions, Handler
from recdash.web.api.additions import AdditionJobs
from recdash.web.api.answers import file_response, json_answer, json_bytes, json_response
from recdash.web.api.limits import RequestLimit, Workers
from recdash.web.api.openapi import document, page
from recdash.web.api.parameters import read
from recdash.web.api.problems import PRIVATE, error_answer, refusal_answer
from recdash.web.api.questions import QUESTIONS, FileAnswer, Question
from recdash.web.api.uploads import Uploads
from recdash.web.auth import AuthConfig
from recdash.web.hosts import address_of
from recdash.web.plain_pages import Refused
from recdash.web.received_files import ReceivedFiles, received_files
from recdash.web.upload_quota import UploadQuota, quota
from recdash.web.visitor import VISITOR, person_of, read_visitor

BASE = "/api/v1"
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT")


class ApiRoutes:
    """The routes of the API. ``workspace`` returns the workspace with full access."""

    def __init__(
        self,
        config: AuthConfig,
        workspace: Callable[[], Workspace],
        quota: UploadQuota = quota,
        files: ReceivedFiles = received_files,
    ) -> None:
        self.config, self.workspace = config, workspace
        self.limit, self.workers = RequestLimit(config.rules.api_requests_per_minute), Workers()
        uploads = Uploads(config.rules, quota, files)
        self.actions = Actions(uploads, AdditionJobs(uploads), self.seen).all()

    def routes(self) -> list[Route]:
        handlers: dict[str, dict[str, Handler]] = {}
        for question in QUESTIONS:
            handlers.setdefault(question.path, {})["GET"] = self.answering(question)
        for action in self.actions:
            handlers.setdefault(action.path, {})[action.method] = logged(action.handler)
        handlers["/openapi.json"] = {"GET": self.openapi}
        handlers["/docs"] = {"GET": self.docs}
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

    async def openapi(self, _request: Request) -> Response:
        return json_answer(document(BASE, QUESTIONS, self.actions))

    async def docs(self, request: Request) -> Response:
        address = f"{str(request.base_url).rstrip('/')}{BASE}"
        return HTMLResponse(page(BASE, address, QUESTIONS, self.actions), headers=PRIVATE)

    async def unknown(self, request: Request) -> Response:
        return refusal_answer(Refused(404, "Not found", "The API has no such address"), request.url.path)


def logged(handler: Handler) -> Handler:
    """Returns a handler that also writes the access log."""

    async def handle(request: Request) -> Response:
        answer = await handler(request)
        log(request)
        return answer

    return handle


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
