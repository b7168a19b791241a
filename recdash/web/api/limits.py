"""Limits of the HTTP API: requests per minute and person, and questions that are answered at a time."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from recdash.web.plain_pages import Refused

Answer = TypeVar("Answer")
MINUTE = 60.0
AT_ONCE, MOST_WAITING, MOST_OF_ONE = 3, 60, 8
"""How many questions are answered at a time, how many more may wait, and how many of one person."""
MOST_PEOPLE = 10_000


@dataclass
class _Allowance:
    left: float
    at: float


class RequestLimit:
    """The requests that each person may make: ``per_minute``, of which all at once after a quiet minute."""

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_minute, self._clock = per_minute, clock
        self._people: dict[str, _Allowance] = {}

    def count(self, person: str) -> None:
        """Counts a request. Raises Refused if the person has made too many."""
        now = self._clock()
        if len(self._people) >= MOST_PEOPLE:
            self._people = {name: known for name, known in self._people.items() if now - known.at < MINUTE}
        known = self._people.setdefault(person, _Allowance(self._per_minute, now))
        gained = (now - known.at) * self._per_minute / MINUTE
        known.left, known.at = min(self._per_minute, known.left + gained), now
        if known.left < 1:
            wait = ceil((1 - known.left) * MINUTE / self._per_minute)
            words = f"{self._per_minute:,} requests per minute are allowed"
            raise Refused(429, "Too many requests", words, again_after=wait)
        known.left -= 1


class Workers:
    """Threads that answer questions, so that slow ones leave those of the pages free."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="api")
        self._asked: Counter[str] = Counter()

    async def answer(self, person: str, question: Callable[[], Answer]) -> Answer:
        """Returns what ``question`` returns, which is called in a thread.

        Raises Refused at once if too many others, or of this person, are being answered.
        """
        if self._asked[person] >= MOST_OF_ONE:
            words = f"{MOST_OF_ONE} of your questions are being answered"
            raise Refused(429, "Too many questions at once", words, again_after=1)
        if self._asked.total() >= AT_ONCE + MOST_WAITING:
            raise Refused(503, "Too many questions", "Many questions are being answered", again_after=5)
        self._asked[person] += 1
        asked = self._threads.submit(question)
        loop = asyncio.get_running_loop()
        # It also runs for a request that was cancelled before its question was answered.
        asked.add_done_callback(lambda _: loop.call_soon_threadsafe(self._forget, person))
        return await asyncio.wrap_future(asked)

    def _forget(self, person: str) -> None:
        self._asked[person] -= 1
        self._asked = +self._asked
