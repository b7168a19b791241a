"""Tests and intervals of a mean paired difference that hold for any number of users.

The t-test trusts that the mean of the users' differences is about normal. It is not where few users differ,
and a claim from it is then wrong too often: with hit rates of 5 % and 100 users, two equal runs "differ" in
one of twenty tries, and two users without a hit make a tie. ``StudentT`` is used where it holds; two methods
take its place elsewhere (``method_for``):

**Yes or no** (``PairedProportions``). Where every value is 0 or the largest possible one, the test is the
exact one of McNemar (1947): among the users who differ, wins are as likely as losses. The interval is the
product of two intervals of Clopper and Pearson (1934): of the share of users who differ, and of the wins
among them.

**Between two bounds** (``BoundedMean``). Differences d that lie between −b and b are bet on. Capital starts
at 1 and is multiplied by 1 + c·(d − δ) / (b + δ) for each user. If the mean is δ or less, it grows beyond 1/α
with probability α at most, whatever the distribution and however few the users (Waudby-Smith and Ramdas 2024,
Journal of the Royal Statistical Society B 86). The stake c is between 0 and 1; the capital is the mean over
all stakes. So a difference that has not been seen yet, such as a rare large loss, is allowed for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log
from typing import Any, ClassVar, Protocol

import numpy as np

from recdash.domain import Floats

TIE = 1e-12
"""Two values of a user closer than this are a tie: only rounding separates them."""
FEW_DIFFER = 30
"""With fewer users who differ, the mean of graded differences is not near enough to normal."""
FEW_DISCORDANT = 100
"""With fewer users who differ, the t-test of yes-or-no outcomes claims a little too often."""
FEW_CARRY = 10
"""With fewer users who carry the spread, (Σd²)² / Σd⁴, a single one of them moves the mean."""
_STAKES = 32
_HALVINGS = 32


class Method(Protocol):
    """A test of a mean difference, and the interval that excludes 0 exactly where the test rejects it."""

    name: ClassVar[str]

    @property
    def p(self) -> float:
        """Two-sided p that the mean difference is 0; NaN where nothing can be said."""

    def interval(self, level: float) -> tuple[float, float]:
        """Low and high end; NaN where nothing can be said."""


@dataclass(frozen=True)
class StudentT:
    """The paired t-test of a mean with this standard error over n users."""

    name: ClassVar[str] = "paired t-test"

    n: int
    mean: float
    error: float

    @property
    def p(self) -> float:
        # scipy.special alone loads in a tenth of the time of scipy.stats.
        from scipy.special import stdtr

        return 2 * float(stdtr(self.n - 1, -abs(self.mean) / self.error))

    def interval(self, level: float) -> tuple[float, float]:
        from scipy.special import stdtrit

        half = float(stdtrit(self.n - 1, 0.5 + level / 2)) * self.error
        return self.mean - half, self.mean + half


@dataclass(frozen=True)
class Unknown:
    """No method is valid, for a ``reason``."""

    name: ClassVar[str] = "none"
    reason: str = "there is no difference"
    p: float = float("nan")

    def interval(self, level: float) -> tuple[float, float]:  # noqa: ARG002 - of no level
        return float("nan"), float("nan")


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


@dataclass(frozen=True)
class BoundedMean:
    """Of n users those in ``differences`` [x] differ, none by more than ``bound`` either way."""

    name: ClassVar[str] = "a betting test of the bounded mean"

    n: int
    differences: Floats
    bound: float

    @property
    def p(self) -> float:
        grown = max(_log_capital(side, self.n, self.bound, 0.0) for side in self._sides)
        return float(min(1.0, 2 * np.exp(-max(grown, 0.0))))

    def interval(self, level: float) -> tuple[float, float]:
        wanted = log(2 / (1 - level))
        low, turned = (_lowest_mean(side, self.n, self.bound, wanted) for side in self._sides)
        return low, -turned

    @property
    def _sides(self) -> tuple[Floats, Floats]:
        return self.differences, -self.differences


def method_for(
    differences: Floats, n: int, mean: float, sd: float, bound: float | None, *, binary: bool
) -> Method:
    """The method that is valid for the mean difference of ``n`` users, ``differences`` [x] of whom differ.

    ``bound``: no difference can be larger; None where that is not known. ``binary``: each value that was
    compared is 0 or ``bound``.
    """
    if n < 2:
        return Unknown("there is only one user")
    if not _is_sparse(differences, sd, binary=binary, bounded=bound is not None):
        return StudentT(n, mean, sd / n**0.5)
    if bound is None:
        alike = sd == 0 and len(differences) == n
        few = f"fewer than {FEW_DIFFER} users differ, and nothing bounds by how much"
        return Unknown("all users differ by the same" if alike else few)
    if binary:
        wins = int(np.count_nonzero(differences > 0))
        return PairedProportions(n, wins, len(differences) - wins, bound)
    return BoundedMean(n, np.clip(differences, -bound, bound), bound)


def sparse_pairs(columns: Floats, n: int, bound: float | None) -> dict[tuple[int, int], Method]:
    """The pairs (row < column) of runs to which the t-test does not apply, and the method that does.

    ``columns`` [g, r]: the values of n users; of more than 16,384 users their sums by group, in which few
    users who differ stand apart. The mean is that of the column's run minus the row's.
    """
    binary = [bound is not None and only(column, bound) for column in columns.T]
    methods = {}
    for row, column in _possibly_sparse(columns, bound):
        differences = columns[:, column] - columns[:, row]
        differences = differences[np.abs(differences) >= TIE]
        mean = float(differences.sum()) / n
        squares = float(np.square(differences).sum()) - n * mean**2
        sd = (squares / (n - 1)) ** 0.5 if n > 1 and squares > TIE * TIE * n else 0.0
        method = method_for(differences, n, mean, sd, bound, binary=binary[row] and binary[column])
        if not isinstance(method, StudentT):
            methods[row, column] = method
    return methods


def _possibly_sparse(columns: Floats, bound: float | None) -> Iterator[tuple[int, int]]:
    """Pairs that two products over the users cannot rule out: they spare a pass over the users per pair.

    At least |A Δ B| users differ if A and B are those with a value other than 0; and as no difference
    exceeds the bound, (Σd²)² / Σd⁴ is at least Σd² / bound².
    """
    valued = (columns != 0).astype(np.float64)
    both, squares = valued.T @ valued, columns.T @ columns
    differ, total = (np.diag(of)[:, None] + np.diag(of)[None, :] - 2 * of for of in (both, squares))
    possibly = differ < FEW_DISCORDANT
    if bound is not None:
        possibly |= total < FEW_CARRY * bound**2
    rows, others = np.nonzero(np.triu(possibly, 1))
    return zip(rows.tolist(), others.tolist(), strict=True)


def only(values: Floats, bound: float) -> bool:
    """Is every value 0 or the bound?"""
    return bool(((values == 0) | (values == bound)).all())


def _is_sparse(differences: Floats, sd: float, *, binary: bool, bounded: bool) -> bool:
    if sd == 0 or len(differences) < (FEW_DISCORDANT if binary else FEW_DIFFER):
        return True
    return bounded and not binary and _carriers(differences) < FEW_CARRY


def _carriers(differences: Floats) -> float:
    """(Σd²)² / Σd⁴: the number of users who differ, if all differed equally."""
    squares = differences * differences
    return float(squares.sum() ** 2 / np.einsum("i,i", squares, squares))


def clopper_pearson(count: int, n: int, level: float) -> tuple[float, float]:
    """The exact interval of a proportion; 0 to 1 for none of none (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return low, high


def _lowest_mean(differences: Floats, n: int, bound: float, wanted: float) -> float:
    """The least mean that the capital does not refute: log capital reaches ``wanted`` there."""
    refuted, kept = -bound, float(differences.sum()) / n
    if kept <= refuted:
        return refuted
    for _ in range(_HALVINGS):
        middle = (refuted + kept) / 2
        if _log_capital(differences, n, bound, middle) > wanted:
            refuted = middle
        else:
            kept = middle
    return refuted


def _log_capital(differences: Floats, n: int, bound: float, mean: float) -> float:
    """Of the bets against a mean of at most ``mean`` > −bound; users who do not differ count too."""
    stakes, log_weights = _stakes()
    gains = (differences - mean) / (bound + mean)
    logs = np.log1p(np.outer(stakes, gains)).sum(axis=1)
    logs += (n - len(differences)) * np.log1p(-stakes * mean / (bound + mean))
    return float(np.logaddexp.reduce(logs + log_weights))


@lru_cache(maxsize=1)
def _stakes() -> tuple[Any, Any]:
    """Stakes between 0 and 1 and the logs of their weights, which add up to 1 (Gauss and Legendre)."""
    places, weights = np.polynomial.legendre.leggauss(_STAKES)
    return (places + 1) / 2, np.log(weights / 2)
