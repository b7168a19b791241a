"""Counts recommended items that are in the training rows of the same user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block
from recdash.sorting import distinct

USERS_LOOKED_AT = 1000
"""Number of users sampled evenly over the truth; enough for the share, and faster than all of them."""


@dataclass(frozen=True)
class TrainedPairs:
    """The training pairs of some users: ``pair`` [p], ascending, is user code × ``n_items`` + item code.

    Users whose code ``step`` divides are sampled.
    """

    pair: Ints
    n_items: int
    step: int

    def count(self, block: Block) -> tuple[int, int]:
        """Returns (recommended items that their user has in train, all recommended items) of the sampled
        users.
        """
        looked_at = block.user % self.step == 0
        if not looked_at.any():
            return 0, 0
        block = block.only_lists(looked_at)
        known = block.item < self.n_items
        pair = np.repeat(block.user, block.lengths).astype(np.int64)[known] * self.n_items + block.item[known]
        place = np.searchsorted(self.pair, pair)
        place[place == len(self.pair)] = 0
        return int((self.pair[place] == pair).sum()), len(block.item)


def trained_pairs(user: Ints, item: Ints, n_users: int, n_items: int) -> TrainedPairs | None:
    """Returns the pairs of sampled users among the first ``n_users`` codes, from coded train rows ([t]
    each).
    """
    step = max(1, n_users // USERS_LOOKED_AT)
    some = (user < n_users) & (user % step == 0)
    pair = distinct(user[some].astype(np.int64) * n_items + item[some])
    return TrainedPairs(pair, n_items, step) if len(pair) else None
