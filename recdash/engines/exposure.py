"""Counting what was shown: how many lists hold each item at each rank."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from recdash.domain import Exposure, Ints
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
        self.shown.add(block.positions(), block.item, n_items)
        short = np.repeat(lengths < self.depth, lengths)
        if short.any():
            self.ended.add(np.repeat(lengths - 1, lengths)[short], block.item[short], n_items)

    def finish(self, items: Sequence[str]) -> Exposure:
        return Exposure(items, *self.shown.counts(), *self.ended.counts(), self.n_lists)


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
        np.add.at(self.table.reshape(-1), place, 1)

    def _widen(self, n_items: int) -> None:
        if n_items > self.table.shape[1]:
            wider = np.zeros((self.depth, n_items + n_items // 4), dtype=np.int32)
            wider[:, : self.table.shape[1]] = self.table
            self.table = wider

    def counts(self) -> tuple[Ints, Ints, Ints]:
        """rank from 1, item, count; sorted by rank, then item."""
        row, item = np.nonzero(self.table)
        count = self.table[row, item]
        if not self.sparse:
            return (row + 1).astype(np.int32), item.astype(np.int32), count
        keys = np.concatenate([row.astype(np.int64) * (1 << 32) + item, *(key for key, _ in self.sparse)])
        counts = np.concatenate([count, *(count for _, count in self.sparse)])
        key, back = np.unique(keys, return_inverse=True)
        total = np.bincount(back, weights=counts).astype(np.int64)
        return (key >> 32) + 1, key & 0xFFFFFFFF, total
