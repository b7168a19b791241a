"""Who did what, for admins."""

from __future__ import annotations

from recdash.domain.journal import Deed
from recdash.errors import Problem
from recdash.service.context import Evidence


class Audits(Evidence):
    """The audit log of a store, and whether all that is stored is what was written."""

    def audit_log(self, limit: int | None = 200) -> list[Deed]:
        """The newest lines, the newest first. Raises Forbidden for all but admins."""
        self.person.must_be("admin")
        return self.store.deeds(limit)[::-1]

    def audit_breaks(self) -> list[int]:
        """Numbers of the lines at which the chain of hashes does not hold; empty where nobody touched it."""
        from recdash.store.audit import breaks

        self.person.must_be("admin")
        return breaks(self.store.deeds())

    def check(self) -> list[Problem]:
        """What of all that is stored, rows and files, is damaged or lost, and how it is repaired.

        Raises Forbidden for all but admins.
        """
        self.person.must_be("admin")
        return self.store.check()

    def audit_altered(self) -> list[str]:
        """Decisions, comments, evidence, reports, links and views that are not as they were written."""
        self.person.must_be("admin")
        return self.store.altered()
