"""The store of experiments, runs, curves and uploaded tables: an SQLite database by default, or
PostgreSQL.
"""

from __future__ import annotations

import base64
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from recdash.settings import FoundArtifacts
from recdash.store.protocol import Store
from recdash.store.restricted import OneExperiment

if TYPE_CHECKING:
    import os

    from recdash.store.backup import RestoreSummary
    from recdash.store.connections import DatabaseUrl

__all__ = [
    "FoundArtifacts", "OneExperiment", "Store", "absolute_url", "new_id", "open_store", "restore_store",
]  # fmt: skip


def new_id() -> str:
    """Returns a new id: ten lower-case base32 characters (50 random bits)."""
    return base64.b32encode(secrets.token_bytes(7)).decode("ascii")[:10].lower()


def absolute_url(database_url: str) -> str:
    """Returns the URL with an absolute path of the database file; the URL of a server unchanged."""
    from recdash.store.connections import parse_url

    file = parse_url(database_url).file
    return database_url if file is None else f"sqlite:///{file}"


def open_store(
    database_url: str | None = None,
    artifacts: str | os.PathLike[str] | None = None,
    read_only: bool = False,
    found_artifacts: FoundArtifacts | None = None,
) -> Store:
    """Opens a store, by default the one in the settings; creates or upgrades its database if necessary.

    If ``database_url`` is given and ``artifacts`` is not, files are kept in the folder ``artifacts`` next to
    the database file. Each store has its own folder below it. If the database is new and there are files of
    another store, it is refused unless ``found_artifacts`` (or the settings) is "leave" (they stay as they
    are) or "adopt" (they are linked into the new store's folder). A read-only store never creates, upgrades
    or writes anything. Raises ``StoreTooNew`` for a database of a newer recdash, ``StoreError`` for one that
    cannot be opened.
    """
    from recdash.settings import settings
    from recdash.store.sql import SqlStore

    url, root = _place(database_url, artifacts)
    return SqlStore.open(url, root, read_only, found_artifacts or settings().found_artifacts)


def restore_store(
    backup: Path,
    database_url: str | None = None,
    artifacts: str | os.PathLike[str] | None = None,
    *,
    replace: bool = False,
    who: str = "recdash",
) -> RestoreSummary:
    """Restores a backup to the place of a store, by default the one in the settings, and upgrades it.

    The place is given as in ``open_store``. A store that holds data is refused unless ``replace``, which
    keeps it aside. Raises ``StoreError``; then the store is as it was, unless the error says that the backup
    was restored.
    """
    from recdash.store.backup import already_restored, restore_backup
    from recdash.store.sql import SqlStore

    url, root = _place(database_url, artifacts)
    summary = restore_backup(backup, url, root, replace=replace)
    with already_restored(summary.aside):
        store = SqlStore.open(url, root, found_artifacts="leave")
        try:
            store.by(who, "admin").note_restore(summary)
        finally:
            store.close()
    return summary


def uploads_folder() -> Path:
    """Returns the folder of files that people upload and have not stored yet, for the store in the
    settings.
    """
    return _place(None, None)[1] / "uploads"


def _place(database_url: str | None, artifacts: str | os.PathLike[str] | None) -> tuple[DatabaseUrl, Path]:
    """Returns the database's URL and the folder of its files; what is not given is as in the settings."""
    from recdash.settings import settings
    from recdash.store.connections import parse_url

    if database_url is None:
        database_url, artifacts = settings().database_url, artifacts or settings().artifacts
    url = parse_url(database_url)
    return url, Path(artifacts or url.artifacts)
