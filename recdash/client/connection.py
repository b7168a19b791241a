"""Requests to the HTTP API of a dashboard, and the errors that its problems mean."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote, urlencode

from recdash.errors import Forbidden, InputError, NotFound, Problem, RecdashError, StoreBusy
from recdash.http import NOT_NOW, TOO_MANY, HttpServer, is_address

BASE = "/api/v1"
WRITE_ADDRESS = "Write the address of the dashboard, such as https://recdash.example.org."
TOO_LARGE, SERVER_FAILED = 413, 500
"""Status of a request that is too large, and the first one of those of a failure."""


class Unauthorised(RecdashError):
    """The error for a token that gives no access."""


class NotRecdash(RecdashError):
    """The error for a server that is another program, or that a proxy answers for."""

    def __init__(self, address: str, status: int | None = None) -> None:
        with_status = "" if status is None else f" (status {status})"
        finding = f"it does not answer as recdash does{with_status}"
        fix = "Check the address and its port, and that the dashboard runs there."
        if status is not None and (status == TOO_LARGE or status >= SERVER_FAILED):
            fix = "A proxy may have answered: see its log, and let it take requests of 9 MiB."
        self.problem = Problem("not-recdash", f"server {address}", finding, fix)
        super().__init__(str(self.problem))


@dataclass(frozen=True)
class Server:
    """A dashboard at an address, and the token that is sent with each request.

    A request that failed on its way, or that came too soon, is sent again some times. ``sleep`` waits;
    ``tell`` takes a line before each wait.
    """

    address: str
    token: str = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    tell: Callable[[str], None] = field(default=lambda _: None, repr=False)

    def __post_init__(self) -> None:
        address: object = self.address
        if not isinstance(address, str):
            finding = (
                f"it is of the type {type(address).__name__}"  # without its value: it may have a password
            )
            raise InputError(Problem("bad-server", "server", finding, WRITE_ADDRESS))
        if "@" in self.address:
            fix = "Leave it out: the token gives access."
            raise InputError(Problem("secret-in-address", "server", "it has a name or password", fix))
        if not is_address(self.address):
            raise InputError(Problem("bad-server", "server", f"'{self.address}'", WRITE_ADDRESS))
        token: object = self.token
        if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
            fix = "An admin creates one in Settings, or with recdash tokens create."
            raise InputError(Problem("bad-token", "token", "it is no API token", fix))

    @cached_property
    def _http(self) -> HttpServer:
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "application/json"}
        return HttpServer(self.address, headers, self.sleep, self.tell)

    def ask(self, path: str, query: Mapping[str, Any] | None = None) -> Any:
        """Returns the answer to a question. Raises RecdashError with the problems that the server names."""
        return self.json_of(self.content(path, query))

    def content(self, path: str, query: Mapping[str, Any] | None = None) -> bytes:
        """Returns the bytes of an answer, such as of a report."""
        given = {name: value for name, value in (query or {}).items() if value not in (None, "", [], ())}
        return self.request("GET", f"{path}?{urlencode(given, doseq=True)}" if given else path)

    def post(self, path: str, body: Mapping[str, Any], *, key: str = "") -> Any:
        """Returns the answer to a JSON body; with a ``key``, the server does only once what it asks for."""
        headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
        try:
            content = json.dumps(body).encode()
        except (TypeError, ValueError) as error:
            fix = "Give texts, numbers, true or false, and lists and dicts of them."
            raise InputError(Problem("bad-option", "options", f"no JSON ({error})", fix)) from None
        return self.json_of(self.request("POST", path, content, headers))

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        accepted: Collection[int] = (),
    ) -> bytes:
        """Returns the body of the response. Raises RecdashError for any status but success and those
        ``accepted``.
        """
        answer = self._http.answer(method, f"{BASE}{path}", body, headers)
        if answer.is_success or answer.status in accepted:
            return answer.content
        problems = problems_in(answer.content)
        raise error_of(answer.status, problems) if problems else NotRecdash(self.address, answer.status)

    def json_of(self, content: bytes) -> Any:
        """Returns a JSON object. Raises NotRecdash for what no dashboard answers, such as a page."""
        with suppress(ValueError):
            if isinstance(answer := json.loads(content), dict):
                return answer
        raise NotRecdash(self.address)


def in_path(name: str) -> str:
    """Returns a name as a part of an address."""
    return quote(name, safe="")


def problems_in(content: bytes) -> list[Problem]:
    """Returns the problems that a response names; none if it is not one of recdash."""
    try:
        return [
            Problem(facts["code"], facts["place"], facts["finding"], facts["fix"])
            for facts in json.loads(content)["problems"]
        ]
    except (ValueError, KeyError, TypeError):
        return []


def error_of(status: int, problems: Sequence[Problem]) -> RecdashError:
    """Returns the error that a response with problems means, as the local workspace would raise it."""
    words = "; ".join(f"{problem.found}. {problem.fix}".strip() for problem in problems)
    kinds: dict[int, type[RecdashError]] = {
        401: Unauthorised, 403: Forbidden, 404: NotFound, TOO_MANY: StoreBusy, NOT_NOW: StoreBusy,
    }  # fmt: skip
    return kinds[status](words) if status in kinds else InputError(problems)
