"""Computes how many users would make a difference significant, or show equivalence."""

from __future__ import annotations

from math import ceil, inf, isfinite, sqrt

from recdash.stats.bounded import normal_chance
from recdash.stats.paired import LEVEL, Paired
from recdash.stats.sparse import BoundedMean, PairedProportions

POWER = 0.8
"""Probability that the computed number of users suffices, if the true difference is the observed one."""
_HALVINGS = 30


def required_users(paired: Paired, margin: float = 0.0, level: float = LEVEL) -> int | None:
    """Returns the number of users, like the observed ones, that would most likely make the result conclusive.

    A result is conclusive if its interval excludes 0 or is inside the margin; the smaller number of users is
    returned. Returns None if no number of users suffices, or if no method is valid for the observed users.
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
    """Returns the mean and standard deviation to expect of more users like these.

    If few users differ, they show too small a spread, or none at all. Therefore one win and one loss of the
    largest size are added to them (after Bonett and Price 2012, J. Educational and Behavioral Statistics 37).
    """
    if not isinstance(paired.method, PairedProportions | BoundedMean):
        return abs(paired.mean), paired.sd
    n = paired.n + 2
    mean = abs(paired.mean) * paired.n / n
    squares = (paired.n - 1) * paired.sd**2 + paired.n * paired.mean**2 + 2 * paired.method.bound**2
    return mean, sqrt(max(squares / n - mean**2, 0.0))


def _to_rule_out(mean: float, margin: float, beyond: float) -> float:
    """Returns √n / sd for which the interval is inside ±margin with probability ``POWER``.

    The interval extends ``beyond`` standard errors to each side. With a mean of 0 both of its ends leave the
    margin equally often, with a mean far from 0 only the nearer one does. Returns inf if the mean is outside
    the margin.
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
