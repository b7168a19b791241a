"""Two documents compared leaf by leaf: which numbers agree, and where the others are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isclose
from typing import Any

from recdash.report.document import Document, Figure, Section, Table, shown
from recdash.report.formats.json import KIND, to_plain

RELATIVE, ABSOLUTE, DRAWN = 1e-12, 1e-15, 1.1e-5
"""Closer numbers are equal: sums in another order differ by so much. What is only drawn has six digits, of
which the last may turn with them; the table of the figure has all.
"""
LAYOUT = ("decimals", "scale")
"""How a number is shown, which is none of the report's numbers."""
ABSENT = object()
"""What stands in a document where it has no such leaf."""
Path = tuple[Any, ...]


@dataclass(frozen=True)
class DocumentDifference:
    """One leaf that differs: where it stands, what the file says, what was found."""

    where: str
    said: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: the report says {self.said}; recomputed: {self.found}"


@dataclass(frozen=True)
class DocumentComparison:
    """How many numbers and texts agree, and what does not."""

    numbers: int
    texts: int
    changes: tuple[DocumentDifference, ...]


def check(document: Document, again: Document) -> DocumentComparison:
    """The document against the one that was computed anew."""
    said, found = dict(leaves(to_plain(document))), dict(leaves(to_plain(again)))
    paths = [*said, *(path for path in found if path not in said)]
    differ = {
        path: None for path in paths if not _same(said.get(path, ABSENT), found.get(path, ABSENT), path)
    }
    agree = [value for path, value in said.items() if path not in differ and _is_told(path)]
    n_numbers = sum(_is_number(value) for value in agree)
    changes = tuple(
        DocumentDifference(
            place(document, path), _written(said.get(path, ABSENT)), _written(found.get(path, ABSENT))
        )
        for path in differ
        if path[:2] != ("provenance", "versions")
    )
    return DocumentComparison(n_numbers, sum(isinstance(value, str) for value in agree), changes)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that holds no other, with the way to it."""
    parts: Iterator[tuple[Any, Any]]
    if isinstance(value, dict):
        parts = iter(value.items())
    elif isinstance(value, list):
        parts = iter(enumerate(value))
    else:
        yield path, value
        return
    for name, part in parts:
        yield from leaves(part, (*path, name))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_told(path: Path) -> bool:
    """A number or text of what the report tells, not of how."""
    return path[0] in {"lead", "sections"} and path[-1] not in {KIND, "name", "kind", *LAYOUT}


def _same(one: Any, other: Any, path: Path) -> bool:
    if _is_number(one) and _is_number(other):
        is_drawn = path[4:5] == ("data",) and isinstance(one, float) and isinstance(other, float)
        return isclose(one, other, rel_tol=DRAWN if is_drawn else RELATIVE, abs_tol=ABSOLUTE)
    return bool(one == other) and type(one) is type(other)


def _written(value: Any) -> str:
    if value is ABSENT or value is None:
        return "nothing" if value is ABSENT else "no value"
    return f"“{value}”" if isinstance(value, str) else repr(value)


# ── where it stands, in words ────────────────────────────────────────────────────────────────


def place(document: Document, path: Path) -> str:
    """``Evidence › Candidates against Popular › EASE › Difference``."""
    if path[0] != "sections" or len(path) < 2 or path[1] >= len(document.sections):
        return " › ".join(["verdict" if path[0] == "lead" else str(path[0]), *map(str, path[1:])])
    section = document.sections[path[1]]
    return " › ".join([section.title, *_inside(section, path[2:], document)])


def _inside(section: Section, path: Path, document: Document) -> Iterator[str]:
    if len(path) < 2 or path[0] != "parts" or path[1] >= len(section.parts):
        yield from map(str, path)
        return
    part, rest = section.parts[path[1]], path[2:]
    if isinstance(part, Figure):
        yield f"chart '{part.title}'"
        part, rest = (part.table, rest[1:]) if rest[:1] == ("table",) else (part, rest)
    if isinstance(part, Table):
        yield from _in_table(part, rest, document)
    else:
        yield from map(str, rest)


def _in_table(table: Table, path: Path, document: Document) -> Iterator[str]:
    yield table.title
    if len(path) < 3 or path[0] != "rows" or path[1] >= len(table.rows):
        yield from map(str, path)
        return
    row = table.rows[path[1]]
    yield ", ".join(shown(cell, document.names) for cell in row[:2] if isinstance(cell, str)) or shown(
        row[0], document.names
    )
    yield table.columns[path[2]].title if path[2] < len(table.columns) else str(path[2])
