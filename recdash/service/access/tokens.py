"""Tokens of the HTTP API: programs send them instead of signing in."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from typing import Literal

from recdash.domain.access import ROLES, AccessRole
from recdash.domain.journal import ApiToken
from recdash.errors import InputError, NotFound, Problem, RecdashError
from recdash.service.access.signed_tokens import SignedTokens
from recdash.service.context import ServiceContext
from recdash.service.validation import check_days, one_line

logger = logging.getLogger(__name__)
PREFIX = "recdash_"
"""The beginning of each token, by which secret scanners recognise one."""
MOST_DAYS, USUAL_DAYS = 3660, 90
LABEL_CHARS = 100
NOTED_EVERY = timedelta(minutes=10)
"""How often the use of a token is stored at most."""
State = Literal["active", "expired", "revoked"]

_WHY = {
    "unknown": "This API token is unknown. Check that you copied all of it.",
    "expired": "This API token has expired. Ask an admin for a new one.",
    "revoked": "This API token was revoked. Ask an admin for a new one.",
}


class TokenRefused(RecdashError):
    """The error for an API token that gives no access; ``reason`` says why."""

    def __init__(self, reason: Literal["unknown", "expired", "revoked"]) -> None:
        self.reason = reason
        super().__init__(_WHY[reason])


@dataclass(frozen=True)
class NewToken:
    """A token that was just created. ``secret`` is what programs send; it is shown once and not stored."""

    secret: str
    token: ApiToken


class Tokens:
    """The service for API tokens: admins create, list and revoke them; the server checks them."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    @cached_property
    def _signed(self) -> SignedTokens:
        return SignedTokens(self._context.secret(), "recdash API token", salt="recdash.api")

    def create(self, label: str, role: AccessRole = "viewer", *, days: float | None = USUAL_DAYS) -> NewToken:
        """Creates a token with a role, for some days; for None, until it is revoked.

        Raises Forbidden unless the person is an admin, and InputError for an empty or too long label, an
        unknown role, and days that are not above 0 or too many.
        """
        self._context.person.must_be("admin")
        label = one_line("label", label, LABEL_CHARS)
        if not label:
            fix = "Name the program that will use it, such as nightly training."
            raise InputError(Problem("no-label", "label", "it is empty", fix))
        if role not in ROLES:
            raise InputError(Problem("bad-role", "role", f"'{role}'", f"Choose one of {', '.join(ROLES)}."))
        if days is not None:
            check_days(days, MOST_DAYS)
        (secret, token_id), now = self._signed.new(), self._context.now()
        expires = None if days is None else now + timedelta(days=float(days))
        token = ApiToken(token_id, now, self._context.person.name, label, role, expires)
        return NewToken(f"{PREFIX}{secret}", self._store.api_tokens.add(token))

    def all(self) -> list[ApiToken]:
        """Returns all tokens, the newest first, with expired and revoked ones.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.api_tokens.all()

    def last_uses(self) -> dict[str, datetime]:
        """Returns {token id: time} of the tokens that were used, to within ten minutes.

        Raises Forbidden unless the person is an admin.
        """
        self._context.person.must_be("admin")
        return self._store.api_tokens.last_uses()

    def revoke(self, token_id: str) -> ApiToken:
        """Revokes a token for good; revoking it again changes nothing.

        Raises Forbidden unless the person is an admin, and NotFound.
        """
        self._context.person.must_be("admin")
        token = self._store.api_tokens.get(token_id)
        if token.revoked is not None:
            return token
        return self._store.api_tokens.update(token_id, revoked=self._context.now())

    def state(self, token: ApiToken) -> State:
        if token.revoked is not None:
            return "revoked"
        is_over = token.expires is not None and self._context.now() >= token.expires
        return "expired" if is_over else "active"

    def check(self, secret: str) -> ApiToken:
        """Returns the token that a program sent. Raises TokenRefused with the reason if it gives no
        access.
        """
        try:
            token = self._store.api_tokens.get(self._signed.id_of(secret.removeprefix(PREFIX)))
        except NotFound:
            raise TokenRefused("unknown") from None
        state = self.state(token)
        if state != "active":
            raise TokenRefused(state)
        return token

    def note_use(self, token: ApiToken) -> None:
        """Stores that a token is used now, at most every ten minutes.

        If that cannot be stored, the token still works, and a warning is logged.
        """
        now = self._context.now()
        try:
            last = self._store.api_tokens.last_uses().get(token.id)
            if last is None or now - last >= NOTED_EVERY:
                self._store.api_tokens.note_use(token.id, now)
        except RecdashError:
            logger.warning("The use of an API token could not be stored.", exc_info=True)
