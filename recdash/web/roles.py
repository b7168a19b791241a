"""Gives roles to names that a proxy or an identity provider confirms."""

from __future__ import annotations

from recdash.domain.access import AccessRole
from recdash.settings import Settings, listed


def role_of(name: str, rules: Settings) -> AccessRole | None:
    """Returns the highest role that the settings give to a name; None if they give it none."""
    granted: dict[AccessRole, str] = {"admin": rules.admins, "editor": rules.editors, "viewer": rules.viewers}
    return next((role for role, names in granted.items() if is_meant(name, names)), None)


def is_meant(name: str, names: str) -> bool:
    """Returns whether ``name`` is in the comma-separated ``names``, in which ``*@example.org`` means the
    whole domain.

    ``*`` means any name. A name with several @ matches no domain, as a second one could hide another name.
    """
    wanted = _folded(name)
    domain = f"*@{wanted.split('@')[1]}" if wanted.count("@") == 1 else None
    return any(_folded(known) in {"*", wanted, domain} for known in listed(names))


def _folded(name: str) -> str:
    """Returns the name in lower case if it is ASCII, else unchanged, as some other letters become ASCII in
    lower case.
    """
    return name.lower() if name.isascii() else name
