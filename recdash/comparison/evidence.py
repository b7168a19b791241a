"""The evidence for and against the best candidate, on which a verdict rests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from recdash.comparison.guardrails import GuardrailResult, check_guardrails
from recdash.comparison.pairs import Comparison, Pair, UnjudgedPair, compare, judge_family, pair_of, shared
from recdash.comparison.replicates import replicate_differences
from recdash.comparison.source import Source
from recdash.domain.results import OnlineLift, UserValues
from recdash.errors import InputError, Problem
from recdash.metrics import METRICS, define
from recdash.metrics.naming import CORE, row_of
from recdash.metrics.ratings import RatingMetric
from recdash.stats import LEAST, Finding
from recdash.stats.replicates import ReplicateDifference

if TYPE_CHECKING:
    from recdash.domain.results import Slice

BLOCKING = (
    "different-truth", "different-users", "different-threshold", "different-version", "ids-do-not-meet",
)  # fmt: skip
"""Codes of problems that make numbers incomparable; other problems are caveats."""


@dataclass(frozen=True)
class SliceDifference:
    """A slice of the users, and the leader's difference from the baseline within it."""

    by: str
    value: str
    title: str
    pair: Pair


@dataclass(frozen=True)
class VerdictEvidence:
    """A comparison, its ``leader``, and the evidence for and against that candidate.

    ``metrics``: the leader's differences by the other accuracy metrics, judged as one family. ``slices``: its
    differences in slices of the users, judged as another. Both are families of this candidate alone: harm is
    looked for in each candidate as if it were the only one, so that many candidates do not hide it.
    ``lifts``: what A/B tests found of it; ``invalid_tests``: names of those without a valid result.
    ``lost_elsewhere``: its losses in tests against another run than the baseline.
    ``over_replicates``: candidate → its difference over folds or seeds, if it or the baseline has several.
    """

    comparison: Comparison
    leader: Pair | None
    metrics: tuple[tuple[str, Pair], ...] = ()
    guardrails: tuple[GuardrailResult, ...] = ()
    slices: tuple[SliceDifference, ...] = ()
    lifts: tuple[OnlineLift, ...] = ()
    invalid_tests: tuple[str, ...] = ()
    lost_elsewhere: tuple[OnlineLift, ...] = ()
    over_replicates: Mapping[str, ReplicateDifference] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def finding(self) -> Finding:
        """Returns the finding of the leader's difference, over users and replicates."""
        return finding(self.leader, self.over_replicates) if self.leader else "not settled"

    @property
    def won_online(self) -> tuple[OnlineLift, ...]:
        """Its significant gains in goals of A/B tests."""
        return tuple(lift for lift in self.lifts if lift.is_won)

    @property
    def lost_online(self) -> tuple[OnlineLift, ...]:
        """Its significant losses in goals of A/B tests, and the guardrails it broke there."""
        return tuple(lift for lift in self.lifts if lift.is_lost)

    @property
    def leader_over_replicates(self) -> ReplicateDifference | None:
        return self.over_replicates.get(self.leader.candidate) if self.leader else None

    @property
    def blocking(self) -> list[Problem]:
        return _blocking(self.problems)

    @property
    def name(self) -> str:
        """Returns the name of the leader; empty without one."""
        return self.comparison.names[self.leader.candidate] if self.leader else ""

    @property
    def base(self) -> str:
        """Returns the name of the baseline."""
        return self.comparison.names[self.comparison.query.baseline]

    def rivals(self) -> list[Pair]:
        """Returns the leader's pairs with other better candidates without a significant difference."""
        if self.leader is None:
            return []
        against, over_replicates = self.comparison.against, self.over_replicates
        better = {pair.candidate for pair in against if finding(pair, over_replicates) == "better"}
        return [
            pair
            for pair in self.comparison.among
            if self.leader.candidate in (pair.baseline, pair.candidate)
            and {pair.baseline, pair.candidate} <= better
            and pair.judged.word in ("tie", "not settled")
        ]


def gather_evidence(
    source: Source, comparison: Comparison, *, leader: Pair | None = None, intervals: bool = True
) -> VerdictEvidence:
    """Gathers the evidence for and against one candidate from the source of the comparison.

    ``leader``: the pair of another candidate than the best one. ``intervals=False`` leaves out those of the
    guardrails, which read the lists again and do not change the state.
    """
    shared_evidence = _shared_by_candidates(source, comparison)
    leader = leader or leader_of(comparison, shared_evidence.over_replicates)
    if leader is None:
        return shared_evidence
    evidence = with_harm(source, _of_candidate(source, shared_evidence, leader))
    return with_intervals(source, evidence) if intervals else evidence


def evidence_of_each(source: Source, comparison: Comparison) -> list[VerdictEvidence]:
    """Returns the evidence on every candidate, best first, without the guardrails' intervals.

    Other metrics and slices are compared only for candidates that are better offline or won an A/B test: for
    the others no harm needs to be found.
    """
    shared_evidence, each = _shared_by_candidates(source, comparison), []
    for pair in comparison.against:
        evidence = _of_candidate(source, shared_evidence, pair)
        each.append(with_harm(source, evidence) if is_examined(evidence) else evidence)
    return each


def without_blocked(source: Source, comparison: Comparison) -> tuple[Comparison, Mapping[str, Problem]]:
    """Returns the comparison without the candidates whose numbers cannot be compared with the baseline's, and
    why not: {run: problem}.

    The others are judged as if these had not been asked for. If none is left, it is returned as it was.
    """
    query = comparison.query
    if not _blocking(source.problems(query.shown)):
        return comparison, {}
    blocked: dict[str, Problem] = {}
    for run in query.runs:
        if problems := _blocking(source.problems((query.baseline, run))):
            blocked[run] = problems[0]
    rest = tuple(run for run in query.runs if run not in blocked)
    if not blocked or not rest:
        return comparison, {}
    own = compare(source, replace(query, runs=rest), among=bool(comparison.among))
    why = {run: f"{problem.found}. {problem.fix}".rstrip(". ") for run, problem in blocked.items()}
    return replace(own, query=query, apart={**own.apart, **why}), blocked


def _blocking(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.code in BLOCKING]


def is_examined(evidence: VerdictEvidence) -> bool:
    """Returns whether harm is looked for: in candidates that are better offline or won an A/B test."""
    return evidence.finding == "better" or bool(evidence.won_online)


def with_intervals(source: Source, evidence: VerdictEvidence) -> VerdictEvidence:
    """Returns the evidence with the intervals of its guardrails, which read the lists of both runs again."""
    if evidence.leader is None:
        return evidence
    return replace(evidence, guardrails=tuple(check_guardrails(source, evidence.comparison, evidence.leader)))


def _shared_by_candidates(source: Source, comparison: Comparison) -> VerdictEvidence:
    """Returns the evidence that is the same for every candidate, without a leader."""
    query = replace(comparison.query, runs=tuple(pair.candidate for pair in comparison.against))
    problems = tuple(source.problems(query.shown))
    over_replicates = replicate_differences(source, query)
    return VerdictEvidence(comparison, None, over_replicates=over_replicates, problems=problems)


def _of_candidate(source: Source, shared_evidence: VerdictEvidence, pair: Pair) -> VerdictEvidence:
    """Returns the evidence with a candidate's guardrails and A/B tests."""
    rails = check_guardrails(source, shared_evidence.comparison, pair, intervals=False)
    return replace(
        shared_evidence,
        leader=pair,
        guardrails=tuple(rails),
        lifts=tuple(source.online(pair.candidate, pair.baseline)),
        invalid_tests=tuple(source.invalid_tests(pair.candidate, pair.baseline)),
        lost_elsewhere=tuple(source.lost_elsewhere(pair.candidate, pair.baseline)),
    )


def with_harm(source: Source, evidence: VerdictEvidence) -> VerdictEvidence:
    """Returns the evidence with other metrics and slices, where a candidate may be worse."""
    comparison, pair = evidence.comparison, evidence.leader
    if pair is None:
        return evidence
    return replace(
        evidence,
        metrics=tuple(_other_metrics(source, comparison, pair).items()),
        slices=tuple(_slice_differences(source, comparison, pair)),
    )


def finding(pair: Pair, over_replicates: Mapping[str, ReplicateDifference]) -> Finding:
    """Returns the finding of a difference over its users, and over its folds or seeds if it has any.

    Both must agree: *better* or *worse* excludes zero over both, a *tie* is within the margin.
    """
    word, over = pair.judged.word, over_replicates.get(pair.candidate)
    if over is None or over.significant is None:
        return word
    margin = pair.judged.margin
    if word == "tie":
        holds = -margin < over.low and over.high < margin
    else:
        holds = over.significant and (over.mean > 0) == (pair.paired.mean > 0)
    return word if holds else "not settled"


def leader_of(comparison: Comparison, over_replicates: Mapping[str, ReplicateDifference]) -> Pair | None:
    """Returns the best of those better than the baseline, else of those not worse, else of all; None without
    any.

    A candidate that shares fewer than 30 users with the baseline leads only if no other shares more.
    """
    enough = [pair for pair in comparison.against if pair.paired.n >= LEAST] or comparison.against
    words = {pair.candidate: finding(pair, over_replicates) for pair in enough}
    better = [pair for pair in enough if words[pair.candidate] == "better"]
    not_worse = [pair for pair in enough if words[pair.candidate] != "worse"]
    return next(iter(better or not_worse or enough), None)


def _other_metrics(source: Source, comparison: Comparison, leader: Pair) -> dict[str, Pair]:
    """Returns the leader's difference from the baseline by each other accuracy metric, judged as one
    family.
    """
    runs, level = (leader.baseline, leader.candidate), comparison.query.terms.level
    k, unjudged = comparison.query.k, dict[str, UnjudgedPair]()
    for metric in metrics_beside(comparison.query.metric):
        lower, values = define(metric).lower_is_better, _values_of_both(source, leader, metric, k)
        if pair := pair_of(*runs, *values, lower_is_better=lower, level=level):
            unjudged[metric] = pair
    return judge_family(unjudged, comparison.query.terms)


def metrics_beside(primary: str) -> list[str]:
    """Returns the core metrics that a verdict checks besides the primary one, so no loss goes unnoticed.

    Errors of ratings come first, and only besides a primary metric of ratings.
    """
    own = row_of(primary)
    errors = [name for name in CORE if isinstance(METRICS[name], RatingMetric)]
    accuracy = [name for name in CORE if name not in errors]
    names = [*errors, *accuracy] if isinstance(own, RatingMetric) else accuracy
    return [name for name in names if name != own.name]


def _values_of_both(
    source: Source, pair: Pair, metric: str, k: int
) -> tuple[UserValues | None, UserValues | None]:
    """Returns the values of baseline and candidate; None if a run lacks the metric or it has no value per
    user.
    """
    try:
        return source.values(pair.baseline, metric, k), source.values(pair.candidate, metric, k)
    except InputError:
        return None, None


def _slice_differences(source: Source, comparison: Comparison, leader: Pair) -> list[SliceDifference]:
    """Returns the leader's difference from the baseline in every slice of users, judged as one family.

    Slices of all users, of the same users as another slice and of fewer than 30 users are left out. A pooled
    ratio has no values per user to take a slice of, and predicted ratings are compared as a whole.
    """
    base, candidate = _values_of_both(source, leader, comparison.query.metric, comparison.query.k)
    if base is None or candidate is None or base.rated or define(comparison.query.metric).formula().pooled:
        return []
    base, candidate = shared(base, candidate)
    runs, level = (leader.baseline, leader.candidate), comparison.query.terms.level
    slices: dict[bytes, Slice] = {}
    unjudged: dict[bytes, UnjudgedPair] = {}
    for user_slice in source.user_slices():
        if user_slice.users is None:
            raise ValueError(f"{user_slice.title} is a slice of items")
        inside = user_slice.users[base.users]
        users = base.users[inside].tobytes()
        if users in unjudged or not LEAST <= inside.sum() < len(inside):
            continue
        if pair := pair_of(*runs, base.of(inside), candidate.of(inside), level=level):
            slices[users], unjudged[users] = user_slice, pair
    return [
        SliceDifference(slices[users].by, slices[users].value, slices[users].title, pair)
        for users, pair in judge_family(unjudged, comparison.query.terms).items()
    ]
