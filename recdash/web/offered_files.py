"""Records which files were offered to which visitor, because only visitors of a page may read the files on
it.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import TypeVar

from starlette.types import Message, Send

from recdash.web.visitor import Visitor

Key = TypeVar("Key")
Value = TypeVar("Value")
_FILE = re.compile(rb"/media/([0-9a-f]{32})")
"""Matches the address of a file in a websocket message.

Streamlit names a file by a hash of its content, of which 128 bits suffice.
"""
MOST_FILES, MOST_VISITORS = 2_000, 10_000
"""The maximum number of files per visitor, and of visitors; the oldest are dropped first."""


class OfferedFiles:
    """A record of the files that each visitor's pages offered to them, as sent over their websockets."""

    def __init__(self) -> None:
        self._names: OrderedDict[Visitor, OrderedDict[str, None]] = OrderedDict()

    def recording(self, send: Send, visitor: Visitor) -> Send:
        """Returns a ``send`` that records the files named in messages to this visitor."""

        async def recording_send(message: Message) -> None:
            content = message.get("bytes") or b""
            if b"/media/" in content:
                for name in _FILE.findall(content):
                    self.offer(visitor, name.decode())
            await send(message)

        return recording_send

    def offer(self, visitor: Visitor, name: str) -> None:
        names = self._names.setdefault(visitor, OrderedDict())
        _renew(self._names, visitor, MOST_VISITORS)
        names[name] = None
        _renew(names, name, MOST_FILES)

    def is_offered(self, visitor: Visitor, path: str) -> bool:
        """Returns whether the file at this address (``/media/<name>``) was offered to this visitor."""
        match = _FILE.match(path.encode())
        return match is not None and match[1].decode() in self._names.get(visitor, ())


def _renew(kept: OrderedDict[Key, Value], key: Key, most: int) -> None:
    """Makes ``key`` the most recent one, and drops the oldest keys beyond ``most``."""
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
