"""One writer at a time, first come first served, with a deadline; across threads and processes.

SQLite lets one connection write and makes the others poll, which starves some of them. So writers
queue here before they ask SQLite: threads in a first-in-first-out line, the head of each
process's line at a pair of file locks.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import portalocker

from recdash.errors import StoreBusy, StoreError

DEADLINE_SECONDS = 30.0
POLL_SECONDS = 0.005
NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
"""Windows has no such flag. Python opens no descriptor that a child process inherits."""


class FifoQueue:
    """Threads in the order in which they came."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._held = False

    @contextmanager
    def turn(self, until: float) -> Iterator[None]:
        """Wait for this thread's turn, at most until this monotonic time; else ``StoreBusy``."""
        self._enter(until)
        try:
            yield
        finally:
            self._leave()

    def _enter(self, until: float) -> None:
        called = threading.Event()
        with self._mutex:
            if not self._held:
                self._held = True
                return
            self._waiting.append(called)
        try:
            called.wait(max(0.0, until - time.monotonic()))
        except BaseException:
            self._give_up(called)
            raise
        if self._left_out(called):
            raise busy()

    def _left_out(self, called: threading.Event) -> bool:
        """True when the turn never came; the thread is then no longer in line."""
        with self._mutex:
            if called.is_set():
                return False
            self._waiting.remove(called)
            return True

    def _give_up(self, called: threading.Event) -> None:
        if not self._left_out(called):
            self._leave()

    def _leave(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._held = False


class Gate:
    """The line of this process and, with a lock file, the locks between processes."""

    def __init__(self, lock_file: Path | None, deadline: float = DEADLINE_SECONDS) -> None:
        self._line, self._lock_file, self.deadline = FifoQueue(), lock_file, deadline

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Be the only writer for the length of the block. Not to be entered twice by one thread."""
        until = time.monotonic() + self.deadline
        with self._line.turn(until), ExitStack() as held:
            if self._lock_file is not None:
                _lock_between_processes(self._lock_file, until, held)
            yield


def _lock_between_processes(lock_file: Path, until: float, held: ExitStack) -> None:
    # Whoever waits for the lock holds the queue, so that a process that has just released
    # the lock cannot take it again before the one that waits.
    with _file_lock(lock_file.with_name(lock_file.name + ".queue"), until):
        held.enter_context(_file_lock(lock_file, until))


@contextmanager
def _file_lock(path: Path, until: float) -> Iterator[None]:
    # A new descriptor each time: closing it releases the lock, however the process ends.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666)
    except OSError as error:  # of another user, mostly
        raise StoreError(f"The lock file {path} cannot be opened: {error.strerror}. {LOCK_FIX}") from error
    try:
        while not _locked(descriptor):
            if time.monotonic() >= until:
                raise busy()
            time.sleep(POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> bool:
    try:
        portalocker.lock(descriptor, portalocker.LOCK_EX | portalocker.LOCK_NB)
    except portalocker.AlreadyLocked:
        return False
    except portalocker.LockException as error:  # a file system without locks, mostly
        raise StoreError(f"The store's lock file cannot be locked: {error}. {LOCK_FIX}") from error
    return True


LOCK_FIX = (
    "Nothing was changed. Give this user the right to write to it, or remove it while recdash is stopped."
)


def busy() -> StoreBusy:
    return StoreBusy("Others have been writing to the store for too long. Nothing was changed; try again.")


_gates: dict[str, Gate] = {}
_gates_mutex = threading.Lock()


def gate_of(database: str, lock_file: Path | None) -> Gate:
    """The one gate of this process for a database, however often it is opened."""
    with _gates_mutex:
        return _gates.setdefault(database, Gate(lock_file))
