"""The sign-in sessions that users have ended."""

from __future__ import annotations

from datetime import timedelta

from recdash.service.context import ServiceContext

KEPT = timedelta(days=31)
"""How long an ended session is kept: longer than any cookie lasts."""


class SignIns:
    """The service for signing out: it ends sessions, whose cookies may have been copied."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def end(self, session: str) -> None:
        """Ends a session for good."""
        now = self._context.now()
        self._context.store.ended_sessions.add(session, now + KEPT, now)

    def has_ended(self, session: str) -> bool:
        return self._context.store.ended_sessions.has(session)
