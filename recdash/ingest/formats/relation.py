"""Reads DuckDB relations, of which only a block at a time is in memory."""

from __future__ import annotations

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


class Relation:
    """A DuckDB relation, which is asked for each block again and never read whole."""

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
        wanted = list(dict.fromkeys(paths[name][0] for name in columns))
        for batch in relation.batches(wanted, BLOCK_ROWS):
            yield project(batch, columns, paths)

    return RawTable(
        "DuckDB relation",
        tuple(paths),
        blocks,
        row_place,
        lambda: first_rows(blocks(tuple(paths), ())),
        lists=list_columns(relation.schema, paths),
    )
