"""The tables of docs/calibration.md as rows."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.calibration_page import PAGE, section


def rows_of(title: str, columns: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a section's table: {column: cell}."""
    text = section(PAGE.read_text(encoding="utf-8"), title)
    lines = [line for line in text.splitlines() if line.startswith("| ")][2:]
    return [
        dict(zip(columns, (cell.strip() for cell in line.strip("|").split("|")), strict=True))
        for line in lines
    ]
