"""Detects how a text table is written: its delimiter, header line, column names and decimal separator."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import HEAD, Content
from recdash.ingest.columns import A_TIME, PREDICTION, RATING, RELEVANCE, SCORE, is_known, names_of, plain
from recdash.ingest.formats.raw_table import unique_names

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "'|'", "::": "'::'", " ": "blank"}


NUMBER = re.compile(r"[+-]?(\d+([.]\d*|,\d+)?|\.\d+)([eE][+-]?\d+)?")


DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")


THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


NUMBERS = {name for role in (SCORE, RELEVANCE, RATING, PREDICTION) for name in names_of(role)}
"""Names of columns that hold numbers."""


SAMPLE_LINES = 60


@dataclass(frozen=True)
class Dialect:
    """How a text table is written; ``names`` are unique, ``delimiter`` is the one in the file."""

    delimiter: str
    names: tuple[str, ...]
    header: bool
    decimal: str = "."
    quoted: bool = True


def sample_lines(content: Content) -> list[str]:
    """Returns the first lines that are not blank, without a line that the sample cuts off."""
    lines = content.head.decode("utf-8-sig", errors="ignore").splitlines()
    if content.size > HEAD and len(lines) > 1:
        lines = lines[:-1]
    return [line for line in lines if line.strip()][:SAMPLE_LINES]


def fields_of(lines: Sequence[str], delimiter: str, quoted: bool = True) -> list[list[str]]:
    if delimiter == "::":
        return [line.split("::") for line in lines]
    if delimiter == " ":
        return [[_unquoted(cell) if quoted else cell for cell in line.split()] for line in lines]
    ended = (f"{line}\n" for line in lines)  # keeps a quoted line break in one line
    try:
        return [row for row in csv_reader(ended, delimiter, quoted) if row]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def _unquoted(cell: str) -> str:
    return cell[1:-1] if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def csv_reader(lines: Iterable[str], delimiter: str, quoted: bool) -> Any:
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)


def dialect_of(content: Content) -> Dialect:
    """Returns the dialect, inferred from the first lines."""
    lines = sample_lines(content)
    rows = {mark: fields_of(lines, mark, quoted=mark != " ") for mark in DELIMITERS}
    delimiter = _outer_delimiter(rows, max(rows, key=lambda d: _likelihood(rows[d])))
    chosen = rows[delimiter]
    quoted = delimiter not in ("::", " ")
    if delimiter == " " and all(cell != _unquoted(cell) for cell in chosen[0]):  # as R writes tables
        quoted, chosen = True, [list(map(_unquoted, row)) for row in chosen]
    header = has_header(chosen[0])
    _refuse_two_delimiters(chosen[0], delimiter)
    names = unique_names(chosen[0]) if header else numbered(len(chosen[0]))
    has_comma = any(DECIMAL_COMMA.fullmatch(cell.strip()) for row in chosen for cell in row)
    if delimiter == ",":
        has_comma = header and _has_quoted_decimals(names, chosen[1:])
    decimal = "," if has_comma else "."
    return Dialect(delimiter, names, header, decimal, quoted=quoted)


def _refuse_two_delimiters(cells: Sequence[str], delimiter: str) -> None:
    """Raises UploadError if a name in the header is several known names with another delimiter between."""
    for cell in cells:
        for other in ("::", "\t", ";", "|", ","):
            names = cell.split(other)
            if other != delimiter and len(names) > 1 and all(map(is_known, names)):
                finding = f"two delimiters: {DELIMITERS[delimiter]}, and {DELIMITERS[other]} in '{cell}'"
                raise UploadError(
                    Problem("two-delimiters", "line 1", finding, "Write one between all columns.")
                )


def _has_quoted_decimals(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Returns whether a column named like a number has decimal commas only, in quotes: "0,75".

    Three digits after each comma may be thousands.
    """
    for place, name in enumerate(names):
        values = [row[place].strip() for row in rows if len(row) > place and row[place].strip()]
        if plain(name) not in NUMBERS or not values:
            continue
        if all(map(DECIMAL_COMMA.fullmatch, values)) and not all(map(THOUSANDS.fullmatch, values)):
            return True
    return False


def without_header(dialect: Dialect) -> Dialect:
    """Returns the dialect for reading the first line as data, although it looks like a header."""
    return replace(dialect, header=False, names=numbered(len(dialect.names)))


def numbered(width: int) -> tuple[str, ...]:
    return tuple(f"column {i}" for i in range(1, width + 1))


def _outer_delimiter(rows: dict[str, list[list[str]]], likeliest: str) -> str:
    """Returns the delimiter between user and list if the likeliest delimiter separates the members of lists.

    In ``7<TAB>a,b,c`` it is the tab. Each line then has exactly one outer delimiter, before all inner ones,
    and the members are all numbers, or none of them is. Otherwise the likeliest delimiter is returned.
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
    """Returns a sort key of a delimiter, given the rows that it produces.

    Known column names count most, then the share of rows of equal width, then the width.
    """
    width = len(rows[0])
    if width < 2:
        return (0, 0.0, 1)
    return (sum(map(is_known, rows[0])), sum(len(row) == width for row in rows) / len(rows), width)


def has_header(cells: Sequence[str]) -> bool:
    """Returns True if the first line is a header: it has no number, date or list, or it names a known
    column.
    """
    # a single letter beside numbers ("u,a,0.5") is more likely an id than a name
    has_known_name = any(is_known(cell) and len(cell.strip()) > 1 for cell in cells)
    return has_known_name or not any(_is_value(cell.strip()) for cell in cells)


def _is_value(cell: str) -> bool:
    """Returns True for a number, a date, and a list in brackets, which are no names of columns."""
    is_list = cell[:1] == "[" and cell[-1:] == "]" and ("," in cell or ":" in cell)
    return is_list or bool(NUMBER.fullmatch(cell) or A_TIME.match(cell))


def dialect_notices(dialect: Dialect, name: str) -> tuple[Problem, ...]:
    """Returns notices about a delimiter that the file's name does not suggest, and about a decimal comma."""
    delimiter = dialect.delimiter
    notices = []
    expected = "\t" if name.lower().endswith((".tsv", ".tab")) else ","
    if delimiter != expected and len(dialect.names) > 1:
        notices.append(Problem("delimiter", "file", f"{DELIMITERS[delimiter]} delimiter detected", ""))
    if dialect.decimal == ",":
        notices.append(Problem("decimal-comma", "file", "decimal comma detected: '0,5' is read as 0.5", ""))
    return tuple(notices)
