"""Makes reports in separate threads: a few at a time, and one for each visitor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from recdash.errors import StoreBusy

Made = TypeVar("Made")
AT_ONCE = 2
"""The number of reports that are made at a time (computed, or printed as PDF); others wait without a
thread.
"""
MOST_WAITING = 20
AGAIN_AFTER = 5
"""The number of seconds after which a refused visitor may retry."""


class ReportTurns:
    """The visitors whose report is being made, or waits to be made.

    Reports have their own threads, because waiting reports would otherwise block authentication.
    """

    def __init__(self) -> None:
        self._visitors: set[str] = set()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="report")

    async def make(self, visitor: str, make: Callable[[], Made]) -> Made:
        """Calls ``make`` in a thread, and returns its result.

        Raises StoreBusy at once if a report is already being made for this visitor, or too many others wait.
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
