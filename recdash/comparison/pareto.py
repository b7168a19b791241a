"""The Pareto front of two metrics: the runs that no other run dominates, and which run dominates each other
run.

Values decide where the runs are; paired differences decide whether a run is significantly dominated. A metric
without a value per user has no interval, so that only its values count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from typing import Literal

from recdash.comparison.pairs import Pair, UnjudgedPair, judge_family, pair_of
from recdash.comparison.query import Terms
from recdash.comparison.source import Source
from recdash.metrics import define
from recdash.metrics.naming import less_is_wanted

DIGITS = 12
"""Number of decimals to which values are rounded before they are compared, so that rounding errors do not
count.
"""

Place = tuple[float, float]
Side = Literal["better", "worse", "tie", "not settled", "by value", "level"]
"""The dominating run's result on one metric: the finding of its paired difference, *by value* if there is no
such difference, *level* for equal values.
"""


@dataclass(frozen=True)
class Goal:
    """A metric to be maximised, or minimised if ``less_is_better``."""

    metric: str
    less_is_better: bool
    has_user_values: bool

    def height(self, value: float) -> float:
        """Returns the value with the sign that makes higher better."""
        return round(-value if self.less_is_better else value, DIGITS)


def goal(metric: str) -> Goal:
    """Returns the metric as a goal. Raises UnknownName for an unknown metric."""
    return Goal(metric, less_is_wanted(metric), define(metric).has_user_values)


@dataclass(frozen=True)
class Beaten:
    """A run (``run``) that another run (``by``) dominates.

    ``sides`` are the results of ``by`` against ``run`` on the two metrics. ``pairs`` are the paired
    differences behind them; None for a metric on which values alone decide.
    """

    run: str
    by: str
    sides: tuple[Side, Side]
    pairs: tuple[Pair | None, Pair | None]

    @property
    def settled(self) -> bool:
        """Returns whether ``run`` is worse on both metrics. A metric with a paired difference must be
        significantly worse, any other one worse by value.
        """
        return all(side in ("better", "by value") for side in self.sides)


@dataclass(frozen=True)
class TradeOff:
    """Runs placed on two metrics at one k.

    ``places``: {run id: (value of the first metric, value of the second)} for runs that have both. ``front``:
    the Pareto front, from the best run on the second metric to the best on the first. ``beaten``: each
    dominated run, with the run that dominates it most clearly. ``errors``: standard errors of the values in
    ``places``, NaN if unknown. ``terms``: how its differences are judged. ``n_tested``: the number of
    differences that are corrected together.
    """

    goals: tuple[Goal, Goal]
    k: int
    places: Mapping[str, Place]
    front: tuple[str, ...]
    beaten: tuple[Beaten, ...]
    terms: Terms
    errors: Mapping[str, Place] = field(default_factory=dict)
    n_tested: int = 0


def trade_off(
    source: Source,
    metrics: tuple[str, str],
    k: int,
    places: Mapping[str, Place],
    runs: Sequence[str],
    terms: Terms,
) -> TradeOff:
    """Returns the runs at their ``places``, and for each dominated run of ``runs`` the run that dominates it.

    All pairs of ``runs`` on both metrics are corrected as one family. A run that is dominated only by a run
    outside ``runs`` adds its pair with that run to the family.
    """
    goals = (goal(metrics[0]), goal(metrics[1]))
    heights = {run: (goals[0].height(x), goals[1].height(y)) for run, (x, y) in places.items()}
    first = front(heights)
    placed = [run for run in runs if run in heights]
    run_pairs = list(_run_pairs(heights, first, placed))
    judged = _judged(source, goals, k, run_pairs, terms)
    beaten: dict[str, list[Beaten]] = {run: [] for run in placed}
    for worse, better in run_pairs:
        if dominates(heights[better], heights[worse]):
            pairs = (judged.get((metrics[0], worse, better)), judged.get((metrics[1], worse, better)))
            level = [low == high for low, high in zip(heights[worse], heights[better], strict=True)]
            sides = (_side(pairs[0], level[0]), _side(pairs[1], level[1]))
            beaten[worse].append(Beaten(worse, better, sides, pairs))

    def clearness(by: Beaten) -> tuple[bool, bool, float, float]:
        """Returns a sort key of dominating runs: significant ones first, then runs of the front, then higher
        values of the second metric, then of the first.
        """
        return by.settled, by.by in first, heights[by.by][1], heights[by.by][0]

    clearest = tuple(max(by, key=clearness) for by in beaten.values() if by)
    return TradeOff(goals, k, places, first, clearest, terms, n_tested=len(judged))


def dominates(place: Place, other: Place) -> bool:
    """Returns whether ``place`` is at least as high as ``other`` on both axes, and higher on at least one."""
    return place[0] >= other[0] and place[1] >= other[1] and place != other


def front(heights: Mapping[str, Place]) -> tuple[str, ...]:
    """Returns the runs that no other run dominates, from the highest on the second axis to the highest on the
    first.
    """
    best: Place = (inf, -inf)
    runs: list[str] = []
    for run in sorted(heights, key=lambda run: (-heights[run][0], -heights[run][1])):
        if heights[run][1] > best[1] or heights[run] == best:
            runs.append(run)
            best = heights[run]
    return tuple(reversed(runs))


def _run_pairs(
    heights: Mapping[str, Place], first: Sequence[str], runs: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yields every pair of ``runs`` as (worse, better); in any order if neither dominates the other.

    Also yields each run with a run of the front that dominates it, if that is not among ``runs``.
    """
    for run, other in combinations(runs, 2):
        yield (other, run) if dominates(heights[run], heights[other]) else (run, other)
    for run in runs:
        above = [other for other in first if dominates(heights[other], heights[run])][:1]
        yield from [(run, other) for other in above if other not in runs]


def _judged(
    source: Source, goals: Sequence[Goal], k: int, run_pairs: Sequence[tuple[str, str]], terms: Terms
) -> dict[tuple[str, str, str], Pair]:
    """Returns {(metric, worse, better): paired difference}, all corrected as one family."""
    unjudged: dict[tuple[str, str, str], UnjudgedPair] = {}
    for metric in [goal.metric for goal in goals if goal.has_user_values]:
        for worse, better in run_pairs:
            values = (source.values(run, metric, k) for run in (worse, better))
            if pair := pair_of(worse, better, *values):
                unjudged[metric, worse, better] = pair
    return judge_family(unjudged, terms)


def _side(pair: Pair | None, is_level: bool) -> Side:
    if is_level or (pair is not None and pair.is_identical):
        return "level"
    return pair.judged.word if pair else "by value"
