"""Caches of answers: within a memory limit, and until anything is stored."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from threading import RLock
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
ROOM = 256 << 20
MOST_ANSWERS = 1 << 14
"""More answers are not cached, even if they have no arrays and count 0 bytes."""


class SizedCache(Generic[P, R]):
    """A function of hashable arguments that caches its answers.

    The ``least`` most recently used answers are always cached. More are cached, up to ``MOST_ANSWERS``, while
    all together take at most ``room`` bytes. So many answers about small runs stay in memory, and few about
    large runs.
    """

    def __init__(self, function: Callable[P, R], least: int, room: int = ROOM) -> None:
        self._function, self._least, self._room = function, least, room
        self._answers: OrderedDict[Any, tuple[R, int]] = OrderedDict()
        self._weight = 0
        self._lock = RLock()

    def __call__(self, *args: P.args, **named: P.kwargs) -> R:
        key = (args, tuple(named.items()))
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key][0]
        answer = self._function(*args, **named)
        with self._lock:
            self._keep(key, answer)
        return answer

    def knows(self, *args: P.args, **named: P.kwargs) -> bool:
        """Returns whether the answer for these arguments is cached."""
        with self._lock:
            return (args, tuple(named.items())) in self._answers

    def remember(self, answer: R, *args: P.args, **named: P.kwargs) -> None:
        """Stores the answer for these arguments, which the caller has computed in another way."""
        with self._lock:
            self._keep((args, tuple(named.items())), answer)

    def cache_clear(self) -> None:
        """Drops all answers."""
        with self._lock:
            self._answers.clear()
            self._weight = 0

    def _keep(self, key: Any, answer: R) -> None:
        """Stores an answer and drops the oldest ones beyond the limit; replaces the answer of another
        thread.
        """
        self._weight -= self._answers.pop(key, (None, 0))[1]
        self._answers[key] = (answer, weight(answer))
        self._weight += self._answers[key][1]
        while len(self._answers) > self._least and (
            self._weight > self._room or len(self._answers) > MOST_ANSWERS
        ):
            _, (_, gone) = self._answers.popitem(last=False)
            self._weight -= gone


class VersionCache(Generic[P, R]):
    """A function of hashable arguments that caches its last ``most`` answers at one version of the store.

    No one asks again at an earlier version, so its answers are dropped when another version comes.
    """

    def __init__(self, function: Callable[P, R], most: int) -> None:
        self._function, self._most = function, most
        self._lock = RLock()
        self._version = ""
        self._known: Callable[..., R] = lru_cache(most)(function)

    def __call__(self, version: str, *args: P.args, **named: P.kwargs) -> R:
        with self._lock:
            if version != self._version:
                self.cache_clear()
                self._version = version
            known = self._known
        return known(*args, **named)  # a slow answer to an earlier version goes into the dropped cache

    def cache_clear(self) -> None:
        """Drops all answers."""
        with self._lock:
            self._known = lru_cache(self._most)(self._function)


def weight(value: Any) -> int:
    """Returns the bytes of all arrays and tables in a value; other values count 0.

    An array that two parts of the value share counts twice. Data that the value computes and caches later
    does not count.
    """
    if value is None or isinstance(value, str | int | float):  # most parts: cheap before all others
        return 0
    if hasattr(value, "nbytes"):
        return int(value.nbytes)
    if is_dataclass(value) and not isinstance(value, type):
        return sum(weight(getattr(value, part.name)) for part in fields(value))
    if isinstance(value, Mapping):
        return sum(map(weight, value.values()))
    if isinstance(value, list | tuple) and not any(isinstance(part, str) for part in value[:1]):
        return sum(map(weight, value))  # a list of texts counts 0 and is not searched: it may have 100,000
    return 0
