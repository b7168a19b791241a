"""Entries of a journal folded into reviews and decisions: nothing is edited, so the last word holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

from recdash.decisions.checklist import ChecklistItem, checklist
from recdash.decisions.snapshot import Offline, Online, Subject, flat
from recdash.domain.journal import Entry, Outcome

State = Literal["proposed", "offline evidence", "online evidence", "approved", "rejected"]
STATES: tuple[State, ...] = get_args(State)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
LABELS: Mapping[Outcome, str] = {
    "ship": "Ship",
    "do not ship": "Don't ship",
    "inconclusive": "Inconclusive",
    "needs A/B": "Needs A/B",
}
CLOSING: Mapping[Outcome, State] = {"ship": "approved", "do not ship": "rejected"}
"""What ends a review; with the other outcomes it goes on."""


@dataclass(frozen=True)
class Decision:
    """An outcome, about whom, with the numbers as they stood.

    ``review`` is the id of the proposal that it answers. ``superseded_by`` and ``supersedes`` are ids of
    decisions. ``although``: why it was approved while some of the checklist did not hold.
    """

    entry: Entry
    comments: tuple[Entry, ...] = ()
    superseded_by: str | None = None

    @property
    def id(self) -> str:
        return self.entry.id

    @property
    def author(self) -> str:
        return self.entry.author

    @property
    def created(self) -> datetime:
        return self.entry.created

    @property
    def text(self) -> str:
        return self.entry.text

    @property
    def outcome(self) -> Outcome:
        found: Outcome = self.entry.facts["outcome"]
        return found

    @property
    def label(self) -> str:
        """``Don't ship``."""
        return LABELS[self.outcome]

    @property
    def review(self) -> str | None:
        return self.entry.about

    @property
    def supersedes(self) -> str | None:
        found: str | None = self.entry.facts.get("supersedes")
        return found

    @property
    def is_current(self) -> bool:
        return self.superseded_by is None

    @property
    def although(self) -> str:
        return str(self.entry.facts.get("although", ""))

    @cached_property
    def subject(self) -> Subject:
        return Subject.read(self.entry.facts["subject"])

    @property
    def about(self) -> str:
        """The name of the run as it was then; empty where the decision is about no single one."""
        return self.subject.run.name if self.subject.run else ""

    @cached_property
    def offline(self) -> Offline | None:
        return offline_of(self.entry)

    @cached_property
    def online(self) -> tuple[Online, ...]:
        return online_of(self.entry)

    @cached_property
    def checklist(self) -> tuple[ChecklistItem, ...]:
        return tuple(flat(ChecklistItem, one) for one in self.entry.facts.get("checklist", ()))

    @property
    def provenance(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.entry.facts.get("provenance", {})
        return found


@dataclass(frozen=True)
class Review:
    """A candidate that somebody proposed, and what was said of it since, the oldest first.

    ``evidence``: the offline entry that was attached last, and the last one of each A/B test.
    """

    entry: Entry
    evidence: tuple[Entry, ...] = ()
    decisions: tuple[Decision, ...] = ()
    comments: tuple[Entry, ...] = ()

    @property
    def id(self) -> str:
        return self.entry.id

    @cached_property
    def subject(self) -> Subject:
        return Subject.read(self.entry.facts["subject"])

    @property
    def about(self) -> str:
        """The name of the proposed run as it was then."""
        return self.subject.run.name if self.subject.run else ""

    @cached_property
    def offline(self) -> Offline | None:
        return next((found for one in self.evidence if (found := offline_of(one))), None)

    @cached_property
    def online(self) -> tuple[Online, ...]:
        return tuple(found for one in self.evidence for found in online_of(one))

    @property
    def decision(self) -> Decision | None:
        """The last one of the review, which need not end it; one outside it may have superseded it."""
        own = {one.id for one in self.decisions}
        return next((one for one in reversed(self.decisions) if one.superseded_by not in own), None)

    @property
    def state(self) -> State:
        if self.decision is not None and self.decision.outcome in CLOSING:
            return CLOSING[self.decision.outcome]
        if self.online:
            return "online evidence"
        return "offline evidence" if self.offline else "proposed"

    @property
    def is_open(self) -> bool:
        return self.state not in CLOSING.values()

    @cached_property
    def checklist(self) -> tuple[ChecklistItem, ...]:
        """From the evidence that is attached; a closed review takes no more of it."""
        return checklist(self.offline, self.online)

    @property
    def missing(self) -> str:
        """What comes next; empty where nothing does."""
        return {
            "proposed": "Attach the offline evidence: the numbers as they stand now.",
            "offline evidence": f"Attach an A/B test in which a variant served {self.about}.",
            "online evidence": "Approve or reject it.",
        }.get(self.state, "")


def offline_of(entry: Entry) -> Offline | None:
    facts = entry.facts.get("offline")
    return Offline.read(facts) if facts else None


def online_of(entry: Entry) -> tuple[Online, ...]:
    return tuple(Online.read(one) for one in entry.facts.get("online", ()))


# ── the fold ─────────────────────────────────────────────────────────────────────────────────


def decisions(entries: Sequence[Entry]) -> list[Decision]:
    """All decisions, the newest first. ``entries``: the oldest first."""
    comments = _comments(entries)
    later = {
        str(one.facts["supersedes"]): one.id
        for one in entries
        if one.kind == "decision" and one.facts.get("supersedes")
    }
    found = [
        Decision(one, comments.get(one.id, ()), later.get(one.id))
        for one in entries
        if one.kind == "decision"
    ]
    return found[::-1]


def reviews(entries: Sequence[Entry]) -> list[Review]:
    """All reviews, the newest first. ``entries``: the oldest first."""
    comments, decided = _comments(entries), decisions(entries)[::-1]
    found = [
        Review(
            one,
            _evidence([other for other in entries if other.about == one.id]),
            tuple(other for other in decided if other.review == one.id),
            comments.get(one.id, ()),
        )
        for one in entries
        if one.kind == "proposal"
    ]
    return found[::-1]


def last_decision(entries: Sequence[Entry]) -> Decision | None:
    """The newest that nothing has superseded."""
    return next((one for one in decisions(entries) if one.is_current), None)


def _comments(entries: Sequence[Entry]) -> dict[str, tuple[Entry, ...]]:
    found: dict[str, tuple[Entry, ...]] = defaultdict(tuple)
    for one in entries:
        if one.kind == "comment" and one.about:
            found[one.about] += (one,)
    return found


def _evidence(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The last entry of each source: offline, or one A/B test."""
    last: dict[str, Entry] = {}
    for one in entries:
        if one.kind == "offline evidence":
            last["offline"] = one
        elif one.kind == "online evidence":
            last[str(one.facts["online"][0]["test"]["id"])] = one
    return tuple(last.values())
