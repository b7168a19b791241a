"""Prepares the rows of a text table for Arrow's reader, and locates rows in the file after an error."""

from __future__ import annotations

import csv
import io
import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import BinaryIO

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import CHUNK, HEAD, Content, copied
from recdash.ingest.formats.dialect import DELIMITERS, Dialect, csv_reader
from recdash.ingest.formats.raw_table import BLOCK_BYTES

UNIT = "\x1f"  # stands for '::' inside: Arrow's reader needs a one-character delimiter


LONGEST_SHOWN = 40
LONG_LINE = Problem(
    "long-line", "file", f"a line of over {BLOCK_BYTES >> 20} MiB",
    "Check the delimiter and the quotes; write a long list as one row per item.",
)  # fmt: skip
"""Arrow reads no line that is longer than a block."""


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text table in a form that Arrow can read.

    Its one-character ``delimiter`` may differ from that of ``dialect``, which is the file's. Rows without
    quotation marks have no line break in a value, and are read in a fifth less time.
    """

    content: Content
    dialect: Dialect
    delimiter: str
    has_quoted_rows: bool = True


def is_cut(content: Content) -> bool:
    """Returns True if the first line is longer than the sample."""
    return content.size > HEAD and len(content.head.decode("utf-8-sig", errors="ignore").splitlines()) < 2


def long_start(text: PreparedText) -> Problem:
    """Returns the problem of a header and first row that are longer than the sample.

    It names the value that is usually the cause: a text without its closing quote, or a whole file in a cell.
    """
    lines, names = text.content.head.decode("utf-8-sig", errors="ignore").splitlines(), text.dialect.names
    cells = lines[-1].split(text.delimiter)
    place, value = max(enumerate(cells), key=lambda cell: len(cell[1]))
    fix = "Shorten it, or check the delimiter and the quotes; write a long list as one row per item."
    if len(value) < len(lines[-1]) / 2:
        description = "a line" if len(lines[-1]) > HEAD // 2 else "a header and first row"
        finding = f"{description} of over {HEAD // 1024} KiB, with over {len(cells):,} fields"
        return Problem("long-line", f"line {len(lines)}", finding, fix)
    column = f"column '{names[place]}', " if len(lines) > 1 and place < len(names) else ""
    finding = f"a value of over {len(value.encode()) // 1024} KiB that begins with '{value[:LONGEST_SHOWN]}…'"
    return Problem("long-value", f"{column}line {len(lines)}", finding, fix)


def prepared(content: Content, dialect: Dialect) -> PreparedText:
    """Returns the content with a one-character delimiter; it is copied only if the delimiter must change."""
    delimiter = dialect.delimiter
    if delimiter == "::":
        delimiter = UNIT
        content = copied(content, by_line(lambda text: text.replace(b"::", UNIT.encode())))
    elif delimiter == " ":
        squeeze = re.compile(rb"[ \t]+")
        strip = re.compile(rb"^ | (?=\r?$)", re.MULTILINE)
        content = copied(content, by_line(lambda text: strip.sub(b"", squeeze.sub(b" ", text))))
    return PreparedText(content, dialect, delimiter)


def by_line(change: Callable[[bytes], bytes]) -> Callable[[BinaryIO, BinaryIO], None]:
    def rewrite(reader: BinaryIO, writer: BinaryIO) -> None:
        rest, n_lines = b"", 0
        while chunk := reader.read(CHUNK):
            whole, end, rest = (rest + chunk).rpartition(b"\n")
            writer.write(change(whole) + end)
            n_lines += whole.count(b"\n") + len(end)
            if len(rest) > BLOCK_BYTES:
                raise UploadError(replace(LONG_LINE, place=f"line {n_lines + 1}"))
        writer.write(change(rest))

    return rewrite


def _records(text: PreparedText) -> Iterator[tuple[int, list[str]]]:
    """Yields (number of its first line, fields) of every record after the header; blank lines are skipped.

    Raises ``UploadError`` for a value that is too long for Python's reader.
    """
    with text.content.open() as raw:
        lines = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        reader = csv_reader(lines, text.delimiter, text.dialect.quoted)
        line, header = 1, text.dialect.header
        try:
            for fields in reader:
                if fields and not header:
                    yield line, fields
                header = header and not fields
                line = reader.line_num + 1
        except csv.Error as error:
            finding = f"a value of over {csv.field_size_limit() // 1024} KiB"
            fix = "Shorten it, or check the delimiter and the quotes."
            raise UploadError(Problem("long-value", f"line {reader.line_num}", finding, fix)) from error


def line_of(text: PreparedText, row: int) -> str:
    """Returns the line of a row as text, such as 'line 5', or 'row 5' if it cannot be determined.

    ``row`` is the index among the complete rows; 0 is the first after the header.
    """
    width = len(text.dialect.names)
    with suppress(UploadError):  # a value too long for the csv module, in another row
        complete = (line for line, fields in _records(text) if len(fields) == width)
        line = next(itertools.islice(complete, row, None), None)
        if line is not None:
            return f"line {line}"
    return f"row {row + 1}"


def ragged_rows(text: PreparedText, count: int, *, are_all: bool = True) -> Problem:
    """Returns the problem of rows with more or fewer fields than columns, with the first one as example.

    ``are_all``: there are no others than the ``count`` rows.
    """
    width = len(text.dialect.names)
    line, fields = next(((n, f) for n, f in _records(text) if len(f) != width), (0, []))
    at_least = "" if are_all else "at least "
    more = f" (and {at_least}{count - 1} more like it)" if count > 1 else ""
    finding = f"{len(fields)} fields in a table of {width} columns{more}"
    place = f"line {line}" if line else "file"
    return Problem("ragged-row", place, finding, "Check the delimiter and the quotes of that line.", count)


OPENS = {mark: re.compile(rb"(?:^|" + re.escape(mark.encode()) + rb')"(?:[^"]|"")*$') for mark in DELIMITERS}


CLOSES = {
    mark: re.compile(rb'^(?:[^"]|"")*"(?:' + re.escape(mark.encode()) + rb"|\s*$)") for mark in DELIMITERS
}


def quotes_in(content: Content) -> int:
    """Returns the number of quotation marks. To find that a chunk has none is ten times faster than to count
    none.
    """
    with content.open() as reader:
        chunks = iter(lambda: reader.read(CHUNK), b"")
        return sum(chunk.count(b'"') for chunk in chunks if b'"' in chunk)


def unclosed_quote(text: PreparedText) -> Problem | None:
    """Returns the problem of a quote that opens a value and is never closed; None if there is none.

    Only lines with an odd number of quotes matter: they open a value that continues in the next line, or
    close one.
    """
    opens, closes = OPENS[text.delimiter], CLOSES[text.delimiter]
    open_line = 0
    with text.content.open() as raw:
        for number, line in enumerate(iter(lambda: raw.readline(BLOCK_BYTES + 1), b""), 1):
            if len(line) > BLOCK_BYTES:
                return replace(LONG_LINE, place=f"line {number}")
            if line.count(b'"') % 2 == 0:
                continue
            if open_line and not closes.match(line):
                break
            open_line = number if not open_line and opens.search(line.rstrip(b"\r\n")) else 0
    if not open_line:
        return None
    finding, fix = "a quote is opened and never closed", 'Close it, or double it ("") inside a value.'
    return Problem("unclosed-quote", f"line {open_line}", finding, fix)
