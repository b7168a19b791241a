"""The difference of two runs, user by user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recdash.domain import Floats

LEVEL = 0.95
"""Of an interval, where nobody says otherwise."""
NORMAL_95 = 1.959963984540054
"""Standard errors to each side of a normal interval of that level."""
LEAST = 30
"""Of a slice of fewer users nothing is said."""
FEW_ALIKE = 10
"""So many users who all differ by the same are no accident: were it one, the chance is 1 in 500."""
TIE = 1e-12
"""Two values of a user closer than this are a tie: only rounding separates them."""
_ROUNDED = 1e-6
"""Where the spread is so small a part of the squares, it is worked out once more about the mean."""


@dataclass(frozen=True)
class Paired:
    """Candidate minus baseline over n users: mean, its interval, and how many users won, tied, lost.

    ``sd`` is that of the users' differences, ``p`` that of the two-sided t-test that the mean is 0;
    ``low`` and ``high`` hold the mean at ``level``. These are NaN below two users, and p and interval where
    fewer than ``FEW_ALIKE`` users all differ by the same: ``says_nothing``.
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

    @property
    def settled(self) -> bool:
        """True when the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return self.sd / self.n**0.5

    @property
    def effect_size(self) -> float:
        """The mean in standard deviations of the users' differences (Cohen's d of paired values)."""
        return self.mean / self.sd if self.sd else float("nan")

    def at(self, level: float) -> Paired:
        """The same with the interval of another level."""
        low, high = _interval(self.n, self.mean, self.error, level)
        return replace(self, low=low, high=high, level=level)


def paired_difference(
    candidate: Floats, baseline: Floats, level: float = LEVEL, own: tuple[Floats, Floats] | None = None
) -> Paired:
    """Compare the values [n] of two runs for the same n users, in the same order.

    ``own`` are what the users got from candidate and baseline, for counting who is better off, where that
    is not ``values`` (a pooled ratio). Raises ValueError for no users.
    """
    if len(candidate) == 0:
        raise ValueError("there is no user to compare over")
    difference = candidate - baseline
    gained = difference if own is None or own[0] is candidate else own[0] - own[1]
    wins, losses = int(np.count_nonzero(gained > TIE)), int(np.count_nonzero(gained < -TIE))
    n, mean = len(difference), float(difference.mean())
    mean = mean if abs(mean) >= TIE else 0.0
    sd = _spread(difference, mean)
    low, high = _interval(n, mean, sd / n**0.5, level)
    return Paired(
        n, mean, sd, low, high, t_test(n, mean, sd / n**0.5), wins, n - wins - losses, losses, level
    )


def differences(candidate: Floats, baseline: Floats) -> Floats:
    """[n] candidate minus baseline; 0 where only rounding separates them."""
    difference: Floats = candidate - baseline
    difference[np.abs(difference) < TIE] = 0.0
    return difference


def _spread(difference: Floats, mean: float) -> float:
    """The standard deviation, from one pass over the users: half the time of a pair.

    A constant leaves only rounding behind; that is not a spread.
    """
    n = len(difference)
    if n < 2:
        return float("nan")
    squares = float(np.einsum("i,i", difference, difference))  # no threads, unlike a dot product
    spread = squares - n * mean * mean
    if spread <= _ROUNDED * squares:
        spread = float(np.square(difference - mean).sum())
    return (spread / (n - 1)) ** 0.5 if spread > TIE * TIE * n else 0.0


def says_nothing(n: Any, mean: Any, error: Any) -> Any:
    """Is there neither p nor interval? Numbers or arrays alike.

    One user has no spread. A few who happen to differ by the same have none either, but no spread among two
    users is no proof of a difference: the t-test would be certain of it.
    """
    return (n < 2) | ((n < FEW_ALIKE) & (error == 0) & (mean != 0))


def t_test(n: int, mean: float, error: float) -> float:
    """Two-sided p that the mean is 0; NaN where so few users say nothing."""
    # scipy.special alone loads in a tenth of the time of scipy.stats.
    from scipy.special import stdtr

    if says_nothing(n, mean, error):
        return float("nan")
    if error == 0:
        return 0.0 if mean else 1.0
    return 2 * float(stdtr(n - 1, -abs(mean) / error))


def _interval(n: int, mean: float, error: float, level: float) -> tuple[float, float]:
    from scipy.special import stdtrit

    if says_nothing(n, mean, error):
        return float("nan"), float("nan")
    half = float(stdtrit(n - 1, 0.5 + level / 2)) * error if error else 0.0
    return mean - half, mean + half
