"""Counts exposure: how many lists hold each item at each rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from recdash.domain.hits import Exposure, RankCounts
from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block
from recdash.engines.buffers import GrowingColumn
from recdash.engines.list_means import Begin

_DENSE_CELLS = 1 << 26
"""Up to this many (rank, item) cells are counted in a table (256 MiB at most); beyond, by sorting."""
_HELD_ROWS = 1 << 22
"""Number of rows held before they are counted, 4 bytes each."""


def no_lists(items: Sequence[str], depth: int) -> Exposure:
    """Returns the exposure without any list."""
    nothing = RankCounts(np.zeros(depth + 1, dtype=np.int64), *np.zeros((2, 0), dtype=np.int32))
    return Exposure(items, nothing, nothing, 0)


class Audience:
    """What some ``users`` [U] are shown: the counts, and the metrics of their lists.

    It is one of ``n_audiences``, which share the memory for counting.
    """

    def __init__(
        self, users: npt.NDArray[np.bool_], depth: int, list_metrics: Mapping[str, Begin], n_audiences: int
    ) -> None:
        self.users = users
        self.depth = depth
        self.n_lists = 0
        self.shown = _Cells(depth, n_audiences)
        self.ended = _Cells(depth, n_audiences)
        self.list_metrics = {spec: begin() for spec, begin in list_metrics.items()}

    def see(self, block: Block, n_items: int) -> None:
        """Counts the lists of these users; lists are already cut at the depth."""
        belongs = self.users[block.user]
        if belongs.any():
            self.see_all(block if belongs.all() else block.only_lists(belongs), n_items)

    def see_all(self, block: Block, n_items: int) -> None:
        """Counts all lists of the block, for users who are not in the truth; lists are already cut at the
        depth.
        """
        self.n_lists += int((block.lengths > 0).sum())
        self.shown.add(enumerate(block.by_rank(), start=1), n_items)
        short = block.lengths < self.depth
        if short.any():
            self.ended.add(_by_length(block.only_lists(short)), n_items)
        for metric in self.list_metrics.values():
            metric.see(block)

    def exposure(self, items: Sequence[str]) -> Exposure:
        """Returns the exposure of all lists seen, and releases them."""
        means = {spec: metric.mean() for spec, metric in self.list_metrics.items()}
        return Exposure(items, self.shown.counts(), self.ended.counts(), self.n_lists, means)


def _by_length(block: Block) -> Iterable[tuple[int, Ints]]:
    """Yields each list length with the items of all lists of that length."""
    length = np.repeat(block.lengths, block.lengths)
    order = np.argsort(length, kind="stable")
    sizes = np.bincount(length)
    ends = np.cumsum(sizes)
    for size in np.flatnonzero(sizes).tolist():
        yield size, block.item[order[ends[size] - sizes[size] : ends[size]]]


class _Cells:
    """Counts per (rank, item), in a table that widens as items appear.

    Rows are held by rank until there are many: counting them rank by rank then stays within the processor's
    cache, which takes a third of the time of counting each row as it arrives.
    """

    def __init__(self, depth: int, n_audiences: int) -> None:
        self.depth, self.n_items, self.n_held = depth, 0, 0
        self.dense_cells, self.most_held = _DENSE_CELLS // n_audiences, _HELD_ROWS // n_audiences
        self.held: list[list[Ints]] = [[] for _ in range(depth)]
        self.table = [np.zeros(0, dtype=np.int32) for _ in range(depth)]
        self.sparse: list[list[tuple[Ints, Ints]]] = [[] for _ in range(depth)]

    def add(self, ranked: Iterable[tuple[int, Ints]], n_items: int) -> None:
        """Adds items by rank, from 1; ``n_items`` codes are known so far."""
        self.n_items = n_items
        for rank, items in ranked:
            self.held[rank - 1].append(items)
            self.n_held += len(items)
        if self.n_held >= self.most_held:
            self._count_held()

    def _count_held(self) -> None:
        dense = self.depth * self.n_items <= self.dense_cells
        for counts in self.table if dense else ():
            counts.resize(self.n_items, refcheck=False)
        for row, pieces in enumerate(self.held):
            items = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int32)
            pieces.clear()
            if dense:
                self.table[row] += np.bincount(items, minlength=len(self.table[row]))
            elif len(items):
                self.sparse[row].append(np.unique(items, return_counts=True))
        self.n_held = 0

    def counts(self) -> RankCounts:
        """Returns the counts of all items added; frees the counts by rank, since both are large."""
        self._count_held()
        item, count, start = GrowingColumn(np.int32), GrowingColumn(np.int32), [0]
        for row in range(self.depth):
            items, counts = self._counts_at(row)
            item.add(items)
            count.add(counts)
            start.append(start[-1] + len(items))
        return RankCounts(np.array(start), item.whole(), count.whole())

    def _counts_at(self, row: int) -> tuple[Ints, Ints]:
        """Returns items at rank ``row`` + 1, ascending, and how often each occurs; releases them."""
        counts_of_item, self.table[row] = self.table[row], np.zeros(0, dtype=np.int32)
        item = np.flatnonzero(counts_of_item > 0).astype(np.int32)
        parts = [(item, counts_of_item[item]), *self.sparse[row]]
        if len(parts) == 1:
            return parts[0]
        items, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        item, back = np.unique(items, return_inverse=True)
        return item, np.bincount(back, weights=counts).astype(np.int32)
