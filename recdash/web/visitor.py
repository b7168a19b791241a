"""Who is asking: recognised once per request, and handed on in a header that only this process can make."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from hmac import compare_digest
from secrets import token_urlsafe

from recdash.domain.access import AccessRole, Person
from recdash.errors import Forbidden
from recdash.service.context import person_here
from recdash.settings import Settings, settings

OURS = b"x-recdash-"
"""What comes from outside under this name is dropped by the middleware."""
VISITOR = "x-recdash-visitor"
_SEAL = token_urlsafe(24)
"""Known to this process alone, so that a header from elsewhere is worth nothing."""


@dataclass(frozen=True)
class Visitor:
    """A visitor as recognised: a name with its role, and the share link that somebody came by.

    Without a ``name`` nobody has signed in; with one but no ``role`` nobody gave that name one. A ``share``
    link counts before both: who opens one sees what it shows, whoever they are.
    """

    name: str | None = None
    role: AccessRole | None = None
    named: bool = True
    share: str | None = None

    @classmethod
    def of(cls, person: Person) -> Visitor:
        return cls(person.name, person.role, person.named)

    def sealed(self) -> str:
        """Fit for a header, believed by this process only."""
        return f"{_SEAL}.{urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()}"

    def person(self, guest: Callable[[str], Person]) -> Person | None:
        """None: sign in first. ``guest``: whom a share link lets in; what it raises for a dead one is raised.

        Raises Forbidden, in words for the person, when nobody gave the name a role.
        """
        if self.share is not None:
            return guest(self.share)
        if self.name is None:
            return None
        if self.role is None:
            raise Forbidden(
                f"You are signed in as {self.name}, and nobody has given that name a role here. "
                "Ask an admin for one."
            )
        return Person(self.name, self.role, named=self.named)


def read_visitor(header: str | None) -> Visitor:
    """The visitor in a header of this process; one without a name for any other."""
    seal, _, body = (header or "").partition(".")
    if not compare_digest(seal.encode(), _SEAL.encode()):
        return Visitor()
    return Visitor(**json.loads(urlsafe_b64decode(body)))


def person_of(headers: Mapping[str, str], guest: Callable[[str], Person]) -> Person | None:
    """Who is asking, by the headers of the middleware. None: sign in first.

    A script that runs without a web server, such as in a test, has no headers and is of this machine.
    """
    if not headers and settings().auth == "local":
        return person_here()
    return read_visitor(headers.get(VISITOR)).person(guest)


def key_holder(rules: Settings) -> Person:
    """Whoever has the key; may do everything."""
    return Person(rules.user or "key holder", "admin", named=False)
