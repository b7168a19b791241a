"""The evidence for and against a candidate, on which the verdict and the recommendation rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from recdash.comparison.guardrails import GuardrailResult, check_guardrails
from recdash.comparison.pairs import Comparison, Pair, UnjudgedPair, compare, judge_family, pair_of, shared
from recdash.comparison.replicates import replicate_differences
from recdash.comparison.source import Source
from recdash.domain.kinds import Ints
from recdash.domain.results import AbTestElsewhere, OnlineLift, UserValues
from recdash.errors import InputError, Problem
from recdash.metrics import METRICS, define
from recdash.metrics.naming import CORE, metric_row
from recdash.metrics.ratings import RatingMetric
from recdash.stats import LEAST, Finding
from recdash.stats.replicates import ReplicateDifference

if TYPE_CHECKING:
    from recdash.domain.results import Slice

BLOCKING = (
    "different-truth", "different-users", "different-threshold", "different-version", "ids-do-not-meet",
)  # fmt: skip
"""Codes of problems that make the numbers of two runs incomparable. All other problems are caveats."""


@dataclass(frozen=True)
class SliceDifference:
    """A slice of the users, and the candidate's difference from the baseline within it.

    ``by`` names the attribute that forms the slices, ``value`` its value in this slice. ``has_no_list``: the
    candidate has no recommendations for any of these users.
    """

    by: str
    value: str
    title: str
    pair: Pair
    has_no_list: bool = False


@dataclass(frozen=True)
class VerdictEvidence:
    """A comparison, one of its candidates (the ``leader``), and the evidence for and against that candidate.

    ``metrics`` are the leader's differences in the other accuracy metrics, which are corrected together.
    ``slices`` are its differences in slices of the users, which are corrected together too. Other candidates
    do not count for these two corrections: a larger number of candidates must not hide harm.

    ``lifts`` are the candidate's results in A/B tests against the baseline, ``invalid_tests`` the names of
    its tests without a valid result. ``lifts_elsewhere`` are its results in tests against another run than
    the baseline, ``tests_elsewhere`` these tests and those that it was the control of. ``over_replicates``
    maps a candidate to its difference over folds or seeds; candidates without replicates are missing, unless
    the baseline has some.
    """

    comparison: Comparison
    leader: Pair | None
    metrics: tuple[tuple[str, Pair], ...] = ()
    guardrails: tuple[GuardrailResult, ...] = ()
    slices: tuple[SliceDifference, ...] = ()
    lifts: tuple[OnlineLift, ...] = ()
    invalid_tests: tuple[str, ...] = ()
    lifts_elsewhere: tuple[OnlineLift, ...] = ()
    tests_elsewhere: tuple[AbTestElsewhere, ...] = ()
    over_replicates: Mapping[str, ReplicateDifference] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()

    @property
    def finding(self) -> Finding:
        """Returns whether the leader is better, worse or tied, over users and over its folds or seeds;
        inconclusive without a leader.
        """
        return finding(self.leader, self.over_replicates) if self.leader else "not settled"

    @property
    def won_online(self) -> tuple[OnlineLift, ...]:
        """Returns the leader's significant gains in goals of A/B tests."""
        return tuple(lift for lift in self.lifts if lift.is_won)

    @property
    def lost_online(self) -> tuple[OnlineLift, ...]:
        """Returns the leader's significant losses in goals of A/B tests, and the guardrails that it broke
        there.
        """
        return tuple(lift for lift in self.lifts if lift.is_lost)

    @property
    def telling_online(self) -> tuple[OnlineLift, ...]:
        """Returns the leader's significant results in A/B tests, losses first; without one its first goal."""
        goals = tuple(lift for lift in self.lifts if lift.is_goal)
        return (*self.lost_online, *self.won_online) or goals[:1]

    @property
    def won_elsewhere(self) -> tuple[OnlineLift, ...]:
        """Returns the leader's significant gains in goals of A/B tests against another run."""
        return tuple(lift for lift in self.lifts_elsewhere if lift.is_won)

    @property
    def lost_elsewhere(self) -> tuple[OnlineLift, ...]:
        """Returns the leader's losses in A/B tests against another run."""
        return tuple(lift for lift in self.lifts_elsewhere if lift.is_lost)

    @property
    def leader_over_replicates(self) -> ReplicateDifference | None:
        return self.over_replicates.get(self.leader.candidate) if self.leader else None

    @property
    def blocking(self) -> list[Problem]:
        return _blocking(self.problems)

    @property
    def name(self) -> str:
        """Returns the name of the leader; empty without a leader."""
        return self.comparison.names[self.leader.candidate] if self.leader else ""

    @property
    def base(self) -> str:
        """Returns the name of the baseline."""
        return self.comparison.names[self.comparison.query.baseline]

    def rivals(self) -> list[Pair]:
        """Returns the leader's pairs with other candidates that also beat the baseline and do not differ
        significantly from the leader.
        """
        if self.leader is None:
            return []
        against, over_replicates = self.comparison.against, self.over_replicates
        better = {pair.candidate for pair in against if finding(pair, over_replicates) == "better"}
        if self.leader.candidate not in better or len(better) < 2:
            return []  # without a test of all candidates with each other
        return [
            pair
            for pair in self.comparison.among
            if self.leader.candidate in (pair.baseline, pair.candidate)
            and {pair.baseline, pair.candidate} <= better
            and pair.judged.word in ("tie", "not settled")
        ]


def gather_evidence(
    source: Source,
    comparison: Comparison,
    *,
    leader: Pair | None = None,
    intervals: bool = True,
    same_users: bool = True,
) -> VerdictEvidence:
    """Returns the evidence for and against one candidate.

    The candidate is the best one, or that of the pair given as ``leader``. ``intervals=False`` leaves out the
    guardrails' intervals: they need all recommendation lists to be read again, and the verdict does not
    depend on them. ``same_users=False`` compares the other metrics over the experiment's users even if the
    primary metric names other ones, as older reports do.
    """
    shared_evidence = _shared_by_candidates(source, comparison)
    leader = leader or leader_of(comparison, shared_evidence.over_replicates)
    if leader is None:
        return shared_evidence
    evidence = with_harm(source, _of_candidate(source, shared_evidence, leader), same_users=same_users)
    return with_intervals(source, evidence) if intervals else evidence


def evidence_of_each(
    source: Source, comparison: Comparison, *, same_users: bool = True, of_controls: bool = True
) -> list[VerdictEvidence]:
    """Returns the evidence on every candidate, best first, without the guardrails' intervals.

    A candidate that control served in the A/B test of another run of the comparison has that result too, the
    other way round: see ``_reversed``. ``of_controls=False`` leaves these out, as older reports do.

    Other metrics and slices are compared only for candidates that are better offline or won an A/B test. All
    other candidates are not shipped anyway, so their possible harm does not matter.
    """
    base, names = comparison.query.baseline, comparison.names
    shared_evidence = _shared_by_candidates(source, comparison)
    known = {pair.candidate: _of_candidate(source, shared_evidence, pair) for pair in comparison.against}
    results = {run: evidence.lifts_elsewhere for run, evidence in known.items()} if of_controls else {}
    of_base = source.lifts_elsewhere(base, base) if of_controls else ()
    each = []
    for own, alone in known.items():
        elsewhere = (
            lift for run, lifts in results.items() for lift in _reversed(lifts, own, run, names[run])
        )
        evidence = replace(
            alone,
            lifts=(*alone.lifts, *_reversed(of_base, own, base, names[base])),
            lifts_elsewhere=(*alone.lifts_elsewhere, *elsewhere),
        )
        examined = is_examined(evidence)
        each.append(with_harm(source, evidence, same_users=same_users) if examined else evidence)
    return each


def _reversed(lifts: Sequence[OnlineLift], control_run: str, run: str, name: str) -> list[OnlineLift]:
    """Returns the results of a run's A/B tests in which control served ``control_run``, as lifts of
    that run.

    A test in which the variant won and lost says of neither run that it is the better one, and is left out.
    """
    own = [lift for lift in lifts if lift.control_run == control_run]
    mixed = {lift.test for lift in own if lift.is_won} & {lift.test for lift in own if lift.is_lost}
    reverse = (lift.reversed(run, name) for lift in own if lift.test not in mixed)
    return [lift for lift in reverse if lift is not None]


def without_blocked(source: Source, comparison: Comparison) -> tuple[Comparison, Mapping[str, Problem]]:
    """Returns the comparison without the candidates whose numbers cannot be compared with the baseline's, and
    {run id: problem} of these candidates.

    The remaining candidates are judged as if the others had not been in the query. If none would remain, or
    if all can be compared, returns the comparison unchanged and {}.
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
    own = compare(source, replace(query, runs=rest), among=comparison.find_among is not None)
    why = {run: f"{problem.found}. {problem.fix}".rstrip(". ") for run, problem in blocked.items()}
    return replace(own, query=query, apart={**own.apart, **why}), blocked


def _blocking(problems: Iterable[Problem]) -> list[Problem]:
    return [problem for problem in problems if problem.code in BLOCKING]


def is_examined(evidence: VerdictEvidence) -> bool:
    """Returns whether the candidate is checked for harm in other metrics and slices: it is better offline or
    won an A/B test.
    """
    return evidence.finding == "better" or bool(evidence.won_online)


def with_intervals(source: Source, evidence: VerdictEvidence) -> VerdictEvidence:
    """Returns the evidence with the intervals of its guardrails, for which the lists of both runs are read
    again.
    """
    if evidence.leader is None:
        return evidence
    return replace(evidence, guardrails=tuple(check_guardrails(source, evidence.comparison, evidence.leader)))


def _shared_by_candidates(source: Source, comparison: Comparison) -> VerdictEvidence:
    """Returns the evidence that is the same for every candidate: problems, and differences over replicates.
    It has no leader.
    """
    query = replace(comparison.query, runs=tuple(pair.candidate for pair in comparison.against))
    problems = tuple(source.problems(query.shown))
    over_replicates = replicate_differences(source, query)
    return VerdictEvidence(comparison, None, over_replicates=over_replicates, problems=problems)


def _of_candidate(source: Source, shared_evidence: VerdictEvidence, pair: Pair) -> VerdictEvidence:
    """Returns the shared evidence with a candidate as its leader, and with that candidate's guardrails and
    A/B tests.
    """
    rails = check_guardrails(source, shared_evidence.comparison, pair, intervals=False)
    return replace(
        shared_evidence,
        leader=pair,
        guardrails=tuple(rails),
        lifts=tuple(source.online(pair.candidate, pair.baseline)),
        invalid_tests=tuple(source.invalid_tests(pair.candidate, pair.baseline)),
        lifts_elsewhere=tuple(source.lifts_elsewhere(pair.candidate, pair.baseline)),
        tests_elsewhere=tuple(source.tests_elsewhere(pair.candidate, pair.baseline)),
    )


def with_harm(source: Source, evidence: VerdictEvidence, *, same_users: bool = True) -> VerdictEvidence:
    """Returns the evidence with the leader's differences in other metrics and in slices; unchanged without a
    leader.
    """
    comparison, pair = evidence.comparison, evidence.leader
    if pair is None:
        return evidence
    return replace(
        evidence,
        metrics=tuple(_other_metrics(source, comparison, pair, same_users=same_users).items()),
        slices=tuple(_slice_differences(source, comparison, pair)),
    )


def finding(pair: Pair, over_replicates: Mapping[str, ReplicateDifference]) -> Finding:
    """Returns the finding of a difference over its users, and over folds or seeds if there are any.

    Both must agree, else the finding is inconclusive: for *better* and *worse* both intervals exclude zero on
    the same side, for a *tie* both are within the margin.
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
    """Returns the pair of the best candidate that is better than the baseline, else of the best that is not
    worse, else of the best of all; None without a pair.

    Candidates that share fewer than 30 users with the baseline are considered only if no candidate shares 30.
    """
    enough = [pair for pair in comparison.against if pair.paired.n >= LEAST] or comparison.against
    words = {pair.candidate: finding(pair, over_replicates) for pair in enough}
    better = [pair for pair in enough if words[pair.candidate] == "better"]
    not_worse = [pair for pair in enough if words[pair.candidate] != "worse"]
    return next(iter(better or not_worse or enough), None)


def _other_metrics(
    source: Source, comparison: Comparison, leader: Pair, *, same_users: bool
) -> dict[str, Pair]:
    """Returns {metric: the leader's difference from the baseline} for the other accuracy metrics, corrected
    together. Metrics that one of the two runs lacks are left out.

    If the primary metric names the users who count (``users=both``), the others count the same users, unless
    ``same_users`` is False.
    """
    own_rule = define(comparison.query.metric).own_rule
    if own_rule and same_users:
        source = source.under(own_rule)
    runs, level = (leader.baseline, leader.candidate), comparison.query.terms.level
    k, unjudged = comparison.query.k, dict[str, UnjudgedPair]()
    for metric in metrics_beside(comparison.query.metric):
        lower, values = define(metric).lower_is_better, _values_of_both(source, leader, metric, k)
        if pair := pair_of(*runs, *values, lower_is_better=lower, level=level):
            unjudged[metric] = pair
    return judge_family(unjudged, comparison.query.terms)


def metrics_beside(primary: str) -> list[str]:
    """Returns the core metrics that are compared besides the primary one, so that a loss in any of them is
    seen.

    Rating errors are included only if the primary metric is one of ratings; they come first.
    """
    own = metric_row(primary)
    errors = [name for name in CORE if isinstance(METRICS[name], RatingMetric)]
    accuracy = [name for name in CORE if name not in errors]
    names = [*errors, *accuracy] if isinstance(own, RatingMetric) else accuracy
    return [name for name in names if name != own.name]


def _values_of_both(
    source: Source, pair: Pair, metric: str, k: int
) -> tuple[UserValues | None, UserValues | None]:
    """Returns the users' values of baseline and candidate. A run that lacks the metric has None; both have
    None if the metric has no value per user.
    """
    try:
        return source.values(pair.baseline, metric, k), source.values(pair.candidate, metric, k)
    except InputError:
        return None, None


def _serves(source: Source, comparison: Comparison, leader: Pair, users: Ints) -> bool:
    """Returns whether the leader has recommendations for any of the users."""
    listed = source.under("both").values(leader.candidate, comparison.query.metric, comparison.query.k)
    return listed is None or bool(np.isin(users, listed.users).any())


def _slice_differences(source: Source, comparison: Comparison, leader: Pair) -> list[SliceDifference]:
    """Returns the leader's difference from the baseline in every slice of users, all corrected together.

    Leaves out slices of all users, slices with the same users as another, and slices of fewer than 30 users.
    Empty for pooled ratios, which have no values per user, and for predicted ratings, which are compared as a
    whole.
    """
    base, candidate = _values_of_both(source, leader, comparison.query.metric, comparison.query.k)
    if base is None or candidate is None or base.rated or define(comparison.query.metric).formula().pooled:
        return []
    base, candidate = shared(base, candidate)
    runs, level = (leader.baseline, leader.candidate), comparison.query.terms.level
    slices: dict[bytes, Slice] = {}
    unjudged: dict[bytes, UnjudgedPair] = {}
    without_list: set[bytes] = set()
    for user_slice in source.user_slices():
        if user_slice.users is None:
            raise ValueError(f"{user_slice.title} is a slice of items")
        inside = user_slice.users[base.users]
        users = base.users[inside].tobytes()
        if users in unjudged or not LEAST <= inside.sum() < len(inside):
            continue
        if pair := pair_of(*runs, base.of(inside), candidate.of(inside), level=level):
            slices[users], unjudged[users] = user_slice, pair
            if not candidate.of(inside).own.any() and not _serves(
                source, comparison, leader, base.users[inside]
            ):
                without_list.add(users)
    return [
        SliceDifference(
            slices[users].by, slices[users].value, slices[users].title, pair, users in without_list
        )
        for users, pair in judge_family(unjudged, comparison.query.terms).items()
    ]
