"""The rows of a text table: prepared for Arrow's reader, and found again once something is wrong."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import CHUNK, HEAD, Content, copied
from recdash.ingest.formats.dialect import DELIMITERS, Dialect, csv_reader

UNIT = "\x1f"  # stands for '::' inside: Arrow's reader wants a delimiter of one character


LONGEST_SHOWN = 40


def is_cut(content: Content) -> bool:
    """Whether even the first line does not fit into the sample."""
    return content.size > HEAD and len(content.head.decode("utf-8-sig", errors="ignore").splitlines()) < 2


def long_start(content: Content, dialect: Dialect, delimiter: str) -> Problem:
    """The problem of a header and first row that do not fit into the sample, which tells how to read them.

    The fault is mostly one value, which is named: a text without its closing quote, a whole file in a cell.
    """
    lines = content.head.decode("utf-8-sig", errors="ignore").splitlines()
    cells = lines[-1].split(delimiter)
    place, value = max(enumerate(cells), key=lambda cell: len(cell[1]))
    fix = "Shorten it, or check the delimiter and the quotes; a long list goes one item per row."
    if len(value) < len(lines[-1]) / 2:
        what = "a line" if len(lines[-1]) > HEAD // 2 else "a header and first row"
        found = f"{what} of over {HEAD // 1024} KiB, with over {len(cells):,} fields"
        return Problem("long-line", f"line {len(lines)}", found, fix)
    column = f"column '{dialect.names[place]}', " if len(lines) > 1 and place < len(dialect.names) else ""
    found = f"a value of over {len(value.encode()) // 1024} KiB that begins with '{value[:LONGEST_SHOWN]}…'"
    return Problem("long-value", f"{column}line {len(lines)}", found, fix)


def single_delimiter(content: Content, dialect: Dialect) -> tuple[Content, str]:
    """The content with a delimiter of one character, and that character; copied only if needed."""
    if dialect.delimiter == "::":
        return copied(content, _by_line(lambda text: text.replace(b"::", UNIT.encode()))), UNIT
    if dialect.delimiter == " ":
        squeeze = re.compile(rb"[ \t]+")
        strip = re.compile(rb"^ | (?=\r?$)", re.MULTILINE)
        return copied(content, _by_line(lambda text: strip.sub(b"", squeeze.sub(b" ", text)))), " "
    return content, dialect.delimiter


def _by_line(change: Callable[[bytes], bytes]) -> Callable[[BinaryIO, BinaryIO], None]:
    def rewrite(reader: BinaryIO, writer: BinaryIO) -> None:
        rest = b""
        while chunk := reader.read(CHUNK):
            whole, end, rest = (rest + chunk).rpartition(b"\n")
            writer.write(change(whole) + end)
        writer.write(change(rest))

    return rewrite


def records(content: Content, dialect: Dialect, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line on which it starts, fields) of every record after the header; blank lines are passed over."""
    with content.open() as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        reader = csv_reader(text, delimiter, dialect.quoted)
        line, header = 1, dialect.header
        for fields in _each_record(reader):
            if fields and not header:
                yield line, fields
            header = header and not fields
            line = reader.line_num + 1


def _each_record(reader: Any) -> Iterator[list[str]]:
    """Raises ``UploadError`` for a value that Python's reader does not take."""
    try:
        yield from reader
    except csv.Error as error:
        found = f"a value of over {csv.field_size_limit() // 1024} KiB"
        fix = "Shorten it, or check the delimiter and the quotes."
        raise UploadError(Problem("long-value", f"line {reader.line_num}", found, fix)) from error


def line_of(content: Content, dialect: Dialect, delimiter: str, row: int) -> str:
    """'line 5' for the row with this index (0 = the first after the header) among the complete rows."""
    width = len(dialect.names)
    try:
        complete = (line for line, fields in records(content, dialect, delimiter) if len(fields) == width)
        for index, line in enumerate(complete):
            if index == row:
                return f"line {line}"
    except UploadError:  # a value too long for the csv module, in another row
        pass
    return f"row {row + 1}"


def ragged_rows(content: Content, dialect: Dialect, delimiter: str, count: int) -> Problem:
    """The problem of rows with more or fewer fields than there are columns; the first is shown."""
    width = len(dialect.names)
    bad = ((n, f) for n, f in records(content, dialect, delimiter) if len(f) != width)
    line, fields = next(bad, (0, []))
    more = f" (and {count - 1} more like it)" if count > 1 else ""
    return Problem(
        "ragged-row",
        f"line {line}" if line else "file",
        f"{len(fields)} fields where there are {width} columns{more}",
        "Check the delimiter and the quotes of that line.",
        count,
    )


OPENS = {mark: re.compile(rb"(?:^|" + re.escape(mark.encode()) + rb')"(?:[^"]|"")*$') for mark in DELIMITERS}


CLOSES = {
    mark: re.compile(rb'^(?:[^"]|"")*"(?:' + re.escape(mark.encode()) + rb"|\s*$)") for mark in DELIMITERS
}


def unclosed_quote(content: Content, delimiter: str) -> Problem | None:
    """The quote that opens a value and never closes, if there is one.

    Only lines with an odd number of quotes matter: they open a value that goes on, or close one.
    """
    with content.open() as reader:
        if sum(chunk.count(b'"') for chunk in iter(lambda: reader.read(CHUNK), b"")) % 2 == 0:
            return None
    opens, closes = OPENS[delimiter], CLOSES[delimiter]
    open_line = 0
    with content.open() as raw:
        for number, line in enumerate(raw, 1):
            if line.count(b'"') % 2 == 0:
                continue
            if open_line and not closes.match(line):
                break
            open_line = number if not open_line and opens.search(line.rstrip(b"\r\n")) else 0
    return _unclosed(open_line) if open_line else None


def _unclosed(line: int) -> Problem:
    found = "a quote is opened and never closed"
    return Problem("unclosed-quote", f"line {line}", found, 'Close it, or double it ("") inside a value.')
