"""How many websockets are open, of each person and from each address."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from starlette.requests import HTTPConnection

from recdash.settings import Settings
from recdash.web.error_pages import Refused
from recdash.web.headers import Application, Receive, Send
from recdash.web.message_queue import Inbox
from recdash.web.visitor import Visitor

MOST_OF_STRANGERS = 20
"""From one address, of visitors who have not signed in: each has one page, on which they do."""


class Sockets:
    """Websockets that are open now."""

    def __init__(self, rules: Settings) -> None:
        self._rules = rules
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, request: HTTPConnection, visitor: Visitor) -> Iterator[None]:
        """A websocket of this visitor is open for the block. Raises Refused where too many are."""
        owner, most = self._owner(request, visitor)
        if self._open[owner] >= most:
            words = f"{most} pages of yours are open here. Close some of them."
            raise Refused(429, "Too many pages", words)
        self._open[owner] += 1
        try:
            yield
        finally:
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]

    def _owner(self, request: HTTPConnection, visitor: Visitor) -> tuple[str, int]:
        """Whose websocket it is, as a key, and how many of theirs may be open.

        A name that was checked counts by itself; all other visitors count by their address.
        """
        address = request.client.host if request.client else ""
        if visitor.share is not None:
            return f"link {address}", self._rules.sockets_per_address
        if visitor.name is None:
            return f"stranger {address}", MOST_OF_STRANGERS
        if not visitor.named:
            return f"address {address}", self._rules.sockets_per_address
        return f"person {visitor.name}", self._rules.sockets_per_person


async def converse(
    app: Application,
    request: HTTPConnection,
    receive: Receive,
    send: Send,
    is_needed: Callable[[bytes], bool],
) -> None:
    """Runs ``app`` for a websocket whose messages wait in an inbox; ends it where too many do."""
    inbox = Inbox(receive, is_needed)
    reading = asyncio.create_task(inbox.fill())
    try:
        await app(request.scope, inbox.take, send)
    finally:
        reading.cancel()
        with suppress(asyncio.CancelledError):
            await reading
    if inbox.closed is not None:
        await send({"type": "websocket.close", "code": inbox.closed})
