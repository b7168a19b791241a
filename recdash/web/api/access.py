"""Authenticates requests to the HTTP API: by a token, or for reading by the sign-in of the pages."""

from __future__ import annotations

from starlette.requests import HTTPConnection

from recdash.errors import RecdashError
from recdash.service.access.tokens import TokenRefused
from recdash.web.auth import AuthConfig, require_local, visitor_of
from recdash.web.plain_pages import Refused
from recdash.web.visitor import Visitor

PREFIX = "/api/"
TOKEN = "token "  # noqa: S105 - the beginning of a session's id
READING = ("GET", "HEAD")


def api_visitor(request: HTTPConnection, config: AuthConfig) -> Visitor:
    """Returns the visitor of a request to the API.

    A token stands for the person that it names, whatever else the request says. Without a token, the sign-in
    of the pages, or a share link, allows to read. Raises Refused for a token that gives no access, and for a
    write without a token.
    """
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return _of_token(secret.strip(), request, config)
    if request.scope.get("method") not in READING:
        raise Refused(401, "Not authorised", "Only a request with an API token can change anything")
    return visitor_of(request, config)


def _of_token(secret: str, request: HTTPConnection, config: AuthConfig) -> Visitor:
    if config.rules.auth == "local":
        require_local(request)
    try:
        token = config.api_token(secret)
    except TokenRefused as why:
        raise Refused(401, "Not authorised", str(why)) from None
    except RecdashError as why:
        raise Refused(503, "Not now", str(why)) from None
    return Visitor.of(token.holder, session=f"{TOKEN}{token.id}")
