"""Maps ids to consecutive codes. Ids are texts whatever the column's type: 12 and "12" are the same id.

Two spellings of one number (``0110912``, and ``110912`` after a spreadsheet dropped the zero) are the same
id, unless the reference tables contain both. Such matches are recorded, so that they can be reported.
"""

from __future__ import annotations

import copy
from array import array
from collections.abc import Iterator, Sequence
from itertools import repeat
from typing import Any, overload

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import Ints
from recdash.sorting import distinct, first_of_equals

UNKNOWN = -1
_MARKED = -2
_DIRECT = 1 << 24
"""Numbers below this are looked up in an array (64 MiB at most), all others in a dict."""
_FEW = 8
"""How many times more texts must be known than are looked up so that they are looked up one by one."""
_A_NUMBER = r"^-?[0-9]+$"
"""Matches all texts of which ``number_of`` returns a number."""


class IdList(Sequence[str]):
    """The ids as texts, by code. Numbers are converted to texts only when they are accessed."""

    def __init__(self, numbers: Ints, spelling: dict[int, str]) -> None:
        self._numbers, self._spelling = numbers, spelling

    @overload
    def __getitem__(self, code: int) -> str: ...
    @overload
    def __getitem__(self, code: slice) -> Sequence[str]: ...
    def __getitem__(self, code: int | slice) -> str | Sequence[str]:
        if isinstance(code, slice):
            return [self[index] for index in range(*code.indices(len(self)))]
        if code < 0:
            code += len(self)
        return self._spelling.get(code) or str(self._numbers[code])

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[str]:
        texts = map(str, self._numbers.tolist())
        return (self._spelling.get(code, text) for code, text in enumerate(texts))

    def to_arrow(self) -> pa.Array:
        """Returns the ids as int64 if all are plain numbers, else as texts."""
        return pa.array(self, pa.string()) if self._spelling else pa.array(self._numbers, pa.int64())


class ColumnTexts(Sequence[str]):
    """The texts of a column, converted only when they are read.

    Metrics need the number of a run's items and not their ids: converting 50,000 ids takes as long as reading
    all tables of a run with 2,000 users, and seven times the memory of the column.
    """

    def __init__(self, column: pa.ChunkedArray) -> None:
        self.column = column

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        part = self.column[index]
        text: str | list[str] = part.to_pylist() if isinstance(index, slice) else part.as_py()
        return text

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[str]:
        return iter(self.column.to_pylist())

    def to_arrow(self) -> pa.Array:
        return self.column.combine_chunks()


class IdIndex:
    """A growing map from ids to codes, which are assigned in order of appearance.

    ``spellings_met`` is {id as written: id as known} for ids that matched in another spelling.
    """

    def __init__(self) -> None:
        self._direct = np.full(1024, UNKNOWN, dtype=np.int32)
        self._wide: dict[int, int] = {}
        self._texts: dict[str, int] = {}
        self._spelling: dict[int, str] = {}
        self._numbers = array("q")
        self._spelled_apart: set[int] = set()
        self._known_texts: tuple[pa.Array, Ints] = pa.array([], pa.string()), np.full(1, UNKNOWN, np.int32)
        """The texts, when they were last looked up together, and their codes; the last code is for others."""
        self._size = 0
        self._last: tuple[pa.Array, Ints] | None = None
        self.spellings_met: dict[str, str] = {}

    def __len__(self) -> int:
        return self._size

    def copy(self) -> IdIndex:
        """Returns a copy that grows independently."""
        twin = IdIndex()
        vars(twin).update((name, copy.copy(value)) for name, value in vars(self).items())
        twin.spellings_met = {}
        return twin

    def ids(self) -> IdList:
        return IdList(np.array(self._numbers, dtype=np.int64), self._spelling)

    def add(self, column: pa.Array | pa.ChunkedArray) -> Ints:
        """Returns the codes [n] of a reference column; numbers that this column spells in two ways are
        different ids.
        """
        self.tell_apart(column)
        return self.codes(column)

    def tell_apart(self, column: pa.Array | pa.ChunkedArray) -> None:
        """Makes numbers that this column spells in two ways different ids from now on."""
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        spelled: dict[int, str] = {}
        for chunk in chunks:
            for text in [] if pa.types.is_integer(chunk.type) else _numbers_in(chunk.unique()):
                number = number_of(text)
                if number is not None and spelled.setdefault(number, text) != text:
                    self._spelled_apart.add(number)
        for number in self._spelled_apart & spelled.keys():
            self._free_number(number)
        self._last = None

    def codes(self, column: pa.Array | pa.ChunkedArray, grow: bool = True, rows: Any = ...) -> Ints:
        """Returns the codes [n], as int32, of ids that are int64 or (dictionary-encoded) texts. An unknown id
        gets a new code with ``grow``, else −1.

        ``rows`` selects some rows; it works for an array, not for a chunked array.
        """
        if isinstance(column, pa.ChunkedArray):
            coded, end = np.empty(len(column), dtype=np.int32), 0
            for chunk in column.chunks:
                begin, end = end, end + len(chunk)
                coded[begin:end] = self.codes(chunk, grow)
            return coded
        if pa.types.is_integer(column.type):
            return self._codes_of_numbers(column.to_numpy(zero_copy_only=False)[rows], grow)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        by_entry = self._codes_of_entries(column.dictionary, grow)
        return by_entry[column.indices.to_numpy(zero_copy_only=False)[rows]]

    def codes_apart(self, texts: pa.Array) -> Ints:
        """Returns the codes of exactly these texts; they differ from those of other spellings of a number."""
        codes = self._codes_together(texts, grow=True)
        return np.array([self._code_apart(text) for text in texts.to_pylist()]) if codes is None else codes

    def _code_apart(self, text: str) -> int:
        """Returns the code of exactly this text, which differs from the code of any other spelling of the
        same number.
        """
        number = number_of(text)
        if number is not None and text not in self._texts and number not in self._spelled_apart:
            code = self._code_of_number(number, grow=False)
            if code != UNKNOWN and self._spelling.get(code, str(number)) != text:
                self._spelled_apart.add(number)
                self._free_number(number)
        known = self._texts.get(text)
        return self._code_of_text(text, grow=True) if known is None else known

    def _codes_of_entries(self, dictionary: pa.Array, grow: bool) -> Ints:
        """Returns the codes of a dictionary's entries. Several batches in a row share a dictionary, so the
        last result is kept.
        """
        if grow and self._last is not None and self._last[0].equals(dictionary):
            return self._last[1]
        by_entry = self._codes_together(dictionary, grow)
        if by_entry is None:
            texts = dictionary.to_pylist()
            known = zip(texts, map(self._texts.get, texts), strict=True)
            codes = [self._code_of_text(text, grow) if code is None else code for text, code in known]
            by_entry = np.array(codes, dtype=np.int32)
        if grow:
            self._last = dictionary, by_entry
        return by_entry

    def _codes_together(self, texts: pa.Array, grow: bool) -> Ints | None:
        """Returns the codes of texts that are all plain numbers, as all ids so far, or that are all no
        numbers; else None.

        Looked up together, new numbers take a ninth of the time of one by one, and new words half of it.
        """
        numbers = None if self._spelling else pc.plain_numbers(texts)
        if numbers is not None:
            return self._codes_of_plain_numbers(numbers.to_numpy(), grow)
        if pc.any(pc.match_substring_regex(texts, _A_NUMBER)).as_py():
            return None
        return self._codes_of_words(texts, grow)

    def _codes_of_plain_numbers(self, values: Ints, grow: bool) -> Ints:
        least, largest = int(values.min(initial=0)), int(values.max(initial=0))
        if least < 0 or largest >= _DIRECT:
            return np.array([self._code_of_number(number, grow) for number in values.tolist()], np.int32)
        self._stretch(largest)
        codes = self._direct[values]
        if grow and (codes == UNKNOWN).any():
            self._add_numbers(np.array(list(dict.fromkeys(values[codes == UNKNOWN].tolist()))))
            codes = self._direct[values]
        return codes

    def _codes_of_words(self, words: pa.Array, grow: bool) -> Ints:
        codes = self._codes_of_known_texts(words)
        unknown = np.flatnonzero(codes == UNKNOWN)
        if grow and len(unknown):
            new = words.take(pa.array(unknown)).to_pylist()
            different = dict.fromkeys(new)
            new_codes = range(self._size, self._size + len(different))
            self._texts.update(zip(different, new_codes, strict=True))
            self._spelling.update(zip(new_codes, different, strict=True))
            self._numbers.extend(repeat(0, len(different)))
            self._size += len(different)
            codes[unknown] = [self._texts[word] for word in new]
        return codes

    def _codes_of_known_texts(self, texts: pa.Array) -> Ints:
        """Returns the codes of texts that were found before, and ``UNKNOWN`` for others.

        If the texts are about as many as those found so far, as items are in each part of a run, Arrow looks
        them up: 50,000 among as many take a fifth of the time of a dict.
        """
        if len(texts) < len(self._texts) / _FEW:
            return np.fromiter(map(self._texts.get, texts.to_pylist(), repeat(UNKNOWN)), np.int32, len(texts))
        known, codes = self._known_texts
        if len(known) < len(self._texts):  # a text keeps its code, so that more of them are the only change
            known = pa.array(list(self._texts), pa.string())
            codes = np.fromiter(self._texts.values(), np.int32, len(known))
            codes = np.append(codes, np.int32(UNKNOWN))
            self._known_texts = known, codes
        place = pc.index_in(texts.cast(pa.string()), known).fill_null(len(known))
        return codes[place.to_numpy()]

    def _codes_of_numbers(self, values: Ints, grow: bool) -> Ints:
        if len(values) == 0:
            return np.zeros(0, dtype=np.int32)
        codes = self._look_up_numbers(values, grow)
        if (
            self._spelling
        ):  # plain numbers that match an id with another spelling: 110912 in a column of integers
            for code in np.unique(codes[codes != UNKNOWN]).tolist():
                if code in self._spelling and self._spelling[code] != str(self._numbers[code]):
                    self.spellings_met[str(self._numbers[code])] = self._spelling[code]
        return codes

    def _look_up_numbers(self, values: Ints, grow: bool) -> Ints:
        least, largest = int(values.min()), int(values.max())
        if least < 0 or largest >= _DIRECT:
            entries = pa.array(values, pa.int64()).dictionary_encode()
            by_entry = self._codes_of_plain_numbers(entries.dictionary.to_numpy(), grow)
            return by_entry[entries.indices.to_numpy()]
        self._stretch(largest)
        codes = self._direct.take(values, mode="clip")  # all are within range: no need to check each again
        if grow and codes.min() == UNKNOWN:
            # Marking in the array and reading it once is 10× faster than hashing the values (1.6 M rows).
            unknown = codes == UNKNOWN
            self._direct[values[unknown]] = _MARKED
            fresh = least + np.flatnonzero(self._direct[least : largest + 1] == _MARKED)
            self._add_numbers(fresh)
            codes[unknown] = self._direct[values[unknown]]
        return codes

    def _add_numbers(self, numbers: Ints) -> None:
        """Gives the next codes to different numbers below ``_DIRECT``."""
        self._direct[numbers] = np.arange(self._size, self._size + len(numbers))
        self._numbers.frombytes(numbers.astype(np.int64).tobytes())
        self._size += len(numbers)

    def _stretch(self, largest: int) -> None:
        if largest >= len(self._direct):
            room = np.full(max(largest + 1, 2 * len(self._direct)), UNKNOWN, dtype=np.int32)
            room[: len(self._direct)] = self._direct
            self._direct = room

    def _code_of_text(self, text: str, grow: bool) -> int:
        number = number_of(text)
        if number is None or (number in self._spelled_apart and text != str(number)):
            code = self._new(0, text) if grow else UNKNOWN
        else:
            before = self._size
            code = self._code_of_number(number, grow)
            known = self._spelling.get(code) or str(number)
            if self._size > before and known != text:
                self._spelling[code] = text
            elif code != UNKNOWN and known != text:
                self.spellings_met[text] = known
        if code != UNKNOWN:
            self._texts[text] = code
        return code

    def _code_of_number(self, number: int, grow: bool) -> int:
        if 0 <= number < _DIRECT:
            self._stretch(number)
            code = int(self._direct[number])
        else:
            code = self._wide.get(number, UNKNOWN)
        if code == UNKNOWN and grow:
            code = self._new(number)
            self._assign(number, code)
        return code

    def _assign(self, number: int, code: int) -> None:
        if 0 <= number < _DIRECT:
            self._direct[number] = code
        else:
            self._wide[number] = code

    def _new(self, number: int, spelling: str | None = None) -> int:
        if spelling is not None:
            self._spelling[self._size] = spelling
        self._numbers.append(number)
        self._size += 1
        return self._size - 1

    def _free_number(self, number: int) -> None:
        """Binds the number's code to the spelling that it was first found in, so that other spellings get
        codes of their own.
        """
        code = self._code_of_number(number, grow=False)
        if code in self._spelling:
            self._texts[self._spelling[code]] = code
            self._assign(number, UNKNOWN)


class SharedIndex(IdIndex):
    """An index whose ``copy`` returns itself, so that several passes assign the same codes."""

    def __init__(self, known: IdIndex) -> None:
        super().__init__()
        vars(self).update(vars(known.copy()))

    def copy(self) -> SharedIndex:
        return self


class FirstColumn:
    """Encodes the first column that an index reads, batch by batch, with the same result as ``add`` of the
    whole column.

    The index knows only ids of this column, so that other spellings of a number become different ids at once.
    Dictionary entries that no row uses get no code.
    """

    def __init__(self, index: IdIndex) -> None:
        self._index = index
        self._last: tuple[pa.Array, Ints] | None = None

    def codes(self, column: pa.Array) -> Ints:
        """Returns the codes [n], as int32, of ids that are int64 or (dictionary-encoded) texts."""
        if pa.types.is_integer(column.type):
            return self._codes_of_runs(column)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        entry, by_entry = column.indices.to_numpy(zero_copy_only=False), self._by_entry(column.dictionary)
        codes = by_entry[entry]
        if codes.min(initial=0) == UNKNOWN:
            new = distinct(entry[codes == UNKNOWN])
            by_entry[new] = self._index.codes_apart(column.dictionary.take(pa.array(new)))
            codes = by_entry[entry]
        return codes

    def _codes_of_runs(self, column: pa.Array) -> Ints:
        """Returns the codes of a column of numbers. Each run of equal numbers, as user ids have them, is
        looked up once.
        """
        begins = np.flatnonzero(first_of_equals(column.to_numpy(zero_copy_only=False)))
        codes = self._index.codes(column, rows=begins)
        return np.repeat(codes, np.diff(np.append(begins, len(column))))

    def _by_entry(self, dictionary: pa.Array) -> Ints:
        """Returns the code of each dictionary entry, ``UNKNOWN`` for entries not used so far. Kept while
        batches share the dictionary.
        """
        if self._last is None or not self._last[0].equals(dictionary):
            self._last = dictionary, np.full(len(dictionary), UNKNOWN, dtype=np.int32)
        return self._last[1]


def _numbers_in(texts: pa.Array) -> list[str]:
    """Returns those of the texts of which ``number_of`` may return a number."""
    if pa.types.is_dictionary(texts.type):
        texts = texts.dictionary_decode()
    numbers: list[str] = texts.filter(pc.match_substring_regex(texts, _A_NUMBER)).to_pylist()
    return numbers


def number_of(text: str) -> int | None:
    """Returns the number that a text spells in plain digits, with or without a minus; None if it does not, or
    if the number exceeds 64 bits.
    """
    digits = text[1:] if text[:1] == "-" else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > 32:
        return None
    number = int(text)
    return number if -(1 << 63) <= number < 1 << 63 else None
