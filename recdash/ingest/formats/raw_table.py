"""A table as its file has it, read in blocks, and the functions that the readers of all formats share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from recdash import arrow as pc
from recdash.errors import Problem
from recdash.ingest.columns import is_known
from recdash.ingest.values import python_values

BLOCK_BYTES = 1 << 23


BLOCK_ROWS = 1 << 18
"""Rows per block; few enough that the engine's arrays for a block stay in the processor's cache."""


SAMPLE_ROWS = 50


SAMPLE_LIST = 1000
"""Largest number of values of a list that a sample shows."""


@dataclass(frozen=True)
class RawTable:
    """A table as its file has it: it can be read, and nothing else has been checked.

    ``blocks(columns, ids)`` yields record batches of these columns, in this order; text columns in ``ids``
    are dictionary-encoded. ``where(row)`` returns the place in the file of the row with that index,
    ``sample()`` the first rows as text. ``roles`` are prescribed by the format, else None. ``whole_ids`` are
    integer columns without missing values.
    """

    format: str
    columns: tuple[str, ...]
    blocks: Callable[[Sequence[str], Collection[str]], Iterator[pa.RecordBatch]]
    where: Callable[[int], str]
    sample: Callable[[], list[dict[str, str]]]
    lists: frozenset[str] = frozenset()
    roles: Mapping[str, str] | None = None
    header: bool = True
    decimal: str = "."
    n_rows: int | None = None
    whole_ids: frozenset[str] = frozenset()
    unpacked_bytes: int = 0
    is_trec: bool = False
    without_header: Callable[[], RawTable] | None = None
    """Returns the same table with its first line as data; None if it has no header line, or must have one."""
    sheets: tuple[str, ...] = ()
    """Names of the sheets of a workbook. ``sheet`` is the one that was read."""
    sheet: str = ""
    scores: Mapping[str, str] = field(default_factory=dict)
    """Item column whose cells contain pairs → the column with their scores."""
    notices: tuple[Problem, ...] = field(default=())


def table_of_arrow(table: pa.Table, name: str, **extra: Any) -> RawTable:
    """Returns the raw table of an Arrow table in memory; ``extra`` are other fields of ``RawTable``."""
    table = table.rename_columns(list(unique_names([str(n) for n in table.column_names])))
    paths = column_paths(table.schema)

    def blocks(columns: Sequence[str], _ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        wanted = list(dict.fromkeys(paths[c][0] for c in columns))
        for batch in table.select(wanted).to_batches(BLOCK_ROWS):
            yield project(batch, columns, paths)

    integers = [name for name in table.column_names if pa.types.is_integer(table[name].type)]
    return RawTable(
        name,
        tuple(paths),
        blocks,
        extra.pop("where", row_place),
        lambda: first_rows(blocks(tuple(paths), ())),
        lists=list_columns(table.schema, paths),
        n_rows=table.num_rows,
        whole_ids=frozenset(column for column in integers if not table[column].null_count),
        **extra,
    )


def row_place(row: int) -> str:
    return f"row {row + 1}"


def unique_names(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names without surrounding blanks; duplicates become ``name (1)``, ``name (2)`` …"""
    trimmed = [name.strip() or f"column {i}" for i, name in enumerate(names, 1)]
    counts, seen = Counter(trimmed), Counter[str]()
    numbered = []
    for name in trimmed:
        seen[name] += 1
        numbered.append(f"{name} ({seen[name]})" if counts[name] > 1 else name)
    return tuple(numbered)


Path = tuple[str, str | None]


def column_paths(schema: pa.Schema) -> dict[str, Path]:
    """Returns name → (column, field); a list of structs becomes one list column per field, and a struct of
    which a field has a known name becomes one column per field.

    The field is None for all other columns.
    """
    paths: dict[str, Path] = {}
    taken = set(schema.names)
    for column in schema:
        inner = column.type.value_type if is_list(column.type) else column.type
        if pa.types.is_struct(inner) and (is_list(column.type) or _is_record(column)):
            for part in inner:
                name = f"{column.name}.{part.name}" if part.name in taken else part.name
                paths[name] = (column.name, part.name)
        else:
            paths[column.name] = (column.name, None)
    return paths


def _is_record(column: pa.Field) -> bool:
    """Returns whether a struct holds columns, as ``{"userId": …}`` under ``input`` does."""
    return not is_known(column.name) and any(is_known(part.name) for part in column.type)


def project(batch: pa.RecordBatch, columns: Sequence[str], paths: Mapping[str, Path]) -> pa.RecordBatch:
    """Returns a batch of the named columns, in this order; ``paths`` says where each comes from."""
    return pa.RecordBatch.from_arrays([_column(batch, *paths[c]) for c in columns], list(columns))


def _column(batch: pa.RecordBatch, column: str, inner: str | None) -> pa.Array:
    array = _pandas_text(batch.column(column))
    if inner is None:
        return array
    if pa.types.is_struct(array.type):
        return pc.struct_field(array, inner)
    values = pc.struct_field(pc.list_flatten(array), inner)
    lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array([0, *lengths.cumsum().tolist()], pa.int64())
    return pa.LargeListArray.from_arrays(offsets, values)


def _pandas_text(array: pa.Array) -> pa.Array:
    """Returns pandas periods and intervals as the text that pandas writes; other arrays unchanged.

    Arrow stores a period, such as a month, as a number since 1970.
    """
    if pa.types.is_dictionary(array.type):
        words = _pandas_text(array.dictionary)
        return array if words is array.dictionary else pa.DictionaryArray.from_arrays(array.indices, words)
    if not getattr(array.type, "extension_name", "").startswith("pandas."):
        return array
    return pa.array(array.to_pandas().astype("string"), pa.string(), from_pandas=True)


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def list_columns(schema: pa.Schema, paths: Mapping[str, Path]) -> frozenset[str]:
    return frozenset(name for name, path in paths.items() if is_list(_type_at(schema, *path)))


def _type_at(schema: pa.Schema, column: str, inner: str | None) -> pa.DataType:
    """Returns the type of a column; of a field of a struct, that of the field."""
    kind = schema.field(column).type
    return kind.field(inner).type if inner is not None and pa.types.is_struct(kind) else kind


def first_rows(blocks: Iterator[pa.RecordBatch]) -> list[dict[str, str]]:
    """Returns the first rows as text, with long lists cut, for display; empty if there are no rows."""
    first = next(blocks, None)
    if first is None:
        return []
    texts = []
    for array in first.slice(0, SAMPLE_ROWS).columns:
        is_long = is_list(array.type) and (pc.max(pc.list_value_length(array)).as_py() or 0) > SAMPLE_LIST
        values = python_values(pc.list_slice(array, 0, SAMPLE_LIST) if is_long else array)
        texts.append(["" if value is None else str(value) for value in values])
    return [dict(zip(first.schema.names, row, strict=True)) for row in zip(*texts, strict=True)]
