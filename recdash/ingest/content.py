"""Bytes that can be opened again and again, whatever they came from and however they were packed."""

from __future__ import annotations

import gzip
import io
import shutil
import stat
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from recdash.errors import Problem, UploadError
from recdash.ingest.limits import Limits, keep_within

HEAD = 1 << 16
CHUNK = 1 << 20
HELD_IN_MEMORY = 1 << 25
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Content:
    """A file's bytes: ``head`` is its beginning, ``size`` its length, ``open`` a fresh reader."""

    name: str
    size: int
    head: bytes
    open: Callable[[], BinaryIO]
    notices: tuple[Problem, ...] = ()


def of_bytes(data: bytes, name: str) -> Content:
    return Content(name, len(data), data[:HEAD], lambda: io.BytesIO(data))


def of_path(path: Path) -> Content:
    """Raises ``UploadError`` when there is no readable file at ``path``.

    A pipe gives its bytes only once, so that they are kept.
    """
    try:
        kind = path.stat().st_mode
        if stat.S_ISFIFO(kind):
            return of_bytes(path.read_bytes(), path.name)
        if not stat.S_ISREG(kind):
            raise _no_file(path, "is a folder" if stat.S_ISDIR(kind) else "is a device, not a file")
        with path.open("rb") as file:
            head = file.read(HEAD)
            size = file.seek(0, io.SEEK_END)
    except OSError as error:
        raise _no_file(path, f"cannot be opened ({error.strerror or error})") from error
    except ValueError as error:  # a name that no file can have
        raise _no_file(path, f"cannot be opened ({error})") from error
    return Content(path.name, size, head, lambda: path.open("rb"))


def _no_file(path: Path, found: str) -> UploadError:
    return UploadError(Problem("no-file", str(path), found, "Name one readable file."))


def of_stream(stream: Any, name: str) -> Content:
    """Raises ``UploadError`` when ``stream`` gives no bytes."""
    try:
        data = stream.read()
    except (OSError, ValueError, TypeError) as error:  # closed, opened to write, a class …
        raise _unreadable(f"{type(stream).__name__} cannot be read ({error})") from error
    if isinstance(data, str):
        raise _unreadable(f"{type(stream).__name__} gives text, not bytes")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise _unreadable(f"{type(stream).__name__} gives {type(data).__name__}, not bytes")
    return of_bytes(bytes(data), name)


def _unreadable(found: str) -> UploadError:
    fix = "Open the file with mode 'rb', encode the text (io.BytesIO), or give a path."
    return UploadError(Problem("bad-source", "source", found, fix))


def of_copy(copy: BinaryIO, like: Content, *notices: Problem) -> Content:
    """A transformed copy of ``like``, held in a nameless temporary file."""
    size = copy.seek(0, io.SEEK_END)
    copy.seek(0)
    head = copy.read(HEAD)
    lock = threading.Lock()
    return replace(
        like,
        size=size,
        head=head,
        open=lambda: io.BufferedReader(_Window(copy, lock), CHUNK),
        notices=like.notices + notices,
    )


class _Copy(tempfile.SpooledTemporaryFile[bytes]):
    """Small copies stay in memory, large ones go to a nameless file; both go when nobody reads them."""

    def __del__(self) -> None:
        self.close()


def temporary() -> BinaryIO:
    return cast("BinaryIO", _Copy(max_size=HELD_IN_MEMORY))


class _Window(io.RawIOBase):
    """One reader's own position in a shared temporary file; closing it leaves the file open."""

    def __init__(self, file: BinaryIO, lock: threading.Lock) -> None:
        self._file, self._lock, self._position = file, lock, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position}.get(whence)
        with self._lock:
            end = self._file.seek(0, io.SEEK_END)
        self._position = offset + (end if start is None else start)
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        with self._lock:
            self._file.seek(self._position)
            data = self._file.read(len(buffer))
        self._position += len(data)
        buffer[: len(data)] = data
        return len(data)


# ── unpacking ────────────────────────────────────────────────────────────────────────────────


def unpacked(content: Content, limits: Limits) -> Content:
    """``content`` without its gzip or zip wrapping (told by its first bytes, not by its name)."""
    keep_within(limits, "upload_bytes", content.size)
    if content.head.startswith(GZIP):
        return _gunzipped(content, limits)
    if content.head.startswith(ZIP):
        return _unzipped(content, limits)
    return content


def _gunzipped(content: Content, limits: Limits) -> Content:
    named = "." not in content.name or content.name.lower().endswith((".gz", ".gzip"))
    notice = Problem("gzip", "file", f"gzip data under the name '{content.name}'", "It was unpacked.")
    try:
        with content.open() as packed, gzip.open(packed) as reader:
            copy = _inflated(reader, content.size, limits)
    except EOFError as error:
        found = "the gzip data is truncated: the file ends too early"
        raise UploadError(Problem("truncated-gzip", "file", found, "Upload the whole file again.")) from error
    except (OSError, zlib.error) as error:
        found = f"the gzip data is damaged ({error})"
        raise UploadError(Problem("damaged-gzip", "file", found, "Compress the file again.")) from error
    inner = of_copy(copy, content, *(() if named else (notice,)))
    return replace(inner, name=content.name.removesuffix(".gz"))


def _unzipped(content: Content, limits: Limits) -> Content:
    try:
        with content.open() as packed, zipfile.ZipFile(packed) as archive:
            member = _only_member(archive)
            _keep_promise(member, limits)
            with archive.open(member) as reader:
                copy = _inflated(reader, content.size, limits)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
        found = f"the zip archive cannot be unpacked ({error})"
        raise UploadError(Problem("damaged-zip", "file", found, "Upload the file itself.")) from error
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


def copied(content: Content, change: Callable[[BinaryIO, BinaryIO], None], *notices: Problem) -> Content:
    """``content`` rewritten once by ``change(reader, writer)``."""
    copy = temporary()
    with content.open() as reader:
        change(reader, copy)
    return of_copy(copy, content, *notices)


def whole(content: Content) -> bytes:
    with content.open() as reader:
        buffer = io.BytesIO()
        shutil.copyfileobj(reader, buffer, CHUNK)
    return buffer.getvalue()
