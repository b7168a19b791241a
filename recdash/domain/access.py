"""People, their roles, and what each role may do."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, get_args

from recdash.errors import Forbidden, Problem

AccessRole = Literal["viewer", "editor", "admin"]
ROLES: tuple[AccessRole, ...] = get_args(AccessRole)
"""All roles, from the fewest rights to the most; each role includes the rights of those before it."""
READ_ONLY_LINK = "This is a read-only link."
DEAD_LINK, LEAVE_LINK = "This link no longer works", "Leave this link"
NUMBERS_ONLY = "This link shows numbers only: no data of single users."
"""Texts for guests with a share link."""
_ABOUT_USERS = re.compile(r"\b(user_id|unit_id|users)\b")
"""What the place of a notice says if the notice may quote ids of users."""
_QUOTED = re.compile(r"'.*'", re.DOTALL)


@dataclass(frozen=True)
class Person:
    """A user, under the name that the audit log records.

    ``experiment`` is the only experiment that a guest with a share link may see; None for anyone else.
    ``named`` is False if the name was not verified, as on a user's own computer. ``numbers_only`` is True for
    a guest who may see no data of single users.
    """

    name: str
    role: AccessRole = "viewer"
    experiment: str | None = None
    named: bool = True
    numbers_only: bool = False

    @property
    def is_guest(self) -> bool:
        return self.experiment is not None

    def may(self, role: AccessRole) -> bool:
        return ROLES.index(self.role) >= ROLES.index(role)

    def must_be(self, role: AccessRole) -> None:
        """Raises Forbidden, with a text for the person, if the person lacks the rights of the role."""
        if not self.may(role):
            raise Forbidden(READ_ONLY_LINK if self.is_guest else _WHY_NOT[role])

    def must_see_users(self) -> None:
        """Raises Forbidden, with a text for the person, if the person may see no data of single users."""
        if self.numbers_only:
            raise Forbidden(NUMBERS_ONLY)


_WHY_NOT: dict[AccessRole, str] = {
    "viewer": "Sign in to read this.",
    "editor": "Viewers can read but not change anything. Ask an admin for the role editor.",
    "admin": "Only admins can do this. Ask an admin.",
}


def finding_without_ids(place: str, finding: str) -> str:
    """Returns what a notice says was found, without what it quotes if it is about ids of users."""
    return _QUOTED.sub("…", finding) if _ABOUT_USERS.search(place) else finding


def without_ids(notice: Problem) -> Problem:
    """Returns a notice as guests read it who may see no data of single users."""
    return replace(notice, found=finding_without_ids(notice.place, notice.found), example="")
