"""The tables of docs/calibration.md as rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from benchmarks.calibration_page import PAGE, section


def rows_of(title: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of the table with these columns in a section: {column: cell}; none without such a table."""
    lines = section(PAGE.read_text(encoding="utf-8"), title).splitlines()
    head = f"| {' | '.join(columns)} |"
    if head not in lines:
        return []
    rows = takewhile(lambda line: line.startswith("| "), lines[lines.index(head) + 2 :])
    return [
        dict(zip(columns, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
        for line in rows
    ]
