"""How many recommended items stand in the training rows of the very user they are recommended to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block
from recdash.sorting import distinct

USERS_LOOKED_AT = 1000
"""So many users, evenly spread over the truth, tell the share well enough; all of them would cost time."""


@dataclass(frozen=True)
class TrainedPairs:
    """The training pairs of some users: ``pair`` [p], ascending, is user code × ``n_items`` + item code.

    A user is looked at if ``step`` divides the code.
    """

    pair: Ints
    n_items: int
    step: int

    def count(self, block: Block) -> tuple[int, int]:
        """(recommended items that their user has in train, all recommended items) of the users looked at."""
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
    """Of train rows on codes ([t] each), those of the users looked at among the first ``n_users`` codes."""
    step = max(1, n_users // USERS_LOOKED_AT)
    some = (user < n_users) & (user % step == 0)
    pair = distinct(user[some].astype(np.int64) * n_items + item[some])
    return TrainedPairs(pair, n_items, step) if len(pair) else None
