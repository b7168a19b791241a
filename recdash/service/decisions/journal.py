"""The journal of an experiment: reviews, decisions and comments, each written once."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recdash.decisions import Decision, Review
from recdash.decisions import review as fold
from recdash.domain.journal import Entry, EntryKind, Report
from recdash.errors import InputError, NotFound, Problem
from recdash.service.context import ServiceContext
from recdash.service.validation import long_text, one_line
from recdash.store import new_id

MOST_CHARS, MOST_AUTHOR = 10_000, 200
Check = Callable[[Sequence[Entry]], None]


@dataclass(frozen=True)
class Writing:
    """The author of an entry to be written, and a ``mark`` of the form that sends it.

    The mark is the same if the same form sends the same words again; it is empty without a form.
    """

    author: str
    mark: str = ""


class Journal:
    """The service for the journal of an experiment, whose entries people write.

    ``author`` can be given only if people do not sign in. ``key`` is a text unique to a form, so that a form
    that is sent twice writes one entry; without a key, each call writes an entry.
    """

    def __init__(self, context: ServiceContext) -> None:
        self._context = context
        self._store = context.store

    def entries(self, experiment_id: str) -> list[Entry]:
        """Returns the entries of an experiment, the newest first."""
        return self._entries(experiment_id)[::-1]

    def reviews(self, experiment_id: str) -> list[Review]:
        """Returns the reviews of an experiment, the newest first."""
        return fold.reviews(self._entries(experiment_id))

    def review(self, proposal_id: str) -> Review:
        """Returns the review that began with this proposal.

        Raises NotFound if the id is not that of a proposal.
        """
        for review in self.reviews(self._store.journal.get(proposal_id).experiment):
            if review.id == proposal_id:
                return review
        raise NotFound(f"No review has the id '{proposal_id}'.")

    def decisions(self, experiment_id: str) -> list[Decision]:
        """Returns the decisions of an experiment, the newest first; a superseded one names the one that
        replaced it.
        """
        return fold.decisions(self._entries(experiment_id))

    def decision(self, decision_id: str) -> Decision:
        """Returns the decision. Raises NotFound if the id is not that of a decision."""
        for decision in self.decisions(self._store.journal.get(decision_id).experiment):
            if decision.id == decision_id:
                return decision
        raise NotFound(f"No decision has the id '{decision_id}'.")

    def last_decision(self, experiment_id: str) -> Decision | None:
        """Returns the newest decision that is not superseded; None if there is none."""
        return fold.last_decision(self._entries(experiment_id))

    def comment(self, experiment_id: str, about: str, text: str, *, author: str = "", key: str = "") -> Entry:
        """Adds a comment on ``about``, an entry or a report of the experiment.

        Raises NotFound if the experiment has no such entry or report, InputError for an empty or too long
        text.
        """
        writing = self.writing(author, key, "comment", experiment_id, about, text)
        store = self._store
        experiment_id = store.experiments.get(experiment_id).id
        try:
            subject: Entry | Report = store.journal.get(about)
        except NotFound:
            subject = store.reports.get(about)
        if subject.experiment != experiment_id:
            raise NotFound(f"No entry or report to comment on has the id '{about}'.")
        return self.add(writing, experiment_id, "comment", prose("comment", text), {}, about)

    def _entries(self, experiment_id: str) -> list[Entry]:
        return self._store.journal.of_experiment(self._store.experiments.get(experiment_id).id)

    # ── writing ──────────────────────────────────────────────────────────────────────────────

    def writing(self, author: str, key: str, *words: Any) -> Writing:
        """Returns the author under which an entry is written, with the mark of the form.

        Raises Forbidden for a viewer, and InputError if a person who signed in gives another name.
        """
        self._context.must_be_editor()
        person, name = self._context.person, one_line("author", author, MOST_AUTHOR)
        if person.named and name not in {"", person.name}:
            problem = f"'{name}', but {person.name} is signed in"
            fix = "Entries are written under your own name."
            raise InputError(Problem("other-author", "author", problem, fix))
        name = name or person.name
        if not key:
            return Writing(name)
        mark = hashlib.sha256(json.dumps([name, key, *words]).encode()).digest()
        return Writing(name, base64.b32encode(mark).decode("ascii").lower()[:32])

    def written(self, experiment_id: str, writing: Writing) -> Entry | None:
        """Returns the entry that the same form has written already; None if there is none."""
        entries = self._store.journal.of_experiment(experiment_id) if writing.mark else []
        return next((entry for entry in entries if entry.facts.get("mark") == writing.mark), None)

    def add(
        self, writing: Writing, experiment_id: str, kind: EntryKind, text: str, facts: Mapping[str, Any],
        about: str | None = None, *, check: Check | None = None,
    ) -> Entry:  # fmt: skip
        """Adds an entry and returns it; if the same form has already written it, returns the stored entry.

        ``check`` is called with all entries while no one else can write; it raises to refuse the entry.
        """
        written = self.written(experiment_id, writing)
        if written is not None:
            return written
        entry = Entry(
            id=writing.mark[:10] or new_id(),
            experiment=experiment_id,
            created=self._context.now(),
            author=writing.author,
            kind=kind,
            about=about,
            text=text,
            facts={**facts, **({"mark": writing.mark} if writing.mark else {})},
        )
        return self._context.writable_store().journal.add(entry, check)


def prose(field: str, text: str) -> str:
    """Returns the text cleaned. Raises InputError if it is empty or too long."""
    words = long_text(field, text, MOST_CHARS)
    if not words:
        raise InputError(
            Problem("no-text", field, "the text is empty", "Give a reason in at least one sentence.")
        )
    return words
