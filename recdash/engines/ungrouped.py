"""Makes blocks of whole lists from rows in any order: rows are placed by rank if possible, else sorted."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from recdash.domain.kinds import Ints
from recdash.engines.blocks import Block, joined, order_columns
from recdash.engines.ids import IdIndex
from recdash.sorting import first_of_equals, order_of

_ROWS_PER_BLOCK = 1 << 18
_ROOM = 4
"""Largest number of cells (4 bytes each) as a multiple of the rows; limits how much the lengths of lists may
differ.
"""
_ROWS_UNKNOWN = 1 << 25
"""Number of rows that is assumed if a file does not state it."""
_EMPTY = -1


class NotInPlace(Exception):
    """Raised if ranks are not 1, 2, 3 … in every list, or if one list is too long compared with the
    others.
    """


def placed_blocks(
    batches: Iterator[pa.RecordBatch],
    users: IdIndex,
    items: IdIndex,
    n_known: int | None,
    n_rows: int | None,
) -> Iterator[Block]:
    """Yields blocks after putting each row into the cell of its user and rank, which takes a third of the
    time of sorting.

    The first ``n_known`` users get cells (None: all users). Rows of other users are yielded too, but only to
    be counted. Raises NotInPlace if rows cannot be placed.
    """
    places = _Places(len(users) if n_known is None else n_known, _ROOM * (n_rows or _ROWS_UNKNOWN))
    for batch in batches:
        user, item = users.codes(batch.column("user_id")), items.codes(batch.column("item_id"))
        rank = batch.column("rank").to_numpy()
        if n_known is None:
            places.make_room(int(user.max(initial=-1)) + 1)
        elif not (known := user < n_known).all():
            n_rows_of = np.bincount(user[~known])  # their rows are counted but not examined
            others = np.flatnonzero(n_rows_of)
            yield Block(others, np.concatenate(([0], np.cumsum(n_rows_of[others]))), item[~known])
            user, item, rank = user[known], item[known], rank[known]
        places.put(user, rank, item)
    yield from places.blocks()


class _Places:
    """A table with a row for each user and a cell for each rank."""

    def __init__(self, n_users: int, most_cells: int) -> None:
        self.most_cells, self.n_rows = most_cells, 0
        self.cells = np.full((n_users, 0), _EMPTY, dtype=np.int32)

    def put(self, user: Ints, rank: Ints, item: Ints) -> None:
        width = int(rank.max(initial=0))
        if width > self.cells.shape[1]:
            self._enlarge(len(self.cells), width)
        cell = user.astype(np.int64)
        cell *= self.cells.shape[1]
        cell += rank
        cell -= 1
        self.cells.reshape(-1)[cell] = item
        self.n_rows += len(item)

    def make_room(self, n_users: int) -> None:
        """Makes sure that at least this many users have cells; enlarges the table by at least an eighth."""
        if n_users > len(self.cells):
            self._enlarge(max(n_users, len(self.cells) * 9 // 8), self.cells.shape[1])

    def _enlarge(self, n_users: int, width: int) -> None:
        if n_users * width > self.most_cells:
            raise NotInPlace
        larger = np.full((n_users, width), _EMPTY, dtype=np.int32)
        larger[: len(self.cells), : self.cells.shape[1]] = self.cells
        self.cells = larger

    def blocks(self) -> Iterator[Block]:
        self._check()
        for first, cells in self._parts():
            filled = cells != _EMPTY
            lengths = np.count_nonzero(filled, axis=1)
            start = np.concatenate(([0], np.cumsum(lengths[lengths > 0])))
            yield Block(first + np.flatnonzero(lengths), start, cells[filled])

    def _check(self) -> None:
        """Raises NotInPlace if a list has a gap, or if two rows have the same cell, so that fewer cells are
        filled than there are rows.
        """
        n_filled = 0
        for _, cells in self._parts():
            filled = cells != _EMPTY
            n_filled += int(np.count_nonzero(filled))
            if (filled[:, 1:] > filled[:, :-1]).any():
                raise NotInPlace
        if n_filled != self.n_rows:
            raise NotInPlace

    def _parts(self) -> Iterator[tuple[int, Ints]]:
        """Yields (first user, cells [users, width]) for groups of users."""
        n_lists = max(_ROWS_PER_BLOCK // max(self.cells.shape[1], 1), 1)
        for first in range(0, len(self.cells), n_lists):
            yield first, self.cells[first : first + n_lists]


def sorted_blocks(batches: Iterator[pa.RecordBatch], users: IdIndex, items: IdIndex) -> Iterator[Block]:
    """Yields blocks after reading all rows as codes and sorting them by user; each user's rows keep file
    order.
    """
    parts = []
    for batch in batches:
        user = users.codes(batch.column("user_id"))
        parts.append((user, items.codes(batch.column("item_id")), *order_columns(batch)))
    user, item, rank, score = (joined(part) for part in zip(*parts, strict=True))
    rows = Block(user, np.zeros(0, dtype=np.int64), item, rank, score)
    order = order_of(user)
    user = user[order]
    edges = np.append(np.flatnonzero(first_of_equals(user)), len(user))
    for lists in _stretches(edges):
        yield rows.take(order[lists[0] : lists[-1]], user[lists[:-1]], lists - lists[0])


def _stretches(edges: Ints) -> Iterator[Ints]:
    """Yields the edges of consecutive whole lists, in groups with about as many rows as a block has."""
    cuts = np.searchsorted(edges, np.arange(0, int(edges[-1]), _ROWS_PER_BLOCK))
    cuts = np.append(cuts[first_of_equals(cuts)], len(edges) - 1)
    for begin, end in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        if end > begin:
            yield edges[begin : end + 1]
