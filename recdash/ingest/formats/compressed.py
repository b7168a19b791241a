"""Decompresses gzip data, and the tables of zip archives, within limits."""

from __future__ import annotations

import gzip
import stat
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
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
MOST_MEMBERS = 1000
"""Largest number of tables in a zip archive."""
MOST_SHOWN = 80
"""Characters that a message shows of the name of a file in an archive."""
OPEN_DOCUMENT = b"application/vnd.oasis.opendocument"
DOCUMENTS = {
    "Index/Document.iwa": "an Apple Numbers document",
    "xl/workbook.bin": "a binary Excel workbook (xlsb)",
}
"""{the name of a file in an archive: what the archive is}."""
ENCRYPTED = 1
"""The bit of a zip member's flags that says it needs a password."""


def unpacked(content: Content, limits: Limits) -> Content:
    """Returns ``content`` decompressed from gzip or zip; other content is returned unchanged.

    Of a zip archive of several tables it is the one that ``content.member`` names.

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
    file = replace(of_copy(copy, content, *notices), name=content.name.removesuffix(".gz"))
    if file.head.startswith(GZIP) or (file.head.startswith(ZIP) and not is_excel(file)):
        inner = "gzip data" if file.head.startswith(GZIP) else "a zip archive"
        finding, fix = f"the gzip data holds {inner}: it is compressed twice", "Decompress it once."
        raise UploadError(Problem("packed-twice", "file", finding, fix))
    return file


def _unzipped(content: Content, limits: Limits) -> Content:
    with _archive_of(content) as archive:
        tables, notices = _tables_in(archive, content.size, limits)
        member = _chosen(tables, content.member)
        with archive.open(member) as reader:
            copy = _inflated(reader, content.size, limits)
    notices = notices if member is tables[0] else ()
    unpacked_file = replace(of_copy(copy, content, *notices), name=Path(member.filename).name, member=None)
    is_gzip = unpacked_file.head.startswith(GZIP)  # als.csv.gz in an archive
    if unpacked_file.head.startswith(ZIP) and not is_excel(unpacked_file):
        finding, fix = (
            f"'{_shortened(member.filename)}' in the zip archive is another archive",
            "Upload it by itself.",
        )
        raise UploadError(Problem("zip-in-zip", "file", finding, fix))
    return _gunzipped(unpacked_file, limits) if is_gzip else unpacked_file


def tables_of(content: Content, limits: Limits) -> tuple[str, ...]:
    """Returns the names of the tables in a zip archive; none for other content, and for a member of one.

    The sizes that the archive states, of all tables together, must be within the limits.
    """
    if content.member is not None or not content.head.startswith(ZIP) or is_excel(content):
        return ()
    keep_within(limits, "upload_bytes", content.size)
    with _archive_of(content) as archive:
        tables, _ = _tables_in(archive, content.size, of_archive(limits))
    return tuple(info.filename for info in tables)


@contextmanager
def _archive_of(content: Content) -> Iterator[zipfile.ZipFile]:
    fix = "Upload the file itself."
    with (
        translating_errors("damaged-zip", "the zip archive cannot be unpacked", fix, beside=OF_ZIP),
        content.open() as packed,
        zipfile.ZipFile(packed) as archive,
    ):
        yield archive


def _tables_in(
    archive: zipfile.ZipFile, packed: int, limits: Limits
) -> tuple[list[zipfile.ZipInfo], tuple[Problem, ...]]:
    """Returns the files of an archive that may be tables, and a notice of those that are not read.

    Refuses an archive without tables, with too many, or whose tables exceed the limits together.
    """
    _refuse_documents(archive)
    files = [info for info in archive.infolist() if not (info.is_dir() or _is_of_the_system(info.filename))]
    other = [info for info in files if _is_no_table(info)]
    tables = [info for info in files if not _is_no_table(info)]
    if not tables:
        shown = ": " + _listed(other) if other else ""
        finding = f"the zip archive holds no table, {len(other)} other files{shown}"
        raise UploadError(Problem("zip-members", "file", finding, "Put a table into it."))
    if len(tables) > MOST_MEMBERS:
        finding = f"the zip archive holds {len(tables):,} files, over the limit of {MOST_MEMBERS:,}"
        raise UploadError(Problem("zip-members", "file", finding, "Split the archive."))
    _refuse_locked_or_repeated(tables)
    # refuse by the sizes that the archive states, before decompressing anything
    size = sum(info.file_size for info in tables)
    keep_within(limits, "inflated_bytes", size)
    _keep_ratio(size, min(packed, sum(info.compress_size for info in tables)), limits)
    if not other:
        return tables, ()
    finding = f"{_listed(other)} in the zip archive {'is' if len(other) == 1 else 'are'} not read"
    fix = "To read it, put it into another archive or upload it by itself."
    return tables, (Problem("zip-others", "file", finding, fix, len(other), other[0].filename),)


def _refuse_documents(archive: zipfile.ZipFile) -> None:
    """Raises UploadError for an archive that is the document of another program."""
    names = [info.filename for info in archive.infolist()[:MOST_MEMBERS]]
    what = next((DOCUMENTS[name] for name in names if name in DOCUMENTS), None)
    if names[:1] == ["mimetype"]:
        with archive.open("mimetype") as reader:
            is_open_document = reader.read(len(OPEN_DOCUMENT)) == OPEN_DOCUMENT
        what = "an OpenDocument file" if is_open_document else what
    if what:
        finding, fix = f"{what}, which is not supported", "Save the table as CSV, or as an Excel workbook."
        raise UploadError(Problem("unsupported-format", "file", finding, fix))


def _refuse_locked_or_repeated(tables: Sequence[zipfile.ZipInfo]) -> None:
    """Raises UploadError if a table has a password, or if two have one name, of which only one is read."""
    locked = next((info.filename for info in tables if info.flag_bits & ENCRYPTED), None)
    if locked:
        finding, fix = f"'{_shortened(locked)}' in the zip archive has a password", "Pack it without one."
        raise UploadError(Problem("zip-members", "file", finding, fix))
    name, count = Counter(info.filename for info in tables).most_common(1)[0]
    if count > 1:
        finding = f"the zip archive holds {count} files of one name, '{_shortened(name)}'"
        raise UploadError(Problem("zip-members", "file", finding, "Give each file a name of its own."))


def _shortened(name: str) -> str:
    return name if len(name) <= MOST_SHOWN else f"{name[: MOST_SHOWN - 1]}…"


def _chosen(tables: Sequence[zipfile.ZipInfo], name: str | None) -> zipfile.ZipInfo:
    named = [info for info in tables if name in (None, info.filename)]
    if name is None and len(tables) > 1:
        finding = f"the zip archive holds {len(tables)} files: {_listed(tables)}"
        fix = (
            "Put one table into it, or name one: recdash.ingest.Member(FILE, NAME) in Python. The commands "
            "add and inspect read each table if nothing is said about what the archive is."
        )
        raise UploadError(Problem("zip-members", "file", finding, fix))
    if not named:
        finding, fix = f"the zip archive holds no file '{name}'", f"It holds {_listed(tables)}."
        raise UploadError(Problem("zip-members", "file", finding, fix))
    return named[0]


def _listed(files: Sequence[zipfile.ZipInfo]) -> str:
    shown = ", ".join(f"'{_shortened(info.filename)}'" for info in files[:5])
    return f"{shown} and {len(files) - 5:,} more" if len(files) > 5 else shown


def _is_of_the_system(name: str) -> bool:
    """Returns whether a program put the file beside the tables: .DS_Store, Thumbs.db, Spark's _SUCCESS."""
    last = name.rsplit("/", 1)[-1]
    return (
        name.startswith("__MACOSX/")
        or last.startswith((".", "_SUCCESS", "_committed_", "_started_", "_metadata", "_common_metadata"))
        or last.lower() in ("thumbs.db", "desktop.ini")
    )


def _is_no_table(info: zipfile.ZipInfo) -> bool:
    """Returns whether a file is a link, or a text for readers such as a README or a licence."""
    last = Path(info.filename).name.lower()
    is_link = stat.S_ISLNK(info.external_attr >> 16)
    return is_link or last.startswith(("readme", "license", "licence")) or last.endswith((".md", ".pdf"))


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
