"""Summaries of experiments: test set, verdict, state of the review, and last change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from recdash.comparison import ComparisonQuery
from recdash.comparison.rules import DecisionRules
from recdash.decisions import Decision, Review, reviews
from recdash.decisions.standing import (
    DecisionStanding,
    RunOfVariant,
    decision_on_top,
    run_of,
    runs_of_variants,
    standing,
)
from recdash.definitions.conventions import users_words
from recdash.domain.journal import AuditEvent, Entry
from recdash.domain.records import Experiment, OnlineTest, Run
from recdash.errors import InputError, RecdashError
from recdash.formatting import numbers
from recdash.formatting.wording import many
from recdash.metrics import define
from recdash.online.analysis.next_step import Action, leading_step
from recdash.service.catalog.history import ExperimentContents, HistoryEvent, history_of
from recdash.service.context import ServiceContext
from recdash.service.offline.comparisons import Comparisons
from recdash.service.online.planned import plans_without_test
from recdash.service.online.tests import OnlineTests
from recdash.service.queries import Queries
from recdash.service.rules import rules_of

if TYPE_CHECKING:
    from recdash.comparison.recommendation import Recommendation

MOST_EVENTS = 5_000
"""How many of the newest lines of the audit log are searched for authors."""


@dataclass(frozen=True)
class Card:
    """The summary of an experiment.

    ``history`` are its changes, the newest first. ``names`` are the names of all its runs by id, archived
    ones included.
    """

    experiment: Experiment
    runs: tuple[Run, ...]
    tests: tuple[OnlineTest, ...]
    entries: tuple[Entry, ...]
    history: tuple[HistoryEvent, ...]
    names: Mapping[str, str] = field(default_factory=dict)

    @property
    def question(self) -> str:
        """Returns the test set in words: what it contains, for how many users, and to which depth lists are
        read.
        """
        if self.experiment.truth is None:
            return "A/B tests; no test set yet"
        return question_of(self.experiment.settings)

    @property
    def own_runs(self) -> tuple[Run, ...]:
        """Returns the runs that are not reference candidates."""
        return tuple(run for run in self.runs if not run.reference)

    @property
    def last_change(self) -> HistoryEvent:
        return self.history[0]

    @property
    def rules(self) -> DecisionRules:
        return rules_of(self.experiment)

    def changed_since(self, when: datetime) -> int:
        """Returns the number of changes at or after a time."""
        return sum(event.when >= when for event in self.history)

    @cached_property
    def decision(self) -> Decision | None:
        """Returns the decision that applies now, as ``decision_on_top`` chooses it; None if there is none."""
        return decision_on_top(self.entries, links=self.links)

    @cached_property
    def links(self) -> RunOfVariant:
        """Returns the runs that the variants of its A/B tests served."""
        return runs_of_variants(self.tests)

    @cached_property
    def review(self) -> Review | None:
        """Returns the newest open review; None if there is none."""
        return next((review for review in reviews(self.entries) if review.is_open), None)

    def mentions(self, words: str) -> bool:
        """Returns whether each of the words occurs in a name, tag or note of the experiment or its runs."""
        return all(word in self._text for word in words.casefold().split())

    @cached_property
    def _text(self) -> str:
        of_runs = (part for run in self.runs for part in (run.name, run.note, *run.tags))
        parts = (self.experiment.name, self.experiment.note, *of_runs, *(test.name for test in self.tests))
        return "\n".join(parts).casefold()


@dataclass(frozen=True)
class CardVerdict:
    """The recommendation with which the experiment's overview begins; ``why_not`` says why there is none."""

    query: ComparisonQuery | None
    verdict: Recommendation | None
    why_not: str = ""
    error: RecdashError | None = None

    @property
    def metric(self) -> str:
        """Returns the metric with its k, such as ``nDCG@10``; empty without a query."""
        return self.query.where if self.query else ""


@dataclass(frozen=True)
class TestStatus:
    """The headline of an A/B test; ``action`` is the step with which it begins, None if there is none."""

    __test__ = False  # pytest must not collect this class

    id: str
    name: str
    headline: str
    action: Action | None


@dataclass(frozen=True)
class Today:
    """What all evidence about an experiment says today. ``tests`` begins with the newest A/B test."""

    verdict: CardVerdict
    standing: DecisionStanding | None
    tests: tuple[TestStatus, ...]


class ExperimentCards:
    """The service for summaries of the workspace's experiments."""

    def __init__(
        self,
        context: ServiceContext,
        queries: Queries,
        comparisons: Comparisons,
        online_tests: OnlineTests,
    ) -> None:
        self._context, self._queries, self._comparisons = context, queries, comparisons
        self._online_tests = online_tests
        self._store = context.store
        self._cards = context.cached_until_written(self._read_cards, most=4)
        self._verdicts = context.cached_until_written(self._read_verdict, most=512)

    def cards(self, search: str = "", *, archived: bool = False) -> list[Card]:
        """Returns the summaries of experiments that mention every word of ``search``, the latest change
        first.

        They have no verdicts, which take longer: see ``today``.
        """
        return [card for card in self._cards(archived) if card.mentions(search)]

    def _read_cards(self, archived: bool) -> tuple[Card, ...]:
        events = self._events()
        cards = [
            self._card(experiment, events.get(experiment.id, ()))
            for experiment in self._store.experiments.all(archived)
        ]
        return tuple(sorted(cards, key=lambda card: card.last_change.when, reverse=True))

    def card(self, experiment_id: str) -> Card:
        return self._card(self._store.experiments.get(experiment_id), self._events().get(experiment_id, ()))

    def verdict(self, experiment_id: str) -> CardVerdict:
        """Returns the recommendation with which the experiment's overview begins, or why there is none."""
        names = {run.id: run.name for run in self._store.runs.of_experiment(experiment_id)}
        if not names:
            return CardVerdict(None, None, self._without_runs(experiment_id))
        query = self._queries.of(experiment_id)
        if not query.runs:
            only = names[query.baseline]
            return CardVerdict(query, None, f"One run, {only}: add another to compare")
        try:
            verdict = self._comparisons.recommendation(query)
        except RecdashError as error:  # one damaged experiment must not hide the others
            return CardVerdict(query, None, why_not(error, query), error)
        return CardVerdict(query, verdict)

    def today(self, card: Card) -> Today:
        """Returns what the evidence about an experiment says today; answers are cached until something is
        stored.
        """
        verdict = self._current_verdict(card.experiment.id)
        state = None
        if (decision := card.decision) is not None:
            is_of_run = decision.subject.variant is None or run_of(decision, card.links) is not None
            if is_of_run:
                state = standing(decision, verdict.verdict, card.links, stored=card.names)
        return Today(verdict, state, tuple(self._status(test, card.names) for test in card.tests))

    def _current_verdict(self, experiment_id: str) -> CardVerdict:
        """Returns the cached verdict of the experiment; an error is not cached, as a missing file may come
        back.
        """
        with suppress(RecdashError):
            return self._verdicts(experiment_id)
        return self.verdict(experiment_id)

    def _read_verdict(self, experiment_id: str) -> CardVerdict:
        card = self.verdict(experiment_id)
        if card.error is not None:
            raise card.error
        return card

    def _status(self, test: OnlineTest, names: Mapping[str, str]) -> TestStatus:
        try:
            text, steps = self._online_tests.next_steps_of(test, names)
        except RecdashError as error:  # one damaged test must not hide the others
            return TestStatus(test.id, test.name, str(error).rstrip("."), None)
        leading = leading_step(steps)
        return TestStatus(test.id, test.name, text, leading.action if leading else None)

    def _without_runs(self, experiment_id: str) -> str:
        """Returns why an experiment without runs has no verdict: the newest A/B test's headline, or what is
        planned or missing.
        """
        tests = self._online_tests.all(experiment_id)
        if self._store.experiments.get(experiment_id).truth is not None:
            return "No run yet"
        if tests:
            return self._status(tests[0], {}).headline
        planned = plans_without_test(self._store, experiment_id)
        return planned[0].current.plan.summary if planned else "No test set yet"

    def standing(self, experiment_id: str) -> DecisionStanding | None:
        """Returns how the latest decision compares with today's recommendation; None without a decision."""
        links = runs_of_variants(self._online_tests.all(experiment_id))
        decision = decision_on_top(self._store.journal.of_experiment(experiment_id), links=links)
        if decision is None:
            return None
        runs = self._store.runs.of_experiment(experiment_id, archived=True)
        today = self._current_verdict(experiment_id).verdict
        return standing(decision, today, links, stored={run.id for run in runs})

    def decided_run(self, experiment_id: str) -> str | None:
        """Returns the id of the run that the current decision is about, or that its variant served; None
        without a decision or run.
        """
        links = runs_of_variants(self._online_tests.all(experiment_id))
        decision = decision_on_top(self._store.journal.of_experiment(experiment_id), links=links)
        return run_of(decision, links) if decision else None

    def _card(self, experiment: Experiment, events: Sequence[AuditEvent]) -> Card:
        store, own_id = self._store, experiment.id
        runs = store.runs.of_experiment(own_id, archived=True)
        tests = store.online_tests.of_experiment(own_id, archived=True)
        entries = store.journal.of_experiment(own_id)
        reports = store.reports.of_experiment(own_id, archived=True)
        changes = history_of(experiment, ExperimentContents(runs, tests, entries, reports), events)
        active_runs = tuple(run for run in runs if run.archived is None)
        active_tests = tuple(test for test in tests if test.archived is None and not test.is_interleaved)
        names = {run.id: run.name for run in runs}
        return Card(experiment, active_runs, active_tests, tuple(entries), tuple(changes), names)

    def _events(self) -> Mapping[str, Sequence[AuditEvent]]:
        """Returns the newest lines of the audit log by experiment id; empty for a guest."""
        events: dict[str, list[AuditEvent]] = defaultdict(list)
        if not self._context.person.is_guest:
            for event in self._store.audit.events(MOST_EVENTS):
                events[str(event.details.get("experiment", event.target))].append(event)
        return events


def why_not(error: RecdashError, query: ComparisonQuery) -> str:
    """Returns why a query has no verdict: the error's text, shorter for a catalogue-level metric."""
    if isinstance(error, InputError) and not define(query.metric).is_paired:
        return f"{query.where} is a catalogue-level metric without values per user, so there is no verdict"
    return str(error).rstrip(".")


def question_of(settings: Mapping[str, Any]) -> str:
    """Returns the test set in words, such as ``Test set of 6,040 users, relevant from 4 on;
    lists to depth 50``.
    """
    threshold = settings.get("relevance_threshold")
    graded = ", by grade" if settings.get("graded") else ""
    relevant = f", relevant from {threshold:g} on" if threshold is not None else graded
    users = settings.get("users", "truth")
    population = "" if users == "truth" else f"; {users_words(users)}"
    people, depth = many(settings.get("truth_users", 0), "user"), numbers.count(int(settings["depth"]))
    return f"Test set of {people}{relevant}; lists to depth {depth}{population}"
