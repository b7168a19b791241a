"""Errors of the HTTP API, as JSON problems: what is wrong, where, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from starlette.responses import JSONResponse, Response

from recdash.errors import (
    EvidenceDamaged,
    Forbidden,
    InputError,
    NameTaken,
    NotFound,
    Problem,
    RecdashError,
    StoreBusy,
    UnknownName,
)
from recdash.service import LinkDead
from recdash.service.access.tokens import TokenRefused
from recdash.web.plain_pages import Refused

UNAUTHENTICATED = 401
PRIVATE = {"cache-control": "no-store"}
FIXES: Mapping[int, tuple[str, str]] = {
    400: ("bad-request", "Correct the request."),
    401: ("no-access", "Send an API token: Authorization: Bearer TOKEN. An admin creates one in Settings."),
    403: ("forbidden", "Ask an admin for a token with another role."),
    404: ("not-found", "GET /api/v1/experiments lists what there is; /api/v1/docs lists the addresses."),
    405: ("bad-method", "The header Allow lists the methods of this address."),
    409: ("conflict", "Read the current state, and continue from there."),
    413: ("too-large", "Send less."),
    415: ("bad-media-type", "Send application/json."),
    429: ("too-many-requests", "Wait as many seconds as the header Retry-After says."),
    500: ("internal-error", "Try again. If it persists, ask the administrator to read the server's log."),
    503: ("not-now", "Try again later."),
    507: ("no-room", "Ask the administrator for more room on the server's disk."),
}  # fmt: skip
"""Status → the code and repair of a problem that has none of its own."""
_STATUSES: tuple[tuple[type[RecdashError], int], ...] = (
    (Forbidden, 403),
    (TokenRefused, 401),
    (LinkDead, 401),
    (NotFound, 404),
    (NameTaken, 409),
    (StoreBusy, 503),
    (InputError, 422),
)


def problem_facts(problem: Problem) -> dict[str, object]:
    """Returns a problem as plain values."""
    return {
        "code": problem.code,
        "place": problem.place,
        "finding": problem.found,
        "fix": problem.fix,
    }


def problems_answer(
    status: int, problems: Iterable[Problem], headers: Mapping[str, str] = PRIVATE
) -> Response:
    """Returns the response with problems."""
    headers = {**PRIVATE, **headers}
    if status == UNAUTHENTICATED:
        headers["www-authenticate"] = 'Bearer realm="recdash"'
    return JSONResponse({"problems": list(map(problem_facts, problems))}, status, headers)


def status_of(error: RecdashError) -> int:
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 503)


def problems_of(error: RecdashError, place: str) -> list[Problem]:
    """Returns the problems of an error; ``place`` is where those are that name none."""
    if isinstance(error, InputError) and not isinstance(error, UnknownName):
        return error.placed()
    if isinstance(error, UnknownName):
        return list(error.problems)
    if isinstance(error, EvidenceDamaged):
        return [error.problem]
    code, fix = FIXES.get(status_of(error), FIXES[503])
    if isinstance(error, NameTaken):
        fix = ""  # its words say which name to choose, or what to do with the other row
    return [Problem(code, place, str(error).rstrip("."), fix)]


def error_answer(error: RecdashError, place: str) -> Response:
    """Returns the response to a request that failed with this error."""
    return problems_answer(status_of(error), problems_of(error, place))


def refusal_answer(refusal: Refused, place: str) -> Response:
    """Returns the response to a request that was refused before it reached the workspace."""
    code, fix = FIXES.get(refusal.status, FIXES[400])
    problem = Problem(code, place, f"{refusal.title}. {refusal.words}".rstrip("."), fix)
    return problems_answer(refusal.status, [problem], refusal.headers)
