"""What else an upload says of its users: every text column that is not needed otherwise tells them apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.online.logs.assignment import codes
from recdash.online.users import Segment

if TYPE_CHECKING:
    import pyarrow as pa


def of_rows(unit: Ints, table: pa.Table, names: list[str], n_units: int, ts: Floats) -> dict[str, Segment]:
    """The segments by column: each unit [n_units] under the earliest value that its rows give.

    ``ts`` [rows] seconds since 1970, NaN where no time is known: later than any. Of several values at the
    same time the first by name counts, so that the order of the file says nothing.
    """
    segments = {}
    for name in names:
        (label,), labels = codes(table[name])
        texts = tuple(map(str, labels))
        segments[name] = Segment(texts, _earliest(unit, label, texts, n_units, ts))
    return segments


def _earliest(unit: Ints, label: Ints, texts: tuple[str, ...], n_units: int, ts: Floats) -> Ints:
    """[n_units] places in ``texts``, −1 where no row of the unit has a value."""
    rows = np.flatnonzero((label >= 0) & (unit >= 0))
    unit, label, ts = unit[rows], label[rows], np.nan_to_num(ts[rows], nan=np.inf)
    first = np.full(n_units, np.inf)
    np.minimum.at(first, unit, ts)
    is_first = ts == first[unit]
    by_name = np.argsort(np.array(texts, dtype=object), kind="stable")
    place = np.empty(len(texts) + 1, dtype=np.int64)
    place[by_name], place[-1] = np.arange(len(texts)), len(texts)
    least = np.full(n_units, len(texts), dtype=np.int64)
    np.minimum.at(least, unit[is_first], place[label[is_first]])
    return np.append(by_name, -1)[least]


def text_columns(table: pa.Table, apart_from: tuple[str, ...]) -> list[str]:
    import pyarrow as pa

    def is_text(kind: pa.DataType) -> bool:
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)

    return [field.name for field in table.schema if field.name not in apart_from and is_text(field.type)]


def number_columns(table: pa.Table, apart_from: tuple[str, ...]) -> list[str]:
    import pyarrow as pa

    def is_number(kind: pa.DataType) -> bool:
        return pa.types.is_integer(kind) or pa.types.is_floating(kind)

    return [field.name for field in table.schema if field.name not in apart_from and is_number(field.type)]


def of_units(segments: Mapping[str, Segment], units: Ints) -> dict[str, Segment]:
    """The segments of some of the units, without those in which all are alike."""
    chosen = {name: Segment(segment.labels, segment.label[units]) for name, segment in segments.items()}
    return {name: segment for name, segment in chosen.items() if len(np.unique(segment.label)) > 1}
