"""A process that forks one process for each file to read, and limits what each of them may use.

It has imported everything that reading needs and has one thread, so that a fork takes milliseconds and is
safe; a fork of the multi-threaded server would not be safe. A request has two numbers and three open files:
the channel, a pipe for the reason of an early end, and the file to read. If the other end of the channel is
closed, the reading process is killed.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

REQUEST = struct.Struct(">QQ")
"""Bytes of memory and seconds of CPU time that a reading process may use; 0 for no limit."""
N_FILES = 3
FORKED = b"\1"
"""The answer after a reading process was created; also sent once when this process is ready."""
REFUSED = b"\0"
"""The answer if the system cannot create another process."""
NICENESS = 10
"""Pages of the server come before the processes that read and score files if both want the processor."""
LOOK_SECONDS = 0.02
ENDED, TOO_LARGE = 0, 1
NO_MEMORY = 3
"""Exit status of a reading process without enough memory to report that."""
REASON = struct.Struct(">ii")
"""Why a reading process ended: ENDED or TOO_LARGE, and the signal that ended it, or 0."""

Serve = Callable[[socket.socket, int], None]
"""A function that a reading process runs; it gets the channel and the descriptor of the open file."""


@dataclass
class ReadingProcess:
    """A reading process: the pipe for the reason of its end, and the bytes of memory that it may use."""

    reason_pipe: int
    memory: int
    too_large: bool = False


def run_server(control: socket.socket, serve: Serve) -> None:
    """Forks a process that runs ``serve(channel, file)`` for each request, until ``control`` is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    processes: dict[int, ReadingProcess] = {}
    poll = select.poll()  # takes any number of open files, unlike ``select``
    poll.register(control, select.POLLIN)
    try:
        while True:
            requested = poll.poll(LOOK_SECONDS * 1000 if processes else None)
            if requested and not _answer(control, serve, processes):
                return
            for pid in list(processes):
                _watch(pid, processes)
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGKILL)


def _answer(control: socket.socket, serve: Serve, processes: dict[int, ReadingProcess]) -> bool:
    """Forks a process for the next request. Returns False if ``control`` is closed."""
    request, files, *_ = socket.recv_fds(control, REQUEST.size, N_FILES)
    if not request:
        return False
    memory, seconds = REQUEST.unpack(request)
    try:
        channel, reason_pipe, file = files  # fewer if this process may open no more
        processes[_forked(control, serve, files, memory, seconds)] = ReadingProcess(reason_pipe, memory)
    except (OSError, ValueError):  # too many processes or files, or too little memory; running ones continue
        for number in files:
            os.close(number)
        control.sendall(REFUSED)
    else:
        os.close(channel)
        os.close(file)
        control.sendall(FORKED)
    return True


def _forked(control: socket.socket, serve: Serve, files: list[int], memory: int, seconds: int) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        control.close()
        os.close(files[1])
        _bound(memory, seconds)
        serve(socket.socket(fileno=files[0]), files[2])
    except MemoryError:
        os._exit(NO_MEMORY)
    finally:
        os._exit(0)


def _bound(memory: int, seconds: int) -> None:
    """Limits CPU seconds, and memory to what was used at the fork plus ``memory``; others come first."""
    os.nice(max(0, NICENESS - os.nice(0)))  # the process that scores has it already
    _limit(resource.RLIMIT_CORE, 0, 0)
    if seconds:
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    with contextlib.suppress(OSError):  # if the system does not report or limit it, memory is only watched
        if memory:
            data = memory + held_bytes("self", 5)
            _limit(resource.RLIMIT_DATA, data, data)
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(kind: int, soft: int, hard: int) -> None:
    """Sets a limit of this process, or keeps the lower one with which it was started."""
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def held_bytes(pid: int | str, column: int = 1) -> int:
    """Returns the bytes that a process has in memory (column 1) or as data (column 5); 0 without /proc."""
    try:
        n_pages = Path(f"/proc/{pid}/statm").read_text().split()[column]
        return int(n_pages) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _watch(pid: int, processes: dict[int, ReadingProcess]) -> None:
    """Kills a process that uses too much memory or whose channel was closed; reports how a process ended."""
    process = processes[pid]
    process.too_large = process.too_large or bool(process.memory and held_bytes(pid) > process.memory)
    poll = select.poll()
    poll.register(process.reason_pipe, 0)
    if process.too_large or poll.poll(0):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        return
    with contextlib.suppress(OSError):
        signal_number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        too_large = process.too_large or status >> 8 == NO_MEMORY
        os.write(process.reason_pipe, REASON.pack(TOO_LARGE if too_large else ENDED, signal_number))
    os.close(process.reason_pipe)
    del processes[pid]


def main() -> None:
    """Runs this process for its parent; the last argument is the descriptor of the control socket."""
    from recdash.ingest.isolation.worker import prepare, serve

    prepare()
    control = socket.socket(fileno=int(sys.argv[-1]))
    with contextlib.suppress(ConnectionError):  # the parent may have ended
        control.sendall(FORKED)
        run_server(control, serve)


if __name__ == "__main__":
    main()
