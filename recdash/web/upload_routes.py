"""The routes that receive files in parts, so that an upload continues after its connection was lost.

A page announces a file (POST), sends its bytes in parts with their offset (PATCH), asks after a lost
connection how many have arrived (GET), and removes it (DELETE). The middleware admits only requests of the
person whose page it is.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from recdash.settings import Settings
from recdash.web.plain_pages import Refused
from recdash.web.received_files import ReceivedFile, ReceivedFiles
from recdash.web.upload_quota import UploadQuota
from recdash.web.visitor import VISITOR, read_visitor

OFFSET = "upload-offset"
WRITE_BYTES = 2**20
"""How many bytes are collected before they are written; an upload holds no more of them in memory."""
MOST_ANNOUNCED = 10_000
"""The maximum number of bytes of an announcement."""


class Announcement(BaseModel):
    """A file that a page is going to send. With an ``id`` of its own the page can announce the file again."""

    id: Annotated[str | None, Field(pattern=r"^[0-9a-f]{32}$")] = None
    name: Annotated[str, Field(min_length=1, max_length=1000)]
    size: Annotated[int, Field(ge=0)]
    zone: Annotated[str, Field(max_length=200)]


class UploadRoutes:
    """The routes /uploads/<session> and /uploads/<session>/<file>."""

    def __init__(self, rules: Settings, quota: UploadQuota, files: ReceivedFiles) -> None:
        self.rules, self.quota, self.files = rules, quota, files

    def routes(self) -> list[Route]:
        file = "/uploads/{session}/{file}"
        return [
            Route("/uploads/{session}", self.begin, methods=["POST"]),
            Route(file, self.progress, methods=["GET"]),
            Route(file, self.receive, methods=["PATCH"]),
            Route(file, self.remove, methods=["DELETE"]),
        ]

    async def begin(self, request: Request) -> Response:
        announced = await _announcement(request)
        owner = str(read_visitor(request.headers.get(VISITOR)).name)
        self.quota.refuse_over_budget(owner, announced.size, self.rules)
        file = await run_in_threadpool(
            self.files.begin,
            request.path_params["session"],
            owner,
            announced.zone,
            announced.name,
            announced.size,
            self.rules,
            file_id=announced.id,
        )
        return JSONResponse({"id": file.id, "received": file.received}, 201)

    async def progress(self, request: Request) -> Response:
        return _state(self._file(request))

    async def receive(self, request: Request) -> Response:
        """Writes the bytes of a request as they arrive; what arrived before a lost connection counts."""
        file, offset = self._file(request), offset_of(request)
        if offset is None:
            raise Refused(
                400, "Not understood", f"The header {OFFSET.title()} must say how many bytes came before."
            )
        return _state(file, 200 if await continue_with(file, request, offset) else 409)

    async def remove(self, request: Request) -> Response:
        path = request.path_params
        await run_in_threadpool(self.files.remove, path["session"], path["file"])
        return Response(status_code=204)

    def _file(self, request: Request) -> ReceivedFile:
        return self.files.find(request.path_params["session"], request.path_params["file"])


def offset_of(request: Request) -> int | None:
    """Returns how many bytes precede those of a request; None if it does not say so."""
    offset = request.headers.get(OFFSET, "")
    return int(offset) if re.fullmatch(r"[0-9]{1,20}", offset) else None


async def continue_with(file: ReceivedFile, request: Request, offset: int) -> bool:
    """Writes the bytes of a request to the end of a file as they arrive, and returns whether they continue
    it; those with another offset are not written.
    """
    number = await run_in_threadpool(file.take_over)
    if offset != file.received:
        return False
    waiting = bytearray()
    try:
        async for part in request.stream():
            waiting += part
            if len(waiting) >= WRITE_BYTES:
                await run_in_threadpool(file.append, waiting, number)
                waiting = bytearray()
    except ClientDisconnect:
        pass
    await run_in_threadpool(file.append, waiting, number)
    return True


def _state(file: ReceivedFile, status: int = 200) -> Response:
    return JSONResponse({"received": file.received}, status, headers={"cache-control": "no-store"})


async def _announcement(request: Request) -> Announcement:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_ANNOUNCED:
            raise Refused(413, "Too long", "The announcement of a file is too long.")
    try:
        return Announcement.model_validate_json(bytes(body), strict=True)
    except ValidationError:
        raise Refused(400, "Not understood", "Announce a file with name, size and zone.") from None
