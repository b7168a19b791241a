"""Generates reports in separate threads: few at a time, one per visitor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from recdash.errors import StoreBusy

Made = TypeVar("Made")
AT_ONCE = 2
"""Reports generated at a time (a live report is computed, and a PDF printed); others wait without a thread.
"""
MOST_WAITING = 20
AGAIN_AFTER = 5
"""Seconds after which a refused visitor may retry."""


class ReportTurns:
    """The visitors whose reports are being generated or wait.

    Reports have their own threads, because waiting reports would otherwise block the sign-in check.
    """

    def __init__(self) -> None:
        self._visitors: set[str] = set()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")

    async def make(self, visitor: str, make: Callable[[], Made]) -> Made:
        """Returns what ``make`` returns. Raises StoreBusy at once if the visitor is waiting already, or too
        many are.
        """
        if visitor in self._visitors:
            raise StoreBusy("Your report is still being generated. Try again when it is finished.")
        if len(self._visitors) >= AT_ONCE + MOST_WAITING:
            raise StoreBusy("Many reports are being generated. Try again in a minute.")
        self._visitors.add(visitor)
        report = self._threads.submit(make)
        # It also runs for a request that was cancelled before its report was started.
        report.add_done_callback(lambda _: self._visitors.discard(visitor))
        return await asyncio.wrap_future(report)
