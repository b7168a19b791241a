"""Attributes of items and users: the values that each of them has in a column of an uploaded table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from recdash import arrow as pc
from recdash.domain.inputs import Upload
from recdash.domain.kinds import MISSING, Ints

SEPARATORS = r"[|;]"
"""Pattern of the separators between several values in a cell, such as ``Adventure|Action``."""


@dataclass(frozen=True)
class Attribute:
    """The values of a column as pairs: row ``row[p]`` of the table has the value ``values[value[p]]``.

    A cell with several values makes several pairs. An empty cell, and a text for a missing value, makes none.
    """

    name: str
    values: Sequence[str]
    row: Ints
    value: Ints


def attribute_names(upload: Upload) -> list[str]:
    """Returns the names of the table's columns without its id column."""
    return [name for name in upload.table.column_names if name not in {"item_id", "user_id"}]


def has_numbers(upload: Upload, column: str) -> bool:
    """Returns whether the column's type is numeric, so that its values have an order and a distance."""
    kind = upload.table.schema.field(column).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind))


def attribute_of(upload: Upload, column: str) -> Attribute:
    """Returns the values of a column, in ascending order: numbers as texts, cells with ``|`` or ``;`` as
    several values.
    """
    cells = upload.table[column].combine_chunks()
    row = np.arange(len(cells))
    if pa.types.is_list(cells.type) or pa.types.is_large_list(cells.type):
        row, cells = pc.list_parent_indices(cells).to_numpy(), pc.list_flatten(cells)
    texts = pc.cast(_plain(cells), pa.string())
    parts = pc.split_pattern_regex(texts, SEPARATORS)
    row = row[pc.list_parent_indices(parts).to_numpy()]
    trimmed = pc.utf8_trim_whitespace(pc.list_flatten(parts))
    filled = ~pc.is_in(trimmed, pa.array([None, *MISSING])).to_numpy(zero_copy_only=False)
    row, coded = row[filled], pc.dictionary_encode(trimmed.filter(pa.array(filled)))
    values = coded.dictionary.to_pylist()
    order = sorted(range(len(values)), key=values.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    # a value that occurs several times in a cell counts once
    n_values = max(len(values), 1)
    pair = np.unique(row.astype(np.int64) * n_values + place[coded.indices.to_numpy()])
    return Attribute(column, [values[index] for index in order], pair // n_values, pair % n_values)


def _plain(cells: pa.Array) -> pa.Array:
    """Returns cells as texts. Whole numbers in a float column, which a missing value causes, become integers:
    ``1994``.

    Infinite numbers and NaN become null; a whole number beyond 64 bits keeps its float form: ``1e+19``.
    """
    if pa.types.is_floating(cells.type):
        cells = pc.if_else(pc.is_finite(cells), cells, None)
        whole = pc.and_(pc.equal(cells, pc.floor(cells)), pc.less(pc.abs(cells), 2.0**63))
        digits = pc.cast(pc.if_else(whole, cells, None), pa.int64(), safe=False)
        return pc.if_else(whole, pc.cast(digits, pa.string()), pc.cast(cells, pa.string()))
    return pc.cast(cells, pa.string()) if pa.types.is_dictionary(cells.type) else cells
