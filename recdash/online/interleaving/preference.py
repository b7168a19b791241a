"""Estimates which of two interleaved rankings users prefer, with errors by user.

The preference for b is the share of credited requests that b wins, ties counting half: Chapelle, Joachims,
Radlinski and Yue (2012), ACM TOIS 30(1), write it as Δ, the share minus ½. Requests of one user are not
independent. Without a preference, exchanging the two rankings for any user would change nothing, because fair
coins drew the teams; p-value and interval are therefore those of ``recdash.stats.sign_flips``, whose units
are users.

Letters in shapes: ``R`` requests, ``U`` users with a credited request.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from recdash.domain.kinds import Floats
from recdash.formatting import numbers
from recdash.online.interleaving.credits import RequestCredits
from recdash.stats.sign_flips import p_value, ratio_interval

Measure = Literal["requests", "credits"]
"""What is shared between the rankings: the credited requests, or the credits themselves."""
LEAST_USERS, LEAST_EFFECTIVE = 20, 8
"""Smallest number of users with a credited request, and smallest effective number of them.

With fewer, the interval does not hold the preference in 95 % of tests.
"""

LEVEL = 0.95
NEARLY_ALIKE = "nearly all users have the same share"


@dataclass(frozen=True)
class UserSums:
    """Sums of each user with a credited request.

    ``difference`` [U] is b minus a, ``total`` [U] the largest difference possible, above 0.
    """

    difference: Floats
    total: Floats

    @property
    def effective(self) -> float:
        """Returns the effective number of users, (Σ total)² / Σ total²; 0 without users."""
        squares = float(self.total @ self.total)
        return float(self.total.sum()) ** 2 / squares if squares else 0.0

    @property
    def ratio(self) -> float:
        """Returns Σ difference / Σ total, from −1 to 1."""
        return float(np.sort(self.difference).sum()) / float(np.sort(self.total).sum())

    @property
    def spread(self) -> float:
        """Returns the standard deviation of one user's contribution to ``ratio``: its standard error times
        √U.
        """
        residuals = np.sort(np.abs(self.difference - self.ratio * self.total))
        mean = float(np.sort(self.total).sum()) / len(self.total)
        return math.sqrt(float(residuals @ residuals) / len(residuals)) / mean


@dataclass(frozen=True)
class Preference:
    """The share of ``measure`` that b has won, from 0 to 1; 0.5 is no preference.

    ``low`` and ``high`` are the ends of the interval (95 % by default), ``p`` the two-sided p-value of no
    preference. They are None if ``note`` says why; ``share`` is None if nothing was credited.
    """

    measure: Measure
    share: float | None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    note: str = ""
    n_users: int = 0
    effective_users: float = 0.0

    @property
    def delta(self) -> float | None:
        """Returns the share minus ½, the Δ of Chapelle et al. (2012)."""
        return None if self.share is None else self.share - 0.5


def user_sums(requests: RequestCredits, measure: Measure = "requests") -> UserSums:
    """Returns the sums of each user with a credited request."""
    credited = requests.is_credited
    user = np.unique(requests.user[credited], return_inverse=True)[1]
    a, b = requests.credit_a[credited], requests.credit_b[credited]
    difference, total = (np.sign(b - a), np.ones(len(a))) if measure == "requests" else (b - a, a + b)
    n_users = int(user.max(initial=-1)) + 1
    return UserSums(
        np.bincount(user, difference, n_users).astype(np.float64),
        np.bincount(user, total, n_users).astype(np.float64),
    )


def preference(sums: UserSums, measure: Measure = "requests", level: float = LEVEL) -> Preference:
    """Returns the preference for b with its p-value, and its interval of this confidence level."""
    n_users, effective = len(sums.total), sums.effective
    if not n_users:
        return Preference(measure, None, note="no request has a credited item")
    plain = Preference(measure, 0.5 + sums.ratio / 2, n_users=n_users, effective_users=effective)
    if n_users < LEAST_USERS:
        note = f"{numbers.users(n_users)} with a credited request; at least {LEAST_USERS} are needed"
        return replace(plain, note=note)
    if effective < LEAST_EFFECTIVE:
        worth = f"{n_users:,} users are worth only {effective:,.0f}, since a few have most {measure}"
        return replace(plain, note=f"{worth}; at least {LEAST_EFFECTIVE} are needed")
    ends = ratio_interval(sums.difference, sums.total, level) if sums.difference.any() else None
    if ends is None:
        all_alike = bool(sums.difference.all())
        note = "all users have the same share" if all_alike else "too few users prefer either ranking"
        return replace(plain, note=note)
    (low, high), p = ends, p_value(sums.difference)
    if (p < 1 - level) != (low > 0 or high < 0):
        return replace(plain, note=f"{NEARLY_ALIKE} of {measure} won, too near 50 % for a reliable interval")
    return replace(plain, low=0.5 + low / 2, high=0.5 + high / 2, p=p)
