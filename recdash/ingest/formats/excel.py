"""Reads Excel workbooks (.xlsx), of which one sheet is the table."""

from __future__ import annotations

import datetime as dt
import itertools
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.formatting.wording import cut, listed, many
from recdash.ingest.byte_source import CHUNK, Content
from recdash.ingest.columns import KNOWN, assign, is_known, plain
from recdash.ingest.formats.raw_table import RawTable, table_of_arrow, unique_names
from recdash.ingest.library_errors import OF_ZIP, translating_errors
from recdash.ingest.limits import Limits, keep_within, of_archive

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

WORKBOOK = "xl/workbook.xml"
DAMAGED = ("damaged-excel", "the Excel workbook cannot be read", "Save the sheet with the table as CSV.")
PLACE = re.compile(rb"""\br\s*=\s*["']([A-Za-z]*)([0-9]+)["']""")
"""The place of a cell or of a row, in any spelling that the library takes."""
LONGEST_PLACE = 256
SHEET_ROWS, SHEET_COLUMNS = 1 << 20, 1 << 14
"""The size of the largest sheet in Excel."""
MOST_CELLS = 200_000_000
"""Largest number of cells between the first and the last one.

The library keeps all of them, also empty ones.
"""
MOST_EMPTY_CELLS, MOST_TIMES_FILLED = 10_000_000, 10
"""A sheet with more cells than both limits, of which so many times fewer are written, is empty mostly."""
MOST_TITLES = 10
"""Largest number of rows of one cell above a table that are taken for titles."""
LONGEST_TITLE = 40
EXACT = 2**53
"""Excel stores numbers as floats, which are exact for whole numbers up to here."""
Cell = int | float | str | bool | dt.date | dt.time | dt.timedelta
Row = Sequence[Cell]


@dataclass(frozen=True)
class SheetTable:
    """The table of a sheet: its ``rows`` with their ``numbers`` in the sheet, and the titles above it."""

    titles: Sequence[str]
    numbers: Sequence[int]
    rows: Sequence[Row]


def is_excel(content: Content) -> bool:
    return content.head.startswith(b"PK\x03\x04") and WORKBOOK in _members(content)


def sheets_of(content: Content, limits: Limits) -> tuple[str, ...]:
    """Returns the names of the sheets that hold a table: a header of several columns, and rows.

    Raises ``UploadError`` for a damaged workbook and sizes beyond the limits.
    """
    from python_calamine import CalamineWorkbook

    if content.sheet is not None or not is_excel(content):
        return ()
    _check_size(content, of_archive(limits))
    with translating_errors(*DAMAGED, beside=OF_ZIP), content.open() as file:
        book = CalamineWorkbook.from_filelike(file)
        return tuple(name for name in book.sheet_names if _is_table(book.get_sheet_by_name(name)))


def _is_table(sheet: CalamineSheet) -> bool:
    rows = _table_of(sheet, MOST_TITLES + 2).rows
    return len(rows) > 1 and _n_filled(rows[0]) > 1


def _members(content: Content) -> dict[str, zipfile.ZipInfo]:
    fix = "Upload the file itself."
    with (
        translating_errors("damaged-zip", "the zip archive cannot be unpacked", fix, beside=OF_ZIP),
        content.open() as packed,
        zipfile.ZipFile(packed) as archive,
    ):
        return {info.filename: info for info in archive.infolist()}


def read_excel(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """Returns the raw table of one sheet of the workbook.

    It is the chosen sheet, else the only one, or the first whose header fits the table. Raises
    ``UploadError`` for a damaged workbook, an unknown or empty sheet, and sizes beyond the limits.
    """
    from python_calamine import CalamineError, CalamineWorkbook

    limits = of_archive(limits)
    unpacked_bytes = _check_size(content, limits)
    try:
        with translating_errors(*DAMAGED, beside=OF_ZIP), content.open() as file:
            book = CalamineWorkbook.from_filelike(file)
            name, table = _chosen(book, content.sheet, kind, limits)
    except CalamineError as error:
        raise UploadError(Problem(DAMAGED[0], "file", f"{DAMAGED[1]} ({error})", DAMAGED[2])) from error
    if not table.rows:
        finding = f"the sheet '{name}' is empty"
        raise UploadError(Problem("no-rows", "file", finding, "Upload a table with a header and rows."))
    notices = _titles_left_out(table.titles)
    if content.sheet is None and len(book.sheet_names) > 1:
        finding = f"read from the sheet '{name}', one of {len(book.sheet_names)}: {listed(book.sheet_names)}"
        fix = "Choose another sheet if this is wrong: the commands take FILE.xlsx#SHEET."
        notices.append(Problem("sheet", "file", finding, fix))
    body = table.numbers[1:]
    raw = table_of_arrow(
        _as_table(table.rows), "Excel", where=lambda row: f"row {body[row]} of sheet '{name}'"
    )
    return replace(
        raw, notices=tuple(notices), sheets=tuple(book.sheet_names), sheet=name, unpacked_bytes=unpacked_bytes
    )


# ── limits, before the library reads ─────────────────────────────────────────────────────────


def _check_size(content: Content, limits: Limits) -> int:
    """Returns the unpacked size in bytes. Raises UploadError if the workbook exceeds the limits."""
    size = 0
    with (
        translating_errors(*DAMAGED, beside=OF_ZIP),
        content.open() as packed,
        zipfile.ZipFile(packed) as archive,
    ):
        for member in archive.infolist():
            size += member.file_size
            keep_within(limits, "inflated_bytes", size)
            if member.filename.startswith("xl/worksheets/") and member.filename.endswith(".xml"):
                with archive.open(member) as sheet:
                    _check_cells(sheet, limits)
    if size > 16 * CHUNK:
        keep_within(limits, "compression_ratio", size / max(content.size, 1))
    return size


def _check_cells(sheet: IO[bytes], limits: Limits) -> None:
    """Raises UploadError if the sheet's rows, columns or cells exceed the limits."""
    n_rows = n_columns = n_places = 0
    rest = b""
    while chunk := sheet.read(CHUNK):
        text = rest + chunk
        places = PLACE.findall(text)
        n_places += len(places)
        for column, row in places:
            n_rows, n_columns = max(n_rows, _row_number(row)), max(n_columns, _column_number(column))
        rest = text[-LONGEST_PLACE:]
    keep_within(limits, "rows", n_rows - 1)
    keep_within(limits, "columns", n_columns, "header")
    n_cells = n_rows * n_columns
    is_sparse = n_cells > MOST_EMPTY_CELLS and n_cells > MOST_TIMES_FILLED * n_places
    if is_sparse or n_cells > MOST_CELLS or n_rows > SHEET_ROWS or n_columns > SHEET_COLUMNS:
        finding = f"a sheet of {n_rows:,} rows and {n_columns:,} columns, empty ones included"
        fix = "Delete the empty rows and columns below and beside the table, or save it as CSV."
        raise UploadError(Problem("sparse-sheet", "file", finding, fix))


def _row_number(digits: bytes) -> int:
    """Returns the number; of one that is far beyond any sheet, its first digits."""
    return int(digits.lstrip(b"0")[:9] or b"0")


def _column_number(letters: bytes) -> int:
    """Returns A as 1, Z as 26, AA as 27 …; of a name that is far beyond any sheet, that of its beginning."""
    number = 0
    for letter in letters[:5].upper():
        number = 26 * number + letter - 64
    return number


# ── which sheet ──────────────────────────────────────────────────────────────────────────────


def _chosen(
    book: CalamineWorkbook, sheet: str | None, kind: TableKind, limits: Limits
) -> tuple[str, SheetTable]:
    """Returns the name and the table of the sheet to read."""
    names = book.sheet_names
    if not names:
        fix = "Upload a workbook with a table."
        raise UploadError(Problem("no-rows", "file", "the workbook has no sheet", fix))
    if sheet is not None and sheet not in names:
        finding = f"no sheet is called '{sheet}'; found: {listed(names)}"
        raise UploadError(Problem("unknown-sheet", "file", finding, "Name one of the sheets found."))
    name = sheet or names[0]
    if sheet is None and len(names) > 1:
        fits = [other for other in names if _fits(book.get_sheet_by_name(other), kind)]
        known = [other for other in names if _knows_names(book.get_sheet_by_name(other))]
        name = next(iter([*fits, *known, name]))
    table = _table_of(book.get_sheet_by_name(name))
    keep_within(limits, "rows", len(table.rows) - 1)
    return name, table


def _table_of(sheet: CalamineSheet, n_rows: int | None = None) -> SheetTable:
    """Returns the table of the sheet, of whose rows only the first ``n_rows`` are read.

    Rows of one cell above a row of several are titles. If only their names are those of roles, they are the
    header. Empty rows are left out.
    """
    filled = list(itertools.islice(_rows_of(sheet), n_rows))
    numbers, rows = [number for number, _ in filled], [row for _, row in filled]
    header = next((n for n, row in enumerate(rows[: MOST_TITLES + 1]) if _n_filled(row) > 1), 0)
    titles = [str(cell) for row in rows[:header] for cell in row if cell != ""]
    if any(map(is_known, titles)) and not any(is_known(str(cell)) for cell in rows[header]):
        return SheetTable((), numbers, rows)
    return SheetTable(titles, numbers[header:], rows[header:])


def _rows_of(sheet: CalamineSheet) -> Iterator[tuple[int, Row]]:
    """Yields the number and the cells of each row of the sheet that is not empty."""
    for number, row in enumerate(sheet.iter_rows() if sheet.height else (), start=1):
        if any(cell != "" for cell in row):
            yield number, row


def _n_filled(row: Row) -> int:
    return sum(cell != "" for cell in row)


def _titles_left_out(titles: Sequence[str]) -> list[Problem]:
    """Returns a notice of the lines above the table, which are not read; empty without any."""
    if not titles:
        return []
    example, count = f"'{cut(titles[0], LONGEST_TITLE)}'", len(titles)
    finding = f"{many(count, 'line')} above the table, such as {example}"
    fix = "They are not read. If they are rows, put the header line above them."
    return [Problem("comments", "file", finding, fix, count, example)]


def _header(sheet: CalamineSheet) -> list[str]:
    rows = _table_of(sheet, MOST_TITLES + 1).rows
    return [str(cell) for cell in rows[0]] if rows else []


def _fits(sheet: CalamineSheet, kind: TableKind) -> bool:
    """Returns True if the sheet's header has all columns that the table needs."""
    return not assign(kind, unique_names(_header(sheet))).problems


def _knows_names(sheet: CalamineSheet) -> bool:
    """Returns True if at least two names of the sheet's header are known to some table."""
    return sum(plain(name) in KNOWN for name in _header(sheet)) > 1


# ── values ───────────────────────────────────────────────────────────────────────────────────


def _as_table(rows: Sequence[Row]) -> pa.Table:
    head, *body = rows
    columns = [_as_array([row[number] for row in body]) for number in range(len(head))]
    return pa.table(columns, names=list(unique_names([str(_plain(cell)) for cell in head])))


def _as_array(cells: Sequence[Cell]) -> pa.Array:
    """Returns the cells as numbers, dates or truth values if all are of one such type, else as text."""
    values = [None if cell == "" else _plain(cell) for cell in cells]
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and kinds:
        return pa.array(values, pa.float64() if float in kinds else pa.int64())
    if kinds in ({bool}, {dt.datetime}, {dt.date}):
        return pa.array(values)
    return pa.array([None if value is None else _as_text(value) for value in values], pa.string())


def _plain(cell: Cell) -> Any:
    """Returns a float that is a whole number as int, since Excel stores floats only.

    Other cells are returned unchanged.
    """
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= EXACT:
        return int(cell)
    return cell


def _as_text(value: Any) -> str:
    return value.isoformat(" ") if isinstance(value, dt.datetime) else str(value)
