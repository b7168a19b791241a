"""The bytes of an upload, which can be opened repeatedly, whatever their source and compression."""

from __future__ import annotations

import io
import os
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO, cast

from recdash.errors import Problem, UploadError
from recdash.ingest.limits import Limits, keep_within

HEAD = 1 << 16
CHUNK = 1 << 20
HELD_IN_MEMORY = 1 << 25


@dataclass(frozen=True)
class Content:
    """The content of a file.

    ``head`` has its first bytes, ``size`` its length; ``open`` returns a new reader. ``native`` returns a new
    reader that Arrow reads without Python; None if there is none. ``sheet`` is the chosen sheet of a
    workbook, ``member`` the chosen table of a zip archive; None if none was chosen.
    """

    name: str
    size: int
    head: bytes
    open: Callable[[], BinaryIO]
    notices: tuple[Problem, ...] = ()
    native: Callable[[], Any] | None = None
    sheet: str | None = None
    member: str | None = None


@dataclass(frozen=True)
class Sheet:
    """One sheet of a workbook: ``file`` is a path, bytes or a binary file, ``name`` the name of the sheet."""

    file: Any
    name: str


@dataclass(frozen=True)
class Member:
    """One table of a zip archive: ``file`` is the archive as a path, bytes or a binary file, ``name`` the
    name in the archive.
    """

    file: Any
    name: str


def sheet_of(source: Any, name: str) -> Any:
    """Returns the sheet of a workbook; the source itself if it is a sheet, or if the name is empty."""
    return Sheet(source, name) if name and not isinstance(source, Sheet) else source


def innermost(source: Any) -> Any:
    """Returns the file that holds the sheet or member; other sources unchanged."""
    while isinstance(source, Sheet | Member):
        source = source.file
    return source


def n_bytes(source: Any) -> int | None:
    """Returns the size of a file that any process can open; None for a stream, and without a file."""
    source = innermost(source)
    if isinstance(source, bytes):
        return len(source)
    try:
        return Path(source).stat().st_size if isinstance(source, str | Path) else None
    except (OSError, ValueError):
        return None


def is_folder(source: Any) -> bool:
    """Returns whether the source is the path of a folder; False for a name that no file can have."""
    try:
        return isinstance(source, str | Path) and bool(source) and Path(source).is_dir()
    except (OSError, ValueError):
        return False


def is_pipe(source: Any) -> bool:
    """Returns whether the source is the path of a pipe, which can be read only once."""
    try:
        return isinstance(source, str | Path) and Path(source).is_fifo()
    except (OSError, ValueError):  # a name that no file can have
        return False


def for_arrow(content: Content) -> Any:
    """Returns a new reader for Arrow's multi-threaded readers, without Python if possible.

    A thread of Arrow may still run for a moment after all rows were taken, and then drops its reader. If the
    reader is a Python object, the thread waits for the interpreter; if the interpreter is already shutting
    down, the process is aborted (exit 134, ``terminate called without an active exception``).
    """
    return content.native() if content.native else content.open()


def of_bytes(data: bytes, name: str) -> Content:
    return Content(name, len(data), data[:HEAD], lambda: io.BytesIO(data))


def chunks_of_pipe(path: Path, most: int | None = None) -> Iterator[bytes]:
    """Yields the bytes of a pipe, which may never end.

    Raises ``UploadError`` beyond ``most`` bytes, without which the setting of an upload holds.
    """
    from recdash.settings import settings  # slow to import

    limits, size = Limits(upload_bytes=most or settings().max_upload_bytes), 0
    with path.open("rb") as pipe:
        while chunk := pipe.read(CHUNK):
            size += len(chunk)
            keep_within(limits, "upload_bytes", size)
            yield chunk


def of_path(path: Path) -> Content:
    """Returns the content of the file at ``path``. Raises ``UploadError`` if it is not readable.

    A pipe, which can be read only once, is copied.
    """
    try:
        kind = path.stat().st_mode
        if stat.S_ISFIFO(kind):
            copy = temporary()
            copy.writelines(chunks_of_pipe(path))
            return of_copy(copy, of_bytes(b"", path.name))
        if not stat.S_ISREG(kind):
            raise _no_file(path, "is a folder" if stat.S_ISDIR(kind) else "is a device, not a file")
        with path.open("rb") as file:
            head = file.read(HEAD)
            size = file.seek(0, io.SEEK_END)
            first = _state(os.fstat(file.fileno()))
    except OSError as error:
        raise _no_file(path, f"cannot be opened ({error.strerror or error})") from error
    except ValueError as error:  # a name that no file can have
        raise _no_file(path, f"cannot be opened ({error})") from error
    name = str(path.absolute())

    def unchanged() -> None:
        """Raises ``UploadError`` if the file is no longer what was opened first."""
        if _state(path.stat()) != first:
            fix = "Wait until nothing writes to it, then read it again."
            raise UploadError(Problem("changed-file", str(path), "changed while it was read", fix))

    def opened() -> BinaryIO:
        unchanged()
        return path.open("rb")

    try:
        name.encode()
    except UnicodeEncodeError:  # a name that Arrow cannot encode
        return Content(path.name, size, head, opened)

    def native() -> Any:
        import pyarrow as pa

        unchanged()
        return pa.OSFile(name)

    return Content(path.name, size, head, opened, native=native)


def _state(status: os.stat_result) -> tuple[int, int, int]:
    """Returns what changes with the content of a file: which file it is, its size and time."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def _no_file(path: Path, finding: str) -> UploadError:
    return UploadError(Problem("no-file", str(path), finding, "Name one readable file."))


def bytes_of(stream: Any) -> bytes:
    """Returns the remaining bytes of ``stream``.

    Raises ``UploadError`` if it cannot be read, or returns no bytes.
    """
    kind, cause = type(stream).__name__, None
    try:
        data = stream.read()
    except (OSError, ValueError, TypeError) as error:  # e.g. closed, opened for writing, or a class
        finding, cause = f"{kind} cannot be read ({error})", error
    else:
        if isinstance(data, bytes | bytearray | memoryview):
            return bytes(data)
        finding = f"{kind} gives {'text' if isinstance(data, str) else type(data).__name__}, not bytes"
    fix = "Open the file with mode 'rb', encode the text (io.BytesIO), or give a path."
    raise UploadError(Problem("bad-source", "source", finding, fix)) from cause


@dataclass(frozen=True)
class OpenFile:
    """A file that another process opened: its descriptor in this process, and its name if known."""

    number: int
    name: str | None = None


def of_open_file(file: OpenFile) -> Content:
    size = os.fstat(file.number).st_size

    def read_at(n_bytes: int, position: int) -> bytes:
        return os.pread(file.number, n_bytes, position)

    name = file.name or ""
    return Content(name, size, read_at(HEAD, 0), lambda: io.BufferedReader(_Reader(read_at, size), CHUNK))


class _Reader(io.RawIOBase):
    """A reader with a position of its own in a shared open file; closing it leaves the file open.

    ``read_at(size, position)`` returns at most ``size`` bytes of the file.
    """

    def __init__(self, read_at: Callable[[int, int], bytes], size: int) -> None:
        self._read_at = read_at
        self._size = size
        self._position = 0

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
        data = self._read_at(len(buffer), self._position)
        self._position += len(data)
        buffer[: len(data)] = data
        return len(data)


def of_copy(copy: BinaryIO, like: Content, *notices: Problem) -> Content:
    """Returns the content of a transformed copy of ``like``.

    The copy is kept in memory, or in an unnamed temporary file if it is large.
    """
    size = copy.seek(0, io.SEEK_END)
    lock = threading.Lock()

    def read_at(n_bytes: int, position: int) -> bytes:
        with lock:
            copy.seek(position)
            return copy.read(n_bytes)

    def in_arrow() -> Any:
        import pyarrow as pa

        memory = pa.BufferOutputStream()
        memory.write(read_at(size, 0))
        return pa.BufferReader(memory.getvalue())

    return replace(
        like,
        size=size,
        head=read_at(HEAD, 0),
        open=lambda: io.BufferedReader(_Reader(read_at, size), CHUNK),
        notices=like.notices + notices,
        native=in_arrow if size <= HELD_IN_MEMORY else None,
    )


class _Copy(tempfile.SpooledTemporaryFile[bytes]):
    """A temporary copy of a file, in memory if small, else in an unnamed file.

    It is deleted with its last reader.
    """

    def __del__(self) -> None:
        self.close()


def temporary() -> BinaryIO:
    return cast("BinaryIO", _Copy(max_size=HELD_IN_MEMORY))


def copied(content: Content, change: Callable[[BinaryIO, BinaryIO], None], *notices: Problem) -> Content:
    """Returns the content as rewritten by ``change(reader, writer)``, which is called once."""
    copy = temporary()
    with content.open() as reader:
        change(reader, copy)
    return of_copy(copy, content, *notices)


def whole(content: Content) -> bytes:
    with content.open() as reader:
        return b"".join(iter(lambda: reader.read(CHUNK), b""))
