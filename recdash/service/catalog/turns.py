"""Lets a few uploads be read or scored at a time; others wait in the order in which they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

from recdash.formatting.numbers import counted

LOOK_SECONDS = 0.2


class Turns:
    """Turns of which ``at_once`` are taken at a time."""

    def __init__(self, at_once: int) -> None:
        self._at_once = at_once
        self._order: list[object] = []
        """Those that have their turn, then those that wait."""
        self._changed = Condition()

    @contextmanager
    def taken(self, waiting: Callable[[int], None]) -> Iterator[None]:
        """Waits for a turn, which ends with the ``with`` block.

        ``waiting(n)`` is called several times per second with the number of turns that end before; if it
        raises, the place in the queue is given up.
        """
        mine = object()
        with self._changed:
            self._order.append(mine)
        try:
            while (n_before := self._n_before(mine)) > 0:
                waiting(n_before)  # without the lock, which others need to end their turns
                with self._changed:
                    self._changed.wait_for(lambda: self._n_before(mine) <= 0, LOOK_SECONDS)
            yield
        finally:
            with self._changed:
                self._order.remove(mine)
                self._changed.notify_all()

    def _n_before(self, turn: object) -> int:
        """Returns the number of turns that end before this one begins; not above 0 if it has begun."""
        with self._changed:
            return self._order.index(turn) + 1 - self._at_once


def waits_for(n_before: int) -> str:
    """Returns in words that an upload waits for ``n_before`` others."""
    return f"Waiting for {counted(n_before, 'other upload')}"
