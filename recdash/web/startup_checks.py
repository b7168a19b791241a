"""Checks the settings before the dashboard starts, and writes its greeting."""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64encode

from recdash.errors import InputError, Problem
from recdash.settings import Settings, listed
from recdash.web.hosts import is_loopback


def refuse_open_access(address: str | None, rules: Settings) -> None:
    """Raises InputError if everyone who can reach ``address`` could change data.

    ``address`` None means all addresses.
    """
    if rules.auth == "local" and not is_loopback(address or ""):
        raise InputError(
            Problem(
                "open-house",
                f"address {address or '(every one of this machine)'}",
                "others could reach it there, and RECDASH_AUTH=local lets everyone change everything",
                "Listen on 127.0.0.1, or set who may sign in: RECDASH_AUTH=key prints a secret "
                "address, proxy uses the name a proxy sends, oidc uses an OpenID provider.",
            )
        )


def refuse_unnamed_viewers(rules: Settings) -> None:
    """Raises InputError if a provider confirms names, but the settings do not say which of them may read."""
    if rules.auth in {"proxy", "oidc"} and not listed(rules.viewers):
        raise InputError(
            Problem(
                "no-viewers",
                "environment variable RECDASH_VIEWERS",
                (
                    f"not set; with RECDASH_AUTH={rules.auth} anyone with an account there could read "
                    "everything"
                ),
                "Set who may read: names, *@example.org for a domain, or * for everyone with an "
                "account. Admins and editors can read anyway; to admit only them, name them here too.",
            )
        )


def refuse_unusable_sources(rules: Settings) -> None:
    """Raises InputError if the file of named sources cannot be used."""
    if rules.sources is not None:
        from recdash.ingest.sources.named import named_sources  # slow to import

        named_sources(rules.sources)


def refuse_base_path(path: str) -> None:
    """Raises InputError for a base path, because access is only checked for addresses at the root."""
    if path.strip("/"):
        raise InputError(
            Problem(
                "base-path",
                "server.baseUrlPath",
                f"'{path}'",
                "Leave it empty; a proxy in front may remove the path before forwarding.",
            )
        )


def key_of(secret: bytes) -> str:
    """Returns the key for auth = key, which is the same as long as the secret is."""
    return urlsafe_b64encode(hmac.digest(secret, b"recdash key", hashlib.sha256)).decode().rstrip("=")


def greeting(address: str | None, port: int, key: str) -> str:
    """Returns the text that is printed at the start, with the address to open."""
    host = "127.0.0.1" if address in {None, "0.0.0.0", "::"} else address  # noqa: S104 - only compared
    shown = f"[{host}]" if ":" in str(host) else host
    return f"  Open http://{shown}:{port}/key/{key}\n  Anyone with this address can change everything here.\n"
