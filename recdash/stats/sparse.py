"""Tests and intervals of a mean paired difference that hold for any number of users.

The t-test trusts that the mean of the users' differences is about normal. It is not where few users differ,
nor where many gain a little and few lose a lot: with hit rates of 5 % and 100 users, two equal runs "differ"
in one of twenty tries, two users without a hit make a tie, and a large loss that no user happened to have is
not allowed for. ``StudentT`` is used where it holds, without what skewness adds to it
(``recdash.stats.skewed``); two methods take its place elsewhere (``method_for``):

**Yes or no** (``PairedProportions``). Where every value is 0 or the largest possible one, the test is the
exact one of McNemar (1947): among the users who differ, wins are as likely as losses. The interval is the
product of two intervals of Clopper and Pearson (1934): of the share of users who differ, and of the wins
among them.

**Between two bounds** (``BoundedMean``). Differences lie between −b and b. Against a mean of at most δ a user
with −b is added to those seen, and every user gets a random weight (independent, exponential). p is the
chance that the weighted mean is at most δ. So a difference that has not been seen yet, such as a rare large
loss, is allowed for. The test is Gaffke's (2005, Mathematical Methods of Statistics 14; as an interval:
Learned-Miller and Thomas 2019, arXiv 1905.06208). Of wins and losses of equal size its p is McNemar's exact
one; that it holds for every distribution is not proven, but no case is known where it does not.
"""

from __future__ import annotations

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
"""Two values of a user closer than this are a tie: only rounding separates them."""
LEAST_SQUARES = 400
"""The t-test of graded differences needs Σd² ≥ so many times bound².

No skewness of the mean is then beyond 1/√400: many small gains against 400 losses of the largest size.
"""
FEW_DIFFER = 30
"""Where nothing bounds the differences, the t-test needs so many users who differ,"""
FEW_DISCORDANT = 100
"""With fewer users who differ, the t-test of yes-or-no outcomes claims a little too often."""
FEW_CARRY = 2
"""and so many who carry the spread, (Σd²)² / Σd⁴: of fewer a single one moves the mean."""
_HALVINGS = 30
"""Of a search for a p."""
_GROUPED = 0.5
"""The squares of sums over groups may add up to so much more than those of the users."""
_ROUNDED = 1e-9
"""Sums of products are no more exact, as a share of what they are made of."""


class Method(Protocol):
    """A test of a mean difference, and the interval that excludes 0 exactly where the test rejects it."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def p(self) -> float:
        """Two-sided p that the mean difference is 0; NaN where nothing can be said."""

    def interval(self, level: float) -> tuple[float, float]:
        """Low and high end; NaN where nothing can be said."""

    def p_beyond(self, margin: float) -> float:
        """The larger p of two one-sided tests that the mean is beyond ±margin (Schuirmann 1987).

        Below (1 − level) / 2 exactly where the interval of that level lies inside; NaN where nothing can be
        said.
        """


@dataclass(frozen=True)
class StudentT:
    """The paired t-test of a mean with this standard error over n users, and with this ``skewness``."""

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
        """t of a true mean, without its skewness."""
        return float(unskewed(np.asarray((self.mean - mean) / self.error), np.asarray(self.skewness)))

    def _chance(self, t: float) -> float:
        from scipy.special import stdtr

        return float(stdtr(self.n - 1, t))


@dataclass(frozen=True)
class Unknown:
    """No method is valid, for a ``reason``."""

    name: ClassVar[str] = "none"
    reason: str = "there is no difference"
    p: float = float("nan")

    def interval(self, level: float) -> tuple[float, float]:  # noqa: ARG002 - of no level
        return float("nan"), float("nan")

    def p_beyond(self, margin: float) -> float:  # noqa: ARG002 - of no margin
        return float("nan")


@dataclass(frozen=True)
class PairedProportions:
    """Of n users, so many win and lose by ``bound``; the others do not differ."""

    name: ClassVar[str] = "McNemar's exact test"

    n: int
    wins: int
    losses: int
    bound: float

    @property
    def p(self) -> float:
        """McNemar's exact test."""
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
        """The least p at which an interval of level 1 − 2p lies inside ±margin; at least 2^−30."""
        fails, holds = 0.0, 0.5
        for _ in range(_HALVINGS):
            middle = (fails + holds) / 2
            low, high = self.interval(1 - 2 * middle)
            fails, holds = (fails, middle) if -margin < low and high < margin else (middle, holds)
        return holds if holds < 0.5 else 1.0


@dataclass(frozen=True)
class BoundedMean:
    """Of n users those in ``differences`` [x] differ, none by more than ``bound`` either way."""

    name: ClassVar[str] = "Gaffke's test of a bounded mean"

    n: int
    differences: Floats
    bound: float

    @property
    def p(self) -> float:
        gained, lost = self._sides
        ahead = gained if self.differences.sum() > 0 else lost
        return min(1.0, 2 * ahead.chance_of_at_most(0.0))

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
    """The method that is valid for the mean difference of ``n`` users, ``differences`` [x] of whom differ.

    ``bound``: no difference can be larger; None where that is not known. ``binary``: each value that was
    compared is 0 or ``bound``.
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
    """Why the t-test does not apply to differences without a bound; empty where it does."""
    if sd == 0 and len(differences) == n:
        return "all users differ by the same"
    if len(differences) < FEW_DIFFER:
        return f"fewer than {FEW_DIFFER} users differ, and nothing bounds by how much"
    squares = differences * differences
    carriers = float(squares.sum() ** 2 / np.einsum("i,i", squares, squares))
    if carriers < FEW_CARRY:
        return "a few users carry the spread, and nothing bounds by how much others may differ"
    return ""


def sparse_pairs(
    columns: Floats, n: int, bound: float | None, hits: Sequence[HitBits | None] = ()
) -> dict[tuple[int, int], Method]:
    """The pairs (row < column) of runs to which the t-test does not apply, and the method that does.

    ``columns`` [g, r]: the values of n users; of more than 16,384 users their sums by group, in which few
    users who differ stand apart, and ``hits`` for the runs of yes or no. The mean is that of the column's run
    minus the row's.
    """
    binary = [bound is not None and only(column, bound) for column in columns.T]
    methods = {}
    for row, column in _possibly_sparse(columns, n, bound):
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
    """The differences of all users in two runs of yes or no, from who has a hit; None for other runs."""
    base, candidate = (hits[row], hits[column]) if hits else (None, None)
    if base is None or candidate is None or not base.value == candidate.value == bound:
        return None
    return np.repeat([base.value, -base.value], [candidate.beyond(base), base.beyond(candidate)])


def _possibly_sparse(columns: Floats, n: int, bound: float | None) -> Iterator[tuple[int, int]]:
    """Pairs that a few products over the users cannot rule out: they spare a pass over the users per pair."""
    own = np.square(columns).sum(axis=0)
    squares = own[:, None] + own[None, :] - 2 * columns.T @ columns
    sums = columns.sum(axis=0)
    possibly = squares - (sums[:, None] - sums[None, :]) ** 2 / n <= _ROUNDED * (own[:, None] + own[None, :])
    if bound is None:
        possibly |= _few_differ_or_carry(columns, squares)
    else:
        unsure = _GROUPED if n > len(columns) else _ROUNDED
        possibly |= squares < (1 + unsure) * LEAST_SQUARES * bound**2
    rows, others = np.nonzero(np.triu(possibly, 1))
    return zip(rows.tolist(), others.tolist(), strict=True)


def _few_differ_or_carry(columns: Floats, squares: Floats) -> Mask:
    """[r, r] from sums of fourth powers; at least those differ who have 0 in one run only."""
    valued = (columns != 0).astype(np.float64)
    of_run = valued.sum(axis=0)
    differ = of_run[:, None] + of_run[None, :] - 2 * valued.T @ valued
    second, third = columns**2, columns**3
    own, uneven = (second**2).sum(axis=0), third.T @ columns
    fourth = own[:, None] + own[None, :] - 4 * (uneven + uneven.T) + 6 * second.T @ second
    few_carry = squares**2 < FEW_CARRY * fourth + _ROUNDED * (own[:, None] + own[None, :])
    return np.asarray((differ < FEW_DIFFER) | few_carry)


def only(values: Floats, bound: float) -> bool:
    """Whether every value is 0 or the bound."""
    return bool(((values == 0) | (values == bound)).all())


def clopper_pearson(count: int, n: int, level: float) -> tuple[float, float]:
    """The exact interval of a proportion; 0 to 1 for none of none (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high
