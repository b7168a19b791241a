"""The first rows of a file whose kind of table is not yet known, and what its columns look like."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from recdash.domain.kinds import MISSING, Floats, Ints
from recdash.errors import Problem
from recdash.ingest.columns import plain
from recdash.ingest.formats.raw_table import RawTable, is_list
from recdash.ingest.values import DATE, is_text
from recdash.ingest.values import plain as decoded

FIRST_ROWS = 20_000
FIRST_VALUES = 1_000_000
"""Largest number of values in the first rows; a table of many columns is represented by fewer rows."""
FIRST_BYTES = 8 << 20
"""Largest size of the first rows as text; a table of long values is represented by fewer rows."""
MOST_CHARS = 1000
"""Characters of a value in the first rows."""
NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
FIRST_TIME = 100_000_000
"""Seconds since 1970, a time in 1973; larger than usual counts and ratings."""


SURE_VARIANTS = {"control", "control_group", "treatment", "treatment_group"}
VARIANTS = {"a", "b", "baseline", "control", "control_group", "off", "on", "test", "treatment", "variant"}


@dataclass(frozen=True)
class Look:
    """The columns and first rows of a file.

    ``rows`` has each column as text (null for a missing value; a list as its length). ``lists`` are the
    columns whose cells are lists. ``roles`` are prescribed by the format (role → column). ``n_bytes`` is the
    unpacked size. ``is_whole``: there are no other rows. ``sheets`` are the sheets of a workbook, ``sheet``
    the one that was read.
    """

    name: str
    rows: pa.Table = field(default_factory=lambda: pa.table({}))
    format: str = ""
    has_header: bool = True
    lists: frozenset[str] = frozenset()
    roles: Mapping[str, str] | None = None
    n_rows: int | None = None
    n_bytes: int = 0
    is_whole: bool = True
    sheets: tuple[str, ...] = ()
    sheet: str = ""
    problems: tuple[Problem, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.rows.column_names)

    @cached_property
    def by_name(self) -> dict[str, ColumnLook]:
        """Returns the columns, keyed by their names in the file."""
        return {name: ColumnLook(name, self.rows[name].to_pylist()) for name in self.columns}

    def first_of(self, names: Sequence[str], but: Sequence[str | None] = ()) -> str | None:
        """Returns the column with the likeliest of these names; None if no column has any.

        ``but`` are columns to ignore.
        """
        plainly = {plain(column): column for column in reversed(self.columns) if column not in but}
        return next((plainly[name] for name in names if name in plainly), None)


@dataclass(frozen=True)
class ColumnLook:
    """The values of a column in the first rows; None for a missing value."""

    name: str
    values: Sequence[str | None]

    @cached_property
    def filled(self) -> list[str]:
        return [value for value in self.values if value is not None]

    @cached_property
    def ids(self) -> list[str]:
        """Returns [rows] the values in a common spelling of ids; an empty text for a missing value."""
        return ["" if value is None else id_form(value) for value in self.values]

    @cached_property
    def distinct(self) -> frozenset[str]:
        return frozenset(self.ids) - {""}

    @cached_property
    def is_number(self) -> bool:
        return bool(self.filled) and all(map(NUMBER.fullmatch, self.filled))

    @cached_property
    def numbers(self) -> Floats:
        """Returns [rows] the values as numbers, NaN for a missing value; only for a column of numbers."""
        texts = ["nan" if value is None else value.replace(",", ".") for value in self.values]
        return np.array(texts, dtype=np.float64)

    @cached_property
    def is_whole(self) -> bool:
        return self.is_number and bool((np.mod(self.numbers[~np.isnan(self.numbers)], 1) == 0).all())

    @cached_property
    def is_time(self) -> bool:
        """Returns True if the values are dates, or seconds or milliseconds since 1970."""
        if self.is_whole:
            return bool(np.nanmin(self.numbers) > FIRST_TIME) and len(self.distinct) > 1
        return bool(self.filled) and all(map(DATE.fullmatch, self.filled))

    @cached_property
    def is_unique(self) -> bool:
        return len(self.distinct) == len(self.filled) > 0

    @cached_property
    def has_variants(self) -> bool:
        """Returns True if the values are names of variants of an A/B test, such as a and b, or control."""
        return len(self._words & VARIANTS) > 1 or self.has_sure_variants

    @cached_property
    def has_sure_variants(self) -> bool:
        """Returns True if a value is a name that only variants have, such as control or treatment."""
        return bool(self._words & SURE_VARIANTS)

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(value.lower() for value in self.distinct)

    @cached_property
    def may_be_ids(self) -> bool:
        """Returns True if the values may be ids: text or whole numbers, present in nearly every row."""
        few_missing = len(self.filled) >= 0.9 * len(self.values) > 0
        return (
            few_missing and (self.is_whole or not self.is_number) and not (self.is_date or self.has_variants)
        )

    @cached_property
    def is_date(self) -> bool:
        return self.is_time and not self.is_whole

    @cached_property
    def codes(self) -> Ints:
        """Returns [rows] a code for each id; equal ids have the same code."""
        return np.unique(np.array(self.ids), return_inverse=True)[1]


def id_form(value: str) -> str:
    """Returns an id without blanks, a final ``.0`` and leading zeros, so that spellings can be compared."""
    text = value.strip().removesuffix(".0")
    return text.lstrip("0") or "0" if text.isdecimal() else text


def look_at(raw: RawTable, n_bytes: int, name: str) -> Look:
    """Returns the columns and first rows of a table."""
    n_wanted = max(1, min(FIRST_ROWS, FIRST_VALUES // max(len(raw.columns), 1)))
    blocks = raw.blocks(raw.columns, ())
    first = next(blocks, None)
    arrays = [] if first is None else [_as_text(column.slice(0, n_wanted)) for column in first.columns]
    n_text_bytes = sum(array.nbytes for array in arrays)
    if n_text_bytes > FIRST_BYTES:  # long values: fewer rows
        n_wanted = max(1, n_wanted * FIRST_BYTES // n_text_bytes)
        arrays = [pa.concat_arrays([array.slice(0, n_wanted)]) for array in arrays]
    is_whole = first is None or (first.num_rows <= n_wanted and next(blocks, None) is None)
    return Look(
        name,
        pa.table(arrays, names=list(raw.columns)) if arrays else pa.table({}),
        raw.format,
        raw.header,
        raw.lists,
        raw.roles,
        raw.n_rows,
        raw.unpacked_bytes or n_bytes,
        is_whole,
        raw.sheets,
        raw.sheet,
    )


def _as_text(array: pa.Array) -> pa.Array:
    """Returns the values as text without surrounding blanks, null for a missing value.

    A list is given as its length.
    """
    from recdash import arrow as pc

    if is_text(getattr(array.type, "value_type", array.type)) and pa.types.is_dictionary(array.type):
        words = pc.utf8_slice_codeunits(array.dictionary, 0, MOST_CHARS)  # before each row has a copy
        array = pa.DictionaryArray.from_arrays(array.indices, words)
    array = decoded(array)
    if is_list(array.type):
        return pc.list_value_length(array).cast(pa.string())
    try:
        text = pc.utf8_trim_whitespace(pc.utf8_slice_codeunits(array.cast(pa.string()), 0, MOST_CHARS))
    except pa.ArrowException:  # a type without a text, such as a struct
        return pa.nulls(len(array), pa.string())
    missing = pc.is_in(text, value_set=pa.array(MISSING))
    return pc.if_else(missing, None, text)
