"""Journal entries, reports, share links, saved views and audit events, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from recdash.domain.access import AccessRole, Person

EntryKind = Literal["proposal", "offline evidence", "online evidence", "decision", "comment", "plan"]
Outcome = Literal["ship", "do not ship", "inconclusive", "needs A/B"]
USER_PARAM = "u"
"""The URL parameter with the id of a single user."""


@dataclass(frozen=True)
class Entry:
    """One entry of an experiment's journal. Entries are never edited: a later entry supersedes a wrong one.

    ``about`` is the id of what the entry refers to: for evidence and a decision the proposal of their review,
    for a comment the entry or report. ``text`` is what the author wrote. ``facts`` is the state at that time
    (subject, numbers with definition and provenance), as JSON-ready values.
    """

    id: str
    experiment: str
    created: datetime
    author: str
    kind: EntryKind
    about: str | None = None
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def subject_name(self) -> str:
        """Returns the name of the run or variant that is proposed or decided; "" if it is none."""
        subject = self.facts.get("subject") or {}
        named = subject.get("run") or subject.get("variant") or {}
        return str(named.get("name", ""))


@dataclass(frozen=True)
class Report:
    """A report on an experiment: the question it answers, and how it presents the answer.

    ``question``: runs, baseline, metric, k and so on. ``blocks``: names of its sections, in order.
    ``document``: the sha256 of the stored numbers; None for a live report, whose numbers are computed each
    time it is opened.
    """

    id: str
    experiment: str
    created: datetime
    author: str
    title: str
    narrative: str = ""
    blocks: tuple[str, ...] = ()
    question: Mapping[str, Any] = field(default_factory=dict)
    document: str | None = None
    archived: datetime | None = None


@dataclass(frozen=True)
class ShareLink:
    """Permission to read one experiment, or one report of it, for anyone with the link.

    ``id`` is the sha256 of the link's token, so that stored data does not reveal the link. ``numbers_only``
    is True if its readers see no data of single users; None in links without this limit.
    """

    id: str
    experiment: str
    created: datetime
    author: str
    expires: datetime
    report: str | None = None
    label: str = ""
    revoked: datetime | None = None
    numbers_only: bool | None = None

    @property
    def guest(self) -> Person:
        """Returns the person as which readers of the link sign in: a viewer of its experiment alone."""
        return Person(
            f"guest of {self.author}", "viewer", self.experiment, numbers_only=bool(self.numbers_only)
        )


@dataclass(frozen=True)
class LinkUse:
    """When a share link was last used, and how often its address was opened."""

    last: datetime
    n_opened: int


@dataclass(frozen=True)
class ApiToken:
    """Permission to use the HTTP API with a role, for a program that has the token.

    ``id`` is the sha256 of the token's random part, so that stored data does not reveal the token. Without
    ``expires`` it works until it is revoked.
    """

    id: str
    created: datetime
    author: str
    label: str
    role: AccessRole
    expires: datetime | None = None
    revoked: datetime | None = None

    @property
    def holder(self) -> Person:
        """Returns the person as which a program with the token writes, named by the token and its author."""
        return Person(f"{self.label} (token of {self.author})", self.role)


@dataclass(frozen=True)
class SavedView:
    """A named view of an experiment: the page and the URL parameters of its link."""

    id: str
    experiment: str
    name: str
    created: datetime
    author: str
    page: str
    params: Mapping[str, str] = field(default_factory=dict)

    @property
    def user(self) -> str | None:
        """Returns the id of the single user that the view shows; None if it shows none."""
        return self.params.get(USER_PARAM, "").strip() or None

    def without_user(self) -> SavedView:
        """Returns the view without the single user that it shows."""
        params = {name: value for name, value in self.params.items() if name != USER_PARAM}
        return replace(self, params=params)


@dataclass(frozen=True)
class Mismatch:
    """A row that is not what the audit log says: its table and name, what was found and what it should be.

    ``record`` is its kind and id, with the field that differs; "" for a line of the log. ``is_damaged`` is
    whether the row's own checksum shows the same.
    """

    table: str
    row: str
    found: str
    expected: str
    record: str = ""
    is_damaged: bool = False

    def __str__(self) -> str:
        return f"table {self.table}, {self.row}: {self.found}; it should be {self.expected}"


@dataclass(frozen=True)
class AuditResult:
    """What an audit found: ``mismatches``, and what it could not say.

    ``unsealed`` are the rows that were stored before lines had seals, and ``plain`` is the number of lines
    that were written before the log had a key.
    """

    mismatches: tuple[Mismatch, ...]
    unsealed: tuple[str, ...]
    plain: int


@dataclass(frozen=True)
class AuditEvent:
    """One line of the audit log: who did what to which target. ``hash`` covers the line and the hash of the
    line before.
    """

    number: int
    at: datetime
    who: str
    role: str
    action: str
    target: str
    details: Mapping[str, Any]
    hash: str
