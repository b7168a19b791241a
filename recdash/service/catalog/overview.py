"""Experiments at a glance: what each asks, whom to ship, how far its review is, what changed last."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recdash.decisions import Decision, Review, last_decision, reviews
from recdash.definitions.conventions import users_words
from recdash.domain.journal import AuditEvent, Entry
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.errors import InputError, RecdashError
from recdash.formatting import numbers
from recdash.formatting.wording import many
from recdash.metrics import define
from recdash.metrics.naming import metric_at, ordered_metrics
from recdash.service.catalog.history import Happening, Stored, happenings
from recdash.service.context import ServiceContext
from recdash.service.defaults import Usual, usual
from recdash.service.offline.comparisons import Comparisons
from recdash.service.offline.scores import Scores

if TYPE_CHECKING:
    from recdash.comparison.verdict import Verdict

MOST_DEEDS = 5_000
"""So many of the newest lines of the audit log say who did something."""


@dataclass(frozen=True)
class Card:
    """An experiment at a glance. ``happened``: the newest first, at least that it was made."""

    experiment: Experiment
    runs: tuple[Run, ...]
    tests: tuple[OnlineTest, ...]
    entries: tuple[Entry, ...]
    happened: tuple[Happening, ...]

    @property
    def question(self) -> str:
        """What was held out, of how many users, how deep the lists are read."""
        return question_of(self.experiment.settings)

    @property
    def own(self) -> tuple[Run, ...]:
        """The runs but the reference candidates."""
        return tuple(run for run in self.runs if not run.reference)

    @property
    def last_change(self) -> Happening:
        return self.happened[0]

    @cached_property
    def decision(self) -> Decision | None:
        """The newest that holds."""
        return last_decision(self.entries)

    @cached_property
    def review(self) -> Review | None:
        """The newest that is still open."""
        return next((one for one in reviews(self.entries) if one.is_open), None)

    @property
    def stands(self) -> str:
        """``Needs A/B – ALS v3; in review: ALS v3, offline evidence``; empty without either."""
        decided = _decided(self.decision) if self.decision else ""
        in_review = f"in review: {self.review.about}, {self.review.state}" if self.review else ""
        told = "; ".join(part for part in (decided, in_review) if part)
        return f"{told[:1].upper()}{told[1:]}"

    def mentions(self, words: str) -> bool:
        """Does every one of the words occur in a name, a tag or a note of the experiment or its runs?"""
        return all(word in self._text for word in words.casefold().split())

    @cached_property
    def _text(self) -> str:
        of_runs = (part for run in self.runs for part in (run.name, run.note, *run.tags))
        parts = (self.experiment.name, self.experiment.note, *of_runs, *(test.name for test in self.tests))
        return "\n".join(parts).casefold()


def _decided(decision: Decision) -> str:
    return f"{decision.label}{f' – {decision.about}' if decision.about else ''}"


@dataclass(frozen=True)
class CardVerdict:
    """Whom to ship, of what the overview would show first; ``why_not`` says why there is no verdict."""

    asked: Usual | None
    verdict: Verdict | None
    why_not: str = ""

    @property
    def metric(self) -> str:
        """``nDCG@10``."""
        return metric_at(self.asked.metric, self.asked.k) if self.asked else ""


class ExperimentCards:
    """The experiments of a workspace, each in a few words."""

    def __init__(self, context: ServiceContext, scores: Scores, comparisons: Comparisons) -> None:
        self._context, self._scores, self._comparisons = context, scores, comparisons
        self._cards = context.cached(self._read_cards, most=4)

    def cards(self, search: str = "", *, archived: bool = False) -> list[Card]:
        """Those that hold every word of ``search``, what changed last first; verdicts are asked apart."""
        found = (
            self._read_cards(archived)
            if self._context.person.is_guest
            else self._cards(archived, self._last())
        )
        return [card for card in found if card.mentions(search)]

    def _read_cards(self, archived: bool, last: int = 0) -> tuple[Card, ...]:  # noqa: ARG002 - a key
        deeds = self._deeds()
        found = [self._card(one, deeds.get(one.id, ())) for one in self._context.experiments(archived)]
        return tuple(sorted(found, key=lambda card: card.last_change.when, reverse=True))

    def _last(self) -> int:
        """Each write adds a line to the log: while its last number is the same, so is all that is stored."""
        last = self._context.store.deeds(1)
        return last[0].number if last else 0

    def card(self, experiment_id: str) -> Card:
        return self._card(self._context.experiment(experiment_id), self._deeds().get(experiment_id, ()))

    def card_verdict(self, experiment_id: str) -> CardVerdict:
        """The verdict that the experiment's overview opens with; kept for the next question."""
        experiment, runs = self._context.experiment(experiment_id), self._context.store.runs(experiment_id)
        if not runs:
            return CardVerdict(None, None, "No run yet")
        metrics = ordered_metrics(self._scores.metrics_of([run.id for run in runs]))
        asked = usual(experiment, runs, metrics, self._context.depth(experiment_id))
        if not asked.candidates:
            return CardVerdict(asked, None, f"One run, {asked.baseline.name}: add a second to compare")
        try:
            found = self._comparisons.verdict(asked.contender_ids, asked.baseline.id, asked.metric, asked.k)
        except RecdashError as error:  # one experiment's damage must not hide the others
            return CardVerdict(asked, None, why_not(error, asked))
        return CardVerdict(asked, found)

    def _card(self, experiment: Experiment, deeds: Sequence[AuditEvent]) -> Card:
        home = experiment.id
        runs, tests = (
            self._context.store.runs(home, archived=True),
            self._context.store.online_tests(home, archived=True),
        )
        entries, reports = self._context.store.entries(home), self._context.store.reports(home, archived=True)
        found = happenings(experiment, Stored(runs, tests, entries, reports), deeds)
        shown = tuple(run for run in runs if run.archived is None)
        beside = tuple(test for test in tests if test.archived is None)
        return Card(experiment, shown, beside, tuple(entries), tuple(found))

    def _deeds(self) -> Mapping[str, Sequence[AuditEvent]]:
        """The newest lines of the audit log by experiment; none for a guest."""
        found: dict[str, list[AuditEvent]] = defaultdict(list)
        if not self._context.person.is_guest:
            for one in self._context.store.deeds(MOST_DEEDS):
                found[str(one.details.get("experiment", one.target))].append(one)
        return found


def why_not(error: RecdashError, asked: Usual) -> str:
    """In the error's own words, but for a metric of the whole catalogue."""
    if isinstance(error, InputError) and not define(asked.metric).is_paired:
        return f"{metric_at(asked.metric, asked.k)} has no value per user, so that nothing is judged"
    return str(error).rstrip(".")


def question_of(settings: Mapping[str, Any]) -> str:
    """``What 6,040 users took after the split, from 4 on; lists to depth 50``."""
    threshold = settings.get("relevance_threshold")
    graded = ", by grade" if settings.get("graded") else ""
    relevant = f", relevant from {threshold:g} on" if threshold is not None else graded
    users = settings.get("users", "truth")
    listed = "" if users == "truth" else f"; {users_words(users)}"
    people, depth = many(settings.get("truth_users", 0), "user"), numbers.count(int(settings["depth"]))
    return f"What {people} took after the split{relevant}; lists to depth {depth}{listed}"
