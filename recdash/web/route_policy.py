"""The access check that each address needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from recdash.settings import Auth

Place = Literal["open", "page", "upload", "private", "hidden"]
"""open: no authentication, or its own · page: parts of a page without evidence · upload: takes files ·
private: evidence · hidden: for no visitor.
"""

_SIGNING_IN = ("/auth/login", "/auth/logout", "/oauth2callback")
_PLACES: Sequence[tuple[Place, tuple[str, ...]]] = (
    ("open", ("/_stcore/health", "/s/", "/key/")),
    ("page", ("/_stcore/host-config", "/_stcore/stream", "/_stcore/bidi-components/")),
    ("upload", ("/_stcore/upload_file/",)),
    ("private", ("/media/", "/reports/")),
    ("hidden", ("/_stcore",)),  # metrics, the programming interface, and future addresses
)


def place_of(path: str, auth: Auth) -> Place:
    """Returns the first match; a name ending in / includes everything below it. An address without a match is
    part of a page.
    """
    if path in _SIGNING_IN:
        return "open" if auth == "oidc" else "hidden"
    return next((place for place, names in _PLACES if any(_fits(path, name) for name in names)), "page")


def _fits(path: str, name: str) -> bool:
    return path.startswith(name) if name.endswith("/") else path == name or path.startswith(f"{name}/")
