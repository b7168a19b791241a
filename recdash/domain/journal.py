"""Journal entries, reports, share links and the audit log. Frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from recdash.domain.access import Person

EntryKind = Literal["proposal", "offline evidence", "online evidence", "decision", "comment"]
Outcome = Literal["ship", "do not ship", "inconclusive", "needs A/B"]


@dataclass(frozen=True)
class Entry:
    """One line of an experiment's journal. Never edited: a later entry supersedes a wrong one.

    ``about`` is the id of what it belongs to: of evidence and of a decision of a review the proposal, of a
    comment the entry or report that it is on. ``text`` is the author's prose; ``facts`` the state when it was
    written (its subject, numbers with definition and provenance), ready for JSON.
    """

    id: str
    experiment: str
    created: datetime
    author: str
    kind: EntryKind
    about: str | None = None
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Report:
    """A report on an experiment: its question, and how it presents the answer.

    ``question``: runs, baseline, metric, k and so on; ``blocks``: its sections, in order. ``document``: the
    sha256 of the numbers at the time, None for a live report, which is computed anew when it is opened.
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

    ``id`` is the sha256 of what the link carries, so that stored data does not reveal the link.
    """

    id: str
    experiment: str
    created: datetime
    author: str
    expires: datetime
    report: str | None = None
    label: str = ""
    revoked: datetime | None = None

    @property
    def guest(self) -> Person:
        """Returns the person who reads by this link: a viewer of its experiment alone."""
        return Person(f"guest of {self.author}", "viewer", self.experiment)


@dataclass(frozen=True)
class SavedView:
    """A view of an experiment under a short name: the page and the parameters of its link."""

    id: str
    experiment: str
    name: str
    created: datetime
    author: str
    page: str
    params: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AuditEvent:
    """One line of the audit log: who did what to what. Each ``hash`` covers its line and the one before."""

    number: int
    at: datetime
    who: str
    role: str
    action: str
    target: str
    details: Mapping[str, Any]
    hash: str
