"""Computes the sample size that would make a difference significant, or show equivalence."""

from __future__ import annotations

from math import ceil, inf, isfinite, sqrt

from recdash.stats.bounded import normal_chance
from recdash.stats.paired import LEVEL, Paired
from recdash.stats.sparse import BoundedMean, PairedProportions

POWER = 0.8
"""The probability with which that many users suffice, if the true difference is the observed one."""
_HALVINGS = 30


def users_to_settle(paired: Paired, margin: float = 0.0, level: float = LEVEL) -> int | None:
    """Returns the number of users, like those observed, that would most likely make the result conclusive.

    Conclusive: the interval excludes zero, or is inside the margin; whichever needs fewer users. None if no
    number of users suffices, or no method is valid for those observed.
    """
    from scipy.special import ndtri

    if not isfinite(paired.low):
        return None
    mean, sd = _expected(paired)
    beyond = float(ndtri(0.5 + level / 2))
    to_see = (beyond + float(ndtri(POWER))) / mean if mean else inf
    fewest = (sd * min(to_see, _to_rule_out(mean, margin, beyond))) ** 2
    return ceil(fewest) if isfinite(fewest) else None


def _expected(paired: Paired) -> tuple[float, float]:
    """Returns the expected mean and spread of more users.

    Few users who differ show too little spread, even none. One more of each, a win and a loss of the largest
    size, is added to them (after Bonett and Price 2012, J. Educational and Behavioral Statistics 37).
    """
    if not isinstance(paired.method, PairedProportions | BoundedMean):
        return abs(paired.mean), paired.sd
    n = paired.n + 2
    mean = abs(paired.mean) * paired.n / n
    squares = (paired.n - 1) * paired.sd**2 + paired.n * paired.mean**2 + 2 * paired.method.bound**2
    return mean, sqrt(max(squares / n - mean**2, 0.0))


def _to_rule_out(mean: float, margin: float, beyond: float) -> float:
    """Returns √n / sd with which the interval, ``beyond`` standard errors on each side, is inside ±margin.

    Each end may leave it: with a mean of 0 both equally often, and far from 0 only the nearer one.
    """
    from scipy.special import ndtri

    room = margin - mean
    if room <= 0:
        return inf
    low, high = ((beyond + float(ndtri(power))) / room for power in (POWER, (1 + POWER) / 2))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = normal_chance(middle * room - beyond) + normal_chance(middle * (margin + mean) - beyond) - 1
        low, high = (middle, high) if inside < POWER else (low, middle)
    return high
