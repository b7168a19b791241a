"""The visitor of a request: authenticated once, and passed on in a header that only this process can
write.
"""

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
"""The middleware removes this header from outside requests."""
VISITOR = "x-recdash-visitor"
_SEAL = token_urlsafe(24)
"""Known to this process alone, so that it recognises its own headers."""


@dataclass(frozen=True)
class Visitor:
    """An authenticated visitor: a name with its role, and the share link used.

    Without a ``name`` the visitor has not signed in; with one but no ``role`` the name has none. A ``share``
    link takes precedence over both: its visitor sees what it shows and no more.
    """

    name: str | None = None
    role: AccessRole | None = None
    named: bool = True
    share: str | None = None

    @classmethod
    def of(cls, person: Person) -> Visitor:
        return cls(person.name, person.role, person.named)

    def sealed(self) -> str:
        """Returns the visitor as a header that only this process accepts."""
        return f"{_SEAL}.{urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()}"

    def person(self, guest: Callable[[str], Person]) -> Person | None:
        """Returns the person; None: sign in first. ``guest``: returns the guest of a share link, or raises.

        Raises Forbidden with a message for the person if the name has no role.
        """
        if self.share is not None:
            return guest(self.share)
        if self.name is None:
            return None
        if self.role is None:
            raise Forbidden(
                f"You are signed in as {self.name}, but this name has no role here. Ask an admin for one."
            )
        return Person(self.name, self.role, named=self.named)


def read_visitor(header: str | None) -> Visitor:
    """Returns the visitor in a header of this process; an anonymous one for any other."""
    seal, _, body = (header or "").partition(".")
    if not compare_digest(seal.encode(), _SEAL.encode()):
        return Visitor()
    return Visitor(**json.loads(urlsafe_b64decode(body)))


def person_of(headers: Mapping[str, str], guest: Callable[[str], Person]) -> Person | None:
    """Returns the person by the headers of the middleware. None: sign in first.

    A script that runs without a web server, such as in a test, has no headers and counts as local.
    """
    if not headers and settings().auth == "local":
        return person_here()
    return read_visitor(headers.get(VISITOR)).person(guest)


def key_holder(rules: Settings) -> Person:
    """Returns the person who has the key and may do everything."""
    return Person(rules.user or "key holder", "admin", named=False)
