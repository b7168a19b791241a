"""A process that forks one process for each file to read, and bounds what each may take.

It has loaded everything that reading needs and has one thread, so that a fork of it is ready in milliseconds
and safe; a fork of the server with its many threads would not be. A request is a line of numbers with three
open files beside it: the channel to talk over, a pipe for the reason of an early end, the file to read. Once
the other end of the channel is closed, the reading process is ended.
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
"""Bytes of memory and seconds of work that a reading process may take; 0 for as much as it likes."""
N_FILES = 3
FORKED = b"\1"
"""What is answered once there is a reading process, and once at the start."""
REFUSED = b"\0"
"""What is answered where the system makes no more processes."""
LOOK_SECONDS = 0.02
ENDED, TOO_LARGE = 0, 1
NO_MEMORY = 3
"""How a reading process exits that found no memory even to say so."""
REASON = struct.Struct(">ii")
"""(ENDED or TOO_LARGE, the signal that ended it or 0)."""

Serve = Callable[[socket.socket, int], None]
"""What a reading process does, given its channel and the number of its open file."""


@dataclass
class ReadingProcess:
    """A reading process: the pipe for the reason of its end, and the bytes it may hold."""

    reason_pipe: int
    memory: int
    too_large: bool = False


def keep(control: socket.socket, serve: Serve) -> None:
    """Fork a process that runs ``serve(channel, file)`` for each request, until ``control`` is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    processes: dict[int, ReadingProcess] = {}
    poll = select.poll()  # which takes any number of open files, as ``select`` does not
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
    """Fork the process that is requested; False where ``control`` is closed."""
    request, files, *_ = socket.recv_fds(control, REQUEST.size, N_FILES)
    if not request:
        return False
    memory, seconds = REQUEST.unpack(request)
    try:
        channel, reason_pipe, file = files  # fewer where this process may open no more
        processes[_forked(control, serve, files, memory, seconds)] = ReadingProcess(reason_pipe, memory)
    except (OSError, ValueError):  # too many processes or files, too little memory; running ones go on
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
    """Refuse memory beyond what was there at the fork and may be added; end after so much work."""
    _limit(resource.RLIMIT_CORE, 0, 0)
    if seconds:
        _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    with contextlib.suppress(OSError):  # where the system does not say or know it, memory is only watched
        if memory:
            data = memory + held_bytes("self", 5)
            _limit(resource.RLIMIT_DATA, data, data)
        Path("/proc/self/oom_score_adj").write_text("1000")


def _limit(kind: int, soft: int, hard: int) -> None:
    """Set a limit, or leave the lower one that this process was started with."""
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        soft, hard = min(soft, most), min(hard, most)
    resource.setrlimit(kind, (soft, hard))


def held_bytes(pid: int | str, column: int = 1) -> int:
    """Bytes that a process holds in memory (column 1), or as data (column 5); 0 where there is no /proc."""
    try:
        n_pages = Path(f"/proc/{pid}/statm").read_text().split()[column]
        return int(n_pages) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _watch(pid: int, processes: dict[int, ReadingProcess]) -> None:
    """Kill a process that holds too much, or whose channel was closed; report how a process ended."""
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
    """Keep reading processes for whoever started this one; the socket is the number that was given."""
    from recdash.ingest.isolation.worker import prepare, serve

    prepare()
    control = socket.socket(fileno=int(sys.argv[-1]))
    with contextlib.suppress(ConnectionError):  # of one that ended meanwhile
        control.sendall(FORKED)
        keep(control, serve)


if __name__ == "__main__":
    main()
