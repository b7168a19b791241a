"""The paired difference of two runs over users."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from recdash.domain.kinds import Floats
from recdash.stats.sparse import TIE, Method, StudentT, Unknown, method_for, only

LEVEL = 0.95
"""The default level of an interval."""
NORMAL_95 = 1.959963984540054
"""Standard errors on each side of a normal interval of that level."""
LEAST = 30
"""Fewest users of a slice that is judged."""
_ROUNDED = 1e-6
"""Share of the squares below which the spread is recomputed around the mean."""


@dataclass(frozen=True)
class Paired:
    """Candidate minus baseline over n users: mean, its interval, and how many users won, tied, lost.

    ``sd`` is that of the users' differences. ``p`` (two-sided, that the mean is 0) and the interval ``low``
    to ``high`` of the mean at ``level`` are those of ``method``: the t-test if enough users differ, else one
    that is valid for few (``recdash.stats.sparse``). They are NaN if no method is valid.
    """

    n: int
    mean: float
    sd: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int
    level: float = LEVEL
    method: Method = field(default_factory=Unknown, compare=False, repr=False)

    @property
    def settled(self) -> bool:
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
        """Returns the one-sided p of a mean of at most 0 if the observed mean is above it; otherwise its
        complement.

        NaN if no method is valid.
        """
        return self.p / 2 if self.mean > 0 else 1 - self.p / 2

    @property
    def t_p(self) -> float:
        """Returns p of the paired t-test, whatever the method; NaN without a spread."""
        return StudentT(self.n, self.mean, self.error).p if self.sd > 0 else float("nan")

    def at(self, level: float) -> Paired:
        """Returns the same with the interval of another level."""
        if level == self.level:
            return self
        low, high = self.method.interval(level)
        return replace(self, low=low, high=high, level=level)


def paired_difference(
    candidate: Floats,
    baseline: Floats,
    level: float = LEVEL,
    own: tuple[Floats, Floats] | None = None,
    bound: float | None = None,
) -> Paired:
    """Returns the difference of the values [n] of two runs for the same n users, in the same order.

    ``own`` are the users' own values from candidate and baseline, for counting who is better off, if that is
    not ``values`` (a pooled ratio). ``bound``: the values are between 0 and it; without one, few differing
    users are inconclusive. Raises ValueError for no users.
    """
    if len(candidate) == 0:
        raise ValueError("there is no user to compare over")
    difference = differences(candidate, baseline)
    gained = difference if own is None or own[0] is candidate else own[0] - own[1]
    wins, losses = int(np.count_nonzero(gained > TIE)), int(np.count_nonzero(gained < -TIE))
    n, mean = len(difference), float(difference.mean())
    mean = mean if abs(mean) >= TIE else 0.0
    sd = _spread(difference, mean)
    binary = bound is not None and only(candidate, bound) and only(baseline, bound)
    method = method_for(difference[difference != 0], n, mean, sd, bound, binary=binary)
    low, high = method.interval(level)
    return Paired(n, mean, sd, low, high, method.p, wins, n - wins - losses, losses, level, method)


def differences(candidate: Floats, baseline: Floats) -> Floats:
    """Returns [n] candidate minus baseline; 0 where only rounding separates them."""
    difference: Floats = candidate - baseline
    difference[np.abs(difference) < TIE] = 0.0
    return difference


def _spread(difference: Floats, mean: float) -> float:
    """Returns the standard deviation from one pass over the users, in half the time.

    A constant leaves only rounding, which is not a spread.
    """
    n = len(difference)
    if n < 2:
        return float("nan")
    squares = float(np.einsum("i,i", difference, difference))  # no threads, unlike a dot product
    spread = squares - n * mean * mean
    if spread <= _ROUNDED * squares:
        spread = float(np.square(difference - mean).sum())
    return (spread / (n - 1)) ** 0.5 if spread > TIE * TIE * n else 0.0
