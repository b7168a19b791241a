"""Finds the rows of a block whose user and item are in the truth."""

from __future__ import annotations

import numpy as np

from recdash.domain.inputs import Truth
from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block

_SLOTS_PER_ROW = 16


class TruthLookup:
    """Looks up the rows of blocks in the truth."""

    def __init__(self, truth: Truth) -> None:
        self.start, self.item = truth.start, truth.item

    def rows(self, block: Block) -> tuple[Ints, Ints]:
        """Returns the rows of the block whose user and item are in the truth, ascending, and the matching
        truth rows.
        """
        truth_row, owner = self._rows_of(block.user)
        item = self.item[truth_row]
        row = _possible(block, owner, item)
        known = _keys(owner, item)  # ascending, because each user's items ascend
        wanted = _keys(block.list_of(row), block.item[row])
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        is_hit = known[place] == wanted
        return row[is_hit], truth_row[place[is_hit]]

    def _rows_of(self, user: Ints) -> tuple[Ints, Ints]:
        """Returns the truth rows of these users, and for each row the index of its user in ``user``."""
        counts = self.start[user + 1] - self.start[user]
        before = np.cumsum(counts) - counts
        row = np.repeat(self.start[user] - before, counts)
        row += np.arange(len(row))
        return row, np.repeat(np.arange(len(user)), counts)


def _keys(owner: Ints, item: Ints) -> Ints:
    return (owner.astype(np.int64) << 32) | item


def _possible(block: Block, owner: Ints, item: Ints) -> Ints:
    """Returns the rows of the block that may be hits: all hits, and about one in sixteen of the other rows.

    Truth rows and rows of the block are hashed into slots of a bit table that fits the cache; only rows with
    an occupied slot are returned. Looking up all 16 M rows in the sorted truth would take seconds.
    """
    size = 1 << max((len(item) * _SLOTS_PER_ROW).bit_length(), 10)
    mask = np.uint32(size - 1)
    salt = (np.arange(block.n_lists, dtype=np.uint32) * np.uint32(2654435761)) >> np.uint32(3)
    taken = np.zeros(size, dtype=bool)
    taken[(item.astype(np.uint32) + salt[owner]) & mask] = True
    item_of_row = block.item.astype(np.int32, copy=False).view(np.uint32)
    slot = block.by_list(item_of_row) + block.per_row(salt)
    slot &= mask
    return np.flatnonzero(taken.take(slot.reshape(-1), mode="clip"))
