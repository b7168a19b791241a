"""Every number of a document as one table: a row for each, with what it is and how it is shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from recdash.formatting.sanitize import on_a_line
from recdash.formatting.spreadsheet import safe_cell
from recdash.report.document import Cell, Document, Interval, Number, Table, shown

COLUMNS = ("section", "table", "row", "column", "value", "low", "high", "shown")


def to_csv(document: Document) -> str:
    """No text can start a formula in a spreadsheet; the verdict is the first row."""
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
    """On one line, and no formula."""
    return safe_cell(on_a_line(value) if isinstance(value, str) else value)


def _lines(table: Table, document: Document) -> Iterator[list[object]]:
    """One per cell behind the first, which names its row; more than one first where it is not enough."""
    named = _naming(table, document)
    for row in table.rows:
        name = ", ".join(shown(cell, document.names) for cell in row[:named])
        for column, cell in zip(table.columns[named:], row[named:], strict=True):
            yield [table.title, name, column.title, *_numbers(cell), shown(cell, document.names)]


def _naming(table: Table, document: Document) -> int:
    """How many cells it takes to tell the rows apart."""
    names = document.names
    for count in range(1, len(table.columns)):
        found = [tuple(shown(cell, names) for cell in row[:count]) for row in table.rows]
        if len(set(found)) == len(found):
            return count
    return 1


def _numbers(cell: Cell) -> list[object]:
    if isinstance(cell, Number):
        return ["" if cell.value is None else cell.value, "", ""]
    if isinstance(cell, Interval):
        ends = (cell.low.value, cell.high.value)
        return ["", *("" if end is None else end for end in ends)]
    return ["", "", ""]
