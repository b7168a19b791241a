"""A queue of limited length for the websocket messages that the server has not read yet."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

from starlette.types import Message, Receive

MOST_WAITING = 40
"""The maximum number of waiting messages. A page sends one for each click, and for a slider one in 0.2 s."""
MOST_BYTES = 2**20
"""The maximum size of all waiting messages together.

The largest that a page sends is the text of a report.
"""
PAUSE = 0.02
"""The minimum time between two messages in seconds, as each may start a run of the page."""
TOO_MUCH, NOT_BINARY = 1008, 1003
"""Websocket close codes for a policy violation, and for unsupported data."""


class Inbox:
    """The message queue of one websocket.

    ``closed`` is the close code once too much has been waiting, None before. ``is_needed`` returns whether
    pages need a message; others are dropped.
    """

    def __init__(self, receive: Receive, is_needed: Callable[[bytes], bool]) -> None:
        self._receive, self._is_needed = receive, is_needed
        self._waiting: deque[Message] = deque()
        self._bytes = 0
        self._arrived = asyncio.Event()
        self._next_at = 0.0
        self.closed: int | None = None

    async def fill(self) -> None:
        """Receives messages until the websocket ends, or this queue closes it."""
        while self.closed is None:
            message = await self._receive()
            self._add(message)
            self._arrived.set()
            if message["type"] == "websocket.disconnect":
                return
            await asyncio.sleep(0)

    async def take(self) -> Message:
        """Returns the next message, when there is one.

        Once this queue has closed the websocket, it drops waiting messages and returns a disconnect message.
        """
        await asyncio.sleep(self._next_at - time.monotonic())
        while self.closed is None and not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        if self.closed is not None:
            return {"type": "websocket.disconnect", "code": self.closed}
        self._next_at = time.monotonic() + PAUSE
        message = self._waiting.popleft()
        self._bytes -= len(_content(message))
        return message

    def _add(self, message: Message) -> None:
        content = _content(message)
        if message.get("text") is not None:
            self.closed = NOT_BINARY
        elif message["type"] != "websocket.receive" or self._is_needed(content):
            self._waiting.append(message)
            self._bytes += len(content)
            if len(self._waiting) > MOST_WAITING or self._bytes > MOST_BYTES:
                self.closed = TOO_MUCH


def _content(message: Message) -> bytes:
    return message.get("bytes") or b""
