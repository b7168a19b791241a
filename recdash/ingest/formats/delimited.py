"""CSV, tab-separated text and their relatives, read by Arrow."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import HEAD, Content, for_arrow
from recdash.ingest.columns import listed
from recdash.ingest.formats.dialect import (
    DELIMITERS,
    Dialect,
    dialect_notices,
    dialect_of,
    fields_of,
    sample_lines,
    without_header,
)
from recdash.ingest.formats.raw_table import BLOCK_BYTES, SAMPLE_ROWS, RawTable
from recdash.ingest.formats.text_rows import (
    is_cut,
    line_of,
    long_start,
    ragged_rows,
    single_delimiter,
    unclosed_quote,
)
from recdash.ingest.library_errors import in_words
from recdash.ingest.limits import Limits

TEXT = pa.dictionary(pa.int32(), pa.string())


def read_delimited(content: Content, _kind: TableKind, _limits: Limits) -> RawTable:
    """CSV and its relatives: any delimiter, with or without a header line."""
    dialect = dialect_of(content)
    table = _delimited(content, dialect)
    if not dialect.header:
        return table
    return replace(table, without_header=lambda: _delimited(content, without_header(dialect)))


def _delimited(content: Content, dialect: Dialect) -> RawTable:
    named = {",": "CSV", "\t": "tab-separated text"}
    name = named.get(dialect.delimiter, f"text with {DELIMITERS[dialect.delimiter]} delimiters")
    notices = dialect_notices(dialect, content.name)
    return text_table(content, dialect, name, notices=notices)


def text_table(content: Content, dialect: Dialect, name: str, **extra: Any) -> RawTable:
    content, delimiter = single_delimiter(content, dialect)
    if dialect.quoted and (unclosed := unclosed_quote(content, delimiter)):
        raise UploadError(unclosed)
    lines = sample_lines(content)
    if len(lines) <= dialect.header or is_cut(content):
        if content.size > HEAD:
            raise UploadError(long_start(content, dialect, delimiter))
        found = f"a header ({listed(dialect.names)}) and no rows"
        raise UploadError(Problem("no-rows", "file", found, "Upload a table with rows."))
    return RawTable(
        name,
        dialect.names,
        lambda columns, ids: _text_blocks(content, dialect, delimiter, columns, ids),
        lambda row: line_of(content, dialect, delimiter, row),
        lambda: _text_sample(lines, dialect, delimiter),
        header=dialect.header,
        decimal=dialect.decimal,
        **extra,
    )


def _text_sample(lines: Sequence[str], dialect: Dialect, delimiter: str) -> list[dict[str, str]]:
    rows = fields_of(lines, delimiter, dialect.quoted)[int(dialect.header) :]
    complete = [row for row in rows if len(row) == len(dialect.names)]
    return [dict(zip(dialect.names, row, strict=True)) for row in complete[:SAMPLE_ROWS]]


def _text_blocks(
    content: Content, dialect: Dialect, delimiter: str, columns: Sequence[str], ids: Collection[str]
) -> Iterator[pa.RecordBatch]:
    """All values stay text here; rows of a wrong width are passed over and refused at the end.

    To pass over rows Arrow's threads would hold a function of ours: see ``content.for_arrow``. A table is
    read without it as long as no row asks for it.
    """
    n_blocks = 0
    try:
        for block in _strict_blocks(content, dialect, delimiter, columns, ids):
            n_blocks += 1
            yield block
    except pa.ArrowInvalid:
        lenient = _lenient_blocks(content, dialect, delimiter, columns, ids)
        yield from itertools.islice(lenient, n_blocks, None)


def _lenient_blocks(
    content: Content, dialect: Dialect, delimiter: str, columns: Sequence[str], ids: Collection[str]
) -> Iterator[pa.RecordBatch]:
    ragged: list[Any] = []

    def passed_over(row: Any) -> str:
        ragged.append(row)
        return "skip"

    with in_words("bad-text", "the text cannot be read as a table", "Check the delimiter and the quotes."):
        yield from _strict_blocks(content, dialect, delimiter, columns, ids, passed_over)
    if ragged:
        raise UploadError(ragged_rows(content, dialect, delimiter, len(ragged)))


def _strict_blocks(
    content: Content,
    dialect: Dialect,
    delimiter: str,
    columns: Sequence[str],
    ids: Collection[str],
    of_wrong_width: Callable[[Any], str] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Raises pa.ArrowInvalid for a row of a wrong width, unless ``of_wrong_width`` says what to do."""
    from pyarrow import csv

    read = csv.ReadOptions(
        use_threads=False,
        block_size=BLOCK_BYTES,
        column_names=list(dialect.names),
        skip_rows_after_names=int(dialect.header),
    )
    parse = csv.ParseOptions(
        delimiter=delimiter,
        quote_char='"' if dialect.quoted else False,
        newlines_in_values=dialect.quoted,
        invalid_row_handler=of_wrong_width,
    )
    types = {name: TEXT if name in ids else pa.string() for name in columns}
    convert = csv.ConvertOptions(column_types=types, include_columns=list(columns), strings_can_be_null=False)
    with for_arrow(content) as source, csv.open_csv(source, read, parse, convert) as reader:
        yield from reader
