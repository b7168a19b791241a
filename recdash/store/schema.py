"""Brings a database to the schema of this version of recdash, or refuses it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, inspect, text

from recdash.errors import StoreError, StoreTooNew
from recdash.store.connections import Database, translating_errors
from recdash.store.tables import Base

if TYPE_CHECKING:
    from alembic.config import Config

# The newest revision in migrations/versions. A test keeps the two equal, so that opening an up-to-date
# database need not load Alembic.
HEAD = "0012"
OURS = {"experiment", "run", "curve", "artifact"}
"""Tables that every version of recdash has; a database with all of them is recdash's."""


def ensure_schema(database: Database) -> None:
    """Creates or upgrades the tables; does nothing if they are up to date.

    Raises ``StoreTooNew`` for an unknown revision, ``StoreError`` for a read-only database that must be
    upgraded.
    """
    with translating_errors(database.place):
        with database.reader.connect() as connection:
            revision = _revision(connection, database.place)
        if revision == HEAD:
            return
        refuse_newer(revision, database.place)
        if database.writer is None:
            raise StoreError(f"The database {database.place} must be upgraded: open it once for writing.")
        with database.write_lock.hold(), database.writer.connect() as connection:
            _upgrade(connection, database.place)


def _revision(connection: Connection, place: str) -> str | None:
    """Returns the revision of a database; None for an empty one.

    Raises ``StoreError`` if the database has recdash's tables without a revision, or tables with the same
    names.
    """
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables:
        revision: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
        if revision is not None:
            return revision
    if OURS.issubset(tables):
        raise StoreError(
            f"The database {place} has recdash's tables, but its table alembic_version, which holds "
            "their version, is missing or empty. Restore the database from a backup; nothing was "
            "changed."
        )
    if set(tables) & set(Base.metadata.tables):
        raise StoreError(f"The database {place} has tables with these names that are not recdash's.")
    return None


def refuse_newer(revision: str | None, place: str) -> None:
    from alembic.script import ScriptDirectory

    revisions = {script.revision for script in ScriptDirectory.from_config(alembic_config()).walk_revisions()}
    if revision is not None and revision not in revisions:
        raise StoreTooNew(
            f"The database {place} was written by a newer recdash (schema {revision}; this one knows "
            f"up to {HEAD}). Update recdash to use it; nothing was changed."
        )


def _upgrade(connection: Connection, place: str) -> None:
    from alembic import command

    sqlite = connection.dialect.name == "sqlite"
    _foreign_keys(connection, sqlite, "OFF")
    try:
        with connection.begin():
            # If another process has upgraded while this one waited for the lock, this does nothing.
            command.upgrade(alembic_config(connection), "head")
            if sqlite and connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall():
                raise StoreError(
                    f"Upgrading the database {place} would break references; nothing was changed."
                )
    finally:
        _foreign_keys(connection, sqlite, "ON")


def _foreign_keys(connection: Connection, sqlite: bool, state: str) -> None:
    # A batch migration drops and recreates tables; with foreign keys on, dropping the parent
    # silently deletes the rows of its children. The pragma does nothing inside a transaction,
    # so it goes to the driver's connection, where none has begun.
    if sqlite:
        driver: Any = connection.connection.driver_connection
        driver.execute(f"PRAGMA foreign_keys={state}")


def alembic_config(connection: Connection | None = None) -> Config:
    """Returns Alembic's configuration for recdash's migrations over this connection."""
    from alembic.config import Config

    config = Config()
    config.set_main_option(
        "script_location", os.fspath(Path(__file__).parent / "migrations").replace("%", "%%")
    )
    config.set_main_option("path_separator", "os")
    config.attributes.update(connection=connection, metadata=Base.metadata)
    return config
