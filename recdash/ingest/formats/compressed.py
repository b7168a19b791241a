"""gzip data, and zip archives of one file, unpacked within limits."""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, BinaryIO

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import CHUNK, Content, of_copy, temporary
from recdash.ingest.library_errors import OF_ZIP, in_words
from recdash.ingest.limits import UNLIMITED, Limits, keep_within

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"


def unpacked(content: Content, limits: Limits) -> Content:
    """``content`` without its gzip or zip wrapping (told by its first bytes, not by its name)."""
    keep_within(limits, "upload_bytes", content.size)
    if content.head.startswith(GZIP):
        return _gunzipped(content, _or_settings(limits))
    if content.head.startswith(ZIP):
        return _unzipped(content, _or_settings(limits))
    return content


def _or_settings(limits: Limits) -> Limits:
    """``limits``, or where there are none those of the settings for what is packed.

    The size of any other file says what reading it takes; a packed one of a few bytes fills the disk.
    """
    if limits != UNLIMITED:
        return limits
    from recdash.settings import settings  # which takes a while to load

    chosen = settings()
    return Limits(inflated_bytes=chosen.max_inflated_bytes, compression_ratio=chosen.max_compression_ratio)


TRUNCATED = Problem(
    "truncated-gzip",
    "file",
    "the gzip data is truncated: the file ends too early",
    "Upload the whole file again.",
)


def _gunzipped(content: Content, limits: Limits) -> Content:
    named = "." not in content.name or content.name.lower().endswith((".gz", ".gzip"))
    notice = Problem("gzip", "file", f"gzip data under the name '{content.name}'", "It was unpacked.")
    try:
        with (
            in_words("damaged-gzip", "the gzip data is damaged", "Compress the file again."),
            content.open() as packed,
            gzip.open(packed) as reader,
        ):
            copy = _inflated(reader, content.size, limits)
    except UploadError as error:
        if isinstance(error.__cause__, EOFError):
            raise UploadError(TRUNCATED) from error
        raise
    inner = of_copy(copy, content, *(() if named else (notice,)))
    return replace(inner, name=content.name.removesuffix(".gz"))


def _unzipped(content: Content, limits: Limits) -> Content:
    fix = "Upload the file itself."
    with (
        in_words("damaged-zip", "the zip archive cannot be unpacked", fix, beside=OF_ZIP),
        content.open() as packed,
        zipfile.ZipFile(packed) as archive,
    ):
        member = _only_member(archive)
        _keep_promise(member, limits)
        with archive.open(member) as reader:
            copy = _inflated(reader, content.size, limits)
    return replace(of_copy(copy, content), name=Path(member.filename).name)


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    names = {info.filename for info in archive.infolist()}
    if "xl/workbook.xml" in names:
        found = "an Excel workbook, which is not supported: it may hold several sheets"
        raise UploadError(Problem("excel", "file", found, "Save the sheet with the table as CSV."))
    files = [i for i in archive.infolist() if not i.is_dir() and not i.filename.startswith("__MACOSX/")]
    if len(files) != 1:
        shown = ", ".join(f"'{info.filename}'" for info in files[:5])
        found = f"the zip archive holds {len(files)} files" + (f": {shown}" if shown else "")
        raise UploadError(Problem("zip-members", "file", found, "Put exactly one table into it."))
    return files[0]


def _keep_promise(member: zipfile.ZipInfo, limits: Limits) -> None:
    """Refuse by the sizes that the archive itself states, before a byte is unpacked."""
    keep_within(limits, "inflated_bytes", member.file_size)
    _keep_ratio(member.file_size, member.compress_size, limits)


def _keep_ratio(size: int, packed: int, limits: Limits) -> None:
    # a small file may well shrink a thousandfold; a bomb is one that also grows big
    if size > 16 * CHUNK:
        keep_within(limits, "compression_ratio", size / max(packed, 1))


def _inflated(reader: IO[bytes] | gzip.GzipFile, packed: int, limits: Limits) -> BinaryIO:
    copy, size = temporary(), 0
    while chunk := reader.read(CHUNK):
        size += len(chunk)
        keep_within(limits, "inflated_bytes", size)
        _keep_ratio(size, packed, limits)
        copy.write(chunk)
    return copy
