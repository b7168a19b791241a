"""Says what becomes of a file in one word: accepted, accepted with a mapping or a warning, or rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from recdash.errors import Problem

Action = Literal["accept", "accept with mapping", "accept with warning", "reject"]
Level = Literal["note", "mapping", "warning", "problem"]

READINGS = frozenset({
    "columns-guessed", "columns-by-values", "ids-swapped", "no-header", "wide-table", "list-column",
    "list-cells", "split-cells", "file-order", "sheet", "trec", "trec-without-tag", "yes-no", "decimal-comma",
    "several-runs", "several-replicates", "ranks-from-zero", "unread-scores", "columns-unread",
    "several-lists", "two-scores", "distance", "comments", "column-left-out", "event-synonym",
    "score-is-rank",
})  # fmt: skip
"""Codes of notices that say how a file is read; any other notice is about its data."""
NOTES = frozenset({"delimiter"})
"""Codes of notices that leave nothing to choose."""
PLAIN_NAMES = frozenset({("relevance", "rating")})
"""Columns whose name is as usual as that of their role."""


def level_of(notice: Problem, mapping: Mapping[str, str]) -> Level:
    """Returns how serious a notice is; ``mapping`` is {role: column} of the file."""
    if notice.code == "columns-guessed":
        guessed = {(role, column) for role, column in mapping.items() if role != column}
        return "mapping" if guessed - PLAIN_NAMES else "note"
    return "note" if notice.code in NOTES else "mapping" if notice.code in READINGS else "warning"


def action_of(
    problems: Iterable[Problem],
    notices: Iterable[Problem],
    mapping: Mapping[str, str],
    *,
    by_format: bool = False,
) -> Action:
    """Returns what becomes of a file; ``by_format``: its format says what its values are, as in a dict of
    users.
    """
    if any(True for _ in problems):
        return "reject"
    levels = {level_of(notice, mapping) for notice in notices}
    if "warning" in levels:
        return "accept with warning"
    return "accept with mapping" if by_format or "mapping" in levels else "accept"
