"""Backup, restore and garbage collection of a store, for admins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from recdash.domain.access import Person
from recdash.service.context import ServiceContext, local_person
from recdash.store import restore_store
from recdash.store.protocol import Garbage

if TYPE_CHECKING:  # a dashboard starts without SQLAlchemy, and loads it while the browser starts
    from recdash.store.backup import BackupSummary, RestoreSummary


class Maintenance:
    """Backs up a store, and collects its garbage."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    def back_up(self, target: Path) -> BackupSummary:
        """Writes a backup to a new folder, or to a new file that ends in ``.tar``, while others work.

        Raises Forbidden unless the person is an admin, and StoreError if it cannot be written.
        """
        self._context.person.must_be("admin")
        return self._store.back_up(target)

    def collect_garbage(self, *, dry_run: bool = False) -> Garbage:
        """Removes files that nothing needs and that are older than a day; with ``dry_run`` only counts them.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.artifacts.garbage(dry_run=dry_run)


def restore(
    backup: Path,
    database_url: str | None = None,
    artifacts: str | os.PathLike[str] | None = None,
    *,
    replace: bool = False,
    person: Person | None = None,
) -> RestoreSummary:
    """Restores a backup to the place of a store, by default the one in the settings.

    Verifies every hash first. A store that holds data is refused unless ``replace``, which keeps it aside.
    Raises Forbidden unless the person (by default the local user) is an admin, and StoreError.
    """
    person = person or local_person()
    person.must_be("admin")
    return restore_store(backup, database_url, artifacts, replace=replace, who=person.name)
