"""Reads Parquet files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from recdash.domain.kinds import TableKind
from recdash.errors import Problem, UploadError
from recdash.formatting.wording import listed
from recdash.ingest.byte_source import Content, for_arrow
from recdash.ingest.formats.parquet_footer import chunks_of
from recdash.ingest.formats.raw_table import (
    BLOCK_ROWS,
    SAMPLE_ROWS,
    RawTable,
    column_paths,
    first_rows,
    list_columns,
    project,
    row_place,
)
from recdash.ingest.library_errors import translating_errors
from recdash.ingest.limits import Limits, keep_within
from recdash.ingest.schemas import repeated_name
from recdash.ingest.values import is_text

LOG_ROWS = 1 << 17
"""Rows per batch of a log.

They are fewer than in other tables, because rows are wide and ids rarely repeat.
"""


BATCH_VALUES = 1 << 23
"""Largest number of values of a column that are decoded at once."""


DAMAGED_PARQUET = ("damaged-parquet", "the Parquet file cannot be read", "Write it again.")


def is_parquet(content: Content) -> bool:
    return content.head.startswith(b"PAR1")


def read_parquet(content: Content, kind: TableKind, limits: Limits) -> RawTable:
    """Returns the raw table, which is read row group by row group and decodes only the requested columns.

    Raises ``UploadError`` for a damaged file and for a decompression bomb.
    """
    import pyarrow.parquet as pq

    with translating_errors(*DAMAGED_PARQUET), content.open() as source:
        footer = pq.ParquetFile(source)
        schema, metadata = footer.schema_arrow, footer.metadata
        keep_within(limits, "columns", len(schema.names), "header")
        _refuse_same_names(schema.names)
    with translating_errors(*DAMAGED_PARQUET):
        chunks = chunks_of(content)
    paths = column_paths(schema)
    at_once = LOG_ROWS if kind == "events" else BLOCK_ROWS
    at_once = max(1, min(at_once, BATCH_VALUES // max(chunks.values_per_row, 1)))

    def blocks(columns: Sequence[str], ids: Collection[str], rows: int = at_once) -> Iterator[pa.RecordBatch]:
        # dictionary codes for text ids; one thread, since callers already work in parallel
        texts = [paths[c][0] for c in ids if c in paths and is_text(schema.field(paths[c][0]).type)]
        coded = [column for column in texts if column not in chunks.uncoded]
        wanted = list(dict.fromkeys(paths[c][0] for c in columns))
        with translating_errors(*DAMAGED_PARQUET), for_arrow(content) as source:
            # with pre_buffer, Arrow's threads would read and drop what may be a Python file
            file = pq.ParquetFile(source, memory_map=False, read_dictionary=coded, pre_buffer=False)
            for group in range(file.num_row_groups):
                for batch in file.iter_batches(min(rows, at_once), [group], wanted, use_threads=False):
                    batch.validate(full=True)  # codes outside their dictionary, text that is not UTF-8
                    yield project(batch, columns, paths)

    return RawTable(
        "Parquet",
        tuple(paths),
        blocks,
        row_place,
        lambda: first_rows(blocks(tuple(paths), (), SAMPLE_ROWS)),
        lists=list_columns(schema, paths),
        n_rows=metadata.num_rows,
        unpacked_bytes=sum(metadata.row_group(g).total_byte_size for g in range(metadata.num_row_groups)),
        whole_ids=chunks.whole_ids & frozenset(schema.names),
    )


def _refuse_same_names(names: list[str]) -> None:
    """Raises ``UploadError`` if two columns have the same name, by which pyarrow reads them."""
    if (twice := repeated_name(names)) is not None:
        finding = f"the column '{twice}' occurs twice; found: {listed(names)}"
        raise UploadError(Problem("duplicate-column", "header", finding, "Remove or rename one."))
