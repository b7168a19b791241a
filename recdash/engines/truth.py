"""Reads the truth as a stream: encodes its rows, then groups them by user."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from recdash.domain.inputs import Upload, UploadStream
from recdash.domain.kinds import Floats, Ints, Numbers
from recdash.engines.allocator import release_freed_memory
from recdash.engines.buffers import GrowingColumn
from recdash.engines.ids import FirstColumn, IdIndex
from recdash.errors import Problem
from recdash.sorting import first_of_equals, order_of

_ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True)
class CodedTruth:
    """The truth as codes: user ``u`` has the rows ``start[u]:start[u+1]``, with ascending, distinct items.

    ``users`` and ``items`` are the indexes of its ids; ``item`` and ``gain`` have the shape [T]. ``repeated``
    rows were dropped, because another row had the same user and item. ``notices`` come from reading it.
    """

    name: str
    users: IdIndex
    items: IdIndex
    start: Ints
    item: Ints
    gain: Numbers
    repeated: int
    notices: tuple[Problem, ...] = ()


def code_truth(truth: Upload | UploadStream) -> CodedTruth:
    """Returns the truth as codes, read batch by batch.

    Only codes and gains are kept in memory: 9 bytes per row with usual grades, instead of 24 for the rows as
    they are read.
    """
    users, items = IdIndex(), IdIndex()
    user_column, item_column = FirstColumn(users), FirstColumn(items)
    user, item, gain = GrowingColumn(np.int32), GrowingColumn(np.int32), GrowingColumn(np.int8)
    for batch in truth.table.to_batches() if isinstance(truth, Upload) else truth.batches():
        user.add(user_column.codes(batch["user_id"]))
        item.add(item_column.codes(batch["item_id"]))
        if "relevance" in batch.schema.names:
            gain.add(narrow(batch["relevance"].to_numpy(zero_copy_only=False)))
        else:
            gain.add(np.ones(batch.num_rows, dtype=np.int8))
    start, items_of, gains, repeated = _compress(user.whole(), item.whole(), gain.whole())
    release_freed_memory()
    return CodedTruth(truth.name, users, items, start, items_of, gains, repeated, tuple(truth.notices))


def narrow(values: Floats) -> Numbers:
    """Returns the same finite numbers in the narrowest type that represents them exactly. Usual grades then
    take an eighth of the memory.
    """
    least, most = values.min(initial=0.0), values.max(initial=0.0)
    for kind, limit in ((np.int8, 1 << 7), (np.int16, 1 << 15), (np.float32, 1 << 127)):
        if -limit < least and most < limit:
            narrowed: Numbers = values.astype(kind)
            if (narrowed == values).all():
                return narrowed
    return values


def _compress(user: Ints, item: Ints, gain: Numbers) -> tuple[Ints, Ints, Numbers, int]:
    """Returns start, item, gain and the number of dropped repeats, after sorting by (user, item). Of repeated
    pairs, the row with the highest gain is kept.

    Every user code must have a row. Sorts the given arrays in place if possible.
    """
    user, item, gain = _by_pair(user, item, gain)
    first = first_of_equals(user)
    begins = np.flatnonzero(first)
    first |= first_of_equals(item)
    repeated = len(first) - int(np.count_nonzero(first))
    if repeated:
        best = np.lexsort((-gain.astype(np.float64), item, user))[first]
        user, item, gain = user[first], item[first], gain[best]
        begins = np.flatnonzero(first_of_equals(user))
    return np.append(begins, len(item)), item, gain, repeated


def _by_pair(user: Ints, item: Ints, gain: Numbers) -> tuple[Ints, Ints, Numbers]:
    """Returns the rows sorted by user, then item.

    If users ascend already, as usual, they are sorted in groups that fit the processor's cache, without a
    second array as long as the truth.
    """
    n_items = int(item.max(initial=0)) + 1
    if (user[1:] < user[:-1]).any():
        order = order_of(pairs(user, item, n_items))
        return user[order], item[order], gain[order]
    cuts = np.append(np.searchsorted(user, user[::_ROWS_AT_ONCE]), len(user)).tolist()
    for rows in (slice(*ends) for ends in pairwise(cuts)):
        order = order_of(pairs(user[rows], item[rows], n_items))
        item[rows], gain[rows] = item[rows][order], gain[rows][order]
    return user, item, gain


def pairs(user: Ints, item: Ints, n_items: int) -> Ints:
    """Returns [n] one number per pair of user and item: user × ``n_items`` + item."""
    pair = user.astype(np.int64)
    pair *= n_items
    pair += item
    return pair
