"""Computes how many users an interleaving test needs, and compares it with an A/B test of the same pair."""

from __future__ import annotations

import math
from dataclasses import dataclass

from recdash.online.validity import MOST_USERS
from recdash.stats import NORMAL_95

POWER = 0.8
PREFERENCES = (0.51, 0.52, 0.55)
"""Preferences for which the needed number of users is stated."""


def _needed_errors() -> float:
    """Returns how many standard errors an effect must have, to be found with ``POWER`` (two-sided, 5 %)."""
    from scipy.special import ndtri

    return NORMAL_95 + float(ndtri(POWER))


def users_for(spread: float, preference: float) -> int | None:
    """Returns the number of users with a credited request that find ``preference``, such as 0.52, with a
    power of 80 % (two-sided, 5 %).

    ``spread`` is that of ``UserSums``. Returns None without an effect or spread, or if the world's population
    is too small.
    """
    effect = abs(2 * preference - 1)
    if not effect or not spread:
        return None
    needed = (_needed_errors() * spread / effect) ** 2
    return None if needed > MOST_USERS else math.ceil(needed)


def detectable(spread: float, n_users: int) -> float | None:
    """Returns the smallest preference above 0.5 that ``n_users`` find with a power of 80 %; None if there is
    none below 1.
    """
    if not n_users or not spread:
        return None
    smallest = 0.5 + _needed_errors() * spread / math.sqrt(n_users) / 2
    return smallest if smallest < 1 else None


@dataclass(frozen=True)
class Sensitivity:
    """How many users an interleaving test and an A/B test of the same pair need to find what each has seen.

    ``interleaving_users`` and ``ab_users`` find the observed effect with a power of 80 %, None if it is 0.
    ``ratio`` is how many times more users the A/B test needs, ``low`` and ``high`` its 95 % interval; None
    without a bound. ``note`` says why there is none.
    """

    interleaving_users: int | None
    ab_users: int | None
    ratio: float | None
    low: float | None
    high: float | None
    note: str = ""


def z_of(p: float, effect: float) -> float:
    """Returns how many standard errors an effect is from 0, with its sign, given its two-sided p-value."""
    from scipy.special import ndtri

    return math.copysign(abs(float(ndtri(max(p, 1e-300) / 2))), effect)


def sensitivity(z: float, n_users: int, ab_z: float, n_ab_users: int) -> Sensitivity:
    """Returns the comparison of an interleaving test of ``n_users``, whose preference is ``z`` standard
    errors from 0.5, with an A/B test whose estimate is ``ab_z`` standard errors from 0.

    The number of users that a test needs is proportional to its users divided by z². The interval of the
    ratio of the two z, each with a standard error of 1, is Fieller's.
    """
    factor = _needed_errors()
    own, ab = (_needed(n, value, factor) for n, value in ((n_users, z), (n_ab_users, ab_z)))
    if own is None or ab is None:
        return Sensitivity(own, ab, None, None, None, "one of the tests has seen no effect")
    scale = n_ab_users / n_users
    low, high = _squared_ratio(z, ab_z)
    note = ""
    if high is None:
        note = "the A/B test has not found a difference, so the ratio has no upper bound"
    bound = None if high is None else high * scale
    return Sensitivity(own, ab, (z / ab_z) ** 2 * scale, low * scale, bound, note)


def _needed(n_users: int, z: float, factor: float) -> int | None:
    if not z or n_users * (factor / z) ** 2 > MOST_USERS:
        return None
    return math.ceil(n_users * (factor / z) ** 2)


def _squared_ratio(z: float, other: float) -> tuple[float, float | None]:
    """Returns the ends of Fieller's interval of (z / other)²; the second is None without an upper bound."""
    z, other = abs(z), abs(other)
    critical = NORMAL_95**2
    if other**2 > critical:
        low, high = _fieller(z, other, critical)
        return max(low, 0.0) ** 2, high**2
    # The set is what lies outside the two roots, of which one is negative.
    low = _fieller(z, other, critical)[1] if z**2 > critical else 0.0
    return low**2, None


def _fieller(z: float, other: float, critical: float) -> tuple[float, float]:
    """Returns the roots ρ of (z − ρ · other)² = critical · (1 + ρ²), the smaller first."""
    half = math.sqrt(critical * (z**2 + other**2 - critical))
    ends = sorted(((z * other - half) / (other**2 - critical), (z * other + half) / (other**2 - critical)))
    return ends[0], ends[1]
