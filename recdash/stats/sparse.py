"""Tests and intervals of a mean paired difference that are valid for any number of users.

The t-test assumes that the mean of the users' differences is about normal. It is not if few users differ, or
if many users gain a little and few lose a lot. With hit rates of 5 % and 100 users, two equal runs "differ"
in one of twenty tests; two users without a hit look like a tie; a large loss that no observed user had is
ignored. ``StudentT`` is used where it is valid, corrected for skewness (``recdash.stats.skewed``). Two
methods replace it elsewhere (``method_for``):

**Binary** (``PairedProportions``). If every value is 0 or the largest possible one, the test is the exact
test of McNemar (1947): among the users who differ, wins are as likely as losses. The interval is the product
of two intervals of Clopper and Pearson (1934): of the share of users who differ, and of the share of wins
among them.

**Bounded** (``BoundedMean``). Differences are between −b and b. To test a mean of at most δ, a user with the
difference −b is added to the observed ones, and every user gets a random weight (independent, exponential).
The p-value is the probability that the weighted mean is at most δ. This accounts for a difference that was
not observed, such as a rare large loss. The test is Gaffke's (2005, Mathematical Methods of Statistics 14; as
an interval: Learned-Miller and Thomas 2019, arXiv 1905.06208). For wins and losses of equal size its p-value
is that of McNemar's exact test. It is not proven to be valid for every distribution, but no counterexample is
known.

Letters in shapes: ``x`` users who differ, ``r`` runs, ``g`` groups of users.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np

from recdash.domain.kinds import Floats, Mask
from recdash.stats.bounded import WeightedMean
from recdash.stats.groups import HitBits
from recdash.stats.skewed import SKEWED, skewness_of_mean, unskewed, with_skewness

TIE = 1e-12
"""Two values of a user that are closer than this are a tie: they differ only by rounding errors."""
LEAST_SQUARES = 400
"""The t-test of bounded graded differences needs Σd² of at least this many times bound².

The skewness of the mean is then at most 1/√400, that of many small gains and 400 losses of the largest size.
"""
FEW_DIFFER = 30
"""If differences are unbounded, the t-test needs this many users who differ."""
FEW_DISCORDANT = 100
"""If fewer users than this differ, the t-test of binary outcomes has slightly too many false positives."""
FEW_CARRY = 2
"""If differences are unbounded, the t-test needs this many effective users, (Σd²)² / Σd⁴.

With fewer, a single user moves the mean.
"""
_HALVINGS = 30
"""Number of bisection steps in the search for a p-value."""
_GROUPED = 0.5
"""Factor by which squares of sums over groups may exceed the squares of the users' values."""
_FIRST = 1 << 10
"""Number of values that are looked at before all others."""
_ROUNDED = 1e-9
"""Relative rounding error of sums of products."""
_STRONGEST = 0.8
"""Largest t of Chernoff's bound, in 1/bound; at 1/bound, the bound is infinite."""


class Method(Protocol):
    """A test of a mean difference, and the interval that excludes 0 exactly if the test rejects 0."""

    @property
    def name(self) -> str:
        """Returns the method's name."""

    @property
    def p(self) -> float:
        """Returns the two-sided p-value of a mean difference of 0; NaN if unavailable."""

    def interval(self, level: float) -> tuple[float, float]:
        """Returns the low and high end of the interval at this level; NaN if unavailable."""

    def p_beyond(self, margin: float) -> float:
        """Returns the p-value of the equivalence test, the larger one of two one-sided tests.

        They test whether the mean is below −margin or above margin (Schuirmann 1987). The result is below (1
        − level) / 2 exactly if the interval at that level is inside ±margin. It is NaN if no method is valid.
        """


@dataclass(frozen=True)
class StudentT:
    """The paired t-test over n users; ``error`` and ``skewness`` are the mean's.

    ``error`` is the standard error of the mean.
    """

    n: int
    mean: float
    error: float
    skewness: float = 0.0

    @property
    def name(self) -> str:
        return "paired t-test" if abs(self.skewness) <= SKEWED else "paired t-test, skewness removed"

    @property
    def p(self) -> float:
        return 2 * self._chance(-abs(self._beyond(0.0)))

    def interval(self, level: float) -> tuple[float, float]:
        # scipy.special alone loads in a tenth of the time of scipy.stats.
        from scipy.special import stdtrit

        half = float(stdtrit(self.n - 1, 0.5 + level / 2))
        low, high = (self.mean - self.error * with_skewness(end, self.skewness) for end in (half, -half))
        return low, high

    def p_beyond(self, margin: float) -> float:
        return self._chance(max(self._beyond(margin), -self._beyond(-margin)))

    def _beyond(self, mean: float) -> float:
        """Returns the t statistic for a true mean of ``mean``, corrected for skewness."""
        return float(unskewed(np.asarray((self.mean - mean) / self.error), np.asarray(self.skewness)))

    def _chance(self, t: float) -> float:
        from scipy.special import stdtr

        return float(stdtr(self.n - 1, t))


@dataclass(frozen=True)
class Unknown:
    """The absence of a valid method, for a ``reason``; p and interval are NaN."""

    name: ClassVar[str] = "none"
    reason: str = "there is no difference"
    p: float = float("nan")

    def interval(self, level: float) -> tuple[float, float]:  # noqa: ARG002 - of no level
        return float("nan"), float("nan")

    def p_beyond(self, margin: float) -> float:  # noqa: ARG002 - of no margin
        return float("nan")


@dataclass(frozen=True)
class PairedProportions:
    """The method for binary values: ``wins`` of n users gain ``bound`` and ``losses`` lose it.

    The other users do not differ.
    """

    name: ClassVar[str] = "McNemar's exact test"

    n: int
    wins: int
    losses: int
    bound: float

    @property
    def p(self) -> float:
        """Returns the p-value of McNemar's exact test."""
        from scipy.special import bdtr

        differ = self.wins + self.losses
        if not differ:
            return 1.0
        return min(1.0, 2 * float(bdtr(min(self.wins, self.losses), differ, 0.5)))

    def interval(self, level: float) -> tuple[float, float]:
        differ = self.wins + self.losses
        fewest, most = clopper_pearson(differ, self.n, level)
        low, high = (2 * share - 1 for share in clopper_pearson(self.wins, differ, level))
        return (
            self.bound * low * (fewest if low > 0 else most),
            self.bound * high * (fewest if high < 0 else most),
        )

    def p_beyond(self, margin: float) -> float:
        """Returns the smallest p for which the interval at level 1 − 2p is inside ±margin.

        Returns 1 if there is none. It is found by bisection, to within 2^−31.
        """
        fails, holds = 0.0, 0.5
        for _ in range(_HALVINGS):
            middle = (fails + holds) / 2
            low, high = self.interval(1 - 2 * middle)
            fails, holds = (fails, middle) if -margin < low and high < margin else (middle, holds)
        return holds if holds < 0.5 else 1.0


@dataclass(frozen=True)
class BoundedMean:
    """The method for bounded values: the n users differ by at most ``bound`` each.

    ``differences`` [x] has the nonzero differences.
    """

    name: ClassVar[str] = "Gaffke's test of a bounded mean"

    n: int
    differences: Floats
    bound: float

    @property
    def p(self) -> float:
        gained, lost = self._sides
        ahead = gained if self.differences.sum() > 0 else lost
        return min(1.0, 2 * ahead.chance_of_at_most(0.0))

    def is_surely_below(self, limit: float) -> bool:
        """Returns whether a bound shows that p is below ``limit``: a tenth of the time of computing p.

        Chernoff's bound: the weighted sum X of the values a, among them −bound, is at most 0 with a
        probability of at most E e^(−tX) = Π 1/(1 + t·a), for any t between 0 and 1/bound. It is doubled
        twice: for two sides, and because p is itself an approximation.
        """
        total = float(self.differences.sum())
        values = self.differences if total > 0 else -self.differences
        squares = float(np.einsum("i,i", values, values)) + self.bound**2
        t = min((abs(total) - self.bound) / squares, _STRONGEST / self.bound)
        if t <= 0:
            return False
        exponent = float(np.log1p(t * values).sum()) + math.log1p(-t * self.bound)
        return 4 * math.exp(-exponent) < limit

    def interval(self, level: float) -> tuple[float, float]:
        low, turned = (side.lowest_mean((1 - level) / 2) for side in self._sides)
        return low, -turned

    def p_beyond(self, margin: float) -> float:
        return max(side.chance_of_at_most(-margin) for side in self._sides)

    @cached_property
    def _sides(self) -> tuple[WeightedMean, WeightedMean]:
        zeros = self.n - len(self.differences)
        mirrored = WeightedMean(-self.differences, zeros, self.bound)
        return WeightedMean(self.differences, zeros, self.bound), mirrored


def method_for(
    differences: Floats, n: int, mean: float, sd: float, bound: float | None, *, binary: bool
) -> Method:
    """Returns the valid method for the mean difference of ``n`` users.

    ``differences`` [x] has the nonzero differences, ``mean`` and ``sd`` are over all users. ``bound`` is the
    largest possible difference; None if unknown. ``binary``: every compared value is 0 or ``bound``. Returns
    Unknown with a reason if no method is valid.
    """
    if n < 2:
        return Unknown("there is only one user")
    if bound is None:
        reason = _why_unknown(differences, n, sd)
        return Unknown(reason) if reason else StudentT(n, mean, sd / n**0.5)
    if binary and len(differences) < FEW_DISCORDANT:
        wins = int(np.count_nonzero(differences > 0))
        return PairedProportions(n, wins, len(differences) - wins, bound)
    if sd == 0 or float(np.einsum("i,i", differences, differences)) < LEAST_SQUARES * bound**2:
        return BoundedMean(n, differences, max(bound, float(np.abs(differences).max(initial=0.0))))
    return StudentT(n, mean, sd / n**0.5, skewness_of_mean(differences, n, mean, sd))


def _why_unknown(differences: Floats, n: int, sd: float) -> str:
    """Returns why the t-test does not apply to differences without a bound; an empty text if it does."""
    if sd == 0 and len(differences) == n:
        return "all users differ by the same"
    if len(differences) < FEW_DIFFER:
        return f"fewer than {FEW_DIFFER} users differ, and their differences are unbounded"
    squares = differences * differences
    carriers = float(squares.sum() ** 2 / np.einsum("i,i", squares, squares))
    if carriers < FEW_CARRY:
        return "a few users determine the variance, and the differences of others are unbounded"
    return ""


def sparse_pairs(
    columns: Floats,
    n: int,
    bound: float | None,
    hits: Sequence[HitBits | None] = (),
    asked: Mask | None = None,
    totals: tuple[Floats, Floats] | None = None,
) -> dict[tuple[int, int], Method]:
    """Returns the pairs (row < column) of runs to which the t-test does not apply, with the method that does.

    ``columns`` [g, r] has the values of n users; above 16,384 users it has sums over groups, in which few
    differing users stand out. ``hits`` then has the users with a hit for binary runs. A difference is the
    column's run minus the row's. ``asked`` [r, r] marks the pairs that matter; None if all do. ``totals`` are
    the columns' sums [r] and sums of products [r, r], if they are known: to compute them takes half of the
    time of all pairs of nine runs.
    """
    binary = [bound is not None and all_zero_or(column, bound) for column in columns.T]
    methods = {}
    for row, column in _possibly_sparse(columns, n, bound, asked, totals):
        counted = _counted(hits, row, column, bound)
        differences = columns[:, column] - columns[:, row] if counted is None else counted
        differences = differences[np.abs(differences) >= TIE]
        mean = float(differences.sum()) / n
        squares = float(np.square(differences).sum()) - n * mean**2
        sd = (squares / (n - 1)) ** 0.5 if n > 1 and squares > TIE * TIE * n else 0.0
        yes_or_no = counted is not None or (binary[row] and binary[column])
        method = method_for(differences, n, mean, sd, bound, binary=yes_or_no)
        if not isinstance(method, StudentT):
            methods[row, column] = method
    return methods


def _counted(hits: Sequence[HitBits | None], row: int, column: int, bound: float | None) -> Floats | None:
    """Returns the nonzero differences of all users between two binary runs, from their hits.

    Returns None for other runs.
    """
    base, candidate = (hits[row], hits[column]) if hits else (None, None)
    if base is None or candidate is None or not base.value == candidate.value == bound:
        return None
    return np.repeat([base.value, -base.value], [candidate.beyond(base), base.beyond(candidate)])


def _possibly_sparse(
    columns: Floats,
    n: int,
    bound: float | None,
    asked: Mask | None,
    totals: tuple[Floats, Floats] | None,
) -> Iterator[tuple[int, int]]:
    """Yields the pairs (row < column) for which a few matrix products do not show that the t-test applies.

    Only these pairs then need a pass over the users.
    """
    sums, products = (columns.sum(axis=0), columns.T @ columns) if totals is None else totals
    own = np.diag(products)
    squares = own[:, None] + own[None, :] - 2 * products
    possibly = squares - (sums[:, None] - sums[None, :]) ** 2 / n <= _ROUNDED * (own[:, None] + own[None, :])
    if bound is None:
        possibly |= _few_differ_or_carry(columns, squares)
    else:
        unsure = _GROUPED if n > len(columns) else _ROUNDED
        possibly |= squares < (1 + unsure) * LEAST_SQUARES * bound**2
    if asked is not None:
        possibly &= asked
    rows, others = np.nonzero(np.triu(possibly, 1))
    return zip(rows.tolist(), others.tolist(), strict=True)


def _few_differ_or_carry(columns: Floats, squares: Floats) -> Mask:
    """Returns [r, r] True for pairs of runs in which few users differ, or few determine the variance.

    A user surely differs if the value is 0 in only one of the two runs. The variance is judged by sums of
    fourth powers.
    """
    valued = (columns != 0).astype(np.float64)
    of_run = valued.sum(axis=0)
    differ = of_run[:, None] + of_run[None, :] - 2 * valued.T @ valued
    second, third = columns**2, columns**3
    own, uneven = (second**2).sum(axis=0), third.T @ columns
    fourth = own[:, None] + own[None, :] - 4 * (uneven + uneven.T) + 6 * second.T @ second
    few_carry = squares**2 < FEW_CARRY * fourth + _ROUNDED * (own[:, None] + own[None, :])
    return np.asarray((differ < FEW_DIFFER) | few_carry)


def all_zero_or(values: Floats, bound: float) -> bool:
    """Returns True if every value is 0 or ``bound``.

    Graded values show it among the first ones, which saves a pass over all of them.
    """
    parts = (values[:_FIRST], values[_FIRST:])
    return all(bool(((part == 0) | (part == bound)).all()) for part in parts)


def clopper_pearson(count: int, n: int, level: float) -> tuple[float, float]:
    """Returns the low and high end of the exact interval of a proportion (Clopper and Pearson 1934).

    The interval of 0 of 0 is 0 to 1.
    """
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high


def wilson(count: int, n: int, level: float) -> tuple[float, float]:
    """Returns the low and high end of the score interval of a proportion of n > 0 (Wilson 1927)."""
    from scipy.special import ndtri

    square, rate = float(ndtri((1 + level) / 2)) ** 2, count / n
    middle, free = rate + square / (2 * n), 1 + square / n
    half = math.sqrt(square * (rate * (1 - rate) + square / (4 * n)) / n)
    return (middle - half) / free if count else 0.0, (middle + half) / free if count < n else 1.0
