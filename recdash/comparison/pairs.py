"""Paired differences between runs, judged in families."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import combinations
from math import inf, nan
from typing import TypeVar

import numpy as np

from recdash.comparison.query import ComparisonQuery, Margin, Terms
from recdash.comparison.source import Source
from recdash.domain.results import UserValues, common_bound
from recdash.formatting import numbers
from recdash.formatting.wording import shown
from recdash.metrics import define
from recdash.stats import LEVEL, JudgedDifference, Paired, judge, paired_difference

Key = TypeVar("Key")
EQUAL_FOR_ALL = "equal for every user"


@dataclass(frozen=True)
class Pair:
    """A candidate's judged difference from a baseline, both given by run id.

    ``value`` and ``base_value`` are their means over the users that they share. ``bound`` is the metric's
    largest value; infinite if it has none, or if its values may be below 0.
    """

    baseline: str
    candidate: str
    base_value: float
    value: float
    judged: JudgedDifference
    bound: float = inf

    @property
    def interval(self) -> tuple[float, float]:
        """Returns the ends of the corrected interval as it is shown, NaN without one: also if every user has
        the same value with both runs, as it would be about users who were not measured.

        It ends where no difference can be: at the metric's bound. It does not end where the candidate's value
        would be 0 beside the measured baseline, because that value is itself uncertain.
        """
        corrected = self.judged.corrected
        if self.is_identical:
            return nan, nan
        return max(corrected.low, -self.bound), min(corrected.high, self.bound)

    @property
    def bounded_interval(self) -> tuple[float, float]:
        """Returns the ends of the corrected interval within what the candidate can have beside the measured
        baseline, as older reports show it.
        """
        corrected, known = self.judged.corrected, self.bound < inf
        least, most = (-self.base_value, self.bound - self.base_value) if known else (-inf, inf)
        return max(corrected.low, least), min(corrected.high, most)

    @property
    def paired(self) -> Paired:
        return self.judged.paired

    @property
    def is_identical(self) -> bool:
        """Returns whether every user has the same value with both runs, so that more users would not help."""
        return are_identical(self.paired.n, self.paired.wins, self.paired.losses)

    @property
    def words(self) -> str:
        """Returns the finding as shown to people: ``equal for every user`` if no user has another value."""
        return EQUAL_FOR_ALL if self.is_identical else shown(self.judged.word)

    def percent(self, amount: float) -> float:
        """Returns ``amount``, in units of the metric, as % of the baseline's value; NaN if that value is
        0.
        """
        return 100 * amount / abs(self.base_value) if self.base_value else float("nan")


def are_identical(n_users: int, wins: int, losses: int) -> bool:
    """Returns whether runs that share users have the same value for each of them."""
    return n_users > 0 and not wins and not losses


@dataclass(frozen=True)
class Comparison:
    """Runs compared with a baseline by one metric at one k; each pair over the users that its runs share.

    ``against``: the pairs of the baseline with each candidate, best first. ``apart``: {run id: why the run
    has no difference from the baseline}. ``find_among`` returns the pairs of candidates with each other; None
    if they are not to be compared.
    """

    query: ComparisonQuery
    names: Mapping[str, str]
    against: tuple[Pair, ...]
    apart: Mapping[str, str]
    find_among: Callable[[], tuple[Pair, ...]] | None = field(default=None, compare=False, repr=False)

    @property
    def lower_is_better(self) -> bool:
        return define(self.query.metric).lower_is_better

    @cached_property
    def among(self) -> tuple[Pair, ...]:
        """Returns the pairs of candidates with each other, tested once they are read: of eight candidates
        they are four fifths of all pairs, and a recommendation reads them only if two candidates may win.
        """
        return () if self.find_among is None else self.find_among()

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Returns all pairs, first those with the baseline."""
        return (*self.against, *self.among)

    @property
    def is_empty(self) -> bool:
        """Returns whether there is no pair."""
        return not (self.against or self.among)

    def to(self, run: str) -> Pair | None:
        """Returns the run's pair with the baseline; None if the run has no such pair."""
        return next((pair for pair in self.against if pair.candidate == run), None)


def compare(source: Source, query: ComparisonQuery, *, among: bool = True) -> Comparison:
    """Returns the comparison of the query's runs with its baseline.

    The differences from the baseline are corrected as one family, those among candidates as another;
    ``among=False`` leaves the latter out. Raises InputError for a metric without a value per user.
    """
    baseline, lower = query.baseline, define(query.metric).lower_is_better
    values = {run: source.values(run, query.metric, query.k) for run in query.shown}
    against = _judged(query, values, ((baseline, run) for run in query.runs))
    against.sort(key=lambda pair: pair.paired.mean if lower else -pair.paired.mean)
    paired = {pair.candidate for pair in against}
    unpaired = [run for run in query.runs if run not in paired]
    apart = {run: _why_apart(source, values, run, baseline, query.metric) for run in unpaired}
    find_among = partial(_pairs_among, source, query) if among else None
    return Comparison(query, source.names, tuple(against), apart, find_among)


def _pairs_among(source: Source, query: ComparisonQuery) -> tuple[Pair, ...]:
    """Returns the pairs of the query's candidates with each other. It asks for their values again, as a
    comparison that held them would keep them in memory as long as it is remembered itself.
    """
    values = {run: source.values(run, query.metric, query.k) for run in query.runs}
    return tuple(_judged(query, values, combinations(query.runs, 2)))


def _judged(
    query: ComparisonQuery,
    values: Mapping[str, UserValues | None],
    run_pairs: Iterable[tuple[str, str]],
) -> list[Pair]:
    """Returns the pairs (baseline, candidate) judged as one family, without those that cannot be compared."""
    terms, lower = query.terms, define(query.metric).lower_is_better
    pairs = {
        (base, run): pair_of(base, run, values[base], values[run], lower_is_better=lower, level=terms.level)
        for base, run in run_pairs
    }
    one_truth = {
        runs: pair
        for runs, pair in pairs.items()
        if pair and not _n_rated_otherwise(pair.base_values, pair.values)
    }
    return list(judge_family(one_truth, terms).values())


@dataclass(frozen=True)
class UnjudgedPair:
    """A paired difference that is not yet judged in its family, and the users' values from which it is
    computed.
    """

    baseline: str
    candidate: str
    paired: Paired
    base_values: UserValues
    values: UserValues
    lower_is_better: bool = False

    @cached_property
    def base_value(self) -> float:
        return float(self.base_values.values.mean())

    @cached_property
    def value(self) -> float:
        return float(self.values.values.mean())

    @property
    def bound(self) -> float:
        """Returns the largest possible value; infinite if the values have no known bounds."""
        bound = common_bound((self.base_values, self.values))
        return inf if bound is None else bound


def judge_family(unjudged: Mapping[Key, UnjudgedPair], terms: Terms) -> dict[Key, Pair]:
    """Returns the differences judged and corrected as one family, under the same keys."""
    judged = judge(
        [pair.paired for pair in unjudged.values()],
        terms.correction,
        margins=[terms.margin.of(pair.base_value) for pair in unjudged.values()],
        level=terms.level,
    )
    pairs: dict[Key, Pair] = {}
    for (key, pair), difference in zip(unjudged.items(), judged, strict=True):
        directed = replace(difference, lower_is_better=pair.lower_is_better)
        checked = _checked_tie(directed, pair, terms.margin)
        value, base_value = pair.value, pair.base_value
        pairs[key] = Pair(pair.baseline, pair.candidate, base_value, value, checked, pair.bound)
    return pairs


def _checked_tie(judged: JudgedDifference, pair: UnjudgedPair, margin: Margin) -> JudgedDifference:
    """Returns the difference; one that looks like a tie becomes inconclusive if the uncertainty of the
    baseline's value makes a relative margin too uncertain.

    A tie must also be significant user by user: the candidate below 1 + size and above 1 − size times the
    baseline.
    """
    if judged.word != "tie" or not margin.relative:
        return judged
    above, below = _beyond_margin(pair.base_values, pair.values, margin, judged.corrected.level)
    return judged if above.high < 0 < below.low else replace(judged, margin_is_known=False)


def _beyond_margin(
    base: UserValues, own: UserValues, margin: Margin, level: float = LEVEL
) -> tuple[Paired, Paired]:
    """Returns two paired differences: of the candidate from 1 + size times the baseline, and from 1 − size
    times it. ``size`` is that of the margin.
    """
    largest = common_bound((base, own))
    bound = None if largest is None else (1 + margin.size) * largest
    above, below = (
        paired_difference(own.values, share * base.values, level, bound=bound)
        for share in (1 + margin.size, 1 - margin.size)
    )
    return above, below


def equivalence_of(pair: Pair, base: UserValues, own: UserValues, margin: Margin) -> float:
    """Returns the p of the equivalence test behind a tie: the largest p of its one-sided tests; NaN if no
    method is valid.

    At a confidence level, a pair is a tie if this p is below (1 − level) / 2. ``base`` and ``own`` are the
    values of the pair's users.
    """
    within = pair.paired.method.p_beyond(margin.of(pair.base_value))
    if not margin.relative:
        return within
    above, below = _beyond_margin(base, own, margin)
    return float(np.max([within, 1 - above.p_above_zero, below.p_above_zero]))


def pair_of(
    baseline: str,
    candidate: str,
    base: UserValues | None,
    values: UserValues | None,
    *,
    lower_is_better: bool = False,
    level: float = LEVEL,
) -> UnjudgedPair | None:
    """Returns the paired difference of two runs over the users that they share; ``wins`` counts the users who
    score better with the candidate.

    None if one of the two lacks the metric, or if they share no user.
    """
    if base is None or values is None:
        return None
    base, values = shared(base, values)
    if not len(base.users):
        return None
    own = (base.own, values.own) if lower_is_better else (values.own, base.own)
    paired = paired_difference(values.values, base.values, level, own=own, bound=common_bound((base, values)))
    return UnjudgedPair(baseline, candidate, paired, base, values, lower_is_better)


def shared(first: UserValues, second: UserValues) -> tuple[UserValues, UserValues]:
    """Returns the values of both runs over the users that both have, in the same order. Predicted ratings are
    instead restricted to the rows that both predict.
    """
    if first.rated and second.rated:
        (rows, values_of_rows), (other_rows, values_of_other_rows) = first.rated, second.rated
        _, places, other_places = np.intersect1d(
            rows.key, other_rows.key, assume_unique=True, return_indices=True
        )
        return values_of_rows(rows.of(places)), values_of_other_rows(other_rows.of(other_places))
    if np.array_equal(first.users, second.users):
        return first, second
    _, places, other_places = np.intersect1d(
        first.users, second.users, assume_unique=True, return_indices=True
    )
    return first.of(places), second.of(other_places)


def _n_rated_otherwise(base: UserValues, values: UserValues) -> int:
    """Returns the number of rated rows whose true ratings differ between the test sets of the two runs; 0 for
    metrics that do not use predicted ratings.
    """
    if not base.rated or not values.rated:
        return 0
    return int(np.count_nonzero(base.rated[0].rating != values.rated[0].rating))


def _why_apart(
    source: Source, values: Mapping[str, UserValues | None], run: str, baseline: str, metric: str
) -> str:
    """Returns why a run has no difference from the baseline."""
    name, base_name, own, base = source.names[run], source.names[baseline], values[run], values[baseline]
    if own is None or base is None:
        absent = run if own is None else baseline
        reason = source.why_absent(absent, metric) or "it was not scored"
        return f"{source.names[absent]} lacks the metric: {reason}"
    n_rows = _n_rated_otherwise(*shared(base, own))
    if n_rows:
        rows = numbers.counted(n_rows, "row")
        shared_rows = f"the ratings of {rows} that {name} shares with {base_name}"
        return f"{shared_rows} differ: they have different test sets"
    return f"{name} shares no {'rated row' if own.rated else 'user'} with {base_name}"
