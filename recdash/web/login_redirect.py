"""The page that somebody wanted before signing in, kept for a few minutes in a cookie of theirs."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response

from recdash.web.auth import cookie
from recdash.web.headers import Headers

RETURN = "recdash_return"
SECONDS = 600
LONGEST = 2000
"""Characters of a link that is kept; browsers keep 4096 of a cookie."""


def wanted(asked: HTTPConnection, pages: frozenset[str]) -> str | None:
    """The page and parameters that a request asks for; None for the first page alone, and for no page."""
    name, query = asked.url.path.strip("/"), asked.url.query
    if name not in pages | {""} or not (name or query):
        return None
    return f"{name}?{query}" if query else name


def remembering(asked: HTTPConnection, place: str) -> Headers:
    """What an answer carries so that the browser keeps ``place``; nothing for what is too long to keep."""
    if len(place) > LONGEST:
        return ()
    keeper, secure = Response(), asked.url.scheme == "https"
    keeper.set_cookie(
        cookie(RETURN, asked), quote(place, safe=""), SECONDS, httponly=True, samesite="lax", secure=secure
    )
    return tuple(header for header in keeper.raw_headers if header[0] == b"set-cookie")


def way_back(asked: HTTPConnection, pages: frozenset[str]) -> Response | None:
    """The answer to the first page's address after a sign-in that leads on; None when nothing was wanted."""
    name = cookie(RETURN, asked)
    page, mark, query = unquote(asked.cookies.get(name, "")).partition("?")
    if wanted(asked, pages) is not None or asked.url.path.strip("/") or not (page or query):
        return None
    if page not in pages | {""}:
        return None
    onwards = RedirectResponse(f"./{page}{mark}{query}", 303)
    onwards.delete_cookie(name)
    return onwards
