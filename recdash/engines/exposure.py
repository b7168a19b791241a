"""Counting what was shown: how many lists hold each item at each rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from recdash.domain import Exposure, Ints, ListMean, RankCounts
from recdash.engines.blocks import Block

_DENSE_CELLS = 1 << 26
"""Up to this many (rank, item) cells are counted in a table (256 MiB at most); more, by sorting."""


class ExposureCount:
    """Adds up blocks; ``finish`` gives the Exposure."""

    def __init__(self, depth: int) -> None:
        self.depth, self.n_lists = depth, 0
        self.shown = _Cells(depth)
        self.ended = _Cells(depth)

    def see(self, block: Block, n_items: int) -> None:
        lengths = block.lengths
        self.n_lists += int((lengths > 0).sum())
        self.shown.add(block.positions, block.item, n_items)
        short = np.repeat(lengths < self.depth, lengths)
        if short.any():
            self.ended.add(np.repeat(lengths - 1, lengths)[short], block.item[short], n_items)

    def finish(self, items: Sequence[str], list_means: Mapping[str, ListMean]) -> Exposure:
        return Exposure(items, self.shown.counts(), self.ended.counts(), self.n_lists, list_means)


class _Cells:
    """Counts per (row of 0..depth−1, item), in a table that widens as items appear."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.table = np.zeros((depth, 0), dtype=np.int32)
        self.sparse: list[tuple[Ints, Ints]] = []

    def add(self, row: Ints, item: Ints, n_items: int) -> None:
        if self.depth * n_items > _DENSE_CELLS:
            key, count = np.unique(row * (1 << 32) + item, return_counts=True)
            self.sparse.append((key, count))
            return
        self._widen(n_items)
        place = row * self.table.shape[1]
        place += item
        # The increment must have the table's type: numpy's fast way needs it (40× on 16 M rows).
        np.add.at(self.table.reshape(-1), place, np.int32(1))

    def _widen(self, n_items: int) -> None:
        if n_items > self.table.shape[1]:
            wider = np.zeros((self.depth, n_items + n_items // 4), dtype=np.int32)
            wider[:, : self.table.shape[1]] = self.table
            self.table = wider

    def counts(self) -> RankCounts:
        if self.sparse:
            return self._merged()
        items = [np.flatnonzero(row) for row in self.table]
        counts = [row[item] for row, item in zip(self.table, items, strict=True)]
        start = np.cumsum([0, *map(len, items)])
        return RankCounts(start, np.concatenate(items).astype(np.int32), np.concatenate(counts))

    def _merged(self) -> RankCounts:
        row, item = np.nonzero(self.table)
        keys = np.concatenate([row.astype(np.int64) * (1 << 32) + item, *(key for key, _ in self.sparse)])
        counts = np.concatenate([self.table[row, item], *(count for _, count in self.sparse)])
        key, back = np.unique(keys, return_inverse=True)
        start = np.searchsorted(key >> 32, np.arange(self.depth + 1))
        return RankCounts(start, key & 0xFFFFFFFF, np.bincount(back, weights=counts).astype(np.int64))
