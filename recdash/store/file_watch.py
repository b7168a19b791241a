"""Notices files of a store that were changed by anything other than a writer of the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Lock

from recdash.store.artifacts import Artifacts, FileVersion, version_of

Versions = tuple[FileVersion | None, ...]


class FileWatch:
    """Compares the files of a store with what they were at the last call.

    The files of the database may change whenever something is written. ``writes`` returns a value that
    changes with each write, so that a change beside an equal value is from elsewhere. A change from elsewhere
    within the same interval as a write is not noticed. ``database`` is None for a server, whose files are not
    here.
    """

    def __init__(self, database: Path | None, artifacts: Artifacts, writes: Callable[[], object]) -> None:
        files = (database, database.with_name(f"{database.name}-wal")) if database else ()
        self._files, self._artifacts, self._writes = files, artifacts, writes
        self._lock = Lock()
        self._known: tuple[object, Versions] = (None, ())

    def has_alterations(self) -> bool:
        """Returns whether a file was altered since the last call; the first call only compares the stored
        tables that were read.
        """
        with self._lock:
            return any((self._artifacts.forget_altered(), self._is_database_altered()))

    def _is_database_altered(self) -> bool:
        before = self._writes()
        versions = tuple(map(version_of, self._files))
        if self._writes() != before:  # something is being written: compare next time
            return False
        known, self._known = self._known, (before, versions)
        return known[0] == before and known[1] != versions
