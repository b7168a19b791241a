"""Sign-in sessions: what a cookie holds in place of the key, and the id by which a session is ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from secrets import token_urlsafe
from typing import Any

from itsdangerous import BadSignature, TimestampSigner

SECONDS = 30 * 24 * 3600
"""How long a session lasts; Streamlit's cookie of ``auth = oidc`` lasts as long."""


def new_session(key: str) -> str:
    """Returns the cookie of a new session: a random id and the time, signed with the key."""
    return _signer(key).sign(token_urlsafe(16)).decode()


def session_in(cookie: str, key: str) -> str | None:
    """Returns the id of the session in a cookie; None if the key did not sign it, or it has expired."""
    try:
        return _signer(key).unsign(cookie, max_age=SECONDS).decode() if key else None
    except (BadSignature, UnicodeError):
        return None


def session_of(claims: Mapping[str, Any]) -> str:
    """Returns the id of the session of a sign-in with an identity provider: a hash of its claims.

    Claims include the time of the sign-in (``iat``), so each sign-in is another session.
    """
    return hashlib.sha256(json.dumps(claims, sort_keys=True).encode()).hexdigest()


def _signer(key: str) -> TimestampSigner:
    return TimestampSigner(key, salt="recdash.session", key_derivation="hmac", digest_method=hashlib.sha256)
