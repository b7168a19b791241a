"""Keeps an upload on disk while it is planned, so that every reading process opens the same file."""

from __future__ import annotations

import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from recdash.ingest.byte_source import of_bytes, of_path
from recdash.ingest.formats.compressed import ZIP, unpacked
from recdash.ingest.limits import UNLIMITED, Limits
from recdash.ingest.parts import are_parts

LEAST_BYTES = 1 << 20
"""Smaller uploads are sent to each reading process, which costs little."""


class Spooled:
    """An upload, stored as a file of its name if it is read in separate processes.

    ``source`` is what to read. The file is deleted with this object.
    """

    def __init__(self, source: Any, name: str, limits: Limits | None) -> None:
        self.source = source
        is_isolated = limits is not None and bool(limits.read_memory_bytes or limits.read_seconds)
        if isinstance(source, bytes) and len(source) >= LEAST_BYTES and is_isolated:
            with suppress(OSError, ValueError):  # a full disk, or a name that no file can have
                self.source = self._written(source, name)

    def _written(self, data: bytes, name: str) -> Path:
        folder = tempfile.mkdtemp(prefix="recdash-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, Path(name.replace("\\", "/")).name or "upload")
        path.write_bytes(data)
        return path


class SpooledParts:
    """The parts of one table, stored as one archive, which is read as one table in whatever process.

    ``sources`` are paths or bytes, keyed by the names of the parts in their order. Of a part that is a zip
    archive, its table is stored, unpacked within the limits. Raises ``UploadError`` for one that holds no
    single table. The archive, ``source``, is deleted with this object.
    """

    def __init__(self, sources: Mapping[str, Path | str | bytes], limits: Limits | None) -> None:
        folder = tempfile.mkdtemp(prefix="recdash-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.source = Path(folder, "parts.zip")
        are_named_so = are_parts([*sources])
        with zipfile.ZipFile(self.source, "w", zipfile.ZIP_STORED) as archive:
            for number, (name, source) in enumerate(sources.items()):
                content = of_bytes(source, name) if isinstance(source, bytes) else of_path(Path(source))
                if content.head.startswith(ZIP):
                    content = unpacked(content, limits or UNLIMITED)
                member = zipfile.ZipInfo(name if are_named_so else f"part-{number:05d}-{name}")
                with content.open() as file, archive.open(member, "w", force_zip64=True) as part:
                    shutil.copyfileobj(file, part, 1 << 20)
