"""Limits the number of open websockets per person and per address."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Send

from recdash.settings import Settings
from recdash.web.hosts import address_of
from recdash.web.message_queue import Inbox
from recdash.web.plain_pages import Refused
from recdash.web.visitor import Visitor

MOST_OF_STRANGERS = 20
"""The maximum per address for visitors who have not signed in; each of them needs one page to do so."""


class Sockets:
    """A counter of the websockets that are open now."""

    def __init__(self, rules: Settings) -> None:
        self._rules = rules
        self._open: Counter[str] = Counter()

    @contextmanager
    def one_more(self, request: HTTPConnection, visitor: Visitor) -> Iterator[None]:
        """Counts a websocket of this visitor while the block runs. Raises Refused if too many are open."""
        owner, most = self._owner(request, visitor)
        if self._open[owner] >= most:
            words = f"You have {most} pages open here. Close some of them."
            raise Refused(429, "Too many pages", words)
        self._open[owner] += 1
        try:
            yield
        finally:
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]

    def _owner(self, request: HTTPConnection, visitor: Visitor) -> tuple[str, int]:
        """Returns a key for the owner of a websocket, and how many the owner may open.

        The owner is the person for a verified name, and the address for all other visitors.
        """
        address = address_of(request)
        if visitor.share is not None:
            return f"link {address}", self._rules.sockets_per_address
        if visitor.name is None:
            return f"stranger {address}", MOST_OF_STRANGERS
        if not visitor.named:
            return f"address {address}", self._rules.sockets_per_address
        return f"person {visitor.name}", self._rules.sockets_per_person


async def run_with_inbox(
    app: ASGIApp,
    request: HTTPConnection,
    receive: Receive,
    send: Send,
    is_needed: Callable[[bytes], bool],
) -> None:
    """Runs ``app`` for a websocket with a message queue, and closes the websocket if too many messages
    wait.
    """
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
