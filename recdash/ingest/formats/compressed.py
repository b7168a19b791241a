"""Decompresses gzip data, and zip archives of one file, within limits."""

from __future__ import annotations

import gzip
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, BinaryIO

from recdash.errors import Problem, UploadError
from recdash.ingest.byte_source import CHUNK, Content, of_copy, temporary
from recdash.ingest.formats.excel import is_excel
from recdash.ingest.library_errors import OF_ZIP, translating_errors
from recdash.ingest.limits import Limits, keep_within, of_archive

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"


def unpacked(content: Content, limits: Limits) -> Content:
    """Returns ``content`` decompressed from gzip or zip; other content is returned unchanged.

    Both are recognised by their first bytes, not by the name. Without limits those of the settings apply,
    because a compressed file of a few bytes could fill the disk.
    """
    keep_within(limits, "upload_bytes", content.size)
    if not content.head.startswith((GZIP, ZIP)):
        return content
    if is_excel(content):
        return content
    return (_gunzipped if content.head.startswith(GZIP) else _unzipped)(content, of_archive(limits))


def _gunzipped(content: Content, limits: Limits) -> Content:
    try:
        with (
            translating_errors("damaged-gzip", "the gzip data is damaged", "Compress the file again."),
            content.open() as packed,
            gzip.open(packed) as reader,
        ):
            copy = _inflated(reader, content.size, limits)
    except UploadError as error:
        if isinstance(error.__cause__, EOFError):
            finding = "the gzip data is truncated: the file ends too early"
            fix = "Upload the whole file again."
            raise UploadError(Problem("truncated-gzip", "file", finding, fix)) from error
        raise
    notices = []
    if "." in content.name and not content.name.lower().endswith((".gz", ".gzip")):
        finding = f"gzip data under the name '{content.name}'"
        notices.append(Problem("gzip", "file", finding, "It was decompressed."))
    return replace(of_copy(copy, content, *notices), name=content.name.removesuffix(".gz"))


def _unzipped(content: Content, limits: Limits) -> Content:
    fix = "Upload the file itself."
    with (
        translating_errors("damaged-zip", "the zip archive cannot be unpacked", fix, beside=OF_ZIP),
        content.open() as packed,
        zipfile.ZipFile(packed) as archive,
    ):
        member = _only_member(archive)
        # refuse by the sizes that the archive states, before decompressing anything
        keep_within(limits, "inflated_bytes", member.file_size)
        _keep_ratio(member.file_size, member.compress_size, limits)
        with archive.open(member) as reader:
            copy = _inflated(reader, content.size, limits)
    return replace(of_copy(copy, content), name=Path(member.filename).name)


def _is_of_the_system(name: str) -> bool:
    """Returns whether an operating system put the file into the archive: .DS_Store, Thumbs.db."""
    last = name.rsplit("/", 1)[-1]
    return (
        name.startswith("__MACOSX/") or last.startswith(".") or last.lower() in ("thumbs.db", "desktop.ini")
    )


def _only_member(archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    files = [info for info in archive.infolist() if not (info.is_dir() or _is_of_the_system(info.filename))]
    if len(files) != 1:
        names_shown = ", ".join(f"'{info.filename}'" for info in files[:5])
        finding = f"the zip archive holds {len(files)} files" + (f": {names_shown}" if names_shown else "")
        raise UploadError(Problem("zip-members", "file", finding, "Put exactly one table into it."))
    return files[0]


def _keep_ratio(size: int, packed: int, limits: Limits) -> None:
    # a small file can shrink a thousandfold; a decompression bomb also grows big
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
