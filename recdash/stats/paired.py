"""The paired difference of two runs over the same users.

Letters in shapes: ``n`` users.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from recdash.domain.kinds import Floats
from recdash.stats.sparse import TIE, Method, StudentT, Unknown, all_zero_or, method_for

LEVEL = 0.95
"""The default confidence level of an interval."""
NORMAL_95 = 1.959963984540054
"""Half width of a normal 95 % interval, in standard errors."""
LEAST = 30
"""Smallest number of users for which a slice is judged."""
_ROUNDED = 1e-6
"""If the spread is below this share of the squares, it is recomputed around the mean."""


@dataclass(frozen=True)
class Paired:
    """The mean of candidate minus baseline over n users, with its interval and the users' outcomes.

    ``wins``, ``ties`` and ``losses`` count users. ``sd`` is the standard deviation of the users' differences.
    ``p`` is the two-sided p-value of a mean of 0; ``low`` and ``high`` are the ends of the interval at
    ``level``. Both come from ``method``: the t-test if enough users differ, else a method that is valid for
    few users (``recdash.stats.sparse``). They are NaN if no method is valid.
    """

    n: int
    mean: float
    sd: float
    p: float
    wins: int
    ties: int
    losses: int
    level: float = LEVEL
    method: Method = field(default_factory=Unknown, compare=False, repr=False)

    @property
    def low(self) -> float:
        return self._interval[0]

    @property
    def high(self) -> float:
        return self._interval[1]

    @cached_property
    def _interval(self) -> tuple[float, float]:
        """Returns both ends, computed once they are read: Gaffke's interval takes as long as all else about
        a pair, and of the two levels of a judged difference most pages read one or none.
        """
        return self.method.interval(self.level)

    @property
    def excludes_zero(self) -> bool:
        """Returns True if the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def error(self) -> float:
        """Returns the standard error of the mean."""
        return self.sd / self.n**0.5

    @property
    def effect_size(self) -> float:
        """Returns the mean in standard deviations of the users' differences (Cohen's d of paired values)."""
        return self.mean / self.sd if self.sd else float("nan")

    @property
    def p_above_zero(self) -> float:
        """Returns the one-sided p-value of "the true mean is at most 0"; NaN if no method is valid."""
        return self.p / 2 if self.mean > 0 else 1 - self.p / 2

    @property
    def t_p(self) -> float:
        """Returns the p-value of the paired t-test, whatever ``method`` is.

        The result is NaN if all users have the same difference.
        """
        return StudentT(self.n, self.mean, self.error).p if self.sd > 0 else float("nan")

    def at(self, level: float) -> Paired:
        """Returns the same difference with its interval at another level."""
        return self if level == self.level else replace(self, level=level)


def paired_difference(
    candidate: Floats,
    baseline: Floats,
    level: float = LEVEL,
    own: tuple[Floats, Floats] | None = None,
    bound: float | None = None,
) -> Paired:
    """Returns the difference of two runs over the same n users; ``candidate`` and ``baseline`` are [n].

    ``own`` has the users' own values in both runs, from which wins and losses are counted, if the values are
    contributions to a pooled ratio. ``bound`` is the largest possible value (the smallest is 0); without one,
    the result is inconclusive if few users differ. Raises ValueError if there are no users.
    """
    if len(candidate) == 0:
        raise ValueError("there is no user to compare over")
    difference = differences(candidate, baseline)
    gained = difference if own is None or own[0] is candidate else own[0] - own[1]
    wins, losses = int(np.count_nonzero(gained > TIE)), int(np.count_nonzero(gained < -TIE))
    n, mean = len(difference), float(difference.mean())
    mean = mean if abs(mean) >= TIE else 0.0
    sd = _spread(difference, mean)
    binary = bound is not None and all_zero_or(candidate, bound) and all_zero_or(baseline, bound)
    method = method_for(difference[difference != 0], n, mean, sd, bound, binary=binary)
    return Paired(n, mean, sd, method.p, wins, n - wins - losses, losses, level, method)


def differences(candidate: Floats, baseline: Floats) -> Floats:
    """Returns [n] candidate minus baseline, with 0 for differences that are only rounding errors."""
    difference: Floats = candidate - baseline
    is_tie = np.abs(difference) < TIE
    if np.count_nonzero(is_tie) + np.count_nonzero(difference) > len(difference):
        difference[is_tie] = 0.0  # rare, and half of the time where every user without a difference is set
    return difference


def _spread(difference: Floats, mean: float) -> float:
    """Returns the standard deviation, computed in one pass over the users, which halves the time.

    Returns 0 for constant differences, of which only rounding errors remain, and NaN below two users.
    """
    n = len(difference)
    if n < 2:
        return float("nan")
    squares = float(np.einsum("i,i", difference, difference))  # no threads, unlike a dot product
    spread = squares - n * mean * mean
    if spread <= _ROUNDED * squares:
        spread = float(np.square(difference - mean).sum())
    return (spread / (n - 1)) ** 0.5 if spread > TIE * TIE * n else 0.0
