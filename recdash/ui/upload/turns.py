"""Lets a few uploads be read or scored at a time; others wait in the order in which they came."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition

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
            with self._changed:
                while (n_before := self._order.index(mine) + 1 - self._at_once) > 0:
                    waiting(n_before)
                    self._changed.wait(LOOK_SECONDS)
            yield
        finally:
            with self._changed:
                self._order.remove(mine)
                self._changed.notify_all()
