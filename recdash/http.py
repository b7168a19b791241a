"""Requests to a server over HTTP, which are sent again if they failed on their way or came too soon."""

from __future__ import annotations

import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from itertools import count
from threading import Event
from typing import IO
from urllib.parse import urlsplit

from recdash.errors import InputError, Problem, RecdashError

SECONDS = 600.0
"""How long an answer may take: a first comparison of large runs takes minutes."""
CONNECT_SECONDS = 10.0
"""How long a server may take to accept a connection."""
TRIES, FIRST_WAIT, LONGEST_WAIT = 8, 0.5, 15.0
FIRST_TRIES = 3
"""How often a request is sent to a server that has never answered: its address may be wrong."""
TOO_MANY, NOT_NOW = 429, 503
BAD_GATEWAY = 502
"""What a proxy answers in place of a server that it cannot reach, such as one that is being restarted."""
PART_BYTES = 2**20
_NOT_IN_LINKS = re.compile(r"[\s\x00-\x1f\x7f<>\"\\]")
"""Characters that end a link, or that browsers ignore or change: it would lead elsewhere than it seems."""


class ServerUnreachable(RecdashError):
    """The error for a server that does not answer."""

    def __init__(self, address: str, reason: str) -> None:
        fix = "Check the address and its port, and that the server runs."
        self.problem = Problem("unreachable", f"server {address}", reason, fix)
        super().__init__(str(self.problem))


@dataclass(frozen=True)
class HttpAnswer:
    status: int
    content: bytes

    @property
    def is_success(self) -> bool:
        return self.status < 300


@dataclass(frozen=True)
class HttpServer:
    """A server at an address; ``headers`` are sent with each request. Redirects are not followed, as they
    could send these headers elsewhere. ``sleep`` waits; ``tell`` takes a line before each wait.
    """

    address: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    tell: Callable[[str], None] = field(default=lambda _: None, repr=False)
    _has_answered: Event = field(default_factory=Event, init=False, repr=False, compare=False)

    def answer(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> HttpAnswer:
        """Returns the answer to a request, whatever its status. Raises ServerUnreachable."""
        return self._sent(method, path, body, headers or {}, _whole)

    def save(self, path: str, file: IO[bytes], most: int | None) -> HttpAnswer:
        """Writes what the server sends to a file, and returns the answer without it; of another status than
        success, the answer is returned whole.

        Raises InputError if there are more than ``most`` bytes.
        """

        def write(response: HTTPResponse) -> HttpAnswer:
            if response.status >= 300:
                return _whole(response)
            file.seek(0)
            file.truncate()
            while part := response.read(PART_BYTES):
                file.write(part)
                if most is not None and file.tell() > most:
                    fix = "Raise RECDASH_MAX_UPLOAD_BYTES, or store a compressed file."
                    raise InputError(Problem("limit-upload-bytes", "file", f"more than {most:,} bytes", fix))
            if response.length:
                raise HTTPException("the connection ended too soon")
            return HttpAnswer(response.status, b"")

        return self._sent("GET", path, None, {}, write)

    def _sent(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        read: Callable[[HTTPResponse], HttpAnswer],
    ) -> HttpAnswer:
        wait = FIRST_WAIT
        for tried in count(1):
            try:
                answer, again_after = self._once(method, path, body, headers, read)
            except (OSError, HTTPException) as error:
                reason = _reason(error)
                if tried >= (TRIES if self._has_answered.is_set() else FIRST_TRIES):
                    raise ServerUnreachable(self.address, reason) from error
            else:
                self._has_answered.set()
                if answer.status not in (TOO_MANY, NOT_NOW) or tried >= TRIES:
                    return answer
                wait, reason = max(wait, again_after), f"it is busy (status {answer.status})"
            wait = min(wait, LONGEST_WAIT)
            self.tell(f"server {self.address}: {reason}; trying again in {wait:g} s")
            self.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")

    def _once(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        read: Callable[[HTTPResponse], HttpAnswer],
    ) -> tuple[HttpAnswer, float]:
        parts = urlsplit(self.address)
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_SECONDS)
        try:
            connection.connect()
            connection.sock.settimeout(SECONDS)
            connection.request(method, f"{parts.path.rstrip('/')}{path}", body, {**self.headers, **headers})
            response: HTTPResponse = connection.getresponse()
            if response.status == BAD_GATEWAY:
                raise HTTPException("a proxy answers that it cannot reach the server, status 502")
            again_after = response.headers.get("Retry-After", "0")
            return read(response), float(again_after) if again_after.isdigit() else 0.0
        finally:
            connection.close()


def _reason(error: Exception) -> str:
    """Returns why a request failed, as the end of a sentence about the server."""
    if isinstance(error, ConnectionRefusedError):
        return "nothing accepts connections there"
    if isinstance(error, socket.gaierror):
        return f"its name has no address ({error.strerror or error})"
    if isinstance(error, ssl.SSLError):
        return f"no safe connection is possible ({error.reason or error})"
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    return f"the connection failed ({str(error) or type(error).__name__})"


def _whole(response: HTTPResponse) -> HttpAnswer:
    return HttpAnswer(response.status, response.read())


def is_link(text: str) -> bool:
    """Returns whether a text is an http or https address that can be written into any page or comment."""
    if _NOT_IN_LINKS.search(text):
        return False
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError:  # such as a port that is no number
        return False
    return parts.scheme in ("http", "https") and has_host


def is_address(text: str) -> bool:
    """Returns whether a text is the address of a server, without a query."""
    return is_link(text) and not (urlsplit(text).query or urlsplit(text).fragment)
