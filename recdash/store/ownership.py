"""Decides which files belong to a store: those in the folder that has the store's id as its name.

So two databases can keep files in one folder, and neither writes nor removes files of the other. A copy of a
database has the same id and therefore the same folder. The folder has a list of the databases that use it;
while there are several, no file is removed.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from stat import S_ISDIR

from sqlalchemy import Connection, select

from recdash.errors import StoreError
from recdash.settings import FoundArtifacts
from recdash.store.artifacts import Artifacts, files_in, make_private, sync
from recdash.store.connections import Database
from recdash.store.tables import ArtifactRow, ExperimentRow, StoreRow

logger = logging.getLogger(__name__)

ID = re.compile(r"[0-9a-f]{32}")
DATABASES_FILE = "databases"
"""The name of a file in the store's folder with a line for each database that uses it: ``[database, folder]``
as JSON.
"""

BEGUN = "linking-"
"""The beginning of the name of a folder into which files are being linked."""


def refuse_lost(database: Path, root: Path, found_artifacts: FoundArtifacts) -> None:
    """Raises ``StoreError`` if the database does not exist yet but files of an earlier one do.

    Does nothing unless ``found_artifacts`` is "ask".
    """
    # Looks for files before the database, because a process that creates a store now writes them after it.
    if found_artifacts == "ask" and any(_files_below(root)) and not database.exists():
        raise _is_new(str(database), root)


def artifacts_of(database: Database, root: Path, found_artifacts: FoundArtifacts) -> Artifacts:
    """Returns the stored files of an open database.

    If an older release put the files into a folder that stores share, they are linked into the store's own
    folder. Raises ``StoreError`` for a new database if there are files of another store, unless
    ``found_artifacts`` says what to do with them.
    """
    with database.reader.connect() as connection:
        own = root / f"store-{_id(connection, database.place)}"
        artifacts = Artifacts(own, root)
        # Looks for files before the folder, because another process may be filling the folder now.
        if database.writer is None or not any(_files_below(root)) or own.is_dir():
            return artifacts
        hashes = None if _is_empty(connection) else set(connection.scalars(select(ArtifactRow.sha256)))
    if hashes is None and found_artifacts == "ask":
        raise _is_new(database.place, root)
    if hashes is not None or found_artifacts == "adopt":
        _take(own, root, [file for file in _files_below(root) if hashes is None or file.stem in hashes])
    make_private(own)
    return artifacts


def _take(own: Path, root: Path, files: Iterable[Path]) -> None:
    """Links the files into the store's own folder, which is there with all of them or not at all.

    A process that is killed meanwhile leaves a folder of another name, and the next start begins anew.
    """
    begun = Path(tempfile.mkdtemp(prefix=f"{BEGUN}{own.name}-", dir=root))
    Artifacts(begun, root).take(files)
    with suppress(OSError):  # another process was faster
        begun.rename(own)
    for left in root.glob(f"{BEGUN}{own.name}-*"):
        shutil.rmtree(left, ignore_errors=True)


def note_use(folder: Path, database: str) -> None:
    """Records in the store's folder that this database uses it, unless that is recorded already."""
    line = json.dumps([database, str(folder)]) + "\n"
    # No file can be removed from a folder that is not writable.
    with suppress(OSError):
        make_private(folder)
        if line not in _lines(folder):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            with os.fdopen(os.open(folder / DATABASES_FILE, flags, 0o600), "a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
            sync(folder)


def is_shared(folder: Path, database: str) -> bool:
    """Returns whether another database uses the store's folder: a copy of this one, or its original."""
    for other, used in map(_use, _lines(folder)):
        if other != database and not _is_gone(other, database) and not _is_elsewhere(used, folder):
            unless = f"If it no longer does, delete its line in {folder / DATABASES_FILE}."
            logger.warning("No files of %s are removed because %s uses them too. %s", folder, other, unless)
            return True
    return False


def _use(line: str) -> tuple[str, str]:
    """Returns (database, folder) of a line; a damaged line counts as a database that uses the files."""
    try:
        database, folder = json.loads(line)
        return str(database), str(folder)
    except (ValueError, TypeError, RecursionError):
        return "unknown://", ""


def _lines(folder: Path) -> list[str]:
    file = folder / DATABASES_FILE
    return file.read_text("utf-8", errors="replace").splitlines(keepends=True) if file.exists() else []


def _is_gone(other: str, database: str) -> bool:
    """Returns whether the other database file does not exist, or is this database under another path.

    False for a database on a server, and for a file that cannot be examined, as both may be in use.
    """
    if "://" in other:
        return False
    try:
        status = Path(other).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return "://" not in database and os.path.samestat(status, Path(database).stat())


def _is_elsewhere(used: str, folder: Path) -> bool:
    """Returns whether ``used`` is another folder that exists, because the line was copied here with the
    files.
    """
    try:
        status = Path(used).stat()
    except (OSError, ValueError):
        return False
    return S_ISDIR(status.st_mode) and not os.path.samestat(status, folder.stat())


def _id(connection: Connection, place: str) -> str:
    ids = connection.scalars(select(StoreRow.id)).all()
    if len(ids) != 1 or not ID.fullmatch(ids[0]):
        raise StoreError(
            f"The database {place} is damaged: its store id is missing. Restore it from a backup."
        )
    return str(ids[0])


def _is_empty(connection: Connection) -> bool:
    """Returns whether nothing was ever stored in the database."""
    rows = (connection.scalar(select(key).limit(1)) for key in (ArtifactRow.sha256, ExperimentRow.id))
    return all(row is None for row in rows)


def _files_below(root: Path) -> Iterator[Path]:
    """Yields the files of all stores below ``root``, and those of older releases, which had no folders per
    store.
    """
    yield from files_in(root)
    for folder in sorted(root.glob("store-*")):
        yield from files_in(folder)


MANY = 1_000


def _is_new(place: str, root: Path) -> StoreError:
    n_files = sum(1 for _ in islice(_files_below(root), MANY))
    count = f"{n_files:,} files" if n_files < MANY else f"{MANY:,} files or more"
    return StoreError(
        f"The database {place} is new or empty, but {root} holds {count} of another store: its "
        "database was lost, is not mounted, or is a different one. Nothing was changed. Put that "
        "database back, or name the right one with RECDASH_DATABASE_URL, or another folder with "
        "RECDASH_ARTIFACTS. To start a new store beside these files set "
        "RECDASH_FOUND_ARTIFACTS=leave; to use them in the new store too set it to adopt."
    )
