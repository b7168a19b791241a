"""Writes all numbers of a document as one CSV table: a row for each number, with its names and how it is
shown.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from recdash.formatting.sanitize import on_a_line
from recdash.formatting.spreadsheet import safe_cell
from recdash.formatting.tables import Cell, Interval, Number, Table, shown
from recdash.report.document import Document

COLUMNS = ("section", "table", "row", "column", "value", "low", "high", "shown")


def to_csv(document: Document) -> str:
    """Returns the document as CSV, its headline first. No cell can be read as a formula by a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    opening = " ".join((f"{document.lead.headline}.", *document.lead.sentences))
    first = ("verdict", document.title, document.experiment, document.moment, "", "", "", opening)
    writer.writerow(map(_cell, first))
    for section, table in document.tables():
        for line in _lines(table, document):
            writer.writerow(map(_cell, (section.name, *line)))
    return text.getvalue()


def _cell(value: object) -> object:
    """Returns the value as a cell on one line that a spreadsheet does not read as a formula."""
    return safe_cell(on_a_line(value) if isinstance(value, str) else value)


def _lines(table: Table, document: Document) -> Iterator[list[object]]:
    """Yields a row of the CSV for each cell of a table.

    The first cells of a table's row name the row: as many of them as are necessary to make the names unique.
    """
    names, n_named = document.names, 1
    for count in range(1, len(table.columns)):
        if len({tuple(shown(cell, names) for cell in row[:count]) for row in table.rows}) == len(table.rows):
            n_named = count
            break
    for row in table.rows:
        name = ", ".join(shown(cell, names) for cell in row[:n_named])
        for column, cell in zip(table.columns[n_named:], row[n_named:], strict=True):
            yield [table.title, name, column.title, *_numbers(cell), shown(cell, names)]


def _numbers(cell: Cell) -> list[object]:
    values: tuple[float | None, ...] = (None, None, None)
    if isinstance(cell, Number):
        values = (cell.value, None, None)
    elif isinstance(cell, Interval):
        values = (None, cell.low.value, cell.high.value)
    return ["" if value is None else value for value in values]
