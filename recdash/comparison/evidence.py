"""What speaks for the best candidate and what against it: everything that a verdict rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from recdash.comparison.guardrails import GUARDRAILS, GuardrailResult, guardrails
from recdash.comparison.pairs import Comparison, Pair, UnjudgedPair, family_of, pair_of, shared
from recdash.comparison.replicates import replicate_differences
from recdash.comparison.source import Source
from recdash.domain.results import OnlineLift, UserValues
from recdash.errors import InputError, Problem
from recdash.metrics import define
from recdash.metrics.ratings import RatingMetric
from recdash.stats import LEAST, Word
from recdash.stats.replicates import ReplicateDifference

__all__ = [
    "ACCURACY",
    "BLOCKING",
    "GUARDRAILS",
    "GuardrailResult",
    "SliceDifference",
    "VerdictEvidence",
    "leader_of",
    "metrics_beside",
    "weigh",
]

if TYPE_CHECKING:
    from recdash.domain.results import Slice

ACCURACY = ("ndcg", "recall", "precision", "hit_rate", "map", "mrr")
"""A candidate may not win by one of these and lose by another unnoticed."""
RATING_ERRORS = ("rmse", "mae")
"""Weighed beside each other, and before the accuracy of lists, where ratings are compared."""
BLOCKING = (
    "different-truth", "different-users", "different-threshold", "different-version", "ids-do-not-meet",
)  # fmt: skip
"""What makes two numbers answers to different questions; the other problems are caveats."""


@dataclass(frozen=True)
class SliceDifference:
    """A slice of the users, and the leader's difference to the baseline within it."""

    by: str
    value: str
    title: str
    pair: Pair


@dataclass(frozen=True)
class VerdictEvidence:
    """A comparison, its ``leader`` and what there is to say about it.

    ``metrics`` are the leader's differences by the other accuracy metrics, judged as one family; so are
    ``parts``, and what A/B tests found of it, of which only the settled is kept. ``over_replicates``: of each
    candidate with folds or seeds, or against a baseline that has them, the difference over these.
    """

    comparison: Comparison
    leader: Pair | None
    metrics: tuple[tuple[str, Pair], ...] = ()
    guardrails: tuple[GuardrailResult, ...] = ()
    parts: tuple[SliceDifference, ...] = ()
    won_online: tuple[OnlineLift, ...] = ()
    lost_online: tuple[OnlineLift, ...] = ()
    over_replicates: Mapping[str, ReplicateDifference] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def finding(self) -> Word:
        """How the leader stands over users and replicates."""
        return finding(self.leader, self.over_replicates) if self.leader else "not settled"

    @property
    def leader_over_replicates(self) -> ReplicateDifference | None:
        return self.over_replicates.get(self.leader.candidate) if self.leader else None

    @property
    def blocking(self) -> list[Problem]:
        return [problem for problem in self.problems if problem.code in BLOCKING]

    @property
    def name(self) -> str:
        """The leader's."""
        return self.comparison.names[self.leader.candidate] if self.leader else ""

    @property
    def base(self) -> str:
        return self.comparison.names[self.comparison.baseline]

    def rivals(self) -> list[Pair]:
        """The leader's pairs with other candidates that are better too, but not settled apart from it."""
        if self.leader is None:
            return []
        good = {
            pair.candidate
            for pair in self.comparison.against
            if finding(pair, self.over_replicates) == "better"
        }
        return [
            pair
            for pair in self.comparison.among
            if self.leader.candidate in (pair.baseline, pair.candidate)
            and {pair.baseline, pair.candidate} <= good
            and pair.judged.word in ("tie", "not settled")
        ]


def weigh(source: Source, comparison: Comparison, *, intervals: bool = True) -> VerdictEvidence:
    """Gather what a verdict needs from the source of the comparison; ``intervals`` are those of guardrails,
    which take another look at the lists and do not change the state.
    """
    problems = tuple(source.problems([comparison.baseline, *(p.candidate for p in comparison.against)]))
    over_replicates = _over_replicates(source, comparison)
    leader = leader_of(comparison, over_replicates)
    if leader is None:
        return VerdictEvidence(comparison, None, problems=problems)
    won_online, lost_online = _online(source, leader)
    return VerdictEvidence(
        comparison,
        leader,
        metrics=tuple(_other_metrics(source, comparison, leader)),
        guardrails=tuple(guardrails(source, comparison, leader, intervals=intervals)),
        parts=tuple(_parts(source, comparison, leader)),
        won_online=won_online,
        lost_online=lost_online,
        over_replicates=over_replicates,
        problems=problems,
    )


def _over_replicates(source: Source, comparison: Comparison) -> dict[str, ReplicateDifference]:
    candidates = [pair.candidate for pair in comparison.against]
    question = (source, candidates, comparison.baseline, comparison.metric, comparison.k)
    terms = comparison.terms
    return replicate_differences(*question, correction=terms.correction, level=terms.level)


def finding(pair: Pair, over_replicates: Mapping[str, ReplicateDifference]) -> Word:
    """What may be said of a difference: over its users, and over its folds or seeds where it has any.

    Both must say the same: *better* or *worse* excludes zero over both, a *tie* lies within the margin.
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
    """The best of those better than the baseline, else of those not worse, else of all; None without any.

    Who shares fewer than 30 users with the baseline only leads where nobody shares more.
    """
    enough = [pair for pair in comparison.against if pair.paired.n >= LEAST] or comparison.against
    words = {pair.candidate: finding(pair, over_replicates) for pair in enough}
    better = [pair for pair in enough if words[pair.candidate] == "better"]
    not_worse = [pair for pair in enough if words[pair.candidate] != "worse"]
    return next(iter(better or not_worse or enough), None)


def _other_metrics(source: Source, comparison: Comparison, leader: Pair) -> list[tuple[str, Pair]]:
    found: dict[str, UnjudgedPair] = {}
    for metric in metrics_beside(comparison.metric):
        if values := _both(source, leader, metric, comparison.k):
            lower = define(metric).lower_is_better
            names, level = (leader.baseline, leader.candidate), comparison.terms.level
            found[metric] = pair_of(*names, *values, lower_is_better=lower, level=level)
    pairs = family_of(list(found.values()), comparison.terms)
    return list(zip(found, pairs, strict=True))


def metrics_beside(primary: str) -> list[str]:
    """The accuracy metrics that are weighed beside the primary one."""
    definition = define(primary)
    rated = isinstance(definition.metric, RatingMetric)
    return [one for one in (*(RATING_ERRORS if rated else ()), *ACCURACY) if one != definition.metric.name]


def _both(source: Source, pair: Pair, metric: str, k: int) -> tuple[UserValues, UserValues] | None:
    """Baseline and candidate over the users they share; None where one lacks the metric."""
    try:
        base, mine = source.values(pair.baseline, metric, k), source.values(pair.candidate, metric, k)
    except InputError:
        return None
    if base is None or mine is None:
        return None
    both = shared(base, mine)
    return both if len(both[0].users) else None


def _online(source: Source, leader: Pair) -> tuple[tuple[OnlineLift, ...], tuple[OnlineLift, ...]]:
    """Where the leader won, and where it lost, as each A/B test itself says."""
    lifts = source.online(leader.candidate, leader.baseline)
    return tuple(one for one in lifts if one.low > 0), tuple(one for one in lifts if one.high < 0)


def _parts(source: Source, comparison: Comparison, leader: Pair) -> list[SliceDifference]:
    """The leader against the baseline in every slice of users.

    A slice of everybody, or of the same users as another, says nothing new, nor do fewer than 30 users. A
    pooled ratio has no values of users that some of them could be taken from, and predicted ratings are
    compared as a whole.
    """
    both = _both(source, leader, comparison.metric, comparison.k)
    if both is None or both[0].rated or define(comparison.metric).formula().pooled:
        return []
    told: dict[bytes, tuple[Slice, tuple[UserValues, UserValues]]] = {}
    for one in source.parts():
        inside = _within(both, one)
        if LEAST <= len(inside[0].users) < len(both[0].users):
            told.setdefault(inside[0].users.tobytes(), (one, inside))
    names, level = (leader.baseline, leader.candidate), comparison.terms.level
    found = [pair_of(*names, *pair, level=level) for _, pair in told.values()]
    pairs = family_of(found, comparison.terms)
    return [
        SliceDifference(one.by, one.value, one.title, pair)
        for (one, _), pair in zip(told.values(), pairs, strict=True)
    ]


def _within(both: Sequence[UserValues], part: Slice) -> tuple[UserValues, UserValues]:
    """Both over the users of a slice."""
    base, mine = both
    if part.users is None:
        raise ValueError(f"{part.title} is a slice of items")
    inside = part.users[base.users]
    return base.of(inside), mine.of(inside)
