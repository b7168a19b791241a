"""Blocks of whole lists, cut from a stream of record batches; the engine works block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from recdash.domain.kinds import Floats, Ints
from recdash.engines.ids import IdIndex


@dataclass(frozen=True)
class Block:
    """Whole lists, one after the other: list b has the rows ``start[b]:start[b+1]``.

    ``user`` [B] are codes of users, ``item`` [n] codes of items. ``rank`` and ``score`` [n] are None if the
    order of the lists does not need them, so that they were not read.
    """

    user: Ints
    start: Ints
    item: Ints
    rank: Ints | None = None
    score: Floats | None = None

    @property
    def n_lists(self) -> int:
        return len(self.user)

    @cached_property
    def lengths(self) -> Ints:
        return np.diff(self.start)

    @cached_property
    def width(self) -> int | None:
        """Returns the length of the lists if all have the same length above 0; else None."""
        longest = int(self.lengths.max(initial=0))
        return longest if longest and len(self.item) == longest * self.n_lists else None

    def column(self, name: str) -> Any:
        return getattr(self, name)

    @cached_property
    def owner(self) -> Ints:
        """Returns the index of the list to which each row belongs [n]."""
        return np.repeat(np.arange(self.n_lists), self.lengths)

    def list_of(self, row: Ints) -> Ints:
        """Returns the index of the list to which each of the given rows belongs."""
        if self.width:
            return row // self.width
        return np.searchsorted(self.start, row, side="right") - 1

    @cached_property
    def positions(self) -> Ints:
        """Returns each row's position in its list, from 0 [n]."""
        return np.arange(len(self.item)) - np.repeat(self.start[:-1], self.lengths)

    def per_row(self, of_list: Any) -> Any:
        """Returns one value per list, ``of_list``, repeated for each row of the list [n].

        If all lists have the same length, returns the shape [lists, 1] for broadcasting with ``by_list``:
        writing 16 M equal values would take longer than using them.
        """
        return of_list[:, None] if self.width else np.repeat(of_list, self.lengths)

    def by_list(self, values: Any) -> Any:
        """Returns values of rows [n] in a shape that broadcasts with the result of ``per_row``."""
        return values.reshape(-1, self.width) if self.width else values

    @cached_property
    def counted_ranks(self) -> bool:
        """Returns whether the ranks in each list are 1, 2, 3 …; True if ranks were not read."""
        if self.rank is None:
            return True
        rank = self.rank
        if self.width:
            # keeps the narrow type of ranks, an eighth of the bytes; an overflow makes a rank below 1
            return bool((self.by_list(rank) == np.arange(1, self.width + 1).astype(rank.dtype)).all())
        return bool((rank == self.positions + 1).all())

    def by_rank(self) -> Iterator[Ints]:
        """Yields for rank 1, 2 … the items at that rank in all lists that are long enough."""
        if self.width:
            yield from np.ascontiguousarray(self.by_list(self.item).T)
            return
        for rank in range(1, int(self.lengths.max(initial=0)) + 1):
            yield self.item[self.start[:-1][self.lengths >= rank] + (rank - 1)]

    def steps(self, values: Any) -> Any:
        """Returns each value minus the value before it in the same list [n]. In the first row of a list, +1
        for ranks and −1 for scores, which is the expected direction.
        """
        step = np.empty_like(values)
        with np.errstate(invalid="ignore"):
            step[1:] = values[1:] - values[:-1]
        step[self.start[:-1]] = -1 if values.dtype.kind == "f" else 1
        return step

    def ties(self, values: Any) -> npt.NDArray[np.bool_]:
        """Returns a mask [n] of the rows that have the same value as the row before or after them in the same
        list.
        """
        equal = np.zeros(len(values) + 1, dtype=bool)
        equal[1:-1] = values[1:] == values[:-1]
        equal[self.start] = False
        return equal[:-1] | equal[1:]

    def lists_with(self, marked: npt.NDArray[np.bool_]) -> int:
        """Returns the number of lists that have at least one marked row."""
        lists = self.list_of(np.flatnonzero(marked))
        return int((lists[1:] != lists[:-1]).sum()) + min(len(lists), 1)

    def only_lists(self, keep: npt.NDArray[np.bool_]) -> Block:
        rows = np.repeat(keep, self.lengths)
        start = np.concatenate(([0], np.cumsum(self.lengths[keep])))
        return self.take(rows, user=self.user[keep], start=start)

    def only_rows(self, keep: npt.NDArray[np.bool_]) -> Block:
        kept_before = np.concatenate(([0], np.cumsum(keep)))
        return self.take(keep, user=self.user, start=kept_before[self.start])

    def cut(self, depth: int) -> Block:
        """Returns the block with only the first ``depth`` rows of each list."""
        if len(self.item) == 0 or self.lengths.max() <= depth:
            return self
        if self.width:
            return self._cut_evenly(depth)
        return self.only_rows(self.positions < depth)

    def _cut_evenly(self, depth: int) -> Block:
        """Returns the first ``depth`` rows of lists that are all longer, in a tenth of the time."""

        def cut(column: Any) -> Any:
            return None if column is None else self.by_list(column)[:, :depth].reshape(-1)

        start = np.arange(self.n_lists + 1) * depth
        return Block(self.user, start, cut(self.item), cut(self.rank), cut(self.score))

    def sorted_by(self, *keys: Any) -> Block:
        """Returns the block with each list sorted; the last key is the primary one, as in ``np.lexsort``.
        Rows with equal keys keep file order.
        """
        return self.take(np.lexsort((*keys, self.owner)), user=self.user, start=self.start)

    def take(self, rows: Any, user: Ints, start: Ints) -> Block:
        """Returns a block of the given rows: the lists of ``user``, which begin at ``start``."""
        rank = None if self.rank is None else self.rank[rows]
        score = None if self.score is None else self.score[rows]
        return Block(user, start, self.item[rows], rank, score)

    def repeated_items(self) -> npt.NDArray[np.bool_] | None:
        """Returns a mask [n] of the rows whose item occurs earlier in the same list; None if no list repeats
        an item.
        """
        suspects = [lists for lists in self._by_length() if _has_repeat(self._matrix(lists))]
        if not suspects:
            return None
        among = np.zeros(self.n_lists, dtype=bool)
        among[np.concatenate(suspects)] = True
        rows = np.flatnonzero(np.repeat(among, self.lengths))
        order = rows[np.lexsort((self.item[rows], self.owner[rows]))]
        same = (self.item[order][1:] == self.item[order][:-1]) & (
            self.list_of(order)[1:] == self.list_of(order)[:-1]
        )
        repeated = np.zeros(len(self.item), dtype=bool)
        repeated[order[1:][same]] = True
        return repeated if repeated.any() else None

    def _by_length(self) -> Iterator[Ints]:
        """Yields groups of lists (indexes) whose lengths differ by less than a factor of two, so that little
        padding is needed. Lists with fewer than two items are left out, unless all lists have the same
        length.
        """
        lengths = self.lengths
        if self.width:
            yield np.arange(self.n_lists)
            return
        magnitude = np.frexp(lengths.astype(np.float64))[1]
        for size in np.unique(magnitude[lengths > 1]):
            yield np.flatnonzero((magnitude == size) & (lengths > 1))

    def _matrix(self, lists: Ints) -> Ints:
        """Returns the items of these lists as [lists, longest]. Shorter lists are padded with distinct
        negative numbers, which are no codes.
        """
        lengths = self.lengths[lists]
        longest = int(lengths.max())
        if self.width and len(lists) == self.n_lists:
            return self.by_list(self.item)
        column = np.arange(longest, dtype=np.int64)
        place = np.minimum(self.start[lists][:, None] + column, len(self.item) - 1)
        return np.where(column < lengths[:, None], self.item[place], -1 - column)


def _has_repeat(items: Ints) -> bool:
    """Returns whether any row of the matrix repeats an item. Sorting short rows of small integers is faster
    than hashing.
    """
    items = np.sort(items, axis=1)
    return bool((items[:, 1:] == items[:, :-1]).any())


# ── from record batches ──────────────────────────────────────────────────────────────────────


def grouped_blocks(batches: Iterator[pa.RecordBatch], users: IdIndex, items: IdIndex) -> Iterator[Block]:
    """Yields blocks from batches in which each user's rows are contiguous. The last list of a batch is held
    back, because it may continue in the next batch.
    """
    held: Block | None = None
    held_id: object = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        block, first_id, last_id = _block_of(batch, users, items)
        if held is not None:
            block = _join(held, block, same_list=held_id == first_id)
        yield _lists(block, 0, block.n_lists - 1)
        held, held_id = _lists(block, block.n_lists - 1, block.n_lists), last_id
    if held is not None:
        yield held


def _block_of(batch: pa.RecordBatch, users: IdIndex, items: IdIndex) -> tuple[Block, object, object]:
    column = batch.column("user_id")
    raw = _raw(column)
    begins = np.concatenate(([0], np.flatnonzero(raw[1:] != raw[:-1]) + 1))
    user = users.codes(column, rows=begins)
    start = np.append(begins, batch.num_rows)
    block = Block(user, start, items.codes(batch.column("item_id")), *order_columns(batch))
    return block, column[0].as_py(), column[-1].as_py()


def _raw(column: pa.Array) -> Ints:
    """Returns an array of numbers in which two rows are equal exactly if their ids are."""
    if pa.types.is_integer(column.type):
        return column.to_numpy(zero_copy_only=False)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    return column.indices.to_numpy(zero_copy_only=False)


def order_columns(batch: pa.RecordBatch) -> tuple[Ints | None, Floats | None]:
    names = batch.schema.names
    rank = batch.column("rank").to_numpy(zero_copy_only=False) if "rank" in names else None
    score = batch.column("score").to_numpy(zero_copy_only=False) if "score" in names else None
    return rank, score


def _lists(block: Block, begin: int, end: int) -> Block:
    first, last = block.start[begin], block.start[end]
    rows = slice(first, last)
    return block.take(rows, block.user[begin:end], block.start[begin : end + 1] - first)


def _join(held: Block, block: Block, same_list: bool) -> Block:
    """Returns the held-back list followed by the block; with ``same_list`` the block's first list continues
    it.
    """
    shift = len(held.item)
    start = np.concatenate((held.start[:-1], block.start + shift))
    user = np.concatenate((held.user, block.user))
    if same_list:
        start, user = np.delete(start, held.n_lists), user[1:]
    return Block(
        user,
        start,
        np.concatenate((held.item, block.item)),
        joined((held.rank, block.rank)),
        joined((held.score, block.score)),
    )


def joined(parts: tuple[Any, ...]) -> Any:
    """Returns the concatenated column of several blocks; None if the column was not read."""
    return None if parts[0] is None else np.concatenate(parts)
