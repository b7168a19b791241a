"""Who has which role, by the name that a proxy or a sign-in vouches for."""

from __future__ import annotations

from recdash.domain.access import AccessRole
from recdash.settings import Settings, listed


def role_of(name: str, rules: Settings) -> AccessRole | None:
    """The highest role that the settings give to ``name``; None when none of them names it."""
    granted: dict[AccessRole, str] = {"admin": rules.admins, "editor": rules.editors, "viewer": rules.viewers}
    return next((role for role, names in granted.items() if is_meant(name, names)), None)


def is_meant(name: str, names: str) -> bool:
    """Is ``name`` among the comma-separated ``names``, of which ``*@example.org`` means all of that domain?

    Only one @ makes an address: what stands before another could be anybody's.
    """
    wanted = _folded(name)
    domain = f"*@{wanted.split('@')[1]}" if wanted.count("@") == 1 else None
    return any(_folded(one) in {"*", wanted, domain} for one in listed(names))


def _folded(name: str) -> str:
    """Case does not count among plain letters; others, of which some fold into those, stay as they are."""
    return name.lower() if name.isascii() else name
