"""Who did what, for admins."""

from __future__ import annotations

from recdash.domain.journal import AuditEvent
from recdash.errors import Problem
from recdash.service.context import ServiceContext


class AuditLog:
    """The audit log of a store, and whether all that is stored is what was written."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    def events(self, limit: int | None = 200) -> list[AuditEvent]:
        """The newest lines, the newest first. Raises Forbidden for all but admins."""
        self._context.person.must_be("admin")
        return self._store.audit.events(limit)[::-1]

    def breaks(self) -> list[int]:
        """Numbers of the lines at which the chain of hashes does not hold; empty where it is whole."""
        from recdash.store.audit import breaks

        self._context.person.must_be("admin")
        return breaks(self._store.audit.events())

    def check(self) -> list[Problem]:
        """What of all that is stored, rows and files, is damaged or lost, and how it is repaired.

        Raises Forbidden for all but admins.
        """
        self._context.person.must_be("admin")
        return self._store.check()

    def altered(self) -> list[str]:
        """Decisions, comments, evidence, reports, links and views that are not as they were written."""
        self._context.person.must_be("admin")
        return self._store.audit.altered()
