"""The difference of two runs, user by user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recdash.domain import Floats

_TIE = 1e-12
"""Two values of a user closer than this are a tie: only rounding separates them."""


@dataclass(frozen=True)
class Paired:
    """Candidate minus baseline over n users: mean, its interval, and how many users won, tied, lost.

    ``low``, ``high`` and ``p`` (two-sided t-test that the mean is 0) are NaN below two users.
    """

    n: int
    mean: float
    low: float
    high: float
    p: float
    wins: int
    ties: int
    losses: int

    @property
    def settled(self) -> bool:
        """True when the interval excludes 0."""
        return self.low > 0 or self.high < 0


def paired_difference(
    candidate: Floats, baseline: Floats, level: float = 0.95, own: tuple[Floats, Floats] | None = None
) -> Paired:
    """Compare the values [n] of two runs for the same n users, in the same order.

    ``own`` are what the users got from candidate and baseline, for counting who is better off, where that
    is not ``values`` (a pooled ratio). Raises ValueError for no users.
    """
    if len(candidate) == 0:
        raise ValueError("there is no user to compare over")
    difference = _without_rounding(candidate - baseline)
    gained = difference if own is None else _without_rounding(own[0] - own[1])
    wins, losses = int((gained > 0).sum()), int((gained < 0).sum())
    n, mean = len(difference), float(difference.mean())
    low, high, p = _student(mean, difference, level)
    return Paired(n, mean, low, high, p, wins, n - wins - losses, losses)


def _without_rounding(difference: Floats) -> Floats:
    return np.where(np.abs(difference) < _TIE, 0.0, difference)


def _student(mean: float, difference: Floats, level: float) -> tuple[float, float, float]:
    # scipy.special alone loads in a tenth of the time of scipy.stats.
    from scipy.special import stdtr, stdtrit

    n = len(difference)
    if n < 2:
        return float("nan"), float("nan"), float("nan")
    error = float(difference.std(ddof=1)) / n**0.5
    if error == 0:
        return mean, mean, 1.0 if mean == 0 else 0.0
    half = float(stdtrit(n - 1, 0.5 + level / 2)) * error
    return mean - half, mean + half, 2 * float(stdtr(n - 1, -abs(mean) / error))
