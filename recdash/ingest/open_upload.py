"""The door: a file is read here, or in a process of its own where memory or time are bounded."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from recdash.ingest import reader

if TYPE_CHECKING:
    from types import ModuleType

    from recdash.domain.inputs import Recommendations, Upload, UploadStream
    from recdash.domain.kinds import TableKind
    from recdash.ingest.limits import Limits


def read_recommendations(
    source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> list[Recommendations]:
    """See :func:`recdash.ingest.reader.read_recommendations`."""
    found: list[Recommendations] = _place(source, limits).read_recommendations(source, limits=limits, **how)
    return found


def read_upload(
    kind: TableKind, source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> Upload:
    """See :func:`recdash.ingest.reader.read_upload`."""
    found: Upload = _place(source, limits).read_upload(kind, source, limits=limits, **how)
    return found


def read_passing(
    kind: Literal["truth", "train", "events", "served"],
    source: reader.Source,
    *,
    limits: Limits | None = None,
    **how: Any,
) -> UploadStream:
    """See :func:`recdash.ingest.reader.read_passing`."""
    found: UploadStream = _place(source, limits).read_passing(kind, source, limits=limits, **how)
    return found


def preview(
    kind: TableKind, source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> reader.Preview:
    """See :func:`recdash.ingest.reader.preview`."""
    found: reader.Preview = _place(source, limits).preview(kind, source, limits=limits, **how)
    return found


def get_ready() -> None:
    """Begin to make ready what reads files with such limits, so that the first need not wait for it.

    Where that cannot be, the first file is refused in words.
    """
    from recdash.ingest.isolation.isolated_reader import KEEPER

    with suppress(OSError):
        KEEPER.start()


def _place(source: reader.Source, limits: Limits | None) -> ModuleType:
    """The module that reads ``source``."""
    if limits is None or not (limits.read_memory_bytes or limits.read_seconds):
        return reader
    from recdash.ingest.isolation import isolated_reader

    return isolated_reader if isolated_reader.is_wanted(source) else reader
