"""Decides who may upload files, and how many bytes per hour."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from threading import Lock

from starlette.types import Message, Receive

from recdash.domain.access import Person
from recdash.settings import Settings
from recdash.web.plain_pages import Refused

_PATH = re.compile(r"/uploads/([^/]+)(?:/[^/]+)?")
MOST_SESSIONS = 10_000
HOUR = 3600


class UploadQuota:
    """The sessions of editors, who are the only ones to upload files, and the bytes that each has sent in
    this hour.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._editors: OrderedDict[str, str] = OrderedDict()
        self._lock = Lock()
        self._sent: dict[str, tuple[int, int]] = {}

    def record_session(self, session: str, person: Person | None) -> None:
        """Records the person of a session if it is an editor; else removes the session."""
        with self._lock:
            if person is None or not person.may("editor"):
                self._editors.pop(session, None)
                return
            self._editors[session] = person.name  # never without it: a request may ask meanwhile
            self._editors.move_to_end(session)
            while len(self._editors) > MOST_SESSIONS:
                self._editors.popitem(last=False)

    def has_session(self, session: str, person: Person) -> bool:
        return person.may("editor") and self._editors.get(session) == person.name

    def sent(self, name: str) -> int:
        """Returns the number of bytes that this person has sent in the current hour."""
        hour, count = self._sent.get(name, (0, 0))
        return count if hour == self._hour() else 0

    def count(self, name: str, size: int) -> None:
        hour = self._hour()
        self._sent = {who: of for who, of in self._sent.items() if of[0] == hour}
        self._sent[name] = (hour, self.sent(name) + size)

    def refuse_over_budget(self, name: str, size: int, rules: Settings) -> None:
        """Raises Refused if this person cannot send so many bytes more in this hour."""
        if self.sent(name) + size > rules.upload_budget_bytes:
            words = f"You can upload {rules.upload_budget_bytes:,} bytes per hour; continue in the next hour."
            raise Refused(429, "Hourly upload limit reached", words)

    def _hour(self) -> int:
        return int(self._clock() // HOUR)


quota = UploadQuota()
"""The quota of this process, in which pages record sessions and which the middleware checks."""


def require_uploader(quota: UploadQuota, path: str, person: Person | None) -> Person:
    """Returns the person who sends a file.

    Raises Refused unless it is an editor and the session is their own.
    """
    match = _PATH.fullmatch(path)
    if person is None or match is None or not quota.has_session(match[1], person):
        words = "Only editors can upload files, from a page of their own. If this is yours, load it again."
        raise Refused(403, "Upload not allowed", words)
    return person


def within(receive: Receive, quota: UploadQuota, name: str, length: str, rules: Settings) -> Receive:
    """Returns a ``receive`` that counts the bytes of an upload.

    It raises Refused before they exceed the person's bytes per hour. ``length`` is the length that the
    request states; if that is too long, Refused is raised at once.
    """

    async def receive_counted() -> Message:
        message = await receive()
        size = len(message.get("body", b""))
        quota.refuse_over_budget(name, size, rules)
        quota.count(name, size)
        return message

    quota.refuse_over_budget(name, int(length) if length.isdecimal() and len(length) < 20 else 0, rules)
    return receive_counted
