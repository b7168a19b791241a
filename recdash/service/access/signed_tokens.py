"""Tokens that recdash signs, of which the store knows only a hash."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from itsdangerous import BadSignature, Signer

from recdash.errors import NotFound

ID_BYTES = 16
LONGEST_TOKEN = 200


def id_in_token(token: str) -> str:
    """Returns the id of a valid token, without checking the token. Raises ValueError if it has none."""
    return _id_of(bytes.fromhex(token.partition(".")[0]))


def _id_of(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


class SignedTokens:
    """Creates and verifies the tokens of one purpose, such as share links.

    A token is random bytes with a signature; its id is their sha256. A person who can write to the database
    cannot create a token, and one who can read it cannot use any.
    """

    def __init__(self, secret: bytes, purpose: str, *, salt: str) -> None:
        key = hashlib.sha256(purpose.encode() + secret).digest()
        self._signer = Signer(key, salt=salt, key_derivation="hmac", digest_method=hashlib.sha256)

    def new(self) -> tuple[str, str]:
        """Returns a new token, and its id."""
        raw = secrets.token_bytes(ID_BYTES)
        return self._signer.sign(raw.hex()).decode("ascii"), _id_of(raw)

    def id_of(self, token: str) -> str:
        """Returns the id of a token. Raises NotFound if recdash did not issue the token."""
        try:
            return _id_of(self._verified(token))
        except (BadSignature, ValueError):  # UnicodeError is a ValueError
            raise NotFound("This token is unknown.") from None

    def _verified(self, token: str) -> bytes:
        """Returns the random part. Raises BadSignature or ValueError if recdash did not issue the token."""
        signed = token.encode("ascii") if len(token) <= LONGEST_TOKEN else b""
        value = self._signer.unsign(signed)
        # base64 can write the last bits of a signature in several ways; only recdash's way is valid
        if not hmac.compare_digest(self._signer.sign(value), signed):
            raise BadSignature("another spelling of the signature")
        return bytes.fromhex(value.decode("ascii"))
