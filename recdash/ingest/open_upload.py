"""Entry points for reading files: in this process, or in a separate one if memory or time are limited."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from recdash.ingest import reader
from recdash.ingest.byte_source import Member, Sheet
from recdash.ingest.parts import names_shown

if TYPE_CHECKING:
    from types import ModuleType

    from recdash.domain.inputs import Recommendations, Upload, UploadStream
    from recdash.domain.kinds import TableKind
    from recdash.ingest.inspected import InspectedFile
    from recdash.ingest.limits import Limits
    from recdash.ingest.looks import Look


def read_recommendations(
    source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> list[Recommendations]:
    """Returns the same as :func:`recdash.ingest.reader.read_recommendations`, within the limits."""
    runs: list[Recommendations] = _reader(source, limits).read_recommendations(source, limits=limits, **how)
    return runs


def read_upload(
    kind: TableKind, source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> Upload:
    """Returns the same as :func:`recdash.ingest.reader.read_upload`, within the limits."""
    upload: Upload = _reader(source, limits).read_upload(kind, source, limits=limits, **how)
    return upload


def read_stream(
    kind: Literal["truth", "train", "events", "served"],
    source: reader.Source,
    *,
    limits: Limits | None = None,
    **how: Any,
) -> UploadStream:
    """Returns the same as :func:`recdash.ingest.reader.read_stream`, within the limits."""
    stream: UploadStream = _reader(source, limits).read_stream(kind, source, limits=limits, **how)
    return stream


def preview(
    kind: TableKind, source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> reader.Preview:
    """Returns the same as :func:`recdash.ingest.reader.preview`, within the limits."""
    outline: reader.Preview = _reader(source, limits).preview(kind, source, limits=limits, **how)
    return outline


def inspect_file(
    kind: TableKind, source: reader.Source, *, limits: Limits | None = None, **how: Any
) -> InspectedFile:
    """See :func:`recdash.ingest.inspected.inspect_file`."""
    from recdash.ingest import inspected

    module = _reader(source, limits)
    inspect = (inspected if module is reader else module).inspect_file
    file: InspectedFile = inspect(kind, source, limits=limits, **how)
    return file


def look(source: reader.Source, *, limits: Limits | None = None, **how: Any) -> Look:
    """Returns the same as :func:`recdash.ingest.reader.look`, within the limits."""
    first_rows: Look = _reader(source, limits).look(source, limits=limits, **how)
    return first_rows


def members(source: reader.Source, *, limits: Limits | None = None) -> tuple[str, ...]:
    """Returns the same as :func:`recdash.ingest.reader.members`, within the limits."""
    names: tuple[str, ...] = _reader(source, limits).members(source, limits=limits)
    return names


def sheets(source: reader.Source, *, limits: Limits | None = None) -> tuple[str, ...]:
    """Returns the same as :func:`recdash.ingest.reader.sheets`, within the limits."""
    names: tuple[str, ...] = _reader(source, limits).sheets(source, limits=limits)
    return names


def tables_in(source: reader.Source, *, limits: Limits | None = None) -> list[tuple[str, Member | Sheet]]:
    """Returns the name and source of each table of a zip archive, or sheet of a workbook, if it has several;
    an empty list for any other source.

    Raises ``UploadError`` for one that is damaged or exceeds the limits.
    """
    if isinstance(source, Member | Sheet):
        return []
    if names := members(source, limits=limits):
        return [(shown, Member(source, name)) for shown, name in zip(names_shown(names), names, strict=True)]
    names = sheets(source, limits=limits)
    return [(name, Sheet(source, name)) for name in names] if len(names) > 1 else []


def get_ready() -> None:
    """Starts the process that forks reading processes, so that the first file with limits need not wait.

    If it cannot start, the first file is rejected with the reason.
    """
    from recdash.ingest.isolation.isolated_reader import FORK_SERVER

    with suppress(OSError):
        FORK_SERVER.start()


def _reader(source: reader.Source, limits: Limits | None) -> ModuleType:
    """Returns the module that reads ``source``, in this process or in separate ones."""
    if limits is None or not (limits.read_memory_bytes or limits.read_seconds):
        return reader
    from recdash.ingest.isolation import isolated_reader

    return isolated_reader if isolated_reader.is_wanted(source) else reader
