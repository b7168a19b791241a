"""An experiment's journal: what stands in it, and how a line is added, once."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from recdash.decisions import Decision, Named, Review, Subject
from recdash.decisions import review as fold
from recdash.domain.journal import Entry, EntryKind
from recdash.domain.records import Run
from recdash.errors import InputError, NotFound, Problem, UnknownName
from recdash.metrics import define
from recdash.metrics.naming import ordered_metrics
from recdash.service.context import ServiceContext
from recdash.service.defaults import MOST_CANDIDATES, usual_baseline, usual_candidates, usual_k, usual_metric
from recdash.service.frames import check_cutoff
from recdash.service.offline.scores import Scores
from recdash.service.validation import long_text, one_line

MOST_CHARS, MOST_AUTHOR = 10_000, 200
Check = Callable[[Sequence[Entry]], None]


@dataclass(frozen=True)
class Writing:
    """Who writes, and a ``mark``, the same for the same words from the same form; empty without a form."""

    author: str
    mark: str = ""


class Journal:
    """What people wrote about an experiment.

    ``author`` may only be given where nobody checked who is asking; ``key`` is any text that a form has once,
    so that sending it twice writes one entry. Without it each call writes what it is told.
    """

    def __init__(self, context: ServiceContext, scores: Scores) -> None:
        self._context, self._scores = context, scores

    def entries(self, experiment_id: str) -> list[Entry]:
        """Who wrote what, the newest first."""
        return self._entries(experiment_id)[::-1]

    def reviews(self, experiment_id: str) -> list[Review]:
        """The newest first."""
        return fold.reviews(self._entries(experiment_id))

    def review(self, proposal_id: str) -> Review:
        """Raises NotFound for an id that is not a proposal's."""
        known = self.reviews(self._context.store.entry(proposal_id).experiment)
        found = next((one for one in known if one.id == proposal_id), None)
        if found is None:
            raise NotFound(f"There is no review with the id '{proposal_id}'.")
        return found

    def decisions(self, experiment_id: str) -> list[Decision]:
        """The newest first; those that were superseded say by which."""
        return fold.decisions(self._entries(experiment_id))

    def decision(self, decision_id: str) -> Decision:
        """Raises NotFound for an id that is not a decision's."""
        known = self.decisions(self._context.store.entry(decision_id).experiment)
        found = next((one for one in known if one.id == decision_id), None)
        if found is None:
            raise NotFound(f"There is no decision with the id '{decision_id}'.")
        return found

    def last_decision(self, experiment_id: str) -> Decision | None:
        """The newest that nothing has superseded."""
        return fold.last_decision(self._entries(experiment_id))

    def comment(self, experiment_id: str, about: str, text: str, *, author: str = "", key: str = "") -> Entry:
        """Say something about an entry or a report of the experiment."""
        by = self.writing(author, key, "comment", experiment_id, about, text)
        home = self._context.experiment(experiment_id).id
        if self._home_of(about) != home:
            raise NotFound(f"There is nothing with the id '{about}' to comment on.")
        return self.add(by, home, "comment", prose("comment", text), {}, about)

    def _home_of(self, thing_id: str) -> str:
        """The experiment of an entry or a report."""
        try:
            return self._context.store.entry(thing_id).experiment
        except NotFound:
            return self._context.store.report(thing_id).experiment

    def _entries(self, experiment_id: str) -> list[Entry]:
        return self._context.store.entries(self._context.experiment(experiment_id).id)

    # ── a line more ──────────────────────────────────────────────────────────────────────────

    def writing(self, author: str, key: str, *words: Any) -> Writing:
        """Raises Forbidden for a viewer, InputError for a name that is not the person's own."""
        self._context.must_be_editor()
        by = self._author(author)
        if not key:
            return Writing(by)
        mark = hashlib.sha256(json.dumps([by, key, *words]).encode()).digest()
        return Writing(by, base64.b32encode(mark).decode("ascii").lower()[:32])

    def _author(self, given: str) -> str:
        name = one_line("author", given, MOST_AUTHOR)
        if self._context.person.named and name not in {"", self._context.person.name}:
            found = f"'{name}', but {self._context.person.name} is signed in"
            raise InputError(
                Problem("other-author", "author", found, "Everybody writes under their own name.")
            )
        return name or self._context.person.name

    def written(self, experiment_id: str, by: Writing) -> Entry | None:
        """What the same form has written already."""
        if not by.mark:
            return None
        return next((one for one in self._entries(experiment_id) if one.facts.get("mark") == by.mark), None)

    def add(
        self, by: Writing, experiment_id: str, kind: EntryKind, text: str, facts: Mapping[str, Any],
        about: str | None = None, *, check: Check | None = None,
    ) -> Entry:  # fmt: skip
        """Idempotent: what the same form has written already comes back.

        ``check`` is shown the journal when nobody else can write to it any more, and may raise.
        """
        found = self.written(experiment_id, by)
        if found is not None:
            return found
        entry = Entry(
            id=by.mark[:10] or self._context.new_id(),
            experiment=experiment_id,
            created=self._context.now(),
            author=by.author,
            kind=kind,
            about=about,
            text=text,
            facts={**facts, **({"mark": by.mark} if by.mark else {})},
        )
        return self._context.writable_store().add_entry(entry, check)

    # ── whom it is about ─────────────────────────────────────────────────────────────────────

    def subject(
        self, experiment_id: str, run_id: str | None, baseline: str | None, metric: str | None,
        k: int | None, runs: Sequence[str] | None,
    ) -> Subject:  # fmt: skip
        """What is asked, with what is usual in place of what is not said. Raises InputError."""
        experiment = self._context.experiment(experiment_id)
        known = {run.id: run for run in self._context.runs(experiment_id, archived=True)}
        for one in (run_id, baseline, *(runs or ())):
            if one is not None and one not in known:
                raise UnknownName("run", one, [run.name for run in known.values() if run.archived is None])
        active = [run for run in known.values() if run.archived is None]
        base = known.get(baseline or "") or (usual_baseline(experiment, active) if active else None)
        metric = str(define(metric)) if metric else self._usual_metric(active)
        k = usual_k(self._context.depth(experiment_id)) if k is None else k
        check_cutoff(k, self._context.depth(experiment_id))
        beside = usual_candidates(active, base) if runs is None else [known[one] for one in runs]
        others = [run for run in beside if run != base and run.id != run_id]
        most = MOST_CANDIDATES - (run_id is not None) if runs is None else len(others)
        named = tuple(Named(run.id, run.name) for run in others[:most])
        return Subject(_named(known.get(run_id or "")), _named(base), metric, k, named)

    def _usual_metric(self, runs: Sequence[Run]) -> str:
        return usual_metric(ordered_metrics(self._scores.metrics_of([run.id for run in runs])))

    def named_now(self, subject: Subject) -> Subject:
        """With the names of today. Raises InputError where run or baseline is gone; others are left out."""
        self.refuse_gone(subject)
        names = self.names(subject)
        run, baseline = (one and Named(one.id, names[one.id]) for one in (subject.run, subject.baseline))
        others = tuple(Named(one.id, names[one.id]) for one in subject.others if one.id in names)
        return replace(subject, run=run, baseline=baseline, others=others)

    def refuse_gone(self, subject: Subject) -> None:
        """Raises InputError where run or baseline was deleted."""
        gone = self.gone(subject)
        if gone:
            fix = "Its numbers cannot be had any more; what was written down before stays."
            raise InputError([Problem("run-gone", f"run '{name}'", "it was deleted", fix) for name in gone])

    def gone(self, subject: Subject) -> list[str]:
        """The names of run and baseline, where they were deleted."""
        names = self.names(subject)
        return [one.name for one in (subject.run, subject.baseline) if one and one.id not in names]

    def names(self, subject: Subject) -> dict[str, str]:
        """Run id → name today, of those that are still there."""
        asked = [one.id for one in (subject.run, subject.baseline, *subject.others) if one]
        known: dict[str, str] = {}
        for run_id in asked:
            try:
                known[run_id] = self._context.store.run(run_id).name
            except NotFound:
                continue
        return known


def _named(run: Run | None) -> Named | None:
    return None if run is None else Named(run.id, run.name)


def prose(what: str, text: str) -> str:
    """Text that must be there. Raises InputError for none that can be seen, and for too much."""
    told = long_text(what, text, MOST_CHARS)
    if not told:
        raise InputError(Problem("no-text", what, "nothing is written", "Say why, in a sentence or more."))
    return told
