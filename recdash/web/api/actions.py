"""The requests of the HTTP API that change something: uploads, and additions of uploaded files."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from recdash.domain.access import AccessRole
from recdash.errors import InputError, Problem
from recdash.service import Workspace
from recdash.web.api.additions import KEY, LONGEST_KEY, AdditionJobs, NewAddition
from recdash.web.api.answers import json_answer
from recdash.web.api.parameters import Parameters
from recdash.web.api.problems import problems_answer
from recdash.web.api.uploads import NewUpload, Uploads
from recdash.web.api.validation import invalid
from recdash.web.plain_pages import Refused
from recdash.web.received_files import ReceivedFile
from recdash.web.upload_routes import OFFSET, offset_of
from recdash.web.visitor import VISITOR, read_visitor

MOST_BODY = 2**18
"""The maximum number of bytes of a JSON body."""
NO_OFFSET = Problem(
    "bad-request",
    f"header {OFFSET.title()}",
    "it is missing, or no number of bytes",
    "Send how many bytes of the file were received; GET of the same address says it.",
)
Handler = Callable[[Request], Awaitable[Response]]
Body = TypeVar("Body", bound=Parameters)


@dataclass(frozen=True)
class Action:
    """A request that changes something, or that asks about a change.

    ``body`` is what it sends as JSON; ``takes_bytes`` is whether it sends bytes instead. ``status`` is that
    of success. ``takes_key`` is whether a repeated request can be told by its key.
    """

    method: str
    path: str
    title: str
    handler: Handler
    returns: str
    body: type[Parameters] | None = None
    takes_bytes: bool = False
    takes_key: bool = False
    status: int = 200
    role: AccessRole = "editor"


class Actions:
    """The actions of the API. ``seen`` returns the workspace as the person who asks sees it."""

    def __init__(self, uploads: Uploads, jobs: AdditionJobs, seen: Callable[[Request], Workspace]) -> None:
        self._uploads, self._jobs, self._seen = uploads, jobs, seen

    def all(self) -> list[Action]:
        upload, addition = "/uploads/{upload}", "/additions/{addition}"
        state = "Its id, size, and how many bytes were received."
        return [
            Action("POST", "/uploads", "Announce a file", self.announce, state, body=NewUpload, status=201),
            Action("GET", upload, "How much of a file was received", self.progress, state),
            Action(
                "PATCH",
                upload,
                f"Send the bytes that follow those received; the header {OFFSET.title()} counts these",
                self.receive,
                f"{state} With another offset than the bytes received: status 409, and the state. "
                "Without one: status 400.",
                takes_bytes=True,
            ),
            Action("DELETE", upload, "Delete a file that was sent", self.remove, "Nothing.", status=204),
            Action("GET", "/sources", "Tables that the server can fetch", self.sources, "Their names."),
            Action(
                "POST",
                "/additions",
                "Store uploaded files and sources: runs, test set, further tables, an A/B test",
                self.add,
                "The addition, which is stored meanwhile: all of it, or nothing. With the header "
                f"{KEY} of an earlier request, that one's addition; nothing is stored again.",
                body=NewAddition,
                takes_key=True,
                status=202,
            ),
            Action(
                "GET",
                addition,
                "Whether an addition was stored",
                self.addition,
                "Its state (running, stored or refused), result and problems.",
            ),
        ]

    async def announce(self, request: Request) -> Response:
        upload = await read_body(NewUpload, request)
        person = self._seen(request).person
        return _state(await self._uploads.announce(session_of(request), person, upload), 201)

    async def progress(self, request: Request) -> Response:
        return _state(self._found(request))

    async def receive(self, request: Request) -> Response:
        file_id, offset = self._found(request).id, offset_of(request)
        if offset is None:
            return problems_answer(400, [NO_OFFSET])
        file, continues = await self._uploads.receive(session_of(request), file_id, request, offset)
        return _state(file, 200 if continues else 409)

    async def remove(self, request: Request) -> Response:
        file = self._found(request)
        await self._uploads.remove(session_of(request), file.id)
        return Response(status_code=204)

    async def sources(self, request: Request) -> Response:
        return json_answer({"sources": self._seen(request).sources.names()})

    async def add(self, request: Request) -> Response:
        asked = await read_body(NewAddition, request)
        # in a thread, as it may wait until the uploads of an addition that has ended are deleted
        begin = partial(self._jobs.begin, self._seen(request), session_of(request), asked, key_of(request))
        job = await run_in_threadpool(begin)
        return json_answer(job.facts(), 202)

    async def addition(self, request: Request) -> Response:
        self._must_be_editor(request)
        return json_answer(self._jobs.find(session_of(request), request.path_params["addition"]).facts())

    def _found(self, request: Request) -> ReceivedFile:
        self._must_be_editor(request)
        return self._uploads.find(session_of(request), request.path_params["upload"])

    def _must_be_editor(self, request: Request) -> None:
        self._seen(request).person.must_be("editor")


def session_of(request: Request) -> str:
    """Returns the session of the token of a request; that of a sign-in has no files."""
    return read_visitor(request.headers.get(VISITOR)).session or ""


def key_of(request: Request) -> str:
    """Returns the key by which a repeated request is recognised, "" without one.

    Raises InputError for one that is empty, too long, or has other characters than those of ASCII.
    """
    key = request.headers.get(KEY)
    if key is None:
        return ""
    if not 0 < len(key) <= LONGEST_KEY or not key.isascii() or not key.isprintable():
        fix = f"Send 1 to {LONGEST_KEY} printable ASCII characters, such as a random UUID."
        raise InputError(Problem("bad-parameter", f"header {KEY}", "it is no key", fix))
    return key


async def read_body(kind: type[Body], request: Request) -> Body:
    """Returns the JSON body of a request.

    Raises Refused for another media type and for a body that is too long, InputError for another body.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(415, "Another media type", "The body must be JSON")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BODY:
            raise Refused(413, "Too long", f"The body can have at most {MOST_BODY:,} bytes")
    try:
        return kind.model_validate_json(bytes(body), strict=True)
    except ValidationError as error:
        raise invalid(error, "body") from None


def _state(file: ReceivedFile, status: int = 200) -> Response:
    facts: dict[str, Any] = {"id": file.id, "size": file.size, "received": file.received}
    return json_answer(facts, status)
