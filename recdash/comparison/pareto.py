"""Two metrics at once: which runs no other beats on both, and who is beaten by whom.

Values place the runs; whether a run is beaten follows the paired differences. Where a metric has no value per
user there is no interval, and the values alone decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import inf
from typing import Literal

from recdash.comparison.pairs import Pair, Terms, UnjudgedPair, family_of, pair_of, shared
from recdash.comparison.source import Source
from recdash.metrics import define

LESS_IS_BETTER = ("gini", "popularity")
"""Beside errors of ratings: what is concentrated on few items, or shows what everybody knows."""
DIGITS = 12
"""Values that agree so far differ by rounding only."""

Place = tuple[float, float]
Side = Literal["better", "worse", "tie", "not settled", "by value", "level"]
"""How the better placed run stands on one metric: by its paired difference, else by value."""

Judgements = Callable[[int, str, str], Pair | None]
"""Of an axis, the worse and the better run: their difference among all that are judged."""


@dataclass(frozen=True)
class Goal:
    """A metric that one wants much of, or little."""

    metric: str
    less_is_better: bool
    has_user_values: bool

    def height(self, value: float) -> float:
        """More of this is better, whatever the metric."""
        return round(-value if self.less_is_better else value, DIGITS)


def goal(metric: str) -> Goal:
    """Raises UnknownName for an unknown metric."""
    found = define(metric)
    less = found.lower_is_better or found.metric.name in LESS_IS_BETTER
    return Goal(metric, less, found.has_user_values)


@dataclass(frozen=True)
class Beaten:
    """``run`` has no more of either than ``by``; ``sides``: how ``by`` stands on each metric against it.

    ``pairs`` are the differences ``by`` − ``run`` behind that, None where values alone decide.
    """

    run: str
    by: str
    sides: tuple[Side, Side]
    pairs: tuple[Pair | None, Pair | None]

    @property
    def settled(self) -> bool:
        """Beaten on both beyond doubt."""
        return all(side in ("better", "by value") for side in self.sides)


@dataclass(frozen=True)
class TradeOff:
    """Runs by two metrics at one k.

    ``places``: (value of the first metric, of the second) of the runs that have both. ``front``: runs that no
    other passes, from the best by the second metric to the best by the first. ``beaten``: of the runs in
    question, each that is not there. ``errors``: standard errors of the values, NaN where there are none.
    """

    goals: tuple[Goal, Goal]
    k: int
    places: Mapping[str, Place]
    front: tuple[str, ...]
    beaten: tuple[Beaten, ...]
    errors: Mapping[str, Place] = field(default_factory=dict)


def trade_off(
    source: Source,
    metrics: tuple[str, str],
    k: int,
    places: Mapping[str, Place],
    asked: Sequence[str],
    terms: Terms,
) -> TradeOff:
    """Runs at their ``places``; of those ``asked`` about it is said who beats them.

    The pairs of these, by both metrics, are judged as one family; with them stands the pair of each whom only
    another run beats with that run.
    """
    goals = (goal(metrics[0]), goal(metrics[1]))
    heights = {run: (goals[0].height(x), goals[1].height(y)) for run, (x, y) in places.items()}
    first = front(heights)
    there = [run for run in asked if run in heights]
    wanted = list(_wanted(heights, first, there))
    known = _judged(source, goals, k, wanted, terms)
    found = [
        _beaten(worse, better, heights, known)
        for worse, better in wanted
        if passes(heights[better], heights[worse])
    ]
    clearest = (_clearest([one for one in found if one.run == run], first, heights) for run in there)
    return TradeOff(goals, k, places, first, tuple(one for one in clearest if one))


def passes(one: Place, other: Place) -> bool:
    """Is the one as high as the other on both, and higher on one of them?"""
    return one[0] >= other[0] and one[1] >= other[1] and one != other


def front(heights: Mapping[str, Place]) -> tuple[str, ...]:
    """The runs that nobody passes, from the highest by the second number to the highest by the first."""
    best: Place = (inf, -inf)
    found: list[str] = []
    for run in sorted(heights, key=lambda run: (-heights[run][0], -heights[run][1])):
        if heights[run][1] > best[1] or heights[run] == best:
            found.append(run)
            best = heights[run]
    return tuple(reversed(found))


def _wanted(
    heights: Mapping[str, Place], first: Sequence[str], asked: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """(worse, better): every pair of those asked about, in either order where neither passes the other.

    And each with the run of the front that passes it: a weak one among those asked about may hide it.
    """
    for one, other in combinations(asked, 2):
        yield (other, one) if passes(heights[one], heights[other]) else (one, other)
    for run in asked:
        above = [other for other in first if passes(heights[other], heights[run])][:1]
        yield from [(run, other) for other in above if other not in asked]


def _judged(
    source: Source, goals: tuple[Goal, Goal], k: int, wanted: Sequence[tuple[str, str]], terms: Terms
) -> Judgements:
    """One family: of the metrics that have a value per user more is always better."""
    found = {
        (one.metric, *pair): difference
        for one in goals
        if one.has_user_values
        for pair in wanted
        if (difference := _difference(source, one.metric, k, pair))
    }
    pairs = family_of(list(found.values()), terms) if found else []
    judged = dict(zip(found, pairs, strict=True))

    def of(axis: int, worse: str, better: str) -> Pair | None:
        return judged.get((goals[axis].metric, worse, better))

    return of


def _difference(source: Source, metric: str, k: int, pair: tuple[str, str]) -> UnjudgedPair | None:
    worse, better = (source.values(run, metric, k) for run in pair)
    if worse is None or better is None:
        return None
    low, high = shared(worse, better)
    return pair_of(*pair, low, high) if len(low.users) else None


def _beaten(worse: str, better: str, heights: Mapping[str, Place], known: Judgements) -> Beaten:
    pairs = (known(0, worse, better), known(1, worse, better))
    level = [one == other for one, other in zip(heights[worse], heights[better], strict=True)]
    return Beaten(worse, better, (_side(pairs[0], level[0]), _side(pairs[1], level[1])), pairs)


def _side(pair: Pair | None, is_level: bool) -> Side:
    if is_level:
        return "level"
    return pair.judged.word if pair else "by value"


def _clearest(above: Sequence[Beaten], first: Sequence[str], heights: Mapping[str, Place]) -> Beaten | None:
    """One that is settled before others, then one of the front, then the highest by the second metric."""

    def order(one: Beaten) -> tuple[bool, bool, float, float]:
        return one.settled, one.by in first, heights[one.by][1], heights[one.by][0]

    return max(above, key=order, default=None)
