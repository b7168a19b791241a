"""Encodes columns of text as dictionary codes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.kinds import Ints

FIRST_ROWS = 4096
LONG_RUNS = 4
"""Mean number of equal values in a row from which only the first value of each run is hashed."""


def coded(text: pa.Array) -> pa.DictionaryArray:
    """Returns the same as ``text.dictionary_encode()``; texts must be of type string without nulls.

    Runs of equal texts, as users have, are hashed once, and plain numbers as numbers. In 16 M rows both ids
    then take 1.0 s, instead of 1.7 as codes by Arrow's CSV reader.
    """
    first = text[:FIRST_ROWS]
    if LONG_RUNS * len(_begins_of_runs(first)) <= len(first):
        begins = _begins_of_runs(text)
        codes = text.take(pa.array(begins)).dictionary_encode()
        entry = np.repeat(codes.indices.to_numpy(), np.diff(np.append(begins, len(text))))
        return pa.DictionaryArray.from_arrays(entry, codes.dictionary)
    if (numbers := pc.plain_numbers(text)) is None:
        return text.dictionary_encode()
    codes = numbers.dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(pa.string()))


def _begins_of_runs(text: pa.Array) -> Ints:
    """Returns the rows that differ from the row before, and the first row."""
    begins = np.ones(len(text), dtype=bool)
    begins[1:] = pc.not_equal(text[1:], text[:-1]).to_numpy(zero_copy_only=False)
    return np.flatnonzero(begins)
