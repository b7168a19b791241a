"""What Streamlit knows about sign-in: its [auth] settings, and its cookies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from recdash.errors import InputError, Problem
from recdash.settings import refuse_weak
from recdash.ui.app.streamlit_internals import SignInError, auth_secrets, check_provider, signed_in

PLACE = "[auth] in .streamlit/secrets.toml"
ONLY = "default"
"""The name that Streamlit gives to a single provider without a name."""


def providers() -> list[str]:
    """Returns the names of the identity providers with which people can sign in."""
    sections = auth_secrets().items()
    named = [name for name, value in sections if isinstance(value, Mapping) and "client_id" in value]
    return named or [ONLY]


def refuse_unready() -> None:
    """Raises InputError if people cannot sign in, or the cookie secret is weak."""
    try:
        for name in providers():
            check_provider(name)
        refuse_weak(str(auth_secrets()["cookie_secret"]))
    except SignInError as why:
        text = " ".join(str(why).split())
        raise InputError(
            Problem("no-sign-in", PLACE, text, "docs/deployment.md shows what belongs there.")
        ) from None


def claims(cookies: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns the provider's claims in these cookies; empty if this server did not sign them."""
    raw = signed_in(cookies)
    known = json.loads(raw) if raw else {}
    return known if isinstance(known, dict) and known.get("is_logged_in") else {}
