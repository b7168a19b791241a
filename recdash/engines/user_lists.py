"""Reads the lists of some users as they were scored: in order, without repeated items, cut at the depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from recdash.domain.inputs import Recommendations
from recdash.domain.kinds import Duplicates, Ints, Mask, Order
from recdash.engines.blocks import Block
from recdash.engines.ids import IdIndex
from recdash.engines.reference import Reference
from recdash.engines.ungrouped import NotInPlace, placed_blocks, sorted_blocks

_NO_LISTS = Block(np.zeros(0, dtype=np.int32), np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32))


@dataclass(frozen=True)
class UserLists:
    """Lists of a run: list n is that of the truth user ``user[n]``; users ascend, those without a list are
    missing.

    ``item`` [rows] are codes, best first within ``start[n]:start[n + 1]``; ``items`` are the ids of all codes
    as texts. Codes below ``n_shared`` are those of the experiment's own tables, which are the same in all of
    its runs.
    """

    user: Ints
    start: Ints
    item: Ints
    items: Sequence[str]
    n_shared: int

    def of(self, user: int) -> Ints:
        """Returns the item codes of one truth user's list, best first; empty without a list."""
        place = int(np.searchsorted(self.user, user))
        if place == len(self.user) or self.user[place] != user:
            return self.item[:0]
        return self.item[self.start[place] : self.start[place + 1]]

    def only(self, users: Ints) -> UserLists:
        """Returns the lists of ``users`` [n] only. These must ascend, and each must have a list."""
        places = np.searchsorted(self.user, users)
        lengths = np.diff(self.start)[places]
        start = np.concatenate(([0], np.cumsum(lengths)))
        row = np.arange(start[-1]) + np.repeat(self.start[places] - start[:-1], lengths)
        return UserLists(users, start, self.item[row], self.items, self.n_shared)

    @cached_property
    def unknown(self) -> dict[str, int]:
        """Returns {id: code} of the items that are in none of the experiment's tables."""
        return {self.items[code]: code for code in range(self.n_shared, len(self.items))}

    def coded_as(self, other: UserLists) -> Ints:
        """Returns [rows] the items in the codes of another run; items that it lacks get codes above all of
        its own.
        """
        new = len(other.items)
        own = range(self.n_shared, len(self.items))
        shift = [other.unknown.get(self.items[code], new + code) for code in own]
        return np.concatenate((np.arange(self.n_shared), np.array(shift, dtype=np.int64)))[self.item]


def read_lists(
    run: Recommendations,
    reference: Reference,
    *,
    depth: int,
    order: Order,
    wanted: Mask | None = None,
    duplicates: Duplicates = "first",
) -> UserLists:
    """Returns the lists of the truth users marked in ``wanted`` [U]; of all truth users if it is None.

    The run is read once, and only rows of these users are kept. ``order`` must be the one in which the run
    was scored.
    """
    users, items = reference.users.copy(), reference.items.copy()
    blocks: Iterable[Block] = []
    if wanted is None and order == "rank":
        rows = run.batches(columns=("user_id", "item_id", "rank"))
        with suppress(NotInPlace):  # some rows have no place by rank
            blocks = list(placed_blocks(rows, users, items, len(users), run.n_rows))
    blocks = blocks or _sorted(run, users, items, order, wanted)
    n_users, keep = reference.truth.n_users, duplicates == "keep"
    parts = [_NO_LISTS, *(_finished(block, depth, n_users, keep=keep) for block in blocks)]
    user, item = (np.concatenate([getattr(part, name) for part in parts]) for name in ("user", "item"))
    start = np.cumsum(np.concatenate([[0], *(part.lengths for part in parts)]))
    return UserLists(user, start, item, items.ids(), len(reference.items))


def _sorted(
    run: Recommendations, users: IdIndex, items: IdIndex, order: Order, wanted: Mask | None
) -> Iterator[Block]:
    by = () if order == "file" else ("rank", "score") if order == "rank" and run.has_score else (order,)
    rows = run.batches(columns=("user_id", "item_id", *by))
    if wanted is not None:
        batches = list(_only(rows, users, wanted))
        if not batches:
            return
        rows = iter(batches)
    for block in sorted_blocks(rows, users, items):
        # like the scoring pass: equal ranks by score, equal scores by file order
        if order == "score":
            yield block.sorted_by(-block.column("score"))
        elif order == "rank":
            by_score = () if block.score is None else (-block.score,)
            yield block.sorted_by(*by_score, block.column("rank"))
        else:
            yield block


def _only(rows: Iterator[pa.RecordBatch], users: IdIndex, wanted: Mask) -> Iterator[pa.RecordBatch]:
    """Yields the rows of the wanted truth users; batches without such rows are left out."""
    known = np.append(wanted, False)  # −1 is no user
    for batch in rows:
        keep = known[users.codes(batch.column("user_id"), grow=False)]
        if keep.any():
            yield _compact(batch.filter(pa.array(keep)))


def _compact(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Returns the batch with only the dictionary entries in use, so that not all ids of a file are looked up
    for a few rows.
    """
    columns = [
        column.cast(column.type.value_type).dictionary_encode()
        if pa.types.is_dictionary(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names)


def _finished(block: Block, depth: int, n_users: int, *, keep: bool) -> Block:
    """Returns the lists of truth users, cut at the depth; each item once unless ``keep``."""
    unknown = block.user >= n_users
    block = block.only_lists(~unknown) if unknown.any() else block
    repeated = None if keep else block.repeated_items()
    return (block if repeated is None else block.only_rows(~repeated)).cut(depth)
