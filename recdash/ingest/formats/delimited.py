"""Reads CSV, tab-separated and similar text with Arrow."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import HEAD, Content, for_arrow
from recdash.ingest.formats.coded_text import coded
from recdash.ingest.formats.dialect import (
    DELIMITERS,
    Dialect,
    dialect_notices,
    dialect_of,
    fields_of,
    sample_lines,
    without_header,
)
from recdash.ingest.formats.preamble import blank_lines_before
from recdash.ingest.formats.raw_table import BLOCK_BYTES, SAMPLE_ROWS, RawTable
from recdash.ingest.formats.text_rows import (
    LONG_LINE,
    PreparedText,
    is_cut,
    line_of,
    long_start,
    prepared,
    quotes_in,
    ragged_rows,
    unclosed_quote,
)
from recdash.ingest.library_errors import translating_errors
from recdash.ingest.limits import Limits

ROW_NAMES = "row number"
MOST_RAGGED = 10_000
ACROSS_BLOCKS = "straddles two block boundaries"
USUAL_BLOCK_BYTES = 1 << 22
"""Arrow reads up to 32 blocks ahead. With blocks of 4 MiB, 16 million rows have a peak of 430 MiB, and of 610
with blocks of 8 MiB.
"""
"""What Arrow says of a line that is longer than a block."""


def read_delimited(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """Returns the raw table of CSV and similar text.

    It may have any delimiter, and a header line or none.
    """
    dialect = dialect_of(content)
    text = prepared(content, dialect)
    if not dialect.header:
        return _delimited(text)
    wider, notices = _with_unnamed_column(text)
    table = _delimited(replace(text, dialect=wider))
    table = replace(table, notices=(*table.notices, *notices))
    headless = replace(text, dialect=without_header(dialect))
    return replace(table, without_header=lambda: _delimited(headless))


def _with_unnamed_column(text: PreparedText) -> tuple[Dialect, tuple[Problem, ...]]:
    """Returns the dialect with the column that the header line does not name, and a notice of it.

    R and pandas write row names in front of the named columns: their numbers, from 1 or 0, show it. Other
    programs end each row with a delimiter, which is a guess: the first column may be the one without a name,
    and the last one empty.
    """
    dialect = text.dialect
    rows = fields_of(sample_lines(text.content), text.delimiter, dialect.quoted)[1:]
    names, rows = dialect.names, [row for row in rows if row != [""]]
    width = len(names) + 1
    if not rows or any(len(row) != width for row in rows):
        return dialect, ()
    unnamed = f"column {width}"
    fix = "Name all columns in the header line if this is wrong."
    first = [row[0] for row in rows]
    if any(first == [str(number) for number in range(start, start + len(rows))] for start in (0, 1)):
        finding = "each row begins with its number, which has no name"
        notice = Problem("unnamed-column", "header", finding, fix)
        return replace(dialect, names=(ROW_NAMES, *names)), (notice,)
    if all(not row[-1] for row in rows) and unnamed not in names:
        finding = f"rows have {width} fields, the last one empty, under {width - 1} names: it is ignored"
        example = f"'{rows[0][0]}' is read as '{names[0]}'"
        notice = Problem("trailing-delimiter", "header", finding, fix, example=example)
        return replace(dialect, names=(*names, unnamed)), (notice,)
    return dialect, ()


FORMATS = {",": "CSV", "\t": "tab-separated text"}


def is_delimited(format_name: str) -> bool:
    """Returns whether a table's format is that of a delimited text, in which a line is a row."""
    return format_name in FORMATS.values() or format_name.endswith(" delimiters")


def _delimited(text: PreparedText) -> RawTable:
    dialect = text.dialect
    name = FORMATS.get(dialect.delimiter, f"text with {DELIMITERS[dialect.delimiter]} delimiters")
    notices = dialect_notices(dialect, text.content.name)
    return text_table(text, name, notices=notices)


def text_table(text: PreparedText, name: str, **extra: Any) -> RawTable:
    """Returns the raw table of a text; ``extra`` are other fields of ``RawTable``.

    Raises ``UploadError`` for an unclosed quote, and for a first line that is too long.
    """
    dialect = text.dialect
    n_quotes = quotes_in(text.content) if dialect.quoted else 0
    if n_quotes % 2 and (unclosed := unclosed_quote(text)):
        raise UploadError(unclosed)
    lines = sample_lines(text.content)
    text = replace(text, has_quoted_rows=n_quotes > 2 * _n_quoted_names(lines, text))
    has_rows = len(lines) > dialect.header and not is_cut(text.content)
    if not has_rows and text.content.size > HEAD:
        raise UploadError(long_start(text))

    def sample() -> list[dict[str, str]]:
        rows = fields_of(lines, text.delimiter, dialect.quoted)[int(dialect.header) :]
        complete = [row for row in rows if len(row) == len(dialect.names)]
        return [dict(zip(dialect.names, row, strict=True)) for row in complete[:SAMPLE_ROWS]]

    return RawTable(
        name,
        dialect.names,
        lambda columns, ids: _blocks(text, columns, ids),
        lambda row: line_of(text, row),
        sample,
        header=dialect.header,
        decimal=dialect.decimal,
        n_rows=None if has_rows else 0,
        **extra,
    )


def _n_quoted_names(lines: Sequence[str], text: PreparedText) -> int:
    """Returns how many names in the header line stand between two quotation marks, without others in them."""
    names = lines[0].split(text.delimiter) if lines and text.dialect.header else []
    return sum(name[:1] == name[-1:] == '"' and name.count('"') == 2 for name in names)


def _blocks(text: PreparedText, columns: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
    """Yields batches with all values as text.

    Rows of a wrong width are skipped, and raise ``UploadError`` at the end. To skip rows, Arrow's threads
    would have to call a Python function (see ``byte_source.for_arrow``). A table is therefore read without
    skipping until a row needs it.
    """
    rows = _RowsOnce(text, columns, ids)
    try:
        yield from rows.in_growing_blocks()
    except pa.ArrowInvalid:
        ragged = RaggedRows()
        finding, fix = "the text cannot be read as a table", "Check the delimiter and the quotes."
        try:
            with translating_errors("bad-text", finding, fix):
                yield from rows.rest(BLOCK_BYTES, ragged.skip)
        except UploadError:
            if not ragged.are_too_many:
                raise
        if ragged.count:
            raise UploadError(ragged_rows(text, ragged.count, are_all=not ragged.are_too_many)) from None


class _RowsOnce:
    """Yields each row of a text once, however often Arrow has to begin again in another way."""

    def __init__(self, text: PreparedText, columns: Sequence[str], ids: Collection[str]) -> None:
        self._text, self._columns, self._ids = text, columns, ids
        self._n_rows = 0

    def in_growing_blocks(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows in usual blocks, and in larger ones from a row on that is longer than those.

        Raises ``UploadError`` for a row that is longer than any block, and pa.ArrowInvalid for one of a wrong
        width.
        """
        try:
            yield from self.rest(USUAL_BLOCK_BYTES)
        except pa.ArrowInvalid as error:
            if ACROSS_BLOCKS not in str(error):
                raise
        else:
            return
        try:
            yield from self.rest(BLOCK_BYTES)
        except pa.ArrowInvalid as error:
            if ACROSS_BLOCKS in str(error):
                raise UploadError(LONG_LINE) from error
            raise

    def rest(
        self, block_bytes: int, of_wrong_width: Callable[[Any], str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yields the rows that were not yielded before."""
        known = self._n_rows
        for batch in _arrow_blocks(self._text, self._columns, self._ids, block_bytes, of_wrong_width):
            fresh = batch.slice(min(known, batch.num_rows)) if known else batch
            known -= batch.num_rows - fresh.num_rows
            self._n_rows += fresh.num_rows
            if not known:
                yield fresh


class RaggedRows:
    """The number of rows of a wrong width; reading ends at ``MOST_RAGGED``, because each takes long."""

    def __init__(self) -> None:
        self.count = 0

    @property
    def are_too_many(self) -> bool:
        return self.count >= MOST_RAGGED

    def skip(self, _row: Any) -> str:
        """Counts a row, and returns what Arrow shall do: skip it, or end with an error."""
        self.count += 1
        return "error" if self.are_too_many else "skip"


def _arrow_blocks(
    text: PreparedText,
    columns: Sequence[str],
    ids: Collection[str],
    block_bytes: int,
    of_wrong_width: Callable[[Any], str] | None,
) -> Iterator[pa.RecordBatch]:
    """Yields Arrow's batches of about ``block_bytes`` of text.

    Raises pa.ArrowInvalid for a row of a wrong width, unless ``of_wrong_width`` handles it.
    """
    from pyarrow import csv

    dialect = text.dialect
    read = csv.ReadOptions(
        use_threads=False,
        block_size=block_bytes,
        column_names=list(dialect.names),
        skip_rows=blank_lines_before(text.content),
        skip_rows_after_names=int(dialect.header),
    )
    parse = csv.ParseOptions(
        delimiter=text.delimiter,
        quote_char='"' if dialect.quoted else False,
        newlines_in_values=text.has_quoted_rows,
        invalid_row_handler=of_wrong_width,
    )

    def encoded(batch: pa.RecordBatch) -> pa.RecordBatch:
        arrays = [coded(batch[name]) if name in ids else batch[name] for name in columns]
        return pa.RecordBatch.from_arrays(arrays, list(columns))

    types = dict.fromkeys(columns, pa.string())
    convert = csv.ConvertOptions(column_types=types, include_columns=list(columns), strings_can_be_null=False)
    with for_arrow(text.content) as source, csv.open_csv(source, read, parse, convert) as reader:
        yield from map(encoded, reader)  # which holds no batch of texts while its rows are worked on
