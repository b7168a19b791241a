"""Counting what was shown: how many lists hold each item at each rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from recdash.domain import Exposure, Ints, ListMean, RankCounts
from recdash.engines.blocks import Block

_DENSE_CELLS = 1 << 26
"""Up to this many (rank, item) cells are counted in a table (256 MiB at most); more, by sorting."""
_HELD_ROWS = 1 << 22
"""So many rows are held before they are counted, 4 bytes each."""


class ExposureCount:
    """Adds up blocks; ``finish`` gives the Exposure."""

    def __init__(self, depth: int) -> None:
        self.depth, self.n_lists = depth, 0
        self.shown = _Cells(depth)
        self.ended = _Cells(depth)

    def see(self, block: Block, n_items: int) -> None:
        """Lists are cut at the depth already."""
        lengths = block.lengths
        self.n_lists += int((lengths > 0).sum())
        longest = int(lengths.max(initial=0))
        self.shown.add(((rank, block.at_rank(rank)) for rank in range(1, longest + 1)), n_items)
        short = lengths < self.depth
        if short.any():
            self.ended.add(_by_length(block.only_lists(short)), n_items)

    def finish(self, items: Sequence[str], list_means: Mapping[str, ListMean]) -> Exposure:
        return Exposure(items, self.shown.counts(), self.ended.counts(), self.n_lists, list_means)


def _by_length(block: Block) -> Iterable[tuple[int, Ints]]:
    """The items of all lists of a length, for each length that there is."""
    length = np.repeat(block.lengths, block.lengths)
    order = np.argsort(length, kind="stable")
    sizes = np.bincount(length)
    ends = np.cumsum(sizes)
    for one in np.flatnonzero(sizes).tolist():
        yield one, block.item[order[ends[one] - sizes[one] : ends[one]]]


class _Cells:
    """Counts per (rank, item), in a table that widens as items appear.

    Rows are held by rank until there are many: then counting them one rank after the other stays within the
    processor's cache. A third of the time of adding each row to its cell of the table as it comes.
    """

    def __init__(self, depth: int) -> None:
        self.depth, self.n_items, self.n_held = depth, 0, 0
        self.held: list[list[Ints]] = [[] for _ in range(depth)]
        self.table = np.zeros((depth, 0), dtype=np.int32)
        self.sparse: list[list[tuple[Ints, Ints]]] = [[] for _ in range(depth)]

    def add(self, ranked: Iterable[tuple[int, Ints]], n_items: int) -> None:
        """Items by rank, from 1; ``n_items`` codes are known by now."""
        self.n_items = n_items
        for rank, items in ranked:
            self.held[rank - 1].append(items.astype(np.int32))
            self.n_held += len(items)
        if self.n_held >= _HELD_ROWS:
            self._count_held()

    def _count_held(self) -> None:
        dense = self.depth * self.n_items <= _DENSE_CELLS
        if dense:
            self._widen()
        for at, pieces in enumerate(self.held):
            items = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
            pieces.clear()
            if dense:
                self.table[at] += np.bincount(items, minlength=self.table.shape[1])
            elif len(items):
                self.sparse[at].append(np.unique(items, return_counts=True))
        self.n_held = 0

    def _widen(self) -> None:
        if self.n_items > self.table.shape[1]:
            wider = np.zeros((self.depth, self.n_items), dtype=np.int32)
            wider[:, : self.table.shape[1]] = self.table
            self.table = wider

    def counts(self) -> RankCounts:
        self._count_held()
        ranks = [self._counts_at(at) for at in range(self.depth)]
        start = np.cumsum([0, *(len(item) for item, _ in ranks)])
        item, count = (np.concatenate(part) for part in zip(*ranks, strict=True))
        return RankCounts(start, item, count)

    def _counts_at(self, at: int) -> tuple[Ints, Ints]:
        """Items, ascending, and how often each, at rank ``at`` + 1."""
        item = np.flatnonzero(self.table[at]).astype(np.int32)
        parts = [(item, self.table[at][item]), *self.sparse[at]]
        if len(parts) == 1:
            return parts[0]
        items, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        item, back = np.unique(items, return_inverse=True)
        return item, np.bincount(back, weights=counts).astype(np.int32)
