"""Who did what, for admins."""

from __future__ import annotations

from recdash.journal import Deed
from recdash.service.evidence import Evidence


class Audits(Evidence):
    """The audit log of a store."""

    def audit_log(self, limit: int | None = 200) -> list[Deed]:
        """The newest lines, the newest first. Raises Forbidden for all but admins."""
        self.person.must_be("admin")
        return self.store.deeds(limit)[::-1]

    def audit_breaks(self) -> list[int]:
        """Numbers of the lines at which the chain of hashes does not hold; empty where nobody touched it."""
        from recdash.store.audit import breaks

        self.person.must_be("admin")
        return breaks(self.store.deeds())

    def audit_altered(self) -> list[str]:
        """Decisions, comments, evidence, reports, links and views that are not as they were written."""
        self.person.must_be("admin")
        return self.store.altered()
