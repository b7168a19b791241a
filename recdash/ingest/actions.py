"""Decides from its notices whether a file is accepted, accepted with a mapping or a warning, or rejected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from recdash.errors import Problem

Action = Literal["accept", "accept with mapping", "accept with warning", "reject"]
Level = Literal["note", "mapping", "warning", "problem"]

LAYOUTS = frozenset({
    "columns-guessed", "no-header", "wide-table", "list-column", "sheet", "trec", "trec-without-tag",
    "decimal-comma", "ranks-from-zero", "columns-unread", "column-left-out",
    "unnamed-column", "parts",
})  # fmt: skip
"""Codes of notices that say how the layout of a file is read."""
READINGS = LAYOUTS | {
    "columns-by-values", "ids-swapped", "list-cells", "split-cells", "file-order", "yes-no", "several-runs",
    "several-replicates", "unread-scores", "several-lists", "two-scores", "distance", "comments",
    "event-synonym", "score-is-rank", "no-times",
}  # fmt: skip
"""Codes of notices that say how a file is read; any other notice is about its data."""
NOTES = frozenset({"delimiter"})
"""Codes of notices that leave nothing to choose."""
FORMATS = LAYOUTS | NOTES | {"encoding", "gzip", "trailing-delimiter"}
"""Codes of notices on the format of a file, which matter only where files are added."""
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
    """Returns whether a file is accepted; ``by_format``: its format says what its values are, as in a dict of
    users.
    """
    if any(True for _ in problems):
        return "reject"
    levels = {level_of(notice, mapping) for notice in notices}
    if "warning" in levels:
        return "accept with warning"
    return "accept with mapping" if by_format or "mapping" in levels else "accept"


def without_formats(notices: Iterable[Problem]) -> list[Problem]:
    """Returns the notices on the data, without those on the format of a file."""
    return [notice for notice in notices if notice.code not in FORMATS]
