"""Writes a small Excel workbook: sheets of texts, numbers and dates, without a library."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from xml.sax.saxutils import escape

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
Cells = Sequence[Sequence[str | float | None]]


def workbook(sheets: Mapping[str, Cells], *, extra: Mapping[str, bytes] | None = None) -> bytes:
    """Returns the bytes of an .xlsx file; None is an empty cell."""
    numbers = range(1, len(sheets) + 1)
    names = zip(numbers, sheets, strict=True)
    listed = "".join(f'<sheet name="{escape(name)}" sheetId="{n}" r:id="rId{n}"/>' for n, name in names)
    related = "".join(
        f'<Relationship Id="rId{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in numbers
    )
    main = f'<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
    book = f'{HEAD}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>'
    parts = {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="{TYPES}"/>',
        "_rels/.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}">{main}</Relationships>',
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": f'{HEAD}<Relationships xmlns="{PACKAGE}">{related}</Relationships>',
    }
    for number, rows in zip(numbers, sheets.values(), strict=True):
        parts[f"xl/worksheets/sheet{number}.xml"] = sheet(rows)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**parts, **(extra or {})}.items():
            archive.writestr(name, data)
    return packed.getvalue()


def sheet(rows: Cells) -> str:
    """Returns the XML of a sheet."""
    lines = []
    for number, row in enumerate(rows, start=1):
        cells = "".join(
            cell(f"{chr(65 + place)}{number}", value) for place, value in enumerate(row) if value is not None
        )
        lines.append(f'<row r="{number}">{cells}</row>')
    return f'{HEAD}<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'


def cell(place: str, value: str | float) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'
