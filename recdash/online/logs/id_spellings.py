"""Ids of users that two tables write in two ways: 00007 in one is 7 in the other, after a spreadsheet.

They are matched unless the exposures hold both spellings, which are two users then; a notice counts them.
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

        index = np.full(len(ids), NONE_FOUND, dtype=np.int64)
        candidates = np.arange(len(ids)) if self._padded else np.flatnonzero(_padded(ids))
        if not len(candidates):
            return index
        words = ids.cast(pa.string()).take(pa.array(candidates))
        numbers = _numbers(words)
        keys, places = self._by_number
        code, _ = keys.codes(hashes(pc.fill_null(numbers, "")), grow=False)
        code = np.where(numbers.is_valid(), code, NONE_FOUND)
        met = code >= 0
        matches, words = places[code[met]], words.filter(pa.array(met))
        index[candidates[met]] = matches
        if len(words) and not len(self._met):
            self._example = (words[0].as_py(), str(self._known[int(matches[0])].as_py()))
        self._met.codes(words)
        return index

    def notices(self) -> list[Problem]:
        """The notice that ids were matched in spite of another spelling; none where none was."""
        if not len(self._met):
            return []
        written, exposed = self._example
        message = f"{len(self._met):,} users are written otherwise than in the exposures, such as "
        message += f"'{written}' for '{exposed}'"
        fix = "They count as the same users; write ids in one form to be sure."
        return [Problem("mixed-id-forms", "column 'unit_id'", message, fix, len(self._met))]

    @cached_property
    def _padded(self) -> bool:
        return bool(_padded(self._known).any())

    @cached_property
    def _by_number(self) -> tuple[Keys, Ints]:
        """Keys of the numbers that only one of the known ids spells, and by code the id's place."""
        import pyarrow as pa

        numbers = _numbers(self._known.cast(pa.string()))
        seen = numbers.value_counts()
        once = seen.field("values").filter(pc.equal(seen.field("counts"), 1)).drop_null()
        places = np.flatnonzero(pc.is_in(numbers, once).to_numpy(zero_copy_only=False))
        keys = Keys()
        code, _ = keys.codes(hashes(numbers.take(pa.array(places))))
        by_code = np.empty(len(keys), dtype=np.int64)
        by_code[code] = places
        return keys, by_code


def _padded(ids: pa.Array) -> Mask:
    """[n] true for text that may be a number with needless zeros in front."""
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        return np.zeros(len(ids), dtype=np.bool_)
    words = ids.cast(pa.string())
    begins_with_zero = pc.or_(pc.starts_with(words, "0"), pc.starts_with(words, "-0"))
    return pc.fill_null(begins_with_zero, False).to_numpy(zero_copy_only=False)


def _numbers(words: pa.Array) -> pa.Array:
    """[n] each number without needless zeros; null for what is none."""
    plain = pc.replace_substring_regex(words, ZEROS, r"\1\2")
    return pc.if_else(pc.match_substring_regex(words, NUMBER), plain, None)
