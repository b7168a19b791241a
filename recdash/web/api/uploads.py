"""Files that programs send to the HTTP API in parts, and what is stored of them.

A program announces a file with its sha256, sends its bytes in parts with their offset, and asks after a lost
connection how many have arrived. The id of a file follows from its sha256 and the token, so that the same
file is received once. Files are kept on disk until they are stored, removed, or not used for an hour.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Annotated

from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from recdash.domain.access import Person
from recdash.errors import InputError, NotFound, Problem
from recdash.service import Workspace
from recdash.settings import Settings
from recdash.web.api.access import TOKEN
from recdash.web.api.parameters import Parameters
from recdash.web.plain_pages import Refused
from recdash.web.received_files import ReceivedFile, ReceivedFiles
from recdash.web.upload_quota import UploadQuota
from recdash.web.upload_routes import continue_with

ARRIVING, COMPLETE = "api", "api complete"
"""The zones of files that are being received, and of those whose hash was verified."""
KEPT_SECONDS = 3600.0
ID_CHARS = 32
READ_BYTES = 2**20


class NewUpload(Parameters):
    """A file that is going to be sent."""

    name: Annotated[str, Field(min_length=1, max_length=1000, description="The name of the file.")]
    size: Annotated[int, Field(ge=0, description="Its number of bytes.")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="The sha256 of its bytes.")]


NO_FILE = "No file that you sent has this id; it may have been stored or deleted."


class LastUses:
    """When each token last used its files."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[str, float] = {}
        self._lock = Lock()

    def note(self, session: str) -> None:
        now = self._clock()
        with self._lock:  # additions note their uses in threads
            self._last = {known: at for known, at in self._last.items() if now - at < KEPT_SECONDS}
            self._last[session] = now

    def is_open(self, session: str) -> bool:
        """Returns whether a session is that of a token which used its files in the last hour."""
        last = self._last.get(session)
        return session.startswith(TOKEN) and last is not None and self._clock() - last < KEPT_SECONDS


last_uses = LastUses()
"""The last uses in this process, by which the server deletes files that are no longer needed."""


class Uploads:
    """The files of programs, each in the session of its token."""

    def __init__(
        self, rules: Settings, quota: UploadQuota, files: ReceivedFiles, uses: LastUses = last_uses
    ) -> None:
        self._rules, self._quota, self.files, self._uses = rules, quota, files, uses

    async def announce(self, session: str, person: Person, upload: NewUpload) -> ReceivedFile:
        """Returns the file to send; one that has arrived already, in part or as a whole, is continued.

        Raises Forbidden unless the person is an editor, and Refused if it would exceed a limit.
        """
        person.must_be("editor")
        self._uses.note(session)
        file_id = id_of(session, upload.sha256)
        known = any(file.id == file_id for file in self.files.complete(session, COMPLETE))
        if not known:
            self._quota.refuse_over_budget(person.name, upload.size, self._rules)
        begun = await run_in_threadpool(
            self.files.begin,
            session,
            person.name,
            ARRIVING,
            upload.name,
            upload.size,
            self._rules,
            file_id=file_id,
        )
        if begun.size != upload.size:
            problem = f"its size is {upload.size:,}, but a file of {begun.size:,} bytes has this sha256"
            raise InputError(Problem("size-differs", upload.name, problem, "Announce the file as it is."))
        await self._verify(session, begun)
        return begun

    async def receive(
        self, session: str, file_id: str, request: Request, offset: int
    ) -> tuple[ReceivedFile, bool]:
        """Returns a file after the bytes of a request, and whether they continue it: ``offset`` is how many
        precede them.

        Raises NotFound, and InputError if the file is complete and has another hash; it is deleted then.
        """
        file = self.find(session, file_id)
        continues = await continue_with(file, request, offset)
        self._uses.note(session)
        if continues:
            await self._verify(session, file)
        return file, continues

    async def _verify(self, session: str, file: ReceivedFile) -> None:
        if not file.is_complete or file.zone == COMPLETE:
            return
        try:
            sha256 = await run_in_threadpool(_hash_of, file)
        except FileNotFoundError:  # another request has deleted it
            raise NotFound(NO_FILE) from None
        if id_of(session, sha256) == file.id:
            file.zone = COMPLETE
            return
        await run_in_threadpool(self.files.remove, session, file.id)
        fix = "Send it again; if it was changed meanwhile, announce it again."
        raise InputError(
            Problem("hash-differs", file.name, "its bytes have another sha256 than announced", fix)
        )

    def fetch(self, workspace: Workspace, session: str, source: str) -> ReceivedFile:
        """Returns the file of a named source, which the caller removes.

        Raises NotFound, and InputError if the table cannot be read or would exceed a limit.
        """
        self._uses.note(session)
        write = partial(workspace.sources.fetch, source)
        try:
            return self.files.fetch(session, workspace.person.name, COMPLETE, write, self._rules)
        except Refused as refusal:
            raise InputError(Problem("refused", f"source '{source}'", str(refusal).rstrip("."), "")) from None

    def find(self, session: str, file_id: str) -> ReceivedFile:
        """Returns a file of this token. Raises NotFound."""
        self._uses.note(session)
        try:
            return self.files.find(session, file_id)
        except Refused:
            raise NotFound(NO_FILE) from None

    def usable(self, session: str, file_id: str) -> ReceivedFile:
        """Returns a complete file of this token. Raises NotFound, and InputError for an incomplete one."""
        file = self.find(session, file_id)
        if file.zone != COMPLETE:
            problem = f"{file.received:,} of {file.size:,} bytes have arrived"
            raise InputError(Problem("incomplete-upload", file.name, problem, "Send the rest first."))
        return file

    async def remove(self, session: str, file_id: str) -> None:
        await run_in_threadpool(self.files.remove, session, file_id)


def id_of(session: str, sha256: str) -> str:
    """Returns the id of the file with these bytes that a token sends; another token's has another."""
    return hashlib.sha256(f"{session} {sha256}".encode()).hexdigest()[:ID_CHARS]


def _hash_of(file: ReceivedFile) -> str:
    """Returns the sha256 of a file's bytes."""
    digest = hashlib.sha256()
    with file.path.open("rb") as content:
        while part := content.read(READ_BYTES):
            digest.update(part)
    return digest.hexdigest()
