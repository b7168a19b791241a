"""What has to be right before the dashboard listens, and what it says when it does."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode

from recdash.errors import InputError, Problem
from recdash.settings import Settings, listed
from recdash.web.hosts import is_loopback


def refuse_open_access(address: str | None, rules: Settings) -> None:
    """Raises InputError where anybody who reaches ``address`` could change things; None is every address."""
    if rules.auth == "local" and not is_loopback(address or ""):
        raise InputError(
            Problem(
                "open-house",
                f"address {address or '(every one of this machine)'}",
                "others could reach it there, and RECDASH_AUTH=local lets everybody change everything",
                "Listen on 127.0.0.1, or say who may come in: RECDASH_AUTH=key prints a secret address, "
                "proxy takes the name from a proxy, oidc has people sign in.",
            )
        )


def refuse_unnamed_viewers(rules: Settings) -> None:
    """Raises InputError where names come from elsewhere and the settings do not say who of them may read."""
    if rules.auth in {"proxy", "oidc"} and not listed(rules.viewers):
        raise InputError(
            Problem(
                "no-viewers",
                "environment variable RECDASH_VIEWERS",
                f"not set, and with RECDASH_AUTH={rules.auth} anybody with an account there could come in",
                "Say who may read: names, *@example.org for a domain, or * for everybody who has an account. "
                "Where only admins and editors may read, name them here too.",
            )
        )


def refuse_base_path(path: str) -> None:
    """Raises InputError for a path before all addresses: access is checked for addresses at the root only."""
    if path.strip("/"):
        raise InputError(
            Problem(
                "base-path",
                "server.baseUrlPath",
                f"'{path}'",
                "Leave it empty; a proxy in front may take the path away before it asks here.",
            )
        )


def key_of(secret: bytes) -> str:
    """The key of auth = key: the same as long as the secret is."""
    return urlsafe_b64encode(hmac.digest(secret, b"recdash key", hashlib.sha256)).decode().rstrip("=")


def greeting(address: str | None, port: int, key: str) -> str:
    """What is printed at the start, so that whoever reads it can come in."""
    host = "127.0.0.1" if address in {None, "0.0.0.0", "::"} else address  # noqa: S104 - only compared
    shown = f"[{host}]" if ":" in str(host) else host
    return f"  Open http://{shown}:{port}/key/{key}\n  Whoever has this address may change everything here.\n"
