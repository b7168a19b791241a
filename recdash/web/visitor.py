"""The visitor of a request, who is authenticated once and passed on in a header that only this process can
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
from recdash.service.context import KEY_HOLDER, local_person
from recdash.settings import Settings, settings

OURS = b"x-recdash-"
"""The beginning of recdash's own headers, which the middleware removes from requests."""
VISITOR = "x-recdash-visitor"
_SEAL = token_urlsafe(24)
"""A secret of this process, by which it recognises its own headers."""


@dataclass(frozen=True)
class Visitor:
    """The authenticated visitor of a request: a name with its role, and the share link that is used.

    Without ``name`` the visitor has not signed in; ``role`` is None if the settings give the name none. A
    share link takes precedence over the name: the visitor sees only what it shows. ``named`` is whether the
    name was confirmed at sign-in. ``session`` is the id of the sign-in, which the visitor can end.
    """

    name: str | None = None
    role: AccessRole | None = None
    named: bool = True
    share: str | None = None
    session: str | None = None

    @classmethod
    def of(cls, person: Person, session: str | None = None) -> Visitor:
        return cls(person.name, person.role, person.named, session=session)

    def unless_ended(self, has_ended: Callable[[str], bool]) -> Visitor:
        """Returns the visitor without a name if their session has ended; a share link is kept."""
        if self.session is None or not has_ended(self.session):
            return self
        return Visitor(share=self.share)

    def sealed(self) -> str:
        """Returns the visitor as the value of a header that only this process accepts."""
        return f"{_SEAL}.{urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode()}"

    def person(self, guest: Callable[[str], Person]) -> Person | None:
        """Returns the visitor as a person; None if they must sign in first.

        ``guest`` returns the guest of a share link, or raises if the link no longer works. Raises Forbidden
        with a message for the person if the name has no role.
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
    """Returns the visitor in a header that this process wrote; an anonymous one for any other header."""
    seal, _, body = (header or "").partition(".")
    if not compare_digest(seal.encode(), _SEAL.encode()):
        return Visitor()
    return Visitor(**json.loads(urlsafe_b64decode(body)))


def person_of(
    headers: Mapping[str, str], guest: Callable[[str], Person], has_ended: Callable[[str], bool]
) -> Person | None:
    """Returns the person in the headers that the middleware wrote; None if they must sign in first, as after
    their session has ended.

    A script that runs without a web server, such as a test, has no headers and counts as the local user.
    """
    if not headers and settings().auth == "local":
        return local_person()
    return read_visitor(headers.get(VISITOR)).unless_ended(has_ended).person(guest)


def key_holder(rules: Settings) -> Person:
    """Returns the person who has the key, an admin."""
    return Person(rules.user or KEY_HOLDER, "admin", named=False)
