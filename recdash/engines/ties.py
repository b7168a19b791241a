"""Ties of a run that is ordered by score: truth rows whose position depends on the order of tied items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recdash.domain.hits import TiedHits
from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block

FindTruthRows = Callable[[Block], tuple[Ints, Ints]]
"""A function that returns the rows of a block whose user and item are in the truth, and the matching truth
rows.
"""


class TieWatch:
    """Collects, block by block, the truth rows in ties that begin within the depth."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.parts: list[tuple[Ints, Ints, Ints, Ints]] = []

    def see(self, block: Block, truth_rows: FindTruthRows) -> None:
        """Adds a block of whole lists, best score first. Lists must not be cut yet: a tie may extend beyond
        the depth.
        """
        row = np.flatnonzero(block.ties(block.column("score")))
        if not len(row):
            return
        owner = block.list_of(row)
        first, last = tie_ranks(block, row, owner)
        within = first <= self.depth
        row, owner, first, last = row[within], owner[within], first[within], last[within]
        lists, start = np.unique(owner, return_index=True)
        is_known, truth_row = truth_rows(
            Block(block.user[lists], np.append(start, len(row)), block.item[row])
        )
        self.parts.append((block.user[owner[is_known]], truth_row, first[is_known], last[is_known]))

    def ties(self) -> TiedHits:
        none = np.zeros(0, dtype=np.int32)
        parts = zip(*(self.parts or [(none, none, none, none)]), strict=True)
        user, row, first, last = (np.concatenate(part).astype(np.int32) for part in parts)
        order = np.lexsort((row, user))
        return TiedHits(user[order], row[order], first[order], last[order])


def tie_ranks(block: Block, row: Ints, owner: Ints) -> tuple[Ints, Ints]:
    """Returns the ranks, from 1, at which the tie of each tied row begins and ends. ``owner`` has the index
    of each row's list.
    """
    score = block.column("score")[row]
    begins = np.ones(len(row), dtype=bool)
    begins[1:] = (score[1:] != score[:-1]) | (owner[1:] != owner[:-1])
    begin = np.flatnonzero(begins)
    size = np.diff(np.append(begin, len(row)))
    first = np.repeat((row - block.start[owner] + 1)[begin], size)
    return first, first + np.repeat(size, size) - 1
