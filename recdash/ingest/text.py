"""Text files: which encoding, which delimiter, is there a header line, and on which line is a row."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import CHUNK, HEAD, Content, copied
from recdash.ingest.columns import is_known

# what a byte-order mark at the beginning promises (the longer marks first)
MARKS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)

UNIT = "\x1f"  # stands for '::' inside: Arrow's reader wants a delimiter of one character
DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "'|'", "::": "'::'", " ": "blank"}
NUMBER = re.compile(r"[+-]?(\d+([.]\d*|,\d+)?|\.\d+)([eE][+-]?\d+)?")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
CONTROL = bytes(set(range(32)) - {9, 10, 12, 13, 0x1B, 0})
SAMPLE_LINES = 60
LONGEST_SHOWN = 40


@dataclass(frozen=True)
class Dialect:
    """How a text table is written; ``names`` are unique, ``delimiter`` is as found in the file."""

    delimiter: str
    names: tuple[str, ...]
    header: bool
    decimal: str = "."
    quoted: bool = True


# ── bytes to clean UTF-8 ─────────────────────────────────────────────────────────────────────


def as_utf8(content: Content) -> Content:
    """``content`` as UTF-8 text; raises ``UploadError`` for NUL bytes and for what is not text."""
    if content.head.startswith(tuple(mark for mark, _ in MARKS)):
        return _from_marked(content)
    _refuse_binary(content)
    return content if _survey(content) else _from_western(content)


def _from_marked(content: Content) -> Content:
    encoding = next(name for mark, name in MARKS if content.head.startswith(mark))
    notice = Problem("encoding", "file", f"the text is {encoding}, not UTF-8", "It was converted.")
    try:
        return copied(content, _transcoder(encoding), notice)
    except UnicodeError as error:
        found = f"starts like {encoding} text but is not ({error})"
        raise UploadError(Problem("bad-encoding", "file", found, "Save the file as UTF-8.")) from error


def _transcoder(encoding: str, errors: str = "strict") -> Callable[[BinaryIO, BinaryIO], None]:
    def transcode(reader: BinaryIO, writer: BinaryIO) -> None:
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        while chunk := reader.read(CHUNK):
            writer.write(decoder.decode(chunk).encode())
        writer.write(decoder.decode(b"", final=True).encode())

    return transcode


def _refuse_binary(content: Content) -> None:
    head = content.head
    strange = len(head) - len(head.translate(None, CONTROL + b"\0"))
    if strange > max(2, len(head) // 50):
        found = "not a text file: it holds binary data"
        raise UploadError(Problem("binary", "file", found, "Upload CSV, Parquet, JSON or a TREC file."))


def _survey(content: Content) -> bool:
    """Read all bytes once: True when they are UTF-8; raises ``UploadError`` at a NUL byte."""
    decoder, utf8, lines = codecs.getincrementaldecoder("utf-8")(), True, 1
    with content.open() as reader:
        while chunk := reader.read(CHUNK):
            if (nul := chunk.find(b"\0")) >= 0:
                raise UploadError(_nul(lines + _line_ends(chunk[:nul])))
            lines += _line_ends(chunk)
            utf8 = utf8 and _decodes(decoder, chunk)
    return utf8 and _decodes(decoder, b"", final=True)


def _line_ends(chunk: bytes) -> int:
    return chunk.count(b"\n") or chunk.count(b"\r")


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _nul(line: int) -> Problem:
    found = "a NUL byte, which no text table holds"
    return Problem("nul", f"line {line}", found, "Export the table again; the file is damaged or binary.")


def _from_western(content: Content) -> Content:
    """Text that is not UTF-8 is nearly always cp1252, of which latin-1 is the printable part."""
    found = "the text is not UTF-8 and was read as latin-1 / cp1252"
    notice = Problem("encoding", "file", found, "Look at names with accents; save as UTF-8 to be sure.")
    codecs.register_error("recdash-latin1", _latin1)
    return copied(content, _transcoder("cp1252", "recdash-latin1"), notice)


def _latin1(error: UnicodeError) -> tuple[str, int]:
    """The five bytes that cp1252 leaves undefined keep their latin-1 meaning."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


# ── how the table is written ─────────────────────────────────────────────────────────────────


def sample_lines(content: Content) -> list[str]:
    """The first lines that are not blank, without one that the sample cuts off."""
    lines = content.head.decode("utf-8-sig", errors="ignore").splitlines()
    if content.size > HEAD and len(lines) > 1:
        lines = lines[:-1]
    return [line for line in lines if line.strip()][:SAMPLE_LINES]


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


def fields_of(lines: Sequence[str], delimiter: str, quoted: bool = True) -> list[list[str]]:
    if delimiter == "::":
        return [line.split("::") for line in lines]
    if delimiter == " ":
        return [line.split() for line in lines]
    ended = (f"{line}\n" for line in lines)  # so that a quoted line break stays one
    try:
        return [row for row in _reader(ended, delimiter, quoted) if row]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _reader(lines: Iterable[str], delimiter: str, quoted: bool) -> Any:
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)


def dialect_of(content: Content) -> Dialect:
    """Delimiter, header, names and decimal sign, told from the first lines."""
    lines = sample_lines(content)
    rows = {delimiter: fields_of(lines, delimiter) for delimiter in DELIMITERS}
    delimiter = _outer(rows, max(rows, key=lambda d: _likelihood(rows[d])))
    chosen = rows[delimiter]
    header = has_header(chosen[0])
    width = len(chosen[0])
    names = unique(chosen[0]) if header else numbered(width)
    decimal = "," if delimiter != "," and _decimal_comma(chosen) else "."
    return Dialect(delimiter, names, header, decimal, quoted=delimiter not in ("::", " "))


def without_header(dialect: Dialect) -> Dialect:
    """The dialect of a table whose first line is data, though it looks like a header."""
    return replace(dialect, header=False, names=numbered(len(dialect.names)))


def numbered(width: int) -> tuple[str, ...]:
    return tuple(f"column {i}" for i in range(1, width + 1))


def _outer(rows: dict[str, list[list[str]]], likeliest: str) -> str:
    """The delimiter between a user and a list, where the likeliest one parts the list: ``7<TAB>a,b,c``.

    Each line then has exactly one of the outer delimiters, before all of the inner ones, and the members of
    the list are of one form: all numbers, or none.
    """
    for delimiter in ("\t", ";", ",", "|", "::"):
        lines = rows[delimiter]
        parts = all(len(row) == 2 and likeliest not in row[0] for row in lines)
        if delimiter != likeliest and parts and len(rows[likeliest][0]) > 1:
            members = [part.strip() for _, items in lines for part in items.split(likeliest)]
            if len({bool(NUMBER.fullmatch(member)) for member in members}) == 1:
                return delimiter
    return likeliest


def _likelihood(rows: list[list[str]]) -> tuple[int, float, int]:
    """Known column names weigh most, then rows of equal width, then the number of fields."""
    width = len(rows[0])
    if width < 2:
        return (0, 0.0, 1)
    return (sum(map(is_known, rows[0])), sum(len(row) == width for row in rows) / len(rows), width)


def has_header(cells: Sequence[str]) -> bool:
    """A first line is a header when it holds no number, or names a known column all the same."""
    # a single letter beside numbers ("u,a,0.5") is rather an id than a name
    named = any(is_known(cell) and len(cell.strip()) > 1 for cell in cells)
    return named or not any(NUMBER.fullmatch(cell.strip()) for cell in cells)


def unique(names: Sequence[str]) -> tuple[str, ...]:
    """Trimmed names; one that occurs twice becomes ``name (1)``, ``name (2)`` …, so that none is hidden."""
    trimmed = [name.strip() or f"column {i}" for i, name in enumerate(names, 1)]
    seen: dict[str, int] = {}
    named, counts = [], Counter(trimmed)
    for name in trimmed:
        seen[name] = seen.get(name, 0) + 1
        named.append(f"{name} ({seen[name]})" if counts[name] > 1 else name)
    return tuple(named)


def _decimal_comma(rows: list[list[str]]) -> bool:
    return any(DECIMAL_COMMA.fullmatch(cell.strip()) for row in rows for cell in row)


def dialect_notices(dialect: Dialect, name: str) -> tuple[Problem, ...]:
    """What was detected and is not what the file's name or a plain CSV would let expect."""
    delimiter, found = dialect.delimiter, []
    expected = "\t" if name.lower().endswith((".tsv", ".tab")) else ","
    if delimiter != expected and len(dialect.names) > 1:
        found.append(Problem("delimiter", "file", f"{DELIMITERS[delimiter]} delimiter detected", ""))
    if dialect.decimal == ",":
        found.append(Problem("decimal-comma", "file", "decimal comma detected: '0,5' is read as 0.5", ""))
    return tuple(found)


# ── preparing for Arrow's reader, which wants one-character delimiters ───────────────────────


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


# ── where a row is, asked only once something is wrong ───────────────────────────────────────


def records(content: Content, dialect: Dialect, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """(line on which it starts, fields) of every record after the header; blank lines are passed over."""
    with content.open() as raw:
        text = io.TextIOWrapper(raw, encoding="utf-8-sig", newline="")
        reader = _reader(text, delimiter, dialect.quoted)
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
