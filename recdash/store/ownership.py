"""Which files are a store's own: those in the folder that has the store's id as its name.

Two databases may keep their files below one folder; neither ever writes or removes what is the other's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection, select

from recdash.errors import StoreError
from recdash.settings import FoundArtifacts
from recdash.store.artifacts import Artifacts, files_in
from recdash.store.connections import Database
from recdash.store.tables import ArtifactRow, ExperimentRow, StoreRow

ID = re.compile(r"[0-9a-f]{32}")


def refuse_lost(database: Path, root: Path, found: FoundArtifacts) -> None:
    """Raises ``StoreError`` where a database would be made anew beside the files of one that is gone."""
    # Files first: whoever makes the store at this moment has a database before it has a file.
    if found == "ask" and any(_files_below(root)) and not database.exists():
        raise _is_new(str(database), root)


def artifacts_of(database: Database, root: Path, found: FoundArtifacts) -> Artifacts:
    """The files of an opened database.

    An older store, whose files are among others, has them in its own folder from now on too. Raises
    ``StoreError`` for a new database beside files that are not its own, unless ``found`` says what to do.
    """
    with database.reader.connect() as connection:
        own = root / f"store-{_id(connection, database.place)}"
        artifacts = Artifacts(own, older=root)
        # Files first: another process may fill this store's own folder at this moment.
        if database.writer is None or not any(_files_below(root)) or own.is_dir():
            return artifacts
        known = None if _is_empty(connection) else set(connection.scalars(select(ArtifactRow.sha256)))
    if known is None and found == "ask":
        raise _is_new(database.place, root)
    if known is not None or found == "adopt":
        artifacts.take(file for file in _files_below(root) if known is None or file.stem in known)
    own.mkdir(exist_ok=True)
    return artifacts


def _id(connection: Connection, place: str) -> str:
    known = connection.scalars(select(StoreRow.id)).all()
    if len(known) != 1 or not ID.fullmatch(known[0]):
        raise StoreError(
            f"The database {place} is damaged: the id of its store is not there. Restore it from a backup."
        )
    return str(known[0])


def _is_empty(connection: Connection) -> bool:
    """Was nothing ever stored in it?"""
    rows = (connection.scalar(select(key).limit(1)) for key in (ArtifactRow.sha256, ExperimentRow.id))
    return all(row is None for row in rows)


def _files_below(root: Path) -> Iterator[Path]:
    """Of all stores, and of the time before stores had folders of their own."""
    yield from files_in(root)
    for folder in sorted(root.glob("store-*")):
        yield from files_in(folder)


MANY = 1_000


def _is_new(place: str, root: Path) -> StoreError:
    n_files = sum(1 for _ in islice(_files_below(root), MANY))
    told = f"{n_files:,} files" if n_files < MANY else f"{MANY:,} files or more"
    return StoreError(
        f"The database {place} is new or empty, but {root} holds {told} that are not its own: the files of "
        "another database, or of one that was lost or is not mounted. Nothing was changed. Put that database "
        "back, or name the right one with RECDASH_DATABASE_URL, or another folder with RECDASH_ARTIFACTS. To "
        "start anew beside these files set RECDASH_FOUND_ARTIFACTS=leave; to have them in the new store too "
        "set it to adopt."
    )
