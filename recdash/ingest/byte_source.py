"""Bytes that can be opened again and again, whatever they came from and however they were packed."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import stat
import tempfile
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

from recdash.errors import Problem, UploadError
from recdash.ingest.library_errors import OF_ZIP, in_words
from recdash.ingest.limits import UNLIMITED, Limits, keep_within

HEAD = 1 << 16
CHUNK = 1 << 20
HELD_IN_MEMORY = 1 << 25
GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"


@dataclass(frozen=True)
class Content:
    """A file's bytes: ``head`` is its beginning, ``size`` its length, ``open`` a fresh reader.

    ``native`` is one too, which Arrow reads without Python; None where there is none.
    """

    name: str
    size: int
    head: bytes
    open: Callable[[], BinaryIO]
    notices: tuple[Problem, ...] = ()
    native: Callable[[], Any] | None = None


def for_arrow(content: Content) -> Any:
    """A fresh reader for a reader of Arrow's that works in threads of its own.

    Such a thread goes on for a moment when all its rows were taken: it drops what it holds. Were that an
    object of Python, it would wait for the interpreter; where this has begun to end by then, the process
    is aborted (exit 134, ``terminate called without an active exception``).
    """
    return content.native() if content.native else content.open()


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
    return Content(path.name, size, head, lambda: path.open("rb"), native=_native(path))


def _native(path: Path) -> Callable[[], Any] | None:
    """None for a name that Arrow cannot spell."""
    import pyarrow as pa

    try:
        name = str(path.absolute())
        name.encode()
    except UnicodeEncodeError:
        return None
    return lambda: pa.OSFile(name)


def _no_file(path: Path, found: str) -> UploadError:
    return UploadError(Problem("no-file", str(path), found, "Name one readable file."))


def of_stream(stream: Any, name: str) -> Content:
    """Raises ``UploadError`` when ``stream`` gives no bytes."""
    return of_bytes(bytes_of(stream), name)


def bytes_of(stream: Any) -> bytes:
    """The rest of ``stream``. Raises ``UploadError`` when it gives no bytes."""
    try:
        data = stream.read()
    except (OSError, ValueError, TypeError) as error:  # closed, opened to write, a class …
        raise _unreadable(f"{type(stream).__name__} cannot be read ({error})") from error
    if isinstance(data, str):
        raise _unreadable(f"{type(stream).__name__} gives text, not bytes")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise _unreadable(f"{type(stream).__name__} gives {type(data).__name__}, not bytes")
    return bytes(data)


def _unreadable(found: str) -> UploadError:
    fix = "Open the file with mode 'rb', encode the text (io.BytesIO), or give a path."
    return UploadError(Problem("bad-source", "source", found, fix))


@dataclass(frozen=True)
class OpenFile:
    """A file that another process opened: its number here, and its name if it has one."""

    number: int
    name: str | None = None


def of_open_file(file: OpenFile) -> Content:
    size = os.fstat(file.number).st_size
    head = os.pread(file.number, HEAD, 0)
    return Content(
        file.name or "upload", size, head, lambda: io.BufferedReader(_Placed(file.number, size), CHUNK)
    )


class _Placed(io.RawIOBase):
    """One reader's own position in an open file; closing it leaves the file open."""

    def __init__(self, number: int, size: int) -> None:
        self._number, self._size, self._position = number, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = offset + start
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        data = os.pread(self._number, len(buffer), self._position)
        self._position += len(data)
        buffer[: len(data)] = data
        return len(data)


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
        native=(lambda: _in_arrow(copy, lock)) if size <= HELD_IN_MEMORY else None,
    )


def _in_arrow(copy: BinaryIO, lock: threading.Lock) -> Any:
    """A reader of the copy's bytes in memory of Arrow's own."""
    import pyarrow as pa

    held = pa.BufferOutputStream()
    with lock:
        copy.seek(0)
        held.write(copy.read())
    return pa.BufferReader(held.getvalue())


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
