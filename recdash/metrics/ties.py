"""Computes the worst, expected and best value of a metric over all orders of tied scores.

Worst and best are exact: every tie gets the order that lowers or raises the value most. For a fixed number of
hits, a metric never falls when a better hit moves up. Therefore few orders need testing: relevant items at
one end of their tie, and judged negatives next to them or at the other end. Only ``norm=hits`` may fall with
one more hit; there every possible number of hits within k is tested too. (For f1(average=means) of such a
metric, which is not a mean over users, the extremes are those of the tested orders only.)

Expected is the mean over all orders, which are equally likely. It is exact for metrics that are sums over
items (McSherry & Najork 2008). For others it is the mean over orders drawn with a fixed seed, with its
standard error.

Letters in shapes: ``G`` ties, ``J`` truth rows in ties, ``T`` all truth rows, ``n`` users who count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from math import isclose

import numpy as np

from recdash.domain.hits import Hits
from recdash.domain.kinds import Floats, Ints, Mask
from recdash.metrics.formulas import MetricFormula
from recdash.metrics.ranking import RankingMetric
from recdash.metrics.registry import Definition
from recdash.metrics.sample import RelevantHits, positions

DRAWS = (20, 1000)
ROUNDING = 1e-12
_ROWS_TO_DRAW = 1 << 23
"""Total number of rows of truth and hits over all drawn orders. ``DRAWS`` bounds the number of orders."""


@dataclass(frozen=True)
class TieBand:
    """The range of a metric over all orders of tied scores, for the users who count.

    ``n_users`` have a relevant item in a tie that begins within k; ``n_crossed`` of them have one in a tie
    that crosses k.
    """

    worst: float
    expected: float
    best: float
    n_users: int
    n_crossed: int
    expected_error: float = 0.0
    """Standard error of ``expected`` if that is a mean over drawn orders; 0 if it is exact."""


@dataclass(frozen=True)
class Ties:
    """The G ties in lists of users who count, and the J truth rows in them.

    ``first`` and ``last`` [G] are the first and last rank of each tie. ``group`` [J] is the tie of each row,
    ascending; ``user``, ``row``, ``relevant`` and ``gain`` [J] describe the row; ``expected`` [J] is how
    expected the item is from its popularity.
    """

    first: Ints
    last: Ints
    group: Ints
    user: Ints
    row: Ints
    relevant: Mask
    gain: Floats
    expected: Floats

    @property
    def size(self) -> Ints:
        return self.last - self.first + 1

    def count(self, marked: Mask) -> Ints:
        """Returns [G] the number of marked rows in each tie; ``marked`` is [J]."""
        return np.bincount(self.group[marked], minlength=len(self.first))

    def sorted_by(self, *keys: Ints | Floats | Mask) -> Ties:
        """Returns the ties with the rows of each one sorted.

        The last key is the primary one, as in numpy's lexsort.
        """
        order = np.lexsort((*keys, self.group))
        rows = {
            name: getattr(self, name)[order]
            for name in ("group", "user", "row", "relevant", "gain", "expected")
        }
        return replace(self, **rows)


def tie_band(definition: Definition, hits: Hits, sample: RelevantHits, k: int) -> TieBand | None:
    """Returns the range of an accuracy metric at k over all orders of tied scores.

    ``sample`` must have all test rows of its users. Returns None if the lists were not ordered by score, if
    the metric is unavailable or weighs items, or if no order of the ties changes its value.
    """
    metric = definition.metric
    if hits.ties is None or not isinstance(metric, RankingMetric) or not sample.n_users:
        return None
    if metric.weighs_items:
        return None
    if definition.parameters.get("grades") == "all":  # the same as no threshold, for these users
        hits, sample = replace(hits, truth=hits.truth.under(None)), sample.of_every_grade
    ties = _ties_of(hits, sample, k)
    if not len(ties.row) or definition.why_unavailable(sample):
        return None
    value = _Value(definition.formula(), hits, sample, ties, k)
    worst, best = _extremes(value, _steps(definition, ties, k))
    if isclose(worst, best, rel_tol=ROUNDING, abs_tol=ROUNDING):
        return None
    n_shifts = int(np.unique(ties.size).sum())
    exact = is_additive(definition) and n_shifts <= DRAWS[1]
    expected, error = (_by_shifts(value), 0.0) if exact else _drawn(value)
    return TieBand(worst, expected, best, *_users_in_ties(ties, k), error)


def _ties_of(hits: Hits, sample: RelevantHits, k: int) -> Ties:
    """Returns the ties that begin within k, with the truth rows that some metric uses.

    These are the relevant rows and those judged not relevant. Raises ValueError for lists not ordered by
    score.
    """
    rows_in_ties, truth = hits.ties, hits.truth
    if rows_in_ties is None:
        raise ValueError("lists that were not ordered by score have no ties")
    counted = np.zeros(truth.n_users, dtype=bool)
    counted[sample.truth_user[sample.truth_user < truth.n_users]] = True
    relevant = truth.relevant()[rows_in_ties.row]
    rows = np.flatnonzero(
        counted[rows_in_ties.user]
        & (rows_in_ties.first <= k)
        & (relevant | (truth.gain[rows_in_ties.row] >= 0))
    )
    rows = rows[np.lexsort((rows_in_ties.first[rows], rows_in_ties.user[rows]))]
    user, first = rows_in_ties.user[rows], rows_in_ties.first[rows]
    begins = np.ones(len(rows), dtype=bool)
    begins[1:] = (user[1:] != user[:-1]) | (first[1:] != first[:-1])
    row = rows_in_ties.row[rows]
    known = sample.expectedness
    return Ties(
        first[begins],
        rows_in_ties.last[rows][begins],
        np.cumsum(begins) - 1,
        user,
        row,
        relevant[rows],
        truth.gains(row),
        np.zeros(len(row)) if known is None else known.expected[truth.item[row]],
    )


def _users_in_ties(ties: Ties, k: int) -> tuple[int, int]:
    """Returns two numbers of users: those with a relevant item in a tie, and in a tie that crosses k."""
    crosses = (ties.last > k)[ties.group] & ties.relevant
    return len(np.unique(ties.user[ties.relevant])), len(np.unique(ties.user[crosses]))


@dataclass(frozen=True)
class _Value:
    """A metric at k as a function of the ranks of tied rows; all other hits stay the same."""

    formula: MetricFormula
    hits: Hits
    sample: RelevantHits
    ties: Ties
    k: int

    def users(self, ties: Ties, rank: Ints) -> Floats:
        """Returns [n] the users' values if the rows of ``ties`` have the ranks ``rank``.

        For a pooled metric it returns [1] the mean of the values.
        """
        values = self.formula.values(self._moved(ties, rank), self.k)
        return values.mean(keepdims=True) if self.formula.pooled else values

    @cached_property
    def relevant(self) -> Mask:
        """Returns [T] a mask of the truth's relevant rows."""
        return self.hits.truth.relevant()

    @cached_property
    def fixed(self) -> tuple[Ints, Ints, Ints]:
        """Returns user, rank and truth row of the hits that are not in a tie."""
        hits, truth = self.hits, self.hits.truth
        looked_at = (self.relevant | (truth.gain >= 0))[hits.row]
        untied = looked_at & np.isin(hits.user, self.sample.truth_user) & ~np.isin(hits.row, self.ties.row)
        return hits.user[untied], hits.rank[untied], hits.row[untied]

    def _moved(self, ties: Ties, rank: Ints) -> RelevantHits:
        within = rank <= self.sample.depth
        tied = (ties.user[within], rank[within], ties.row[within])
        user, ranks, row = (np.concatenate(pair) for pair in zip(self.fixed, tied, strict=True))
        order = np.argsort(user.astype(np.int64) * (self.sample.depth + 1) + ranks)
        user, ranks, row = np.searchsorted(self.sample.truth_user, user[order]), ranks[order], row[order]
        hit, truth, judged = self.relevant[row], self.hits.truth, self.sample.judged
        return replace(
            self.sample,
            user=user[hit],
            rank=ranks[hit],
            gain=truth.gains(row[hit]),
            item=truth.item[row[hit]],
            judged=judged and replace(judged, user=user, rank=ranks, relevant=hit),
        )


# ── worst and best ───────────────────────────────────────────────────────────────────────────


def _extremes(value: _Value, steps: range) -> tuple[float, float]:
    """Returns the means over users of each user's smallest and largest value over the tested orders."""
    least, most = np.array(np.inf), np.array(-np.inf)
    for ties, step, top, near in _orders(value.ties, steps):
        users = value.users(ties, _ranks(ties, value.k, step, top=top, near=near))
        least, most = np.minimum(least, users), np.maximum(most, users)
    return float(least.mean()), float(most.mean())


def _steps(definition: Definition, ties: Ties, k: int) -> range:
    """Returns the numbers of hits by which the tested orders stay below each tie's maximum within k.

    These are 0 and the largest number, or all numbers for a metric that may fall with one more hit.
    """
    few, many = _within(ties, k)
    most = int((many - few).max(initial=0))
    return range(most + 1) if definition.may_fall else range(0, most + 1, max(most, 1))


def _within(ties: Ties, k: int) -> tuple[Ints, Ints]:
    """Returns [G] the smallest and [G] the largest possible number of each tie's relevant items within k."""
    wanted = ties.count(ties.relevant)
    few = np.maximum(wanted - np.maximum(ties.last - k, 0), 0)
    return few, np.minimum(wanted, k - ties.first + 1)


def _orders(ties: Ties, steps: range) -> Iterator[tuple[Ties, int, bool, bool]]:
    """Yields the orders to test, as (ties with sorted rows, step, top, near); see ``_ranks``."""
    worths = [ties.gain, -ties.expected] if ties.expected.any() else [ties.gain]
    nears = (True, False) if not ties.relevant.all() else (True,)
    for worth, top in product(worths, (True, False)):
        in_order = ties.sorted_by(-worth if top else worth, ~ties.relevant)
        yield from ((in_order, step, top, near) for step, near in product(steps, nears))


def _ranks(ties: Ties, k: int, step: int, *, top: bool, near: bool) -> Ints:
    """Returns [J] ranks of the rows; the relevant rows must come first in each tie.

    Within k are ``step`` fewer relevant rows than possible. They are together at the top of their tie, or at
    the end of its part within k; the other relevant rows are at the very end of the tie. Judged negatives
    fill the remaining ranks, starting next to the relevant rows if ``near``, else from the other end.
    """
    few, many = _within(ties, k)
    n_within = np.maximum(many - step, few)
    wanted = ties.count(ties.relevant)
    begin = ties.first if top else np.minimum(ties.last, k) - n_within + 1
    place = positions(ties.group)
    g = ties.group
    inside, beyond = begin[g] + place, ties.last[g] - (wanted[g] - 1 - place)
    of_relevant = np.where(place < n_within[g], inside, beyond)
    left = place - wanted[g]
    if near != top:
        left = left + (ties.size - wanted - ties.count(~ties.relevant))[g]
    free = ties.first[g] + left
    of_negatives = np.where(free < begin[g], free, free + n_within[g])
    return np.where(ties.relevant, of_relevant, of_negatives)


# ── expected ─────────────────────────────────────────────────────────────────────────────────


ADDITIVE = ("precision", "recall", "hits", "dcg", "ndcg", "rbp", "judged")


def is_additive(definition: Definition) -> bool:
    """Returns True if a user's value is a sum over items whose terms depend only on the item's own rank."""
    one_by_one = {"f1": ("precision,recall", "users"), "mrr": ("all",)}
    values = tuple(definition.parameters.get(name) for name in ("of", "average", "sum"))
    known = one_by_one.get(definition.metric.name)
    return definition.metric.name in ADDITIVE or known == tuple(
        value for value in values if value is not None
    )


def _by_shifts(value: _Value) -> float:
    """Returns the exact mean over all orders of a value that is a sum over items.

    It only depends on the probability of each rank, which is 1/n for each item in a tie of n. Rotating all
    ties of size n by 0 … n − 1 ranks gives every item every rank once.
    """
    ties = value.ties
    size, place = ties.size[ties.group], positions(ties.group)

    def turned(n: int, by: int) -> float:
        shifted = np.where(size == n, (place + by) % size, place)
        return float(value.users(ties, ties.first[ties.group] + shifted).mean())

    as_it_is = turned(0, 0)
    moved = [np.mean([turned(n, by) for by in range(n)]) - as_it_is for n in np.unique(ties.size).tolist()]
    return as_it_is + float(np.sum(moved))


def _drawn(value: _Value) -> tuple[float, float]:
    """Returns the mean over randomly drawn orders, and its standard error."""
    rng = np.random.default_rng(0)
    n_rows = len(value.sample.relevant_gain) + len(value.hits.row)
    draws = int(np.clip(_ROWS_TO_DRAW // n_rows, *DRAWS))
    means = [value.users(value.ties, drawn_ranks(value.ties, rng)).mean() for _ in range(draws)]
    return float(np.mean(means)), float(np.std(means, ddof=1) / draws**0.5)


def drawn_ranks(ties: Ties, rng: np.random.Generator) -> Ints:
    """Returns [J] random distinct ranks for the rows of each tie; every order is equally likely."""
    rows = ties.count(np.ones(len(ties.row), dtype=bool))
    place = _subsets(ties.size, rows, rng)
    shuffled = np.lexsort((rng.random(len(ties.row)), ties.group))
    rank = np.empty(len(ties.row), dtype=np.int64)
    rank[shuffled] = ties.first[ties.group] + place[ties.group, positions(ties.group)]
    return rank


def _subsets(size: Ints, count: Ints, rng: np.random.Generator) -> Ints:
    """Returns [G, most] random subsets: row g begins with ``count[g]`` distinct numbers from 0..size[g]−1.

    It runs Floyd's algorithm for all rows at once. The rest of each row is unused.
    """
    picked = np.full((len(size), int(count.max())), -1)
    for column in range(picked.shape[1]):
        newest = size - count + column
        pick = rng.integers(0, newest + 1)
        taken = (picked[:, :column] == pick[:, None]).any(axis=1)
        picked[:, column] = np.where(taken, newest, pick)
    return picked
