"""Reads JSON lines: one object per line."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import Content
from recdash.ingest.formats.json_values import ONE_FORM, broken_json, column_array, ids_as_text, parse_json
from recdash.ingest.formats.raw_table import (
    BLOCK_BYTES,
    SAMPLE_ROWS,
    RawTable,
    column_paths,
    first_rows,
    list_columns,
    project,
)
from recdash.ingest.formats.surrogates import refuse_surrogates
from recdash.ingest.limits import Limits, keep_names_within

BLANK = b" \t\r\n\f\v\xef\xbb\xbf"


def is_json_lines(content: Content) -> bool:
    """Returns True if the first two lines that are not empty both begin with a brace.

    A file with the suffix of JSON lines needs only the first.
    """
    if not content.head.lstrip(b"\xef\xbb\xbf \r\n\t").startswith(b"{"):
        return False
    if content.name.lower().endswith((".jsonl", ".ndjson")):
        return True
    with content.open() as reader:
        lines = (line.strip() for line in iter(reader.readline, b""))
        first, second = next(filter(None, lines)), next(filter(None, lines), b"")
    return len(first) > 1 and second.startswith(b"{")


def read_json_lines(content: Content, _kind: TableKind, limits: Limits) -> RawTable:
    first = next(_json_rows(content))
    names = tuple(dict.fromkeys(name for row in first for name in row))
    keep_names_within(limits, names)

    def where(row: int) -> str:
        return f"line {_filled_line(content, row)}"

    paths = column_paths(_batch(first, names, where).schema)

    def blocks(columns: Sequence[str], ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        wanted, before = list(dict.fromkeys(paths[c][0] for c in columns)), 0
        for rows in _json_rows(content):

            def place(row: int, before: int = before) -> str:
                return where(before + row)

            batch = _batch(rows, wanted, place)
            try:
                projected = project(batch, columns, paths)
            except (
                pa.ArrowException,
                TypeError,
            ) as error:  # only this or only earlier blocks have structs
                finding = "lists of another form than in earlier rows"
                problem = Problem("mixed-types", f"from {where(before)} on", finding, ONE_FORM)
                raise UploadError(problem) from error
            yield ids_as_text(projected, ids)
            before += len(rows)

    sample = _batch(first[:SAMPLE_ROWS], names, where)
    lists = list_columns(sample.schema, paths)
    rows = lambda: first_rows(iter([project(sample, tuple(paths), paths)]))  # noqa: E731
    return RawTable("JSON lines", tuple(paths), blocks, where, rows, lists=lists)


def _filled_line(content: Content, row: int) -> int:
    """Returns the line number of the row with this index; blank lines are counted in the line number."""
    with content.open() as reader:
        filled = (number for number, line in enumerate(reader, 1) if line.strip(BLANK))
        return next(itertools.islice(filled, row, None), row + 1)


def _json_rows(content: Content) -> Iterator[list[dict[str, Any]]]:
    """Yields lists of rows. Raises ``UploadError`` at a line that is not a JSON object."""
    number = 1
    with content.open() as reader:
        while lines := reader.readlines(BLOCK_BYTES):
            if number == 1:
                lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            filled = [line for line in lines if line.strip(BLANK)]
            try:
                rows = parse_json(b"[" + b",".join(filled) + b"]")
            except (ValueError, RecursionError):
                rows = [None]
            if not all(isinstance(row, dict) for row in rows):
                raise UploadError(_broken_line(lines, number))
            yield rows
            number += len(lines)


def _broken_line(lines: Sequence[bytes], first: int) -> Problem:
    """Returns the problem of the first line that is not a JSON object.

    ``first`` is the line number of the first of the ``lines``.
    """
    for number, line in enumerate(lines, first):
        try:
            if line.strip() and not isinstance(parse_json(line.rstrip()), dict):
                fix = "Write one {…} per line."
                return Problem("bad-json", f"line {number}", "JSON, but not an object", fix)
        except ValueError as error:
            return broken_json(error, f"line {number}")
        except RecursionError:
            break
    return Problem("bad-json", "file", "JSON that is nested too deeply", "Write one flat {…} per line.")


def _batch(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], where: Callable[[int], str]
) -> pa.RecordBatch:
    refuse_surrogates(names)
    arrays = [column_array([row.get(n) for row in rows], n, where) for n in names]
    return pa.RecordBatch.from_arrays(arrays, list(names))
