"""Lets one writer at a time write, in the order of their requests and with a timeout, over threads and
processes.

SQLite lets one connection write while the others poll, so that some of them may starve. Therefore writers
wait here before they ask SQLite: threads in a first-in-first-out queue, and the first thread of each process
at a pair of file locks.
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
"""The flag that refuses to open a symbolic link; 0 if the system has none."""


class FifoQueue:
    """A first-in-first-out queue of threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._waiting: deque[threading.Event] = deque()
        self._held = False

    @contextmanager
    def turn(self, until: float) -> Iterator[None]:
        """Waits for this thread's turn until ``until`` (monotonic time). Raises ``StoreBusy`` after that."""
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
        if self._timed_out(called):
            raise busy()

    def _timed_out(self, called: threading.Event) -> bool:
        """Returns whether the thread's turn did not come; if so, removes it from the queue."""
        with self._mutex:
            if called.is_set():
                return False
            self._waiting.remove(called)
            return True

    def _give_up(self, called: threading.Event) -> None:
        if not self._timed_out(called):
            self._leave()

    def _leave(self) -> None:
        with self._mutex:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._held = False


class WriteLock:
    """The lock of writers: a queue for the threads of this process and, with a lock file, locks between
    processes.
    """

    def __init__(self, lock_file: Path | None, deadline: float = DEADLINE_SECONDS) -> None:
        self._line, self._lock_file, self.deadline = FifoQueue(), lock_file, deadline
        self.n_turns = 0
        """Changes at the beginning and at the end of each write."""

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Makes this thread the only writer while the block runs. A thread must not enter it twice."""
        until = time.monotonic() + self.deadline
        with self._line.turn(until), ExitStack() as held:
            if self._lock_file is not None:
                _lock_between_processes(self._lock_file, until, held)
            with self.counted():
                yield

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts the block as a write, also if it needs no lock."""
        self.n_turns += 1
        try:
            yield
        finally:
            self.n_turns += 1


def _lock_between_processes(lock_file: Path, until: float, held: ExitStack) -> None:
    # While a process waits for the lock, it has the queue's lock, too. So a process that has just released
    # the lock cannot take it again before the one that waits.
    with _file_lock(lock_file.with_name(lock_file.name + ".queue"), until):
        held.enter_context(_file_lock(lock_file, until))


@contextmanager
def _file_lock(path: Path, until: float) -> Iterator[None]:
    # Each call opens a new descriptor, which releases the lock when it is closed, even if the process dies.
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o600)
    except OSError as error:  # the file usually belongs to another user
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
    except portalocker.LockException as error:
        why, fix = error.__cause__ or error, "Keep the store on a file system with file locks."
        raise StoreError(f"The store's lock file cannot be locked: {why}. {fix}") from error
    return True


LOCK_FIX = "Nothing was changed. Give this user write access to it, or remove it while recdash is stopped."


def busy() -> StoreBusy:
    return StoreBusy("The store was locked by other writers for too long. Nothing was changed; try again.")


_write_locks: dict[str, WriteLock] = {}
_write_locks_mutex = threading.Lock()


def write_lock_of(database: str, lock_file: Path | None) -> WriteLock:
    """Returns the lock of a database's writers, always the same one in this process."""
    with _write_locks_mutex:
        return _write_locks.setdefault(database, WriteLock(lock_file))


def write_lock_of_file(database: Path) -> WriteLock:
    """Returns the lock of a database file's writers, which a link to it shares in all processes."""
    file = database.resolve()
    return write_lock_of(str(file), file.with_name(file.name + ".lock"))
