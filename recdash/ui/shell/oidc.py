"""What Streamlit knows about sign-in: its [auth] settings, and its cookies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from streamlit.auth_util import get_cookie_with_chunks, get_secrets_auth_section, validate_auth_credentials
from streamlit.errors import StreamlitAuthError
from streamlit.web.server.server_util import AUTH_COOKIE_NAME, get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value

from recdash.errors import InputError, Problem
from recdash.settings import refuse_weak

PLACE = "[auth] in .streamlit/secrets.toml"
ONLY = "default"
"""The name that Streamlit gives to a single provider without a name."""


def providers() -> list[str]:
    """Returns the names of the identity providers with which people can sign in."""
    sections = get_secrets_auth_section().items()
    named = [name for name, value in sections if isinstance(value, Mapping) and "client_id" in value]
    return named or [ONLY]


def refuse_unready() -> None:
    """Raises InputError if people cannot sign in, or the cookie secret is weak."""
    try:
        for name in providers():
            validate_auth_credentials(name)
        refuse_weak(str(get_secrets_auth_section()["cookie_secret"]))
    except (StreamlitAuthError, ValueError) as why:
        text = " ".join(str(why).split())
        raise InputError(
            Problem("no-sign-in", PLACE, text, "docs/deployment.md shows what belongs there.")
        ) from None


def claims(cookies: Mapping[str, str]) -> Mapping[str, Any]:
    """Returns the provider's claims in these cookies; empty if this server did not sign them."""
    secret = get_cookie_secret()

    def signed(name: str) -> bytes | None:
        return decode_signed_value(secret, name, cookies.get(name, ""))

    raw = get_cookie_with_chunks(signed, AUTH_COOKIE_NAME)
    known = json.loads(raw) if raw else {}
    return known if isinstance(known, dict) and known.get("is_logged_in") else {}
