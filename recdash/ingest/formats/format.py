"""Defines what a file format is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from recdash.domain.kinds import TableKind
from recdash.ingest.byte_source import Content
from recdash.ingest.formats.raw_table import RawTable
from recdash.ingest.limits import Limits

CSV_FIX = "Save the table as CSV or Parquet."


@dataclass(frozen=True, slots=True)
class Format:
    """A file format: how to recognise it by the content, and how to read it."""

    name: str
    recognise: Callable[[Content], bool]
    read: Callable[[Content, TableKind, Limits], RawTable]

    def table(self, content: Content, kind: TableKind, limits: Limits) -> RawTable:
        """Returns the raw table in the content, with the content's notices first."""
        table = self.read(content, kind, limits)
        return replace(table, notices=content.notices + table.notices)
