"""What Streamlit knows of people who sign in: its [auth] settings, and its cookies."""

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
"""What Streamlit calls the provider where there is one, without a name."""


def providers() -> list[str]:
    """Names of the providers that people can sign in with."""
    sections = get_secrets_auth_section().items()
    named = [name for name, value in sections if isinstance(value, Mapping) and "client_id" in value]
    return named or [ONLY]


def refuse_unready() -> None:
    """Raises InputError unless people can sign in and the cookie secret is strong."""
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
    """Returns the provider's claims in these cookies; empty unless this server signed them."""
    secret = get_cookie_secret()

    def signed(name: str) -> bytes | None:
        return decode_signed_value(secret, name, cookies.get(name, ""))

    raw = get_cookie_with_chunks(signed, AUTH_COOKIE_NAME)
    known = json.loads(raw) if raw else {}
    return known if isinstance(known, dict) and known.get("is_logged_in") else {}
