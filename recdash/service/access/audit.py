"""The audit log, for admins."""

from __future__ import annotations

from recdash.domain.journal import AuditEvent
from recdash.errors import Problem
from recdash.service.context import ServiceContext


class AuditLog:
    """The audit log of a store, and whether all stored data is what was written."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    def events(self, limit: int | None = 200) -> list[AuditEvent]:
        """Returns the newest lines, the newest first. Raises Forbidden for all but admins."""
        self._context.person.must_be("admin")
        return self._store.audit.events(limit)[::-1]

    def breaks(self) -> list[int]:
        """Returns the numbers of the lines at which the chain of hashes breaks; empty if it is intact."""
        from recdash.store.audit import breaks

        self._context.person.must_be("admin")
        return breaks(self._store.audit.events())

    def check(self) -> list[Problem]:
        """Returns which stored rows and files are damaged or missing, and how to repair them.

        Raises Forbidden for all but admins.
        """
        self._context.person.must_be("admin")
        return self._store.check()

    def altered(self) -> list[str]:
        """Returns decisions, comments, evidence, reports, links and views that are not what was written."""
        self._context.person.must_be("admin")
        return self._store.audit.altered()
