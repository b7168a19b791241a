"""Which notices say how a file was read: they matter where files are added, not where runs are compared."""

from __future__ import annotations

from collections.abc import Iterable

from recdash.errors import Problem

HOW_READ = frozenset(
    {
        "column-left-out", "columns-guessed", "columns-unread", "decimal-comma", "delimiter", "encoding",
        "gzip", "list-column", "metrics-proposed", "no-header", "ranks-from-zero", "sheet", "trec",
        "trec-without-tag", "wide-table",
    }
)  # fmt: skip


def without_how_read(notices: Iterable[Problem]) -> list[Problem]:
    """Returns the notices of the data themselves, without those of a file's format and columns."""
    return [notice for notice in notices if notice.code not in HOW_READ]
