"""Assigns codes to the ids and keys of a log that is read as a stream, in the order in which they appear.

Text is identified by 64 bits: among ten million ids, two collide in one of 370,000 logs.

Letters in shapes: ``n`` ids or keys of one call, ``codes`` all ids so far.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recdash.domain.kinds import Ints, Mask

if TYPE_CHECKING:
    import pyarrow as pa

Keys64 = npt.NDArray[np.uint64]
WORD = 8
MIX = np.uint64(0x9E3779B97F4A7C15)
STIR = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)
FLAG_BITS, MOST_BLOCKS = 25, 64
EMPTY, NEW = np.uint64(0), -1
# LEFT[n] keeps the first n bytes of an 8-byte word
LEFT = np.array([(1 << (8 * n)) - 1 for n in range(WORD + 1)], dtype=np.uint64)


def paired(code: Ints, keys: Keys64) -> Keys64:
    """Returns [n] a key for each pair of a code and a key."""
    return _mixed(keys + code.astype(np.uint64) * STIR)


def hashes(words: pa.Array) -> Keys64:
    """Returns [n] a 64-bit hash of each text, the same in every batch."""
    _, offsets, data = words.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[words.offset : words.offset + len(words) + 1].astype(
        np.int64
    )
    size = int(ends[-1] - ends[0])
    text = np.zeros(size + 2 * WORD, dtype=np.uint8)
    text[:size] = np.frombuffer(data, dtype=np.uint8)[ends[0] : ends[-1]] if size else 0
    ends -= ends[0]
    at_byte = np.ndarray(len(text) - WORD + 1, dtype="<u8", buffer=text.data, strides=(1,))
    begins, left = ends[:-1], np.diff(ends)
    mixed = _mixed(left.astype(np.uint64) * MIX ^ (at_byte[begins] & LEFT[np.minimum(left, WORD)]))
    for step in range(WORD, int(left.max(initial=0)), WORD):
        rows = np.flatnonzero(left > step)
        word = at_byte[begins[rows] + step] & LEFT[np.minimum(left[rows] - step, WORD)]
        mixed[rows] = _mixed(mixed[rows] ^ word)
    return mixed


def _mixed(values: Keys64) -> Keys64:
    values = (values ^ (values >> HALF)) * STIR
    values = (values ^ (values >> np.uint64(29))) * MIX
    return values ^ (values >> HALF)


class Keys:
    """A growing map from keys to codes, which are 0, 1, 2 … in the order of first appearance.

    It is a hash table with linear probing that looks up a whole batch at once. Keys are well mixed bits, so
    that their lowest bits give the first slot.
    """

    def __init__(self) -> None:
        self._size = 0
        self._allocate(1 << 10)

    def __len__(self) -> int:
        return self._size

    def codes(self, keys: Keys64, *, grow: bool = True) -> tuple[Ints, Ints]:
        """Returns [n] the int32 code of each key, and the rows where new keys first occur.

        With ``grow`` new keys get a code; without it they get −1, and there are no such rows.
        """
        keys = np.where(keys == EMPTY, ~EMPTY, keys)
        if grow:
            self._make_room(len(keys))
        slot = self._slot_of_each(keys, grow=grow)
        code = np.where(slot >= 0, self._code[slot], np.int32(-1))
        if not grow:
            return code, np.empty(0, dtype=np.int64)
        rows = np.flatnonzero(code == NEW)
        self._code[slot[rows[::-1]]] = -2 - rows[::-1]  # the last write stays: that of the first row
        first = rows[self._code[slot[rows]] == -2 - rows]
        self._code[slot[first]] = np.arange(self._size, self._size + len(first), dtype=np.int32)
        code[rows] = self._code[slot[rows]]
        self._size += len(first)
        return code, first

    def _slot_of_each(self, keys: Keys64, *, grow: bool) -> Ints:
        """Returns [n] the slot of each key.

        A new key takes a free slot with ``grow``, and has −1 without it.
        """
        mask = np.uint64(len(self._key) - 1)
        slot = (keys & mask).astype(np.int64)
        slots = np.full(len(keys), -1, dtype=np.int64)
        rows = np.arange(len(keys))
        while len(rows):
            tried, wanted = slot[rows], keys[rows]
            held = self._key[tried]
            if grow:
                free = held == EMPTY
                self._key[tried[free]] = wanted[free]  # one key takes the slot, the others go on
                held = self._key[tried]
            here = held == wanted
            slots[rows[here]] = tried[here]
            rows = rows[~here & (held != EMPTY)]
            slot[rows] = (slot[rows] + 1) & int(mask)
        return slots

    def _allocate(self, size: int) -> None:
        self._key, self._code = np.zeros(size, dtype=np.uint64), np.full(size, NEW, dtype=np.int32)

    def _make_room(self, more: int) -> None:
        if 10 * (self._size + more) <= 7 * len(self._key):
            return
        taken = np.flatnonzero(self._key != EMPTY)
        keys, codes = self._key[taken], self._code[taken]
        size = len(self._key)
        while 10 * (self._size + more) > 7 * size:
            size *= 2
        self._allocate(size)
        self._code[self._slot_of_each(keys, grow=True)] = codes


class SeenKeys:
    """The keys that were seen before, as sorted blocks, with flags that recognise most new keys quickly."""

    def __init__(self) -> None:
        self._flags = np.zeros(1 << FLAG_BITS, dtype=np.bool_)
        self._blocks: list[Keys64] = []

    def firsts(self, keys: Keys64) -> Mask:
        """Returns [n] True where a key occurs for the first time, and remembers the keys."""
        flag = (keys >> np.uint64(64 - FLAG_BITS)).astype(np.int64)
        candidates = self._flags[flag]
        self._flags[flag] = True
        first = np.ones(len(keys), dtype=np.bool_)
        first[candidates] = ~self._has(keys[candidates])
        ascending = np.sort(keys)
        twice = ascending[1:][ascending[1:] == ascending[:-1]]
        if len(twice):
            rows = np.flatnonzero(np.isin(keys, twice))
            _, once = np.unique(keys[rows], return_index=True)
            first[np.delete(rows, once)] = False
        self._blocks += [ascending] if len(ascending) else []
        if len(self._blocks) > MOST_BLOCKS:
            self._blocks = [np.sort(np.concatenate(self._blocks))]
        return first

    def _has(self, keys: Keys64) -> Mask:
        is_met = np.zeros(len(keys), dtype=np.bool_)
        order = np.argsort(keys)
        ascending = keys[order]
        for block in self._blocks if len(keys) else ():
            place = np.minimum(np.searchsorted(block, ascending), len(block) - 1)
            is_met[order] |= block[place] == ascending
        return is_met


class Ids:
    """A growing map from ids to codes that also keeps the ids as text; 12 and "12" are the same id."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._words: list[Any] = []

    def __len__(self) -> int:
        return len(self._keys)

    def codes(self, column: pa.Array, *, grow: bool = True) -> Ints:
        """Returns [n] the int32 code of each id, a whole number or text; −1 for an empty cell.

        With ``grow`` new ids get a code; without it they get −1.
        """
        import pyarrow as pa

        column = column.cast(pa.string()) if pa.types.is_integer(column.type) else column
        words = column.dictionary if pa.types.is_dictionary(column.type) else column
        code, first = self._keys.codes(hashes(words), grow=grow)
        if len(first):
            self._words.append(words.take(pa.array(first)))
        if words is not column:
            return np.append(code, np.int32(-1))[column.indices.fill_null(len(words)).to_numpy()]
        return np.where(column.is_valid(), code, np.int32(-1)) if column.null_count else code

    def words(self) -> pa.Array:
        """Returns [codes] every id as text, in the order of the codes."""
        import pyarrow as pa

        return pa.concat_arrays(self._words) if self._words else pa.array([], pa.string())


class Tally:
    """One number per code, in an array that grows with the codes.

    ``first(n)`` returns the array [n], which the caller may change.
    """

    def __init__(self, dtype: Any, fill: float = 0) -> None:
        self._fill = fill
        self._held = np.full(1024, fill, dtype=dtype)

    def first(self, n: int) -> npt.NDArray[Any]:
        """Returns the numbers of the first n codes, as an array that may be changed in place."""
        if n > len(self._held):
            more = np.full(max(n, 3 * len(self._held) // 2), self._fill, dtype=self._held.dtype)
            more[: len(self._held)] = self._held
            self._held = more
        return self._held[:n]
