"""Maps names that a proxy or a sign-in vouches for to roles."""

from __future__ import annotations

from recdash.domain.access import AccessRole
from recdash.settings import Settings, listed


def role_of(name: str, rules: Settings) -> AccessRole | None:
    """Returns the highest role that the settings give to ``name``; None if none of them names it."""
    granted: dict[AccessRole, str] = {"admin": rules.admins, "editor": rules.editors, "viewer": rules.viewers}
    return next((role for role, names in granted.items() if is_meant(name, names)), None)


def is_meant(name: str, names: str) -> bool:
    """Returns whether ``name`` is among the comma-separated ``names``, of which ``*@example.org`` means all
    of that domain.

    An address has only one @: a second one could hide another name.
    """
    wanted = _folded(name)
    domain = f"*@{wanted.split('@')[1]}" if wanted.count("@") == 1 else None
    return any(_folded(known) in {"*", wanted, domain} for known in listed(names))


def _folded(name: str) -> str:
    """Returns the name in lower case if it is ASCII; other letters, some of which fold into ASCII ones,
    stay.
    """
    return name.lower() if name.isascii() else name
