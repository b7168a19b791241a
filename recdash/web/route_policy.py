"""Decides which access check an address needs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from recdash.settings import Auth

AddressClass = Literal["open", "page", "upload", "private", "api", "hidden"]
"""What an address serves. open: needs no authentication, or has its own · page: parts of a page without data
· upload: receives files · private: data · api: data, for programs
· hidden: nothing, for anyone.
"""

SIGN_OUT, SIGNED_IN = "/auth/logout", "/oauth2callback"
"""Streamlit's addresses of ``auth = oidc``: to sign out, and to which the provider sends people back."""
_SIGNING_IN = ("/auth/login", SIGN_OUT, SIGNED_IN)
_PAGE_PARTS = (
    "/_stcore/host-config", "/_stcore/stream", "/_stcore/bidi-components/", "/component/", "/static/",
)  # fmt: skip
_CLASSES: Sequence[tuple[AddressClass, tuple[str, ...]]] = (
    ("open", ("/_stcore/health", "/s/", "/key/")),
    ("page", _PAGE_PARTS),
    ("upload", ("/uploads/",)),
    ("private", ("/media/", "/reports/")),
    ("api", ("/api/",)),
    ("hidden", ("/_stcore",)),  # metrics, the programming interface, uploads into memory, what comes later
)


def address_class_of(path: str, auth: Auth) -> AddressClass:
    """Returns what an address serves: the first match in ``_CLASSES``, else "page" for an address of one
    segment.

    A name in ``_CLASSES`` that ends in / includes everything below it. Below a page there is nothing:
    Streamlit would answer with its first page, whose scripts a browser cannot load from there.
    """
    if path in _SIGNING_IN:
        return "open" if auth == "oidc" else "hidden"
    return next(
        (address_class for address_class, names in _CLASSES if any(_fits(path, name) for name in names)),
        "hidden" if "/" in path.strip("/") else "page",
    )


def _fits(path: str, name: str) -> bool:
    return path.startswith(name) if name.endswith("/") else path == name or path.startswith(f"{name}/")
