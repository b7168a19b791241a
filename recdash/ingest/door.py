"""The door: a file is read here, or in a process of its own where memory or time are bounded."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from recdash.ingest import uploads

if TYPE_CHECKING:
    from types import ModuleType

    from recdash.domain import Passing, Recommendations, TableKind, Upload
    from recdash.ingest.limits import Limits


def read_recommendations(
    source: uploads.Source, *, limits: Limits | None = None, **how: Any
) -> list[Recommendations]:
    """See :func:`recdash.ingest.uploads.read_recommendations`."""
    found: list[Recommendations] = _place(source, limits).read_recommendations(source, limits=limits, **how)
    return found


def read_upload(
    kind: TableKind, source: uploads.Source, *, limits: Limits | None = None, **how: Any
) -> Upload:
    """See :func:`recdash.ingest.uploads.read_upload`."""
    found: Upload = _place(source, limits).read_upload(kind, source, limits=limits, **how)
    return found


def read_passing(
    kind: Literal["truth", "train", "events", "served"],
    source: uploads.Source,
    *,
    limits: Limits | None = None,
    **how: Any,
) -> Passing:
    """See :func:`recdash.ingest.uploads.read_passing`."""
    found: Passing = _place(source, limits).read_passing(kind, source, limits=limits, **how)
    return found


def preview(
    kind: TableKind, source: uploads.Source, *, limits: Limits | None = None, **how: Any
) -> uploads.Preview:
    """See :func:`recdash.ingest.uploads.preview`."""
    found: uploads.Preview = _place(source, limits).preview(kind, source, limits=limits, **how)
    return found


def get_ready() -> None:
    """Begin to make ready what reads files with such limits, so that the first need not wait for it.

    Where that cannot be, the first file is refused in words.
    """
    from recdash.ingest.apart import KEEPER

    with suppress(OSError):
        KEEPER.start()


def _place(source: uploads.Source, limits: Limits | None) -> ModuleType:
    """The module that reads ``source``."""
    if limits is None or not (limits.read_memory_bytes or limits.read_seconds):
        return uploads
    from recdash.ingest import apart

    return apart if apart.is_wanted(source) else uploads
