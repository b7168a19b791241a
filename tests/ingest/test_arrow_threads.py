"""No thread of Arrow enters Python while a Parquet upload is read: that could abort a process that ends."""

from __future__ import annotations

import io
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from recdash.ingest import reader
from recdash.ingest.byte_source import of_bytes
from recdash.ingest.formats.parquet import read_parquet
from recdash.ingest.limits import Limits

RUN = pa.table({"user": ["a", "a", "b"], "item": [1, 2, 1], "score": [0.9, 0.8, 0.7]})


class Watched(io.BytesIO):
    """A file in memory that notes in ``readers`` which threads read it."""

    def __init__(self, content: bytes, readers: set[int]) -> None:
        super().__init__(content)
        self.readers = readers

    def read(self, *size: Any) -> bytes:
        self.readers.add(threading.get_ident())
        return super().read(*size)


def test_the_bytes_of_an_upload_are_read_by_the_thread_that_asks() -> None:
    written, readers = io.BytesIO(), set[int]()
    pq.write_table(RUN, written)
    content = replace(of_bytes(written.getvalue(), "run"), open=lambda: Watched(written.getvalue(), readers))
    table = read_parquet(content, "run", Limits())
    readers.clear()
    assert sum(block.num_rows for block in table.blocks(table.columns, ())) == 3
    assert readers == {threading.get_ident()}


def test_a_file_on_disk_is_read_without_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(RUN, tmp_path / "run.parquet")
    (run,) = reader.read_recommendations(tmp_path / "run.parquet")

    def no_file(*_: Any, **__: Any) -> Any:
        pytest.fail("a file of Python was opened")

    monkeypatch.setattr(Path, "open", no_file)
    assert sum(batch.num_rows for batch in run.batches()) == 3
