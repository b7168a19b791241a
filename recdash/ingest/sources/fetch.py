"""Fetches the table at an address into a file, which then is read like any other."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

from recdash.ingest.sources.address import FOLDER, Address
from recdash.ingest.sources.files import fetch_folder, fetch_hugging_face, fetch_object, fetch_web
from recdash.ingest.sources.lakes import fetch_delta, fetch_iceberg
from recdash.ingest.sources.query import fetch_query
from recdash.ingest.sources.written import Written

FETCH: Mapping[str, Callable[[Address, Written], None]] = {
    "sql": fetch_query,
    "https": fetch_web,
    "http": fetch_web,
    "hf": fetch_hugging_face,
    "s3": fetch_object,
    "gs": fetch_object,
    "az": fetch_object,
    "delta": fetch_delta,
    "iceberg": fetch_iceberg,
    FOLDER: fetch_folder,
}
"""Scheme of an address → what writes the table into a file."""


def fetched(address: Address, folder: Path, most_bytes: int | None = None) -> Path:
    """Returns the file in ``folder`` that the table at an address was written to.

    Raises ``UploadError`` if it cannot be read, and beyond ``most_bytes``, without which the setting of an
    upload holds.
    """
    from recdash.settings import settings  # slow to import

    written = Written(folder, address.name, most_bytes or settings().max_upload_bytes)
    FETCH[address.scheme](address, written)
    return written.path


class _Copy(io.BufferedReader):
    """An open file without a path, which is gone with its last reader."""

    def __del__(self) -> None:
        self.close()


def fetched_copy(address: Address, most_bytes: int | None = None) -> tuple[BinaryIO, str]:
    """Returns an open copy of the table, which is gone once it is closed, and the name of the table."""
    with tempfile.TemporaryDirectory(prefix="recdash-", ignore_cleanup_errors=True) as folder:
        path = fetched(address, Path(folder), most_bytes)
        return _Copy(io.FileIO(path)), path.name
