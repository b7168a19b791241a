"""Computes how long each item was watched: watch events are summed, a heartbeat states the time so far."""

from __future__ import annotations

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.logs.event_reader import HEARTBEAT, Events
from recdash.online.logs.hash_index import Keys, Tally, paired


class WatchTimes:
    """The watched seconds per code; a code stands for an item in a session, or outside sessions."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._summed, self._highest = Tally(np.float64), Tally(np.float64)

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, events: Events) -> tuple[Ints, Ints]:
        """Adds watch events and heartbeats of items.

        Returns [n] the codes of the items, and the rows with a new code.
        """
        code, new = self._keys.codes(paired(events.visit, events.item.astype(np.uint64)))
        n, beats = len(self), events.named(HEARTBEAT)
        np.add.at(self._summed.first(n), code[~beats], events.watched[~beats])
        np.maximum.at(self._highest.first(n), code[beats], events.watched[beats])
        return code, new

    def seconds(self) -> Floats:
        """Returns [codes] the sum of the watch events or the largest heartbeat, whichever is longer."""
        n = len(self)
        # rounded, so that ten times 0.1 s are not more than 1 s
        return np.round(np.maximum(self._summed.first(n), self._highest.first(n)), 6)

    def n_both_ways(self) -> int:
        """Returns the number of codes that have both watch events and heartbeats."""
        n = len(self)
        return int(((self._summed.first(n) > 0) & (self._highest.first(n) > 0)).sum())
