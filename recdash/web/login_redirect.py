"""Keeps the page requested before sign-in in a cookie for a few minutes."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from recdash.web.auth import cookie
from recdash.web.headers import Headers

RETURN = "recdash_return"
SECONDS = 600
LONGEST = 2000
"""Longest link kept, in characters; browsers keep 4096 of a cookie."""


def wanted(request: HTTPConnection, pages: frozenset[str]) -> str | None:
    """Returns the page and parameters that a request asks for; None for the first page alone, and for no
    page.
    """
    name, query = request.url.path.strip("/"), request.url.query
    if name not in pages | {""} or not (name or query):
        return None
    return f"{name}?{query}" if query else name


def return_cookie(request: HTTPConnection, place: str) -> Headers:
    """Returns headers with which the browser keeps ``place``; none if it is too long."""
    if len(place) > LONGEST:
        return ()
    keeper, secure = Response(), request.url.scheme == "https"
    keeper.set_cookie(
        cookie(RETURN, request), quote(place, safe=""), SECONDS, httponly=True, samesite="lax", secure=secure
    )
    return tuple(header for header in keeper.raw_headers if header[0] == b"set-cookie")


def way_back(request: HTTPConnection, pages: frozenset[str]) -> Response | None:
    """Returns the redirect from the first page after sign-in; None if no page was requested."""
    name = cookie(RETURN, request)
    page, mark, query = unquote(request.cookies.get(name, "")).partition("?")
    if wanted(request, pages) is not None or request.url.path.strip("/") or not (page or query):
        return None
    if page not in pages | {""}:
        return None
    onwards = RedirectResponse(f"./{page}{mark}{query}", 303)
    onwards.delete_cookie(name)
    return onwards
