"""Keeps the files that pages receive on disk, while their pages are open."""

from __future__ import annotations

import errno
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

from recdash.settings import Settings
from recdash.store import uploads_folder
from recdash.web.plain_pages import Refused
from recdash.web.process_folder import ProcessFolder

SPARE_BYTES = 2**28
"""Bytes of the disk that uploads leave free, for the database."""
MOST_FILES = 500
"""The maximum number of files of one page."""
LONGEST_FILE_NAME = 200
"""The maximum number of bytes of a file's name on disk."""
FULL = {errno.ENOSPC, errno.EDQUOT}


class ReceivedFile:
    """A file that a page receives: ``received`` of its ``size`` bytes are on disk, at ``path``.

    ``zone`` is the part of the page that asked for it, ``owner`` the person who sends it.
    """

    def __init__(self, file_id: str, zone: str, owner: str, name: str, size: int, folder: Path) -> None:
        self.id = file_id
        self.zone, self.owner, self.name, self.size = zone, owner, name, size
        self.path = folder / self.id / _name_on_disk(name)
        self.received = 0
        self._request = 0
        self._lock = threading.Lock()
        self.path.parent.mkdir(mode=0o700)
        os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))

    @property
    def is_complete(self) -> bool:
        return self.received == self.size

    def take_over(self) -> int:
        """Returns the number of a new request that sends this file.

        Bytes of earlier requests are no longer taken: the server may notice late that a connection was lost.
        Waits for bytes that are being written, so that ``received`` does not change before the next ones.
        """
        with self._lock:
            self._request += 1
            return self._request

    def append(self, data: bytes | bytearray, request: int) -> None:
        """Writes the next bytes. Raises Refused if they are too many, from an earlier request, or the disk
        does not take them.
        """
        with self._lock:
            if request != self._request:
                raise Refused(409, "Continued elsewhere", "A later request sends this file.")
            if self.received + len(data) > self.size:
                raise Refused(413, "Too many bytes", f"This file was announced with {self.size:,} bytes.")
            try:
                with self.path.open("r+b") as file:
                    file.seek(self.received)
                    file.write(data)
            except FileNotFoundError:
                raise _unknown() from None
            except OSError as error:
                raise _no_room(error) from None
            self.received += len(data)

    def delete(self) -> None:
        shutil.rmtree(self.path.parent, ignore_errors=True)


class ReceivedFiles:
    """The received files of all pages. ``parent`` returns the folder below which they are kept.

    A file is deleted when the person removes or has stored it, or its page's session has ended.
    """

    def __init__(self, parent: Callable[[], Path]) -> None:
        self.parent = parent
        self._folder: ProcessFolder | None = None
        self._files: dict[str, dict[str, ReceivedFile]] = {}
        self._in_use: Counter[str] = Counter()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Creates the folder, and deletes what killed processes left. Raises OSError if that fails."""
        if self._folder is None:
            self._folder = ProcessFolder(self.parent())

    @property
    def folder(self) -> Path | None:
        """Returns the folder of this process, which is deleted when it ends, or if it was killed, when the
        next one starts; None before ``start``.
        """
        return self._folder.path if self._folder else None

    def stop(self) -> None:
        """Deletes all files."""
        with self._lock:
            self._files.clear()
            folder, self._folder = self._folder, None
            if folder is not None:
                folder.delete()

    def begin(
        self,
        session: str,
        owner: str,
        zone: str,
        name: str,
        size: int,
        rules: Settings,
        *,
        file_id: str | None = None,
    ) -> ReceivedFile:
        """Returns a new, empty file. Raises Refused if it would exceed a limit.

        A page that made the id itself can ask again after a lost answer: the same file is returned.
        """
        with self._lock:
            known = self._files.get(session, {}).get(file_id or "")
            if known is not None:
                return known
            self._refuse_over_limits(session, owner, size, rules)
            try:
                self.start()
                assert self._folder is not None  # noqa: S101 - started
                self._refuse_full_disk(self._folder.path, size)
                file = ReceivedFile(file_id or token_hex(16), zone, owner, name, size, self._folder.path)
            except OSError as error:
                raise _no_room(error) from None
            self._files.setdefault(session, {})[file.id] = file
            return file

    def fetch(
        self, session: str, owner: str, zone: str, write: Callable[[Path], Path], rules: Settings
    ) -> ReceivedFile:
        """Returns a complete file, moved from where ``write`` has put it in the folder that it is given.

        Raises Refused if it would exceed a limit or the disk does not take it, and what ``write`` raises.
        """
        try:
            with self._lock:
                self.start()
            place = TemporaryDirectory(dir=self.folder)
        except OSError as error:
            raise _no_room(error) from None
        with place as folder:
            path = write(Path(folder))
            size = path.stat().st_size
            file = self.begin(session, owner, zone, path.name, size, rules)
            path.replace(file.path)
            file.received = size
        return file

    def find(self, session: str, file_id: str) -> ReceivedFile:
        """Returns a file of this session. Raises Refused if there is none of this id."""
        file = self._files.get(session, {}).get(file_id)
        if file is None:
            raise _unknown()
        return file

    def complete(self, session: str, zone: str) -> list[ReceivedFile]:
        """Returns the files of which all bytes are there, in the order in which they were chosen."""
        with self._lock:
            files = list(self._files.get(session, {}).values())
        return [file for file in files if file.zone == zone and file.is_complete]

    def remove(self, session: str, file_id: str) -> None:
        """Deletes a file, also one that is being received; does nothing if there is none of this id."""
        with self._lock:
            file = self._files.get(session, {}).pop(file_id, None)
        if file is not None:
            file.delete()

    def clear(self, session: str, zone: str) -> None:
        """Deletes all files of a part of a page."""
        with self._lock:
            ids = [file.id for file in self._files.get(session, {}).values() if file.zone == zone]
        for file_id in ids:
            self.remove(session, file_id)

    @contextmanager
    def in_use(self, session: str) -> Iterator[None]:
        """Keeps the files of a session while the block runs, even if the session ends."""
        with self._lock:
            self._in_use[session] += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_use[session] -= 1

    def end_sessions(self, is_open: Callable[[str], bool]) -> None:
        """Deletes the files of sessions that are no longer open, except those in use."""
        with self._lock:
            ended = [name for name in self._files if not self._in_use[name] and not is_open(name)]
            files = [file for name in ended for file in self._files.pop(name).values()]
            self._in_use = +self._in_use
        for file in files:
            file.delete()

    def _refuse_over_limits(self, session: str, owner: str, size: int, rules: Settings) -> None:
        files = [file for of_session in self._files.values() for file in of_session.values()]
        own = sum(file.size for file in files if file.owner == owner)
        if size > rules.max_upload_bytes:
            raise Refused(413, "File too large", f"A file can have at most {rules.max_upload_bytes:,} bytes.")
        if len(self._files.get(session, {})) >= MOST_FILES:
            raise Refused(429, "Too many files", f"A page can have at most {MOST_FILES} files.")
        if own + size > rules.max_held_bytes_per_person:
            most = f"at most {rules.max_held_bytes_per_person:,} bytes in files that are not stored yet"
            raise Refused(429, "Too many bytes at once", f"You can have {most}. Store or remove some first.")
        if sum(file.size for file in files) + size > rules.max_held_bytes:
            raise Refused(503, "Too many uploads", "Others upload many files. Try again in some minutes.")

    def _refuse_full_disk(self, folder: Path, size: int) -> None:
        """Raises Refused unless the disk has room for this file and the rest of those being received."""
        files = [file for of_session in self._files.values() for file in of_session.values()]
        to_come = sum(file.size - file.received for file in files)
        if shutil.disk_usage(folder).free < to_come + size + SPARE_BYTES:
            raise Refused(507, "No room", "The server's disk has no room for this file.")


def _unknown() -> Refused:
    return Refused(404, "Unknown file", "This file was removed, or its page was closed.")


def _no_room(error: OSError) -> Refused:
    if error.errno in FULL:
        return Refused(507, "No room", "The server's disk has no room for this file.")
    return Refused(503, "Not stored", f"The server cannot write this file: {error.strerror or error}.")


def _name_on_disk(name: str) -> str:
    """Returns the last part of a file's name, as messages show it, without what no file can be called."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "")
    stem, dot, suffix = last.rpartition(".")
    room = LONGEST_FILE_NAME - len(f"{dot}{suffix}".encode(errors="replace"))
    cut = stem.encode(errors="replace")[: max(room, 0)].decode(errors="ignore")
    whole = f"{cut}{dot}{suffix}".encode(errors="replace")[:LONGEST_FILE_NAME].decode(errors="ignore")
    return whole if whole.strip(". ") else "upload"


received_files = ReceivedFiles(uploads_folder)
"""The received files of this process."""
