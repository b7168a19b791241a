"""Compares two documents value by value: which numbers and texts agree, and where they differ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import isclose
from typing import Any

from recdash.formatting.tables import Table, shown
from recdash.report.document import Document, Figure, Section
from recdash.report.formats.json import KIND, to_plain
from recdash.report.reproduce.facts import states_the_same

RELATIVE, ABSOLUTE, DRAWN = 1e-12, 1e-15, 1.1e-5
"""The relative and absolute differences up to which numbers count as equal, as sums in another order differ
by so little.

Numbers that are only drawn have six digits, of which the last may differ (DRAWN); the figure's table has all
digits.
"""
LAYOUT = ("decimals", "scale")
"""Fields that say how a number is shown, which are not compared as numbers of the report."""
ABSENT = object()
"""The value that takes the place of a leaf that a document lacks."""
Path = tuple[Any, ...]
HUMAN_INPUT = {("lead", "decision", name) for name in ("author", "moment", "reason")}
"""The paths of what people wrote, and of when they did, which a new wording never changes."""


@dataclass(frozen=True)
class DocumentDifference:
    """A value that differs: its place in the report, what the report says, and what was recomputed."""

    where: str
    said: str
    found: str

    def __str__(self) -> str:
        return f"{self.where}: the report says {self.said}; recomputed: {self.found}"


@dataclass(frozen=True)
class DocumentComparison:
    """How many numbers and texts agree, and what differs.

    ``reworded`` is the number of texts with an older wording that say the same: they have the same numbers
    and runs, and the same direction.
    """

    numbers: int
    texts: int
    changes: tuple[DocumentDifference, ...]
    reworded: int = 0


def check(document: Document, again: Document, people: Iterable[str] = ()) -> DocumentComparison:
    """Returns how the document compares with ``again``, the same document computed anew.

    ``people`` are the authors of the journal's entries.
    """
    named = {*document.names.values(), *people}
    old, new = dict(leaves(to_plain(document))), dict(leaves(to_plain(again)))
    differing, changes, reworded = set[Path](), [], 0
    for path in dict.fromkeys((*old, *new)):
        before, after = old.get(path, ABSENT), new.get(path, ABSENT)
        if _same(before, after, path):
            continue
        differing.add(path)
        if path[:2] == ("provenance", "versions") or path == ("wording",):
            continue
        if document.wording < again.wording and _say_the_same(before, after, path, named):
            reworded += isinstance(before, str)
        else:
            difference = DocumentDifference(place(document, path), _written(before), _written(after))
            changes.append(difference)
    agree = [value for path, value in old.items() if path not in differing and _is_content(path)]
    n_texts = sum(isinstance(value, str) for value in agree)
    return DocumentComparison(sum(map(_is_number, agree)), n_texts, tuple(changes), reworded)


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yields the path to every leaf (a value that is neither a dict nor a list), and the leaf."""
    if not isinstance(value, dict | list):
        yield path, value
        return
    for name, part in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(part, (*path, name))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_content(path: Path) -> bool:
    """Returns whether a leaf is part of the report's content, rather than of how it is shown."""
    return path[0] in {"lead", "sections"} and path[-1] not in {KIND, "name", "kind", *LAYOUT}


def _same(value: Any, other: Any, path: Path) -> bool:
    if _is_number(value) and _is_number(other):
        is_drawn = (
            (path[4:5] == ("data",) or path[:3] == ("lead", "chart", "data"))
            and isinstance(value, float)
            and isinstance(other, float)
        )
        return isclose(value, other, rel_tol=DRAWN if is_drawn else RELATIVE, abs_tol=ABSOLUTE)
    return bool(value == other) and type(value) is type(other)


def _say_the_same(text: Any, other: Any, path: Path, named: Collection[str]) -> bool:
    """Returns whether two wordings of a sentence state the same numbers, runs, people and directions.

    False for what a person wrote, as it has only one wording. The words for the verdict's state (``why`` of
    the lead) may differ, as its ``badge`` must be equal.
    """
    if not (isinstance(text, str) and isinstance(other, str) and _is_content(path)):
        return False
    if path in HUMAN_INPUT or text.startswith("“") or other.startswith("“"):
        return False
    return path == ("lead", "why") or states_the_same(text, other, named)


def _written(value: Any) -> str:
    if value is ABSENT or value is None:
        return "nothing" if value is ABSENT else "no value"
    return f"“{value}”" if isinstance(value, str) else repr(value)


# ── the place of a leaf in words ─────────────────────────────────────────────────────────────


def place(document: Document, path: Path) -> str:
    """Returns the place of a leaf in words, such as ``Evidence › Candidates against Popular › EASE ›
    Difference``.
    """
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
    texts = [cell for cell in row[:2] if isinstance(cell, str)]
    yield ", ".join(texts) or shown(row[0], document.names)
    yield table.columns[path[2]].title if path[2] < len(table.columns) else str(path[2])
