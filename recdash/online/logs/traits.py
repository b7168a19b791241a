"""What else an upload says of its users: every text column that is not needed otherwise tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain import Ints
from recdash.online.logs.variants import codes
from recdash.online.users import Segment

if TYPE_CHECKING:
    import pyarrow as pa


def of_rows(unit: Ints, table: pa.Table, names: list[str], n_units: int) -> dict[str, Segment]:
    """By column: each unit [n_units] under the first value that its rows give."""
    found = {}
    for name in names:
        (label,), labels = codes(table[name])
        found[name] = Segment(tuple(map(str, labels)), _first(unit, label, n_units))
    return found


def _first(unit: Ints, label: Ints, n_units: int) -> Ints:
    of_unit = np.full(n_units, -1, dtype=np.int64)
    rows = np.flatnonzero((label >= 0) & (unit >= 0))[::-1]
    of_unit[unit[rows]] = label[rows]  # of several assignments the last one stays: the first row's
    return of_unit


def text_columns(table: pa.Table, apart_from: tuple[str, ...]) -> list[str]:
    import pyarrow as pa

    def is_text(kind: pa.DataType) -> bool:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)

    return [one.name for one in table.schema if one.name not in apart_from and is_text(one.type)]


def number_columns(table: pa.Table, apart_from: tuple[str, ...]) -> list[str]:
    import pyarrow as pa

    def is_number(kind: pa.DataType) -> bool:
        return pa.types.is_integer(kind) or pa.types.is_floating(kind)

    return [one.name for one in table.schema if one.name not in apart_from and is_number(one.type)]


def kept(segments: Mapping[str, Segment], units: Ints) -> dict[str, Segment]:
    """The segments of some of the units, those in which all are alike left out."""
    chosen = {name: Segment(one.labels, one.label[units]) for name, one in segments.items()}
    return {name: one for name, one in chosen.items() if len(np.unique(one.label)) > 1}
