"""A folder for files that live no longer than this process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from pathlib import Path

import portalocker

LOCK = "lock"


class ProcessFolder:
    """A new folder below ``parent`` that only this user can read. It is deleted when the process ends.

    Folders of processes that were killed are deleted when the next one is created. A process holds a lock in
    its folder, so that those of other running servers stay. Raises OSError if the disk refuses it.
    """

    def __init__(self, parent: Path) -> None:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (parent / LOCK).open("a") as turn:  # released when the file is closed
            portalocker.lock(turn, portalocker.LOCK_EX)
            for folder in parent.glob("process-*"):
                _delete_unless_in_use(folder)
            self.path = Path(tempfile.mkdtemp(prefix="process-", dir=parent))
            self._lock = (self.path / LOCK).open("w")
            portalocker.lock(self._lock, portalocker.LOCK_EX | portalocker.LOCK_NB)
        atexit.register(self.delete)

    def delete(self) -> None:
        atexit.unregister(self.delete)
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def _delete_unless_in_use(folder: Path) -> None:
    try:
        with (folder / LOCK).open("a") as lock:
            portalocker.lock(lock, portalocker.LOCK_EX | portalocker.LOCK_NB)
    except portalocker.LockException:
        return
    shutil.rmtree(folder, ignore_errors=True)
