"""Bytes that can be opened again and again, whatever they came from and however they were packed."""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from recdash.errors import Problem, UploadError

HEAD = 1 << 16
CHUNK = 1 << 20
HELD_IN_MEMORY = 1 << 25


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


def _no_file(path: Path, finding: str) -> UploadError:
    return UploadError(Problem("no-file", str(path), finding, "Name one readable file."))


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


def _unreadable(finding: str) -> UploadError:
    fix = "Open the file with mode 'rb', encode the text (io.BytesIO), or give a path."
    return UploadError(Problem("bad-source", "source", finding, fix))


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
