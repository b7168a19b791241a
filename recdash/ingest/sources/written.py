"""The file that a table from elsewhere is written to, within the limit of an upload."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from recdash.ingest.limits import Limits, keep_within


class Written:
    """A new file in a folder, of at most so many bytes.

    ``path`` is the file once it is written; its name is that of the table, by which candidates are called.
    """

    def __init__(self, folder: Path, name: str, most_bytes: int | None) -> None:
        self._folder = folder
        self._limits = Limits(upload_bytes=most_bytes)
        self.path = folder / name

    def keep_within(self, n_bytes: int) -> None:
        """Raises ``UploadError`` if so many bytes are more than allowed."""
        keep_within(self._limits, "upload_bytes", n_bytes)

    @contextmanager
    def bytes(self) -> Iterator[Callable[[bytes], None]]:
        """Yields a function that appends bytes to the file."""
        with self.path.open("wb") as file:

            def add(chunk: bytes) -> None:
                self.keep_within(file.tell() + len(chunk))
                file.write(chunk)

            yield add

    @contextmanager
    def parquet(self, schema: pa.Schema) -> Iterator[Callable[[pa.RecordBatch], None]]:
        """Yields a function that appends record batches to a Parquet file, as columns of this schema."""
        import pyarrow.parquet as pq

        self.path = self._folder / f"{self.path.name}.parquet"
        with self.path.open("wb") as file, pq.ParquetWriter(file, schema) as writer:

            def add(batch: pa.RecordBatch) -> None:
                writer.write_batch(_cast(batch, schema))
                self.keep_within(file.tell())

            yield add


def _cast(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
    return pa.record_batch(columns, schema=schema)
