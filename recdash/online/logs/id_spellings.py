"""Matches user ids that two tables spell differently, such as 00007 and 7 after a spreadsheet.

They are matched unless the exposures have both spellings, which are then two users. A notice says how many.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from recdash import arrow as pc
from recdash.domain.kinds import Ints, Mask
from recdash.errors import Problem
from recdash.online.logs.hash_index import Ids, Keys, hashes

if TYPE_CHECKING:
    import pyarrow as pa

NUMBER, ZEROS = r"^-?\d{1,32}$", r"^(-?)0+(\d)"
NONE_FOUND = -1


class Respelled(NamedTuple):
    """How many users have an id in another spelling, one of which is ``written`` for ``exposed``."""

    n_users: int
    written: str
    exposed: str

    @classmethod
    def sum_of(cls, parts: Sequence[Respelled]) -> Respelled:
        """Returns the users of all parts, with an example of one of these."""
        _, written, exposed = next((part for part in parts if part.n_users), cls(0, "", ""))
        return cls(sum(part.n_users for part in parts), written, exposed)

    def notices(self) -> list[Problem]:
        """Returns the notice that ids were matched although spelled differently; empty if none was."""
        if not self.n_users:
            return []
        message = f"{self.n_users:,} users are spelled differently than in the exposures, such as "
        message += f"'{self.written}' for '{self.exposed}'"
        fix = "They count as the same users; write ids in one form to avoid this."
        return [Problem("mixed-id-forms", "column 'unit_id'", message, fix, self.n_users)]


class Spellings:
    """The known ids of users, among which ids with more or fewer leading zeros can be found.

    ``known`` [n] are ids of the exposures, int64 or text.
    """

    def __init__(self, known: pa.Array) -> None:
        self._known, self._met = known, Ids()
        self._example = ("", "")

    def find(self, ids: pa.Array) -> Ints:
        """Returns [n] for each id the index of the known id that is the same number; −1 if there is none.

        ``ids`` must not be among the known ids as written.
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

    @property
    def respelled(self) -> Respelled:
        """Returns how many ids were found so far, and one of them."""
        return Respelled(len(self._met), *self._example)

    def notices(self) -> list[Problem]:
        """Returns the notice that ids were matched although spelled differently; empty if none was."""
        return self.respelled.notices()

    @cached_property
    def _padded(self) -> bool:
        return bool(_padded(self._known).any())

    @cached_property
    def _by_number(self) -> tuple[Keys, Ints]:
        """Returns keys of the numbers that exactly one known id stands for, and that id's index by code."""
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
    """Returns [n] True for text that may be a number with leading zeros."""
    import pyarrow as pa

    if pa.types.is_integer(ids.type):
        return np.zeros(len(ids), dtype=np.bool_)
    words = ids.cast(pa.string())
    begins_with_zero = pc.or_(pc.starts_with(words, "0"), pc.starts_with(words, "-0"))
    return pc.fill_null(begins_with_zero, False).to_numpy(zero_copy_only=False)


def _numbers(words: pa.Array) -> pa.Array:
    """Returns [n] each number as text without leading zeros; null for text that is not a number."""
    plain = pc.replace_substring_regex(words, ZEROS, r"\1\2")
    return pc.if_else(pc.match_substring_regex(words, NUMBER), plain, None)
