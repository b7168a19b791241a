"""Reports that are being made: in threads of their own, few at a time, one for each visitor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from recdash.errors import StoreBusy

Made = TypeVar("Made")
AT_ONCE = 2
"""A live report is computed, and a PDF printed: so many at a time, the others wait without a thread."""
MOST_WAITING = 20
AGAIN_AFTER = 5
"""Seconds after which a visitor who was sent away may ask again."""


class ReportTurns:
    """The visitors whose reports are being made, or wait for their turn.

    Reports have threads of their own, because waiting reports would otherwise block the sign-in check.
    """

    def __init__(self) -> None:
        self._visitors: set[str] = set()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")

    async def make(self, visitor: str, make: Callable[[], Made]) -> Made:
        """What ``make`` returns. Raises StoreBusy at once where the visitor waits already, or too many do."""
        if visitor in self._visitors:
            raise StoreBusy("A report of yours is being made at the moment. Ask again when it is there.")
        if len(self._visitors) >= AT_ONCE + MOST_WAITING:
            raise StoreBusy("Many reports are being made at the moment. Try again in a minute.")
        self._visitors.add(visitor)
        report = self._threads.submit(make)
        # It also runs for a request that was cancelled before its report was begun.
        report.add_done_callback(lambda _: self._visitors.discard(visitor))
        return await asyncio.wrap_future(report)
