"""Ids and keys of a log that is read as it passes → codes that count up as they are met.

Text is known by 64 bits of it: of ten million ids, two meet by accident once in 370,000 logs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from recdash.domain import Ints

if TYPE_CHECKING:
    import pyarrow as pa

Keys64 = npt.NDArray[np.uint64]
Bools = npt.NDArray[np.bool_]
WORD = 8
MIX = np.uint64(0x9E3779B97F4A7C15)
STIR = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)
# how much of a word of 8 bytes is text, where only so many bytes are left
LEFT = np.array([(1 << (8 * n)) - 1 for n in range(WORD + 1)], dtype=np.uint64)


def joined(high: Ints, low: Ints) -> Keys64:
    """One key [n] of two codes [n], each from −1 on."""
    key: Keys64 = ((high.astype(np.int64) + 1) << 32 | (low.astype(np.int64) + 1)).astype(np.uint64)
    return key


def parted(keys: Keys64) -> tuple[Ints, Ints]:
    """The two codes of each joined key."""
    whole = keys.astype(np.int64)
    return (whole >> 32) - 1, (whole & 0xFFFFFFFF) - 1


def hashes(words: pa.Array) -> Keys64:
    """64 bits of each text [n], whatever block it stands in."""
    _, offsets, data = words.buffers()
    ends = np.frombuffer(offsets, dtype=np.int32)[words.offset : words.offset + len(words) + 1].astype(
        np.int64
    )
    text = np.zeros(int(ends[-1]) + 2 * WORD, dtype=np.uint8)
    text[: ends[-1]] = np.frombuffer(data, dtype=np.uint8)[: ends[-1]] if ends[-1] else 0
    at_byte = np.ndarray(len(text) - WORD + 1, dtype="<u8", buffer=text.data, strides=(1,))
    left = np.diff(ends)
    found = left.astype(np.uint64) * MIX
    for step in range(0, int(left.max(initial=0)), WORD):
        rows = np.flatnonzero(left > step) if step else np.arange(len(left))
        word = at_byte[ends[rows] + step] & LEFT[np.minimum(left[rows] - step, WORD)]
        found[rows] = _mixed(found[rows] ^ word)
    return _mixed(found)


def _mixed(values: Keys64) -> Keys64:
    values = (values ^ (values >> HALF)) * STIR
    values = (values ^ (values >> np.uint64(29))) * MIX
    return values ^ (values >> HALF)


class Keys:
    """A growing key → code map; codes count up from 0 in the order in which keys are met."""

    def __init__(self) -> None:
        self._sorted: Keys64 = np.empty(0, dtype=np.uint64)
        self._code: Ints = np.empty(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._sorted)

    def codes(self, keys: Keys64, *, grow: bool = True) -> Ints:
        """Codes [n] int32; −1 for the unknown if not grown."""
        import pyarrow as pa

        encoded = pa.array(keys).dictionary_encode()
        met = encoded.dictionary.to_numpy()
        order = np.argsort(met)
        ascending = met[order]
        place = np.searchsorted(self._sorted, ascending)
        known = np.zeros(len(met), dtype=np.bool_)
        inside = place < len(self)
        known[inside] = self._sorted[place[inside]] == ascending[inside]
        code = np.full(len(met), -1, dtype=np.int32)
        code[order[known]] = self._code[place[known]]
        if grow and not known.all():
            new = np.flatnonzero(code < 0)
            code[new] = np.arange(len(self), len(self) + len(new), dtype=np.int32)
            self._code = np.insert(self._code, place[~known], code[order[~known]])
            self._sorted = np.insert(self._sorted, place[~known], ascending[~known])
        return code[encoded.indices.to_numpy()]

    def all(self) -> Keys64:
        """Every key [codes], by code."""
        keys = np.empty(len(self), dtype=np.uint64)
        keys[self._code] = self._sorted
        return keys

    def has(self, keys: Keys64) -> Bools:
        """[n] whether each is known."""
        place = np.minimum(np.searchsorted(self._sorted, keys), max(len(self) - 1, 0))
        return self._sorted[place] == keys if len(self) else np.zeros(len(keys), dtype=np.bool_)

    def firsts(self, keys: Keys64) -> Bools:
        """[n] true where a key is met for the first time; it is known from then on."""
        before = len(self)
        code = self.codes(keys)
        rows = np.flatnonzero(code >= before)[::-1]
        first = np.full(len(self) - before, -1, dtype=np.int64)
        first[code[rows] - before] = rows  # of several assignments the last one stays: the first row
        found = np.zeros(len(keys), dtype=np.bool_)
        found[first] = True
        return found


class Ids:
    """A growing id → code map that can say the ids again, as text; 12 and "12" are one id."""

    def __init__(self) -> None:
        self._keys = Keys()
        self._words: list[Any] = []

    def __len__(self) -> int:
        return len(self._keys)

    def codes(self, column: pa.Array, *, grow: bool = True) -> Ints:
        """Codes [n] int32 of whole numbers or (dictionary-encoded) text; −1 for null and the unknown."""
        import pyarrow as pa

        column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        words = column.dictionary.cast(pa.string())
        before = len(self)
        of_entry = np.append(self._keys.codes(hashes(words), grow=grow), np.int32(-1))
        if len(self) > before:
            _, first = np.unique(of_entry[:-1], return_index=True)
            self._words.append(words.take(pa.array(first[-(len(self) - before) :])))
        found: Ints = of_entry[column.indices.fill_null(len(words)).to_numpy()]
        return found

    def words(self) -> pa.Array:
        """Every id [codes] as text, by code."""
        import pyarrow as pa

        return pa.concat_arrays(self._words) if self._words else pa.array([], pa.string())


class Tally:
    """A number per code, which grows with the codes: ``upto(n)`` is the array [n] to count in."""

    def __init__(self, dtype: Any, fill: float = 0) -> None:
        self._fill = fill
        self._held = np.full(1024, fill, dtype=dtype)

    def upto(self, n: int) -> npt.NDArray[Any]:
        if n > len(self._held):
            more = np.full(max(n, 2 * len(self._held)), self._fill, dtype=self._held.dtype)
            more[: len(self._held)] = self._held
            self._held = more
        return self._held[:n]
