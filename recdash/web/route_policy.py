"""Which check an address needs before it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from recdash.settings import Auth

Place = Literal["open", "page", "upload", "private", "hidden"]
"""open: asks for nobody's name, or does so itself · page: what a page is made of, without any evidence in
it · upload: takes files · private: evidence · hidden: not for anybody."""

_SIGNING_IN = ("/auth/login", "/auth/logout", "/oauth2callback")
_PLACES: Sequence[tuple[Place, tuple[str, ...]]] = (
    ("open", ("/_stcore/health", "/s/", "/key/")),
    ("page", ("/_stcore/host-config", "/_stcore/stream", "/_stcore/bidi-components/")),
    ("upload", ("/_stcore/upload_file/",)),
    ("private", ("/media/", "/reports/")),
    ("hidden", ("/_stcore",)),  # metrics, the interface for programs, and what is yet to come
)


def place_of(path: str, auth: Auth) -> Place:
    """The first that fits; a name that ends in / stands for all below it. What fits none is of a page."""
    if path in _SIGNING_IN:
        return "open" if auth == "oidc" else "hidden"
    return next((place for place, names in _PLACES if any(_fits(path, name) for name in names)), "page")


def _fits(path: str, name: str) -> bool:
    return path.startswith(name) if name.endswith("/") else path == name or path.startswith(f"{name}/")
