"""Stores uploaded tables and hits as files that are named by their sha256, written once and verified when
read.

A file gets its name only after all of it is on disk, so that a crash never leaves half a file. Layout:
``ab/<sha256>.parquet`` (``.bin`` for other formats), ``tmp/`` for files that are being written.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING

from recdash.errors import EvidenceDamaged, MissingFile, NotFound, StoreError

if TYPE_CHECKING:
    import pyarrow as pa

SHA256 = re.compile(r"[0-9a-f]{64}")
PARQUET_MAGIC = b"PAR1"
CHUNK_BYTES = 2**20
SUFFIXES = (".parquet", ".bin")


FileVersion = tuple[int, int, int]
"""Inode, size and time of a file, which change if anything is written to it."""


class HashingFile:
    """A new file that hashes everything written to it; it has the methods that pyarrow's writer needs."""

    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
        self._file: IO[bytes] = os.fdopen(os.open(path, flags, 0o600), "wb")
        self._hash = hashlib.sha256()
        self._n_bytes = 0

    @property
    def closed(self) -> bool:
        return self._file.closed

    def write(self, data: bytes) -> int:
        self._hash.update(data)
        self._n_bytes += memoryview(data).nbytes
        return self._file.write(data)

    def tell(self) -> int:
        return self._n_bytes

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def seal(self) -> str:
        """Flushes the file to disk and returns its sha256."""
        self._file.flush()
        os.fsync(self._file.fileno())
        return self._hash.hexdigest()


class Artifacts:
    """The stored files of one store, in a folder that no other store uses.

    Paths are made of hashes, never of user input.

    ``others`` are folders that are only read, such as that in which older releases kept the files of all
    stores.
    """

    def __init__(self, folder: Path, *others: Path) -> None:
        self.folder = folder.absolute()
        self._places = (self.folder, *(other.absolute() for other in others))
        self._checked: dict[Path, FileVersion] = {}

    # writing ───────────────────────────────────────────────────────────────────────────────────

    def put(self, table: pa.Table | Iterable[pa.RecordBatch]) -> str:
        """Writes a table or a stream of record batches as Parquet, and returns the sha256 of the file.

        An exception of the stream is passed on, and nothing is stored. Raises ``ValueError`` for a stream
        without batches, as it has no schema.
        """
        with self._new_file() as (temporary, file):
            _write_parquet(table, file)
            return self._keep(temporary, file, ".parquet")

    def put_file(self, source: Path | bytes | IO[bytes]) -> str:
        """Stores the bytes of a file unchanged and returns their sha256."""
        with self._new_file() as (temporary, file):
            first = b""
            for chunk in _chunks(source):
                first = first or chunk[:4]
                file.write(chunk)
            return self._keep(temporary, file, ".parquet" if first == PARQUET_MAGIC else ".bin")

    @contextmanager
    def apart(self, scratch: Path) -> Iterator[Artifacts]:
        """Yields artifacts that read these files and write others to a new folder in ``scratch``, which is
        deleted at the end.
        """
        folder = scratch / secrets.token_hex(16)
        with self._translating_errors():
            make_private(folder)
        try:
            yield Artifacts(folder, *self._places)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def _new_file(self) -> Iterator[tuple[Path, HashingFile]]:
        with self._translating_errors():
            temporary = self._folder("tmp") / secrets.token_hex(16)
            file = HashingFile(temporary)
            try:
                yield temporary, file
            finally:
                with suppress(FileNotFoundError):
                    temporary.unlink()
                file.close()

    @contextmanager
    def _translating_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreError(f"Cannot write to {self.folder}: {error.strerror or error}") from error

    def _folder(self, name: str) -> Path:
        folder = self.folder / name
        if not folder.is_dir():
            make_private(folder)
        if folder.is_symlink():
            raise StoreError(f"{folder} is a symbolic link; the artifacts must be in the folder itself.")
        return folder

    def _keep(self, temporary: Path, file: HashingFile, suffix: str) -> str:
        sha256 = file.seal()
        target = self._folder(sha256[:2]) / (sha256 + suffix)
        try:
            os.link(temporary, target)
        except FileExistsError:
            self._renew(temporary, target, sha256)
        sync(target.parent)
        return sha256

    def _renew(self, temporary: Path, target: Path, sha256: str) -> None:
        """Updates the time of a file that is stored already, so that ``collect`` keeps it.

        A damaged or missing file is replaced by the new one.
        """
        try:
            self._check(target, sha256)
            os.utime(target)
            self._checked[target] = _version(target.lstat())
        except (EvidenceDamaged, FileNotFoundError):
            temporary.replace(target)

    # reading ───────────────────────────────────────────────────────────────────────────────────

    def path(self, sha256: str) -> Path:
        """Returns the path of the file with this hash, which is verified once per process and file version.

        Raises ``NotFound`` for a missing file, ``EvidenceDamaged`` if it cannot be read or has another hash.
        """
        path = self._find(sha256)
        try:
            self._check(path, sha256)
        except OSError as error:
            raise EvidenceDamaged(f"The stored file {path} cannot be read: {error.strerror}") from error
        return path

    def n_bytes(self, sha256: str) -> int:
        """Returns the size of the file with this hash, without reading it.

        Raises ``NotFound`` for a missing file.
        """
        return self._find(sha256).lstat().st_size

    def table(self, sha256: str) -> pa.Table:
        """Returns the table with this hash.

        Raises ``NotFound`` for a missing file, ``EvidenceDamaged`` for a damaged one.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path(sha256)
        try:
            # read_table treats a file as a data set, which takes four times as long for a small one
            with pq.ParquetFile(path, memory_map=False, pre_buffer=False) as file:
                return file.read()
        except (pa.ArrowInvalid, OSError) as error:
            raise EvidenceDamaged(f"The stored file {path} cannot be read as a table: {error}") from error

    def _find(self, sha256: str) -> Path:
        if not SHA256.fullmatch(sha256):
            raise NotFound(f"'{sha256}' is not the sha256 of a stored file.")
        names = [sha256 + suffix for suffix in SUFFIXES]
        for path in (place / sha256[:2] / name for place in self._places for name in names):
            if os.path.lexists(path):
                return path
        raise MissingFile(f"The stored file {sha256} is missing from {self.folder}.")

    def _check(self, path: Path, sha256: str) -> None:
        if path.parent.is_symlink():
            raise EvidenceDamaged(f"The folder {path.parent} is a symbolic link; its files are not used.")
        with os.fdopen(_open_plain(path), "rb") as file:
            status = os.fstat(file.fileno())
            version = _version(status)
            if self._checked.get(path) == version:
                return
            if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                raise EvidenceDamaged(
                    f"The stored file {path} is damaged: its hash has changed. Upload the same file "
                    "again, or restore it from a backup."
                )
        self._checked[path] = version

    def forget_altered(self) -> bool:
        """Returns whether a file that was verified was damaged since or is gone.

        Only files with another version are read: an upload of the same file by another process gives it a
        new time.
        """
        changed = [path for path, version in list(self._checked.items()) if version_of(path) != version]
        altered = [path for path in changed if self._is_altered(path)]
        return bool(altered)

    def _is_altered(self, path: Path) -> bool:
        try:
            self._check(path, path.stem)
        except (EvidenceDamaged, OSError):
            self._checked.pop(path, None)
            return True
        return False

    # collecting ────────────────────────────────────────────────────────────────────────────────

    def remove(self, hashes: Iterable[str]) -> None:
        """Removes these files, if they are in the store's own folder.

        Raises the first ``OSError``, after all others were removed, if the disk refuses it.
        """
        refusal: OSError | None = None
        for sha256 in hashes:
            for suffix in SUFFIXES:
                path = self.folder / sha256[:2] / (sha256 + suffix)
                self._checked.pop(path, None)
                try:
                    path.unlink(missing_ok=True)
                except OSError as error:
                    refusal = refusal or error
        if refusal is not None:
            raise refusal

    def remove_unused(
        self, used: frozenset[str], older_than: timedelta, *, dry_run: bool = False
    ) -> tuple[int, int]:
        """Removes files that are older than ``older_than`` and not in ``used``, and returns their number and
        bytes; with ``dry_run`` only counts them.

        Old temporary files of interrupted writers are removed, too, but not counted.
        """
        before = time.time() - older_than.total_seconds()
        unused: list[tuple[Path, os.stat_result]] = []
        for path in self._files():
            with suppress(FileNotFoundError):  # an upload removes its temporary file at any time
                status = path.lstat()
                if status.st_mtime < before and path.stem not in used:
                    unused.append((path, status))
        for path, _ in unused if not dry_run else ():
            self._checked.pop(path, None)
            path.unlink(missing_ok=True)
        sizes = [status.st_size for path, status in unused if path.parent.name != "tmp"]
        return len(sizes), sum(sizes)

    def hashes(self) -> list[str]:
        """Returns the sha256 of each file in the store's own folder."""
        return [path.stem for path in files_in(self.folder)]

    def n_unfinished(self) -> int:
        """Returns the number of files that are being written, or whose writer was interrupted."""
        return sum(1 for _ in self.folder.glob("tmp/*"))

    def _files(self) -> Iterator[Path]:
        yield from self.folder.glob("tmp/*")
        yield from files_in(self.folder)

    def take(self, files: Iterable[Path]) -> None:
        """Links files of other folders into this store's folder; the originals stay.

        A file that cannot be linked (because of its owner or file system) is read from its own folder.
        """
        for file in files:
            with suppress(OSError):
                os.link(file, self._folder(file.stem[:2]) / file.name)


def version_of(path: Path) -> FileVersion | None:
    """Returns the version of a file without reading it; None if it is gone, or in a folder that is a link."""
    try:
        # with os.path it takes a quarter of the time, and every stored file is compared
        is_linked = os.path.islink(os.path.dirname(path))  # noqa: PTH114, PTH120
        return None if is_linked else _version(os.lstat(path))
    except OSError:
        return None


def _version(status: os.stat_result) -> FileVersion:
    return status.st_ino, status.st_size, status.st_mtime_ns


def make_private(folder: Path) -> None:
    """Makes a folder and its missing parents, which only their owner can open; their names are then on
    disk.
    """
    if not folder.is_dir():
        make_private(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync(folder.parent)


def files_in(folder: Path) -> Iterator[Path]:
    """Yields the paths of the stored files in a folder, which are recognised by their names."""
    return (path for path in folder.glob("[0-9a-f][0-9a-f]/*") if SHA256.fullmatch(path.stem))


def _open_plain(path: Path) -> int:
    """Returns the descriptor of a regular file, opened for reading.

    Raises ``EvidenceDamaged`` for anything else with this name, such as a link or a pipe.
    """
    if not stat.S_ISREG(path.lstat().st_mode):
        raise EvidenceDamaged(f"The stored file {path} is not a regular file; it is not used.")
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)


def _write_parquet(table: pa.Table | Iterable[pa.RecordBatch], file: HashingFile) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    batches: Iterable[pa.RecordBatch | pa.Table] = (table,) if isinstance(table, pa.Table) else table
    stream = iter(batches)
    first = next(stream, None)
    if first is None:
        raise ValueError("a stream without batches has no schema to store")
    with pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for batch in chain((first,), stream):
            writer.write(batch)


def _chunks(source: Path | bytes | IO[bytes]) -> Iterator[bytes]:
    if isinstance(source, bytes):
        yield source
        return
    with source.open("rb") if isinstance(source, Path) else nullcontext(source) as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def sync(folder: Path) -> None:
    """Waits until the names in a folder are on disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
