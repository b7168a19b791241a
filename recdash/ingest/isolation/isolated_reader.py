"""Reads files in separate processes: if one dies, only its file is rejected, with the reason."""

from __future__ import annotations

import atexit
import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from recdash.domain.inputs import Recommendations, Upload, UploadStream
from recdash.errors import Problem, UploadError
from recdash.ingest import byte_source, library_errors
from recdash.ingest.columns import TableMapping
from recdash.ingest.inspected import InspectedFile
from recdash.ingest.isolation import channel as messages
from recdash.ingest.isolation import fork_server, worker
from recdash.ingest.limits import UNLIMITED, Limits
from recdash.ingest.looks import Look
from recdash.ingest.reader import Preview, Source
from recdash.ingest.rejects import Reject
from recdash.ingest.sources.address import address_in
from recdash.ingest.sources.fetch import fetched_copy

RAISE = "raise RECDASH_MAX_READ_{}"
REASON_SECONDS = 5.0
ANSWER_SECONDS = 60.0
"""Seconds that the start of the fork server (about 1 s) or of a fork (milliseconds) may take."""
NO_READER = "Try again soon; the server has too many processes or open files, or too little memory."
NO_ROOM = "Free space in the folder for temporary files (TMPDIR), then try again."
START = "import sys; sys.path[:] = {path!r}; from recdash.ingest.isolation.fork_server import main; main()"


def is_wanted(source: Source) -> bool:
    """Returns True if ``source`` is a file, and False for a table in memory."""
    source = byte_source.innermost(source)
    is_file = isinstance(source, str | Path | bytes | bytearray | memoryview) or hasattr(source, "read")
    is_table = hasattr(source, "__arrow_c_stream__") or isinstance(source, Mapping)
    return bool(is_file and not is_table and source != "")


# ── the process that forks the others ────────────────────────────────────────────────────────


class ForkServer:
    """The process that forks reading processes.

    It is started for the first file, and again if it has ended.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._is_ready = False

    def fork(self, files: list[int], memory: int, seconds: int) -> None:
        """Creates a reading process that gets these open files. Raises OSError if that fails."""
        with self._lock:
            request = fork_server.REQUEST.pack(memory, seconds)
            try:
                self._ask(request, files)
            except ConnectionError:
                self._end()
                self._ask(request, files)
            except TimeoutError:  # a late answer would be read as that to the next request
                self._end()
                raise

    def _ask(self, request: bytes, files: list[int]) -> None:
        control = self._ready()
        socket.send_fds(control, [request], files)
        answer = control.recv(1)
        if answer == fork_server.REFUSED:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        if answer != fork_server.FORKED:
            raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))

    def start(self) -> None:
        """Starts the process without waiting until it is ready.

        Does nothing if another thread has the lock, because that thread starts it.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            self._started()
        finally:
            self._lock.release()

    def _started(self) -> socket.socket:
        is_running = self._process is not None and self._process.poll() is None
        return self._control if self._control is not None and is_running else self._begin()

    def _ready(self) -> socket.socket:
        """Returns the control socket once the process is ready.

        Raises ConnectionResetError if it has ended.
        """
        control = self._started()
        if not self._is_ready:
            if control.recv(1) != fork_server.FORKED:
                raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))
            self._is_ready = True
        return control

    def _begin(self) -> socket.socket:
        self._end()
        self._control, theirs = socket.socketpair()
        self._control.settimeout(ANSWER_SECONDS)
        atexit.register(self._control.close)  # the fork server then ends
        command = [sys.executable, "-c", START.format(path=sys.path), str(theirs.fileno())]
        calm = {"OPENBLAS_NUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 our own interpreter
                command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env={**os.environ, **calm}
            )
        return self._control

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None
        self._is_ready = False

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None


FORK_SERVER = ForkServer()
"""The fork server that belongs to this process."""


# ── one reading process ──────────────────────────────────────────────────────────────────────


class IsolatedReader:
    """A reading process for one file; ``facts`` is what it sent about the file.

    Creating it, and reading batches, raise UploadError with what is wrong.
    """

    def __init__(self, request: worker.Request, file: int, limits: Limits) -> None:
        self._limits = limits
        self.notices: tuple[Problem, ...] = ()
        with library_errors.translating_errors(
            "no-reader", "no process can be created to read it", NO_READER
        ):
            self._channel, self._reason_pipe = _forked(file, limits)
        self.close = weakref.finalize(self, _close, self._channel, self._reason_pipe)
        self._timed = _TimedChannel(self._channel, limits.read_seconds)
        self._incoming = messages.Incoming(self._timed.receive_into)
        self._send(request)
        self.facts = self._checked(self._message(), messages.FACTS)

    def batches(self, index: int, columns: Any = None) -> Iterator[pa.RecordBatch]:
        """Yields the rows of the stream with this index; after them ``notices`` is set."""
        self._send((index, columns))
        while (message := self._message())[0] == messages.STREAM:
            try:
                yield from self._incoming.batches()
            except (EOFError, pa.ArrowException, OSError) as error:
                raise self._ended() from error
        facts = self._checked(message, messages.END)
        self.notices = messages.problems_from(facts["notices"])

    def _send(self, request: Any) -> None:
        try:
            messages.send_request(self._channel, request)
        except OSError as error:
            raise self._ended() from error

    def _checked(self, message: tuple[bytes, bytes], letter: bytes) -> dict[str, Any]:
        import json

        facts: dict[str, Any] = json.loads(message[1])
        if message[0] == messages.PROBLEMS:
            self.close()
            raise messages.problems_of(facts)
        if message[0] != letter:
            raise self._ended()
        return facts

    def _message(self) -> tuple[bytes, bytes]:
        try:
            return self._incoming.message()
        except (EOFError, ValueError, OSError) as error:
            raise self._ended() from error

    def _ended(self) -> UploadError:
        """Returns the error that says why the process ended, and kills the process if it still runs."""
        timed_out = self._timed.is_over
        outcome, signal_number = (fork_server.ENDED, signal.SIGXCPU) if timed_out else self._reason()
        self.close()
        return UploadError(_problem(outcome, signal_number, self._limits))

    def _reason(self) -> tuple[int, int]:
        """Returns (ENDED or TOO_LARGE, signal); (ENDED, 0) if the reason is unknown."""
        import select

        poll = select.poll()  # takes any number of open files, unlike ``select``
        poll.register(self._reason_pipe, select.POLLIN)
        reason = b""
        if self.close.alive and poll.poll(REASON_SECONDS * 1000):
            reason = os.read(self._reason_pipe, fork_server.REASON.size)
        is_whole = len(reason) == fork_server.REASON.size
        return fork_server.REASON.unpack(reason) if is_whole else (fork_server.ENDED, 0)


class _TimedChannel:
    """A channel with the number of seconds left to wait for a reading process; None for no limit.

    It does not refer to its reader. In a reference cycle, both and the process would stay until the next
    garbage collection.
    """

    def __init__(self, channel: socket.socket, seconds: float | None) -> None:
        self._channel = channel
        self._left: float | None = seconds or None

    @property
    def is_over(self) -> bool:
        return self._left is not None and self._left <= 0

    def receive_into(self, view: memoryview) -> int:
        """Receives bytes into the buffer and returns their number.

        Raises TimeoutError if no seconds are left.
        """
        if self._left is None:
            return self._channel.recv_into(view)
        began = time.monotonic()
        self._channel.settimeout(max(self._left, 0.001))
        try:
            return self._channel.recv_into(view)
        finally:
            self._left -= time.monotonic() - began


def _forked(file: int, limits: Limits) -> tuple[socket.socket, int]:
    """Returns a channel to a new reading process, and the pipe with the reason of its end.

    Raises OSError if the process cannot be created.
    """
    with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
        channel, other_end = socket.socketpair()
        ours.callback(channel.close)
        theirs.callback(other_end.close)
        reason_pipe, reason_input = os.pipe()
        ours.callback(os.close, reason_pipe)
        theirs.callback(os.close, reason_input)
        memory, seconds = limits.read_memory_bytes or 0, limits.read_seconds or 0
        FORK_SERVER.fork([other_end.fileno(), reason_input, file], memory, int(seconds))
        ours.pop_all()
        return channel, reason_pipe


def _close(channel: socket.socket, reason_pipe: int) -> None:
    """Closes the channel, whereupon the fork server kills the process."""
    channel.close()
    os.close(reason_pipe)


def _problem(outcome: int, signal_number: int, limits: Limits) -> Problem:
    if outcome == fork_server.TOO_LARGE:
        finding = f"reading it takes more than {limits.read_memory_bytes or 0:,} bytes of memory"
        fix = f"Split the file, or {RAISE.format('MEMORY_BYTES')}."
        return Problem("read-too-large", "file", finding, fix)
    if signal_number == signal.SIGXCPU:
        finding = f"it was not read within {limits.read_seconds or 0:,} seconds"
        fix = f"Split the file, or {RAISE.format('SECONDS')}."
        return Problem("read-too-long", "file", finding, fix)
    how = f" by signal {signal_number}" if signal_number else ""
    finding = f"the process that read it ended{how}: the file is damaged, or needs too much memory"
    return Problem("reader-died", "file", finding, "Write the file again, or upload it as CSV.")


# ── a file and its reading processes ─────────────────────────────────────────────────────────


class File:
    """A file that separate processes read, as often as needed, one after the other or in parallel."""

    def __init__(
        self, source: Source, read: Callable[..., worker.OpenedFile], limits: Limits, how: Any
    ) -> None:
        parts: list[byte_source.Member | byte_source.Sheet] = []
        while isinstance(source, byte_source.Member | byte_source.Sheet):
            parts.insert(0, replace(source, file=None))
            source = source.file
        path, copy, file_name = _opened(source, how.get("name"), limits)
        inside = replace(limits, read_memory_bytes=None, read_seconds=None)
        arguments = {**how, "limits": inside}
        self._request = worker.Request(read, arguments, str(Path.cwd()), path, file_name, parts)
        self._copy = copy
        self._limits = limits
        if copy is not None:
            weakref.finalize(self, copy.close)
        self._idle: list[IsolatedReader] = []
        self.facts = self.give(self.take()).facts
        mapping, shared = how.get("mapping"), self.facts.get("shared")
        if isinstance(mapping, TableMapping) and shared:  # the mapping for all tables
            mapping.shared.seen.update({table: tuple(names) for table, names in shared["seen"].items()})
            mapping.shared.used.update(shared["used"])

    def take(self) -> IsolatedReader:
        """Returns an idle reading process, or a new one."""
        try:
            return self._idle.pop()
        except IndexError:
            pass
        if self._copy is not None:
            return IsolatedReader(self._request, self._copy.fileno(), self._limits)
        with Path(os.devnull).open("rb") as nothing:
            return IsolatedReader(self._request, nothing.fileno(), self._limits)

    def give(self, reader: IsolatedReader) -> IsolatedReader:
        self._idle.append(reader)
        return reader

    def batches(
        self, index: int = 0, columns: Any = None, notices: list[Problem] | None = None
    ) -> Generator[pa.RecordBatch, None, None]:
        """Yields the rows of a stream, which can be read again; ``notices`` is filled after the last one."""
        reader = self.take()
        try:
            yield from reader.batches(index, columns)
        except BaseException:  # a partly read stream cannot be continued
            reader.close()
            raise
        self.give(reader)
        if notices is not None:
            notices[:] = reader.notices


def _opened(source: Source, name: str | None, limits: Limits) -> tuple[Any, IO[bytes] | None, str | None]:
    """Returns (path, open temporary file, the file's own name) of what a reading process opens.

    Either the path or the temporary file is None.
    """
    if (address := address_in(source)) is not None:
        copy, table = fetched_copy(address, limits.upload_bytes)
        return None, copy, name or table
    if byte_source.is_pipe(source):
        chunks = byte_source.chunks_of_pipe(Path(source), limits.upload_bytes)
        return None, _on_disk(chunks), Path(source).name
    if isinstance(source, str | Path):
        return source, None, None
    if not hasattr(source, "read"):
        return None, _on_disk([source]), None
    own = getattr(source, "name", None)
    file_name = name or (str(own) if own else None)
    return None, _on_disk([byte_source.bytes_of(source)]), file_name


def _on_disk(chunks: Iterable[Any]) -> IO[bytes]:
    with library_errors.translating_errors("no-room", "it cannot be stored on disk for reading", NO_ROOM):
        file = tempfile.TemporaryFile()  # noqa: SIM115 closed with its File
        with contextlib.ExitStack() as unfinished:
            unfinished.enter_context(file)
            file.writelines(chunks)
            file.flush()
            unfinished.pop_all()
        return file


# ── public, as in ``recdash.ingest.reader`` ─────────────────────────────────────────────────


def preview(kind: Any, source: Source, *, limits: Limits | None = None, **how: Any) -> Preview:
    try:
        file = File(source, worker.open_preview, limits or UNLIMITED, {"kind": kind, **how})
    except UploadError as error:
        return Preview(kind, error.source or how.get("name") or kind, mapping={}, problems=error.problems)
    return _preview({name: value for name, value in file.facts.items() if name != "shared"})


def _preview(facts: dict[str, Any]) -> Preview:
    for name in ("notices", "problems"):
        facts[name] = messages.problems_from(facts[name])
    for name in ("columns", "reversible", "required", "optional", "rows"):
        facts[name] = tuple(facts[name])
    return Preview(**facts)


def inspect_file(kind: Any, source: Source, *, limits: Limits | None = None, **how: Any) -> InspectedFile:
    try:
        file = File(source, worker.open_inspection, limits or UNLIMITED, {"kind": kind, **how})
    except UploadError as error:
        name = error.source or how.get("name") or kind
        return InspectedFile(Preview(kind, name, mapping={}, problems=error.problems))
    facts = {name: value for name, value in file.facts.items() if name != "shared"}
    facts["preview"] = _preview(dict(facts["preview"]))
    facts["rejects"] = tuple(Reject(**reject) for reject in facts["rejects"])
    return InspectedFile(**facts)


def look(source: Source, *, limits: Limits | None = None, **how: Any) -> Look:
    try:
        file = File(source, worker.open_look, limits or UNLIMITED, how)
        batches = list(file.batches())
    except UploadError as error:
        return Look(error.source or how.get("name") or "upload", problems=error.problems)
    facts = {name: value for name, value in file.facts.items() if name != "shared"}
    facts |= {
        "lists": frozenset(facts["lists"]),
        "sheets": tuple(facts["sheets"]),
        "problems": messages.problems_from(facts["problems"]),
    }
    return Look(rows=pa.Table.from_batches(batches) if batches else pa.table({}), **facts)


def members(source: Source, *, limits: Limits | None = None) -> tuple[str, ...]:
    return tuple(File(source, worker.open_members, limits or UNLIMITED, {}).facts["members"])


def sheets(source: Source, *, limits: Limits | None = None) -> tuple[str, ...]:
    return tuple(File(source, worker.open_sheets, limits or UNLIMITED, {}).facts["sheets"])


def read_upload(kind: Any, source: Source, *, limits: Limits | None = None, **how: Any) -> Upload:
    file = File(source, worker.open_upload, limits or UNLIMITED, {"kind": kind, **how})
    table = pa.Table.from_batches(list(file.batches()))
    facts = file.facts
    return Upload(kind, facts["name"], table, facts["mapping"], messages.problems_from(facts["notices"]))


def read_stream(kind: Any, source: Source, *, limits: Limits | None = None, **how: Any) -> UploadStream:
    file = File(source, worker.open_stream, limits or UNLIMITED, {"kind": kind, **how})
    notices = list(messages.problems_from(file.facts["notices"]))
    return UploadStream(kind, file.facts["name"], lambda: file.batches(notices=notices), notices)


def read_recommendations(
    source: Source, *, limits: Limits | None = None, **how: Any
) -> list[Recommendations]:
    file = File(source, worker.open_recommendations, limits or UNLIMITED, how)
    return [_run(file, index, facts) for index, facts in enumerate(file.facts["runs"])]


def _run(file: File, index: int, facts: Mapping[str, Any]) -> Recommendations:
    notices = list(messages.problems_from(facts["notices"]))

    def batches(columns: Any = None) -> Iterator[pa.RecordBatch]:
        wanted = None if columns is None else tuple(columns)
        return iter(file.batches(index, wanted, notices))

    return Recommendations(**{**facts, "batches": batches, "notices": notices})
