"""Ties of a run that is ordered by score: which truth rows stand where only chance put them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recdash.domain import Ints, TiedHits
from recdash.engines.blocks import Block

FindTruthRows = Callable[[Block], tuple[Ints, Ints]]
"""The rows of a block that the truth knows, and which of its rows they are."""


class TieWatch:
    """Collects the truth rows that stand in a tie beginning within the depth, block by block."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.found: list[tuple[Ints, Ints, Ints, Ints]] = []

    def see(self, block: Block, truth_rows: FindTruthRows) -> None:
        """Blocks hold whole lists, best score first, before they are cut: a tie may run past the depth."""
        tied = block.ties(block.column("score"))
        if not tied.any():
            return
        first, last = tie_ranks(block)
        within = tied & (first <= self.depth)
        row, truth_row = truth_rows(block.only_rows(within))
        row = np.flatnonzero(within)[row]
        self.found.append((block.user[block.list_of(row)], truth_row, first[row], last[row]))

    def ties(self) -> TiedHits:
        none = np.zeros(0, dtype=np.int32)
        parts = zip(*(self.found or [(none, none, none, none)]), strict=True)
        user, row, first, last = (np.concatenate(part).astype(np.int32) for part in parts)
        order = np.lexsort((row, user))
        return TiedHits(user[order], row[order], first[order], last[order])


def tie_ranks(block: Block) -> tuple[Ints, Ints]:
    """[n] the ranks, from 1, of the first and the last row of its list that have the row's score."""
    score, rank = block.column("score"), block.positions + 1
    begins = np.ones(len(score), dtype=bool)
    begins[1:] = score[1:] != score[:-1]
    begins[block.start[:-1][block.lengths > 0]] = True
    begin = np.flatnonzero(begins)
    size = np.diff(np.append(begin, len(score)))
    first = np.repeat(rank[begin], size)
    return first, first + np.repeat(size, size) - 1
