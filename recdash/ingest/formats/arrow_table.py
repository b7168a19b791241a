"""Reads tables in memory: of pandas, polars and Arrow."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from recdash.errors import Problem, UploadError
from recdash.ingest.formats.raw_table import RawTable, is_list, table_of_arrow
from recdash.ingest.formats.surrogates import WHOLE_TEXT, escaped, printable
from recdash.ingest.library_errors import translating_errors

NOT_ARROW = (pa.ArrowException, TypeError, ValueError, OverflowError)


def read_arrow(source: Any) -> RawTable:
    """Returns the raw table of a pandas, polars or Arrow table (anything with an Arrow stream).

    Raises ``UploadError`` for a table that Arrow cannot read.
    """
    try:
        table = source if isinstance(source, pa.Table) else _streamed(source)
    except NOT_ARROW as error:
        raise UploadError(Problem("bad-table", _bad_column(source), *_finding_and_fix(error))) from error
    with translating_errors("bad-table", "the table is invalid", "Create it again.", place="table"):
        table.validate(full=True)
    return table_of_arrow(_without_views(table), "table in memory")


def _without_views(table: pa.Table) -> pa.Table:
    """Returns the table with the text of polars as usual text: few of Arrow's functions take its views."""
    fields = [field.with_type(_without_view(field.type)) for field in table.schema]
    return table.cast(pa.schema(fields)) if fields != list(table.schema) else table


def _without_view(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if is_list(kind) and pa.types.is_string_view(kind.value_type):
        return pa.large_list(pa.large_string())
    return kind


def _streamed(source: Any) -> pa.Table:
    return pa.RecordBatchReader.from_stream(source).read_all()


def _finding_and_fix(error: Exception) -> tuple[str, str]:
    if isinstance(error, UnicodeEncodeError):
        half = printable(error.object[error.start : error.end])
        return f"'{half}' is half a character (a lone surrogate)", WHOLE_TEXT
    if isinstance(error, OverflowError):
        return "an integer of more than 64 bits", "Write such numbers as text, or as decimals."
    finding = f"the table cannot be read as Arrow ({'; '.join(map(escaped, error.args))})"
    return finding, "Give each column one type; write ids of mixed types as text."


def _bad_column(source: Any) -> str:
    """Returns the place of the first column of a data frame that Arrow cannot read when it is alone.

    The place is "table" if there is no such column.
    """
    for name in getattr(source, "columns", ()):
        try:
            _streamed(source[[name]])
        except NOT_ARROW:
            return f"column '{printable(name)}'"
    return "table"
