"""Ids of users that two tables write in two ways: 00007 here is 7 there, after a spreadsheet ate zeros.

They meet unless the exposures hold both spellings, which are two users then; every meeting is said.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from recdash import arrow as pc
from recdash.domain.kinds import Ints, Mask
from recdash.errors import Problem
from recdash.online.logs.hash_index import Ids, Keys, hashes

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER, ZEROS = r"^-?\d{1,32}$", r"^(-?)0+(\d)"
NONE_FOUND = -1


class Spellings:
    """Which of the ``known`` ids [n], int64 or text, other ids spell with more or fewer zeros in front."""

    def __init__(self, known: pa.Array) -> None:
        self._known, self._met = known, Ids()
        self._example = ("", "")

    def find(self, ids: pa.Array) -> Ints:
        """[n] the place among the known of the id that each of these, none of them known, also spells; −1
        where there is none.
        """
        import pyarrow as pa

        found = np.full(len(ids), NONE_FOUND, dtype=np.int64)
        maybe = np.arange(len(ids)) if self._padded else np.flatnonzero(_padded(ids))
        if not len(maybe):
            return found
        words = _text(ids).take(pa.array(maybe))
        numbers = _numbers(words)
        keys, places = self._by_number
        code, _ = keys.codes(hashes(pc.fill_null(numbers, "")), grow=False)
        code = np.where(numbers.is_valid(), code, NONE_FOUND)
        met = code >= 0
        found[maybe[met]] = places[code[met]]
        self._remember(words.filter(pa.array(met)), found[maybe[met]])
        return found

    def notices(self) -> list[Problem]:
        """What met in spite of another spelling."""
        if not len(self._met):
            return []
        written, known = self._example
        found = f"{len(self._met):,} users are written otherwise than in the exposures, such as "
        found += f"'{written}' for '{known}'"
        fix = "They count as the same users; write ids in one form to be sure."
        return [Problem("mixed-id-forms", "column 'unit_id'", found, fix, len(self._met))]

    def _remember(self, words: pa.Array, places: Ints) -> None:
        if len(words) and not len(self._met):
            self._example = (words[0].as_py(), str(self._known[int(places[0])].as_py()))
        self._met.codes(words)

    @cached_property
    def _padded(self) -> bool:
        return bool(_padded(self._known).any())

    @cached_property
    def _by_number(self) -> tuple[Keys, Ints]:
        """Keys of the numbers that only one of the known ids spells, and by code the id's place."""
        import pyarrow as pa

        numbers = _numbers(_text(self._known))
        seen = numbers.value_counts()
        once = seen.field("values").filter(pc.equal(seen.field("counts"), 1)).drop_null()
        places = np.flatnonzero(pc.is_in(numbers, once).to_numpy(zero_copy_only=False))
        keys = Keys()
        code, _ = keys.codes(hashes(numbers.take(pa.array(places))))
        by_code = np.empty(len(keys), dtype=np.int64)
        by_code[code] = places
        return keys, by_code


def _text(ids: pa.Array) -> pa.Array:
    import pyarrow as pa

    return ids.cast(pa.string())


def _padded(ids: pa.Array) -> Mask:
    """[n] true for text that may be a number with needless zeros in front."""
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        return np.zeros(len(ids), dtype=np.bool_)
    found = pc.or_(pc.starts_with(_text(ids), "0"), pc.starts_with(_text(ids), "-0"))
    padded: Mask = pc.fill_null(found, False).to_numpy(zero_copy_only=False)
    return padded


def _numbers(words: pa.Array) -> pa.Array:
    """[n] each number without needless zeros; null for what is none."""
    plain = pc.replace_substring_regex(words, ZEROS, r"\1\2")
    return pc.if_else(pc.match_substring_regex(words, NUMBER), plain, None)
