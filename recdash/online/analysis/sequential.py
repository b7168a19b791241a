"""Intervals that may be looked at every day: an asymptotic confidence sequence.

A 95 % interval promises one look. Looked at each of 14 days, it excludes a true 0 at some time in every fifth
test; this one does so in at most one of twenty, however often it is looked at, and is wider for it. It is
asymptotic: that holds from the users on that ``validity.MANY_LOOKS`` asks for, and it is not shown before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PLANNED = 10_000
"""Users for whom the sequence is tuned where no number was planned: one that does not
depend on what is seen. Ten times as many make it 7 % wider than it might be, ten times fewer 26 %."""


def sequence(
    log_ratio: Any, std_error: Any, n: Any, n_planned: int | None = None, alpha: float = 0.05
) -> tuple[Any, Any]:
    """Lower and upper end as shares (0.05 = +5 %), of a log ratio with its standard error at ``n`` users:
    numbers, or arrays of one shape.

    With x = ρ²n the half width is std_error · √( (x + 1)/x · (log(x + 1) − 2 log α) ): the normal mixture of
    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Time-uniform central limit theory and asymptotic confidence
    sequences, Annals of Statistics 52 (2024), Theorem 2.2. ρ is chosen to make it narrowest at ``n_planned``
    users, which must not depend on what is seen on the way; at α = .05 it is then 3.03 standard errors wide
    to each side, against 1.96 of an interval that is looked at once. ``n`` and ``n_planned`` count the same
    users (both variants together), from 1.
    """
    x = tuned(alpha) * n / (n_planned or PLANNED)
    half = std_error * np.sqrt((x + 1) / x * (np.log(x + 1) - 2 * math.log(alpha)))
    return np.expm1(log_ratio - half), np.expm1(log_ratio + half)


def tuned(alpha: float) -> float:
    """ρ² times the planned users: x with x = log(x + 1) − 2 log α, where the width is least."""
    from scipy.special import lambertw

    return float(-lambertw(-(alpha**2) / math.e, k=-1).real - 1)
