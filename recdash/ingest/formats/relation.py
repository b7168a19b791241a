"""Reads DuckDB relations, of which only a block at a time is in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from recdash.ingest.formats.raw_table import (
    BLOCK_ROWS,
    RawTable,
    column_paths,
    first_rows,
    list_columns,
    project,
    row_place,
)


class Relation(ABC):
    """A table of a database or a cluster, which is asked for each block again and never read whole."""

    form: str
    schema: pa.Schema

    @abstractmethod
    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yields record batches of these columns, of at most so many rows."""

    def first(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yields batches with the first rows."""
        return self.batches(columns, BLOCK_ROWS)

    def place(self, row: int) -> str:
        """Returns where the row with this index is."""
        return row_place(row)


class DuckRelation(Relation):
    """A DuckDB relation."""

    form = "DuckDB relation"

    def __init__(self, relation: Any) -> None:
        self._relation = relation
        self.schema: pa.Schema = self._reader(relation.limit(0)).schema

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        """Yields record batches of these columns, of at most so many rows."""
        names = ", ".join(f'"{name.replace(chr(34), chr(34) * 2)}"' for name in columns)
        yield from self._reader(self._relation.project(names), rows)

    @staticmethod
    def _reader(relation: Any, rows: int = 1) -> Any:
        reader = (
            relation.to_arrow_reader if hasattr(relation, "to_arrow_reader") else relation.fetch_arrow_reader
        )
        return reader(rows)


def read_relation(relation: Relation) -> RawTable:
    """Returns the raw table of a relation."""
    paths = column_paths(relation.schema)

    def blocks(columns: Sequence[str], _ids: Collection[str]) -> Iterator[pa.RecordBatch]:
        for batch in relation.batches(wanted(columns), BLOCK_ROWS):
            yield project(batch, columns, paths)

    def wanted(columns: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(paths[name][0] for name in columns))

    def sample() -> list[dict[str, str]]:
        names = tuple(paths)
        return first_rows(project(batch, names, paths) for batch in relation.first(wanted(names)))

    return RawTable(
        relation.form,
        tuple(paths),
        blocks,
        relation.place,
        sample,
        lists=list_columns(relation.schema, paths),
    )
