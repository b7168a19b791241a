"""Recognises the surfaces of a site that show recommendations, by their names in the log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from recdash.errors import InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

RECOMMENDATIONS = {"rec", "recs", "reco", "recos", "recsys", "reccs"}
NOT = {"no", "non", "not", "un"}
SHOWN = 6


def says_recommendation(source: str) -> bool:
    """Returns True if a surface's name indicates recommendations: ``home_recs`` does, ``search`` does not."""
    words = [word for word in re.split(r"[^a-z]+", source.lower()) if word]
    recommends = any(word in RECOMMENDATIONS or word.startswith("recommend") for word in words)
    return recommends and not NOT & set(words)


class Sources:
    """Counts the values of a log's column ``source``, which is read as a stream."""

    def __init__(self, rows: Counter[str] | None = None) -> None:
        self.rows: Counter[str] = rows or Counter()

    @classmethod
    def sum_of(cls, parts: Sequence[Sources]) -> Sources | None:
        """Returns the sources of all parts; None without any."""
        if not parts:
            return None
        return cls(sum((part.rows for part in parts), Counter()))

    def recommended(self, column: pa.DictionaryArray) -> npt.NDArray[np.bool_]:
        """Returns [n] True where the source indicates recommendations, and counts the sources.

        An empty source is False.
        """
        names = [*column.dictionary.to_pylist(), ""]
        code = column.indices.fill_null(len(names) - 1).to_numpy()
        for name, count in zip(names, np.bincount(code, minlength=len(names)).tolist(), strict=True):
            self.rows[name] += count
        return np.array([says_recommendation(name) for name in names])[code]

    def notice(self) -> Problem:
        """Returns the notice that says which sources count as recommendations.

        Raises InputError if none does.
        """
        seen = [(name, count) for name, count in self.rows.most_common() if count]
        taken = [(name, count) for name, count in seen if says_recommendation(name)]
        left = [(name, count) for name, count in seen if not says_recommendation(name)]
        if not taken:
            message = f"no value indicates recommendations: {_listed(left)}"
            fix = "Use the value 'recommendations' for them, or remove the column: then all items count."
            raise InputError(Problem("no-recommendations", "column 'source'", message, fix))
        others = f"not {_listed(left)}" if left else "there is no other value"
        message = f"counted as recommendations: {_listed(taken)}; {others}"
        return Problem("sources", "column 'source'", message, "Clicks and watch time of others do not count.")


def _listed(sources: list[tuple[str, int]]) -> str:
    listed = [f"{name or 'no source'} ({count:,} events)" for name, count in sources[:SHOWN]]
    more = [f"{len(sources) - SHOWN:,} more"] if len(sources) > SHOWN else []
    return ", ".join(listed + more)
