"""Counts recommended items that are in the same user's training data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block
from recdash.sorting import distinct

USERS_LOOKED_AT = 1000
"""Number of users that are sampled evenly from the truth; enough for the share, and faster than all users."""


@dataclass(frozen=True)
class TrainedPairs:
    """The training pairs of a sample of users: ``pair`` [p], ascending, is user code × ``n_items`` + item
    code.

    The sample has every ``step``-th user code.
    """

    pair: Ints
    n_items: int
    step: int

    def found_in(self, block: Block) -> tuple[Ints, int]:
        """Returns (pairs of the recommended items that are in their user's training data, number of all
        recommended items) of the block's sampled users; a pair is user code × ``n_items`` + item code.
        """
        looked_at = block.user % self.step == 0
        if not looked_at.any():
            return np.empty(0, dtype=np.int64), 0
        block = block.only_lists(looked_at)
        known = block.item < self.n_items
        pair = np.repeat(block.user, block.lengths).astype(np.int64)[known] * self.n_items + block.item[known]
        place = np.searchsorted(self.pair, pair)
        place[place == len(self.pair)] = 0
        return pair[self.pair[place] == pair], len(block.item)


def trained_pairs(user: Ints, item: Ints, n_users: int, n_items: int) -> TrainedPairs | None:
    """Returns the training pairs of users sampled from the first ``n_users`` codes; ``user`` and ``item`` [t]
    are the codes of the train rows. None if no sampled user has training data.
    """
    step = max(1, n_users // USERS_LOOKED_AT)
    some = (user < n_users) & (user % step == 0)
    pair = distinct(user[some].astype(np.int64) * n_items + item[some])
    return TrainedPairs(pair, n_items, step) if len(pair) else None
