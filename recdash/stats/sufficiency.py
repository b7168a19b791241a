"""Was that enough? Equivalence within a margin, and how many users would settle a difference."""

from __future__ import annotations

from math import ceil, inf, isfinite

from recdash.stats.paired import LEVEL, Paired

POWER = 0.8
"""The chance with which so many users would settle it, if the true difference is the one seen."""


def equivalence(paired: Paired, margin: float) -> float:
    """p of the larger of two one-sided t-tests that the true difference leaves ±margin (Schuirmann 1987).

    NaN below two users; ``margin`` > 0.
    """
    from scipy.special import stdtr

    if paired.n < 2:
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
    reach = float(ndtri(0.5 + level / 2) + ndtri(POWER)) * paired.sd
    to_see = reach / abs(paired.mean) if paired.mean else inf
    room = margin - abs(paired.mean)
    to_rule_out = reach / room if room > 0 else inf
    fewest = min(to_see, to_rule_out) ** 2
    return ceil(fewest) if isfinite(fewest) else None
