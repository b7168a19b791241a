"""The audit log, which only admins can read."""

from __future__ import annotations

from recdash.domain.journal import AuditEvent, AuditResult
from recdash.errors import Problem
from recdash.service.context import ServiceContext


class AuditLog:
    """The service for reading the audit log, and for checking that stored data is as it was written."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    def events(self, limit: int | None = 200) -> list[AuditEvent]:
        """Returns the newest ``limit`` lines of the audit log, the newest first; all for None.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.audit.events(limit)[::-1]

    def breaks(self) -> list[int]:
        """Returns the numbers of the lines at which the chain of hashes breaks; empty if it is intact.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.audit.breaks()

    def check(self) -> list[Problem]:
        """Returns the stored rows and files that are damaged or missing, with how to repair them; empty if
        none is.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.check()

    def audited(self) -> AuditResult:
        """Reads all rows and files, and returns where they differ from their checksums and from the audit
        log, and what the log cannot say.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.audit.audited()

    def altered(self) -> list[str]:
        """Returns kind and id of each record that is not what the audit log says, with the fields that differ
        if the log tells them.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.audit.altered()
