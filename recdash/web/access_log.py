"""Logs who came in, who was refused, and what was read: one line of JSON per event, without secrets."""

from __future__ import annotations

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

from starlette.requests import HTTPConnection

from recdash.service.access.signed_tokens import id_in_token
from recdash.web.hosts import address_of
from recdash.web.visitor import Visitor

logger = logging.getLogger("recdash.access")
LONGEST = 200
"""The number of characters to which a logged text is cut."""
LINK_CHARS = 12
"""How many characters of a share link's id are logged; ``recdash revoke`` finds a link by them."""

_SECRET = re.compile(r"/(s|key)/.*", re.DOTALL | re.IGNORECASE)
"""The end of a path that has a share link's token or the key. It may follow a prefix that a proxy left; one
in capitals opens nothing, but has the same secret.
"""


def start() -> None:
    """Writes the log to the standard error of the server."""
    if not logger.handlers:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False


def record(event: str, request: HTTPConnection, **facts: Any) -> None:
    """Logs an event of a request with the client's address. Facts that are None are left out."""
    line = {
        "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "event": event,
        "address": address_of(request) or None,
        **facts,
    }
    known = {
        name: value[:LONGEST] if isinstance(value, str) else value
        for name, value in line.items()
        if value is not None
    }
    logger.info(json.dumps(known))


def reader(visitor: Visitor) -> dict[str, str | None]:
    """Returns how the log names an admitted visitor: the person's name, or the id of the share link."""
    if visitor.share is not None:
        return {"link": short_id(id_in_token(visitor.share))}
    return {"who": visitor.name}


def short_id(link_id: str) -> str:
    """Returns the part of a share link's id that is logged. The id is a hash, which opens nothing."""
    return link_id[:LINK_CHARS]


def path_of(request: HTTPConnection) -> str:
    """Returns the path of a request as it is logged: without a share link's token and without the key."""
    return _SECRET.sub(r"/\1/…", request.scope["path"])
