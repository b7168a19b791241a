"""Derives reviews and decisions from journal entries. Entries are never edited: the latest one applies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, get_args

from recdash.decisions.checklist import CHECKLIST, ChecklistItem, checklist, shortcomings
from recdash.decisions.snapshot import OFFLINE, ONLINE, SUBJECT, Offline, Online, Subject, SubjectKind
from recdash.domain.journal import Entry, Outcome
from recdash.formatting.wording import listed

State = Literal["proposed", "offline evidence", "online evidence", "approved", "rejected"]
STATES: tuple[State, ...] = get_args(State)
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
LABELS: Mapping[Outcome, str] = {
    "ship": "Ship",
    "do not ship": "Don't ship",
    "inconclusive": "Inconclusive",
    "needs A/B": "Needs A/B",
}
STEPS: Mapping[SubjectKind, tuple[State, ...]] = {
    "run": ("proposed", "offline evidence", "online evidence"),
    "variant": ("proposed", "online evidence"),
}
"""The states of an open review, in order; a variant of an A/B test has no offline evidence."""
MOST_NAMED = 3
CLOSING: Mapping[Outcome, State] = {"ship": "approved", "do not ship": "rejected"}
"""The outcomes that close a review, and the state that they give it; with any other outcome it stays open."""


@dataclass(frozen=True)
class AboutSubject:
    """A review or decision, which begins with a journal entry about a subject."""

    entry: Entry

    @property
    def id(self) -> str:
        return self.entry.id

    @cached_property
    def subject(self) -> Subject:
        return SUBJECT.validate_python(self.entry.facts["subject"])

    @property
    def about(self) -> str:
        """Returns the name of the run or variant when the entry was written; empty if the entry is about all
        candidates.
        """
        return self.subject.name


@dataclass(frozen=True)
class Decision(AboutSubject):
    """The decision on a subject, with the numbers at that time.

    ``review`` is the id of the proposal that it answers. ``superseded_by`` and ``supersedes`` are ids of
    other decisions; None if there is none. ``although`` is the reason why it was approved while some of the
    checklist did not hold.
    """

    comments: tuple[Entry, ...] = ()
    superseded_by: str | None = None

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
        outcome: Outcome = self.entry.facts["outcome"]
        return outcome

    @property
    def label(self) -> str:
        """Returns the outcome in words, such as ``Don't ship``."""
        return LABELS[self.outcome]

    @property
    def headline(self) -> str:
        """Returns the decision in words: ``Ship ALS v3`` · ``Inconclusive on ALS v3`` · ``ALS v3 needs an A/B
        test``.
        """
        name = self.about
        if self.outcome == "needs A/B":
            return f"{name or 'This'} needs an A/B test"
        joint = " on " if self.outcome == "inconclusive" and name else " " if name else ""
        return f"{self.label}{joint}{name}"

    @property
    def named_headline(self) -> str:
        """Returns the headline with the candidates that a decision on all of them is about, as pages show it:
        ``Don't ship ALS v3 or Two-tower``. Reports keep ``headline``.
        """
        names = [run.name for run in self.subject.candidates]
        if self.about or not names:
            return self.headline
        is_short = len(names) <= MOST_NAMED
        all_of_them = listed(names) if is_short else f"{len(names)} candidates"
        if self.outcome == "needs A/B":
            return f"{all_of_them} {'needs' if len(names) == 1 else 'need'} an A/B test"
        if self.outcome == "inconclusive":
            return f"{self.label} on {all_of_them}"
        if self.outcome == "do not ship":
            return f"{self.label} {listed(names, joint='or') if is_short else f'any of {all_of_them}'}"
        return f"{self.label} {all_of_them}"

    @property
    def compared(self) -> str:
        """Returns what was compared, such as ``ALS v3 with Popular``; empty without runs or a baseline."""
        subject = self.subject
        if subject.variant is not None or subject.baseline is None or not subject.candidates:
            return ""
        names = [subject.run.name] if subject.run else [run.name for run in subject.candidates]
        about = listed(names) if len(names) <= MOST_NAMED else f"{len(names)} candidates"
        return f"{about} with {subject.baseline.name}"

    @property
    def review(self) -> str | None:
        return self.entry.about

    @property
    def supersedes(self) -> str | None:
        decision_id: str | None = self.entry.facts.get("supersedes")
        return decision_id

    @property
    def is_current(self) -> bool:
        return self.superseded_by is None

    @property
    def although(self) -> str:
        return str(self.entry.facts.get("although", ""))

    def although_text(self, reason: str) -> str:
        """Returns which checks failed when the run was approved, with the reason to accept that or its
        beginning, such as ``Approved although guardrails fail: “We accept this.”``
        """
        left = shortcomings(self.checklist)
        return f"Approved {f'although {left}' if left else 'despite risks'}: “{reason}”"

    @cached_property
    def offline(self) -> Offline | None:
        return offline_of(self.entry)

    @cached_property
    def online(self) -> tuple[Online, ...]:
        return online_of(self.entry)

    @cached_property
    def checklist(self) -> tuple[ChecklistItem, ...]:
        return CHECKLIST.validate_python(self.entry.facts.get("checklist", ()))

    @property
    def provenance(self) -> Mapping[str, Any]:
        provenance: Mapping[str, Any] = self.entry.facts.get("provenance", {})
        return provenance


@dataclass(frozen=True)
class Review(AboutSubject):
    """A candidate that was proposed, with all later entries about it, the oldest first.

    ``evidence`` has the offline entry that was attached last, and the last entry of each A/B test.
    """

    evidence: tuple[Entry, ...] = ()
    decisions: tuple[Decision, ...] = ()
    comments: tuple[Entry, ...] = ()

    @cached_property
    def offline(self) -> Offline | None:
        return next((offline for entry in self.evidence if (offline := offline_of(entry))), None)

    @cached_property
    def online(self) -> tuple[Online, ...]:
        return tuple(online for entry in self.evidence for online in online_of(entry))

    @property
    def decision(self) -> Decision | None:
        """Returns the review's last decision that no other decision of the review supersedes; None if there
        is none. It may leave the review open, and a decision outside the review may have superseded it.
        """
        own = {decision.id for decision in self.decisions}
        newest_first = reversed(self.decisions)
        return next((decision for decision in newest_first if decision.superseded_by not in own), None)

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
        """Returns the checklist for the attached evidence. A closed review accepts no further evidence."""
        return checklist(self.offline, self.online, self.subject.kind)

    @property
    def steps(self) -> tuple[State, ...]:
        """Returns the states that the review has while it is open, in order."""
        return STEPS[self.subject.kind]

    @property
    def has_evidence(self) -> bool:
        """Returns whether its first evidence is attached: offline of a run, online of a variant."""
        return bool(self.offline if self.subject.variant is None else self.online)

    @property
    def missing(self) -> str:
        """Returns the next step of the review, as a sentence; empty if it is closed."""
        if not self.is_open:
            return ""
        variant = self.subject.variant
        tested = f"Attach an A/B test in which a variant served {self.about}."
        attach: Mapping[State, str] = {
            "offline evidence": "Attach the offline evidence: the current numbers.",
            "online evidence": tested if variant is None else f"Attach the results of {variant.test.name}.",
        }
        following = self.steps[self.steps.index(self.state) + 1 :]
        return attach[following[0]] if following else "Approve or reject it."


def offline_of(entry: Entry) -> Offline | None:
    facts = entry.facts.get("offline")
    return OFFLINE.validate_python(facts) if facts else None


def online_of(entry: Entry) -> tuple[Online, ...]:
    return ONLINE.validate_python(entry.facts.get("online", ()))


# ── reviews and decisions ────────────────────────────────────────────────────────────────────


def decisions(entries: Sequence[Entry]) -> list[Decision]:
    """Returns all decisions, the newest first. ``entries`` must begin with the oldest."""
    comments = _comments(entries)
    decided = [entry for entry in entries if entry.kind == "decision"]
    superseded_by = {entry.facts.get("supersedes"): entry.id for entry in decided}
    return [
        Decision(entry, comments.get(entry.id, ()), superseded_by.get(entry.id)) for entry in decided[::-1]
    ]


def reviews(entries: Sequence[Entry]) -> list[Review]:
    """Returns all reviews, the newest first. ``entries`` must begin with the oldest."""
    comments, decided = _comments(entries), decisions(entries)[::-1]
    return [
        Review(
            proposal,
            _evidence([entry for entry in entries if entry.about == proposal.id]),
            tuple(decision for decision in decided if decision.review == proposal.id),
            comments.get(proposal.id, ()),
        )
        for proposal in reversed(entries)
        if proposal.kind == "proposal"
    ]


def last_decision(entries: Sequence[Entry]) -> Decision | None:
    """Returns the newest decision that is not superseded; None if there is none."""
    return next((decision for decision in decisions(entries) if decision.is_current), None)


def _comments(entries: Sequence[Entry]) -> dict[str, tuple[Entry, ...]]:
    comments: dict[str, tuple[Entry, ...]] = defaultdict(tuple)
    for entry in entries:
        if entry.kind == "comment" and entry.about:
            comments[entry.about] += (entry,)
    return comments


def _evidence(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """Returns the last evidence entry of each source; the sources are the offline results and each A/B
    test.
    """
    last: dict[str, Entry] = {}
    for entry in entries:
        if entry.kind == "offline evidence":
            last["offline"] = entry
        elif entry.kind == "online evidence":
            last[str(entry.facts["online"][0]["test"]["id"])] = entry
    return tuple(last.values())
