"""Stores the page that was requested before sign-in in a cookie for ten minutes."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from recdash.web.auth import cookie
from recdash.web.headers import Headers

RETURN = "recdash_return"
SECONDS = 600
LONGEST = 2000
"""The length in characters of the longest address that is stored; browsers allow 4096 for a cookie."""


def wanted(request: HTTPConnection, pages: frozenset[str]) -> str | None:
    """Returns the page and parameters that a request asks for.

    None for the first page without parameters, and for addresses that are not pages.
    """
    name, query = request.url.path.strip("/"), request.url.query
    if name not in pages | {""} or not (name or query):
        return None
    return f"{name}?{query}" if query else name


def return_cookie(request: HTTPConnection, place: str) -> Headers:
    """Returns headers that store ``place`` (a page with parameters) in a cookie; empty if it is too long."""
    if len(place) > LONGEST:
        return ()
    keeper = Response()
    keeper.set_cookie(cookie(RETURN, request), quote(place, safe=""), SECONDS, httponly=True, samesite="lax")
    return tuple(header for header in keeper.raw_headers if header[0] == b"set-cookie")


def way_back(request: HTTPConnection, pages: frozenset[str]) -> Response | None:
    """Returns the redirect from the first page to the page requested before sign-in; None if there was
    none.
    """
    name = cookie(RETURN, request)
    page, mark, query = unquote(request.cookies.get(name, "")).partition("?")
    if wanted(request, pages) is not None or request.url.path.strip("/") or not (page or query):
        return None
    if page not in pages | {""}:
        return None
    onwards = RedirectResponse(f"./{page}{mark}{query}", 303)
    onwards.delete_cookie(name)
    return onwards
