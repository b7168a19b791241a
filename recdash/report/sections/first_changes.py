"""The section *What would change it* of older reports, about the offline verdict at other k, metrics and
users.

Its rules and sentences must not change, so that such reports can still be checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from recdash.comparison.evidence import VerdictEvidence, gather_evidence, metrics_beside
from recdash.comparison.pairs import Pair, compare
from recdash.comparison.query import ComparisonQuery
from recdash.comparison.sensitivity import OTHER_USERS
from recdash.comparison.verdict import OfflineVerdict, decide
from recdash.comparison.wording import slice_title
from recdash.domain.defaults import USUAL_K
from recdash.domain.kinds import Users
from recdash.errors import InputError
from recdash.formatting import numbers
from recdash.formatting.wording import capital
from recdash.metrics import define
from recdash.metrics.naming import metric_row, metric_title
from recdash.report.context import ReportContext
from recdash.report.document import Answer, Answers, Section

FINDING_PRIORITY = ("worse", "better", "tie", "not settled")


def first_changes(context: ReportContext) -> Section | None:
    if context.evidence is None or context.evidence.leader is None:
        return None
    answers = tuple(OtherQuestions(context, decide(context.evidence)).answers())
    if not answers:
        return None
    n_changing = sum(answer.matters for answer in answers)
    title = "Nothing asked here would change it"
    if n_changing:
        title = f"{n_changing} of {len(answers)} other questions would change it"
    note = "The same decision at other cutoffs, by another metric or definition, and for other users."
    return Section("changes", title, note, (Answers(answers),))


@dataclass(frozen=True)
class OtherQuestions:
    """The variants of a report's question, each with its own offline verdict."""

    context: ReportContext
    verdict: OfflineVerdict

    @property
    def query(self) -> ComparisonQuery:
        return self.verdict.evidence.comparison.query

    def answers(self) -> Iterator[Answer]:
        yield from self._other_cutoffs()
        yield from self._other_metric()
        yield from self._other_definition()
        yield from self._other_users()
        yield from _most_unlike_slice(self.verdict.evidence)

    def _other_cutoffs(self) -> Iterator[Answer]:
        if not define(self.query.metric).metric.has_cutoff:
            return
        depth = int(self.context.experiment.settings["depth"])
        cutoffs = [k for k in USUAL_K if k <= depth and k != self.query.k]
        others = {k: other for k in cutoffs if (other := self._decide(replace(self.query, k=k)))}
        if not others:
            return
        differ = {k: other for k, other in others.items() if not self._is_same(other)}
        answer = f"Nothing: {_brief(self.verdict)} at each"
        if differ:
            answer = capital("; ".join(f"{_brief(other)} at {k}" for k, other in differ.items()))
        yield Answer("k = " + ", ".join(map(str, others)), answer, bool(differ))

    def _other_metric(self) -> Iterator[Answer]:
        for metric in metrics_beside(self.query.metric):
            if other := self._decide(replace(self.query, metric=metric)):
                question = f"{metric_title(metric)} instead of {metric_title(self.query.metric)}"
                yield self._answer(question, other)
                return

    def _other_definition(self) -> Iterator[Answer]:
        row = metric_row(self.query.metric)
        metric = row.name
        if self.query.metric == row.name:
            if not row.usage.other_definition:
                return
            metric = f"{row.name}({row.usage.other_definition})"
        if other := self._decide(replace(self.query, metric=metric)):
            yield self._answer(f"With {metric_title(metric)}", other)

    def _other_users(self) -> Iterator[Answer]:
        rule, question = OTHER_USERS[self.context.experiment.settings["users"]]
        if not define(self.query.metric).has_user_values:
            return  # rating metrics count rows, so the population rule has no effect
        if other := self._decide(self.query, rule):
            yield self._answer(question, other)

    def _answer(self, question: str, other: OfflineVerdict) -> Answer:
        is_same, words = self._is_same(other), _brief(other)
        return Answer(question, f"Nothing: {words}" if is_same else capital(words), not is_same)

    def _is_same(self, other: OfflineVerdict) -> bool:
        return (self.verdict.state, self.verdict.run) == (other.state, other.run)

    def _decide(self, query: ComparisonQuery, users: Users | None = None) -> OfflineVerdict | None:
        """Returns the offline verdict for another query or population; None if there is none."""
        source = self.context.source.under(users) if users else self.context.source
        try:
            comparison = compare(source, query)
        except InputError:
            return None
        if comparison.is_empty:
            return None
        return decide(gather_evidence(source, comparison, intervals=False, same_users=False))


def _brief(verdict: OfflineVerdict) -> str:
    """Returns the verdict in a few words, such as ``ship ALS``, ``keep Popular`` or ``tie for ALS``."""
    evidence = verdict.evidence
    if verdict.state == "ship":
        verb = "keep" if verdict.run == evidence.comparison.query.baseline else "ship"
        return f"{verb} {verdict.name}"
    if verdict.state == "not enough evidence" and evidence.leader is not None:
        return f"not enough evidence for {verdict.name}{_users_needed(evidence.leader)}"
    return f"{verdict.state} for {verdict.name}" if verdict.name else verdict.state


def _users_needed(pair: Pair) -> str:
    more = pair.judged.more_users
    return f": about {numbers.count(numbers.rounded(more))} more users needed" if more else ""


def _most_unlike_slice(evidence: VerdictEvidence) -> Iterator[Answer]:
    """Yields the slice whose finding differs most from that of the leader, if any differs.

    The opposite finding differs most, then a tie, then an inconclusive one.
    """
    leader = evidence.leader
    unlike = [part for part in evidence.slices if leader and part.pair.judged.word != leader.judged.word]
    if unlike:
        part = min(unlike, key=lambda part: FINDING_PRIORITY.index(part.pair.judged.word))
        word, n_users = part.pair.judged.word, numbers.count(part.pair.paired.n)
        answer = f"{capital(word)}{_users_needed(part.pair)} (n = {n_users})"
        yield Answer(f"Only {slice_title(part)}", answer, word != "not settled")
