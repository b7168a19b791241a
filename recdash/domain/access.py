"""People and what each role may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from recdash.errors import Forbidden

AccessRole = Literal["viewer", "editor", "admin"]
ROLES: tuple[AccessRole, ...] = get_args(AccessRole)
"""Roles from the fewest rights to the most; each role includes the rights of those before it."""
READ_ONLY_LINK = "This is a read-only link."
DEAD_LINK, LEAVE_LINK = "This link no longer works", "Leave this link"
"""Words for guests with a share link."""


@dataclass(frozen=True)
class Person:
    """A user, under the name that the audit log records.

    ``experiment``: the only one that the person may see: a guest with a share link. ``named`` is False if the
    name was not verified, such as on one's own machine.
    """

    name: str
    role: AccessRole = "viewer"
    experiment: str | None = None
    named: bool = True

    @property
    def is_guest(self) -> bool:
        return self.experiment is not None

    def may(self, role: AccessRole) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)

    def must_be(self, role: AccessRole) -> None:
        """Raises Forbidden with a message for the person unless the role allows it."""
        if not self.may(role):
            raise Forbidden(READ_ONLY_LINK if self.is_guest else _WHY_NOT[role])


_WHY_NOT: dict[AccessRole, str] = {
    "viewer": "Sign in to read this.",
    "editor": "Viewers can read but not change anything. Ask an admin for the role editor.",
    "admin": "Only admins can do this. Ask an admin.",
}
