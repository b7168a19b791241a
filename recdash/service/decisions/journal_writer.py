"""Adds entries to an experiment's journal, each once."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from recdash.domain.journal import Entry, EntryKind
from recdash.errors import InputError, Problem
from recdash.service.context import ServiceContext
from recdash.service.validation import long_text, one_line
from recdash.store import new_id

MOST_CHARS, MOST_AUTHOR = 10_000, 200
Check = Callable[[Sequence[Entry]], None]


@dataclass(frozen=True)
class Writing:
    """Who writes, and a ``mark``, the same for the same words from the same form; empty without a form."""

    author: str
    mark: str = ""


class JournalWriter:
    """Writes under the name of whoever asks; what the same form has written already is not written twice."""

    def __init__(self, context: ServiceContext) -> None:
        self._context = context

    def writing(self, author: str, key: str, *words: Any) -> Writing:
        """Raises Forbidden for a viewer, InputError for a name that is not the person's own."""
        self._context.must_be_editor()
        by = self._author(author)
        if not key:
            return Writing(by)
        mark = hashlib.sha256(json.dumps([by, key, *words]).encode()).digest()
        return Writing(by, base64.b32encode(mark).decode("ascii").lower()[:32])

    def _author(self, author: str) -> str:
        name = one_line("author", author, MOST_AUTHOR)
        if self._context.person.named and name not in {"", self._context.person.name}:
            problem = f"'{name}', but {self._context.person.name} is signed in"
            raise InputError(
                Problem("other-author", "author", problem, "Everybody writes under their own name.")
            )
        return name or self._context.person.name

    def written(self, experiment_id: str, by: Writing) -> Entry | None:
        """What the same form has written already."""
        if not by.mark:
            return None
        return next(
            (
                entry
                for entry in self._context.store.entries(experiment_id)
                if entry.facts.get("mark") == by.mark
            ),
            None,
        )

    def add(
        self, by: Writing, experiment_id: str, kind: EntryKind, text: str, facts: Mapping[str, Any],
        about: str | None = None, *, check: Check | None = None,
    ) -> Entry:  # fmt: skip
        """Idempotent: what the same form has written already comes back.

        ``check`` is shown the journal when nobody else can write to it any more, and may raise.
        """
        written = self.written(experiment_id, by)
        if written is not None:
            return written
        entry = Entry(
            id=by.mark[:10] or new_id(),
            experiment=experiment_id,
            created=self._context.now(),
            author=by.author,
            kind=kind,
            about=about,
            text=text,
            facts={**facts, **({"mark": by.mark} if by.mark else {})},
        )
        return self._context.writable_store().add_entry(entry, check)


def prose(field: str, text: str) -> str:
    """Text that must be there. Raises InputError for none that can be seen, and for too much."""
    words = long_text(field, text, MOST_CHARS)
    if not words:
        raise InputError(Problem("no-text", field, "nothing is written", "Say why, in a sentence or more."))
    return words
