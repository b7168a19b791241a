"""Was that enough? Equivalence within a margin, and how many users would settle a difference."""

from __future__ import annotations

from math import ceil, erfc, inf, isfinite, sqrt

from recdash.stats.paired import FEW_ALIKE, LEVEL, Paired, says_nothing

POWER = 0.8
"""The chance with which so many users would settle it, if the true difference is the one seen."""
_HALVINGS = 30


def equivalence(paired: Paired, margin: float) -> float:
    """p of the larger of two one-sided t-tests that the true difference leaves ±margin (Schuirmann 1987).

    NaN where so few users say nothing; ``margin`` > 0.
    """
    from scipy.special import stdtr

    if says_nothing(paired.n, paired.mean, paired.error):
        return float("nan")
    room = margin - abs(paired.mean)
    if paired.error == 0:
        return 0.0 if room > 0 else 1.0
    return float(stdtr(paired.n - 1, -room / paired.error))


def users_to_settle(paired: Paired, margin: float = 0.0, level: float = LEVEL) -> int | None:
    """How many users, like those seen, would most likely settle the difference one way or the other.

    Settled: its interval excludes zero, or lies inside the margin; whichever needs fewer users. None where
    no number of users would, or fewer than two were seen.
    """
    from scipy.special import ndtri

    if paired.n < 2:
        return None
    if paired.sd == 0:
        return FEW_ALIKE
    mean, beyond = abs(paired.mean), float(ndtri(0.5 + level / 2))
    to_see = (beyond + float(ndtri(POWER))) / mean if mean else inf
    fewest = (paired.sd * min(to_see, _to_rule_out(mean, margin, beyond))) ** 2
    return ceil(fewest) if isfinite(fewest) else None


def _to_rule_out(mean: float, margin: float, beyond: float) -> float:
    """√n / sd with which the interval, ``beyond`` standard errors to each side, lies inside ±margin.

    Each end may leave it: with a mean of 0 either does so as often, and far from 0 only the nearer one.
    """
    from scipy.special import ndtri

    room = margin - mean
    if room <= 0:
        return inf
    low, high = ((beyond + float(ndtri(power))) / room for power in (POWER, (1 + POWER) / 2))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside = _chance(middle * room - beyond) + _chance(middle * (margin + mean) - beyond) - 1
        low, high = (middle, high) if inside < POWER else (low, middle)
    return high


def _chance(z: float) -> float:
    """That a normal deviate is below z."""
    return erfc(-z / sqrt(2)) / 2
