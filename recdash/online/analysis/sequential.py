"""Always-valid intervals: an asymptotic confidence sequence, safe for continuous monitoring.

A 95 % interval is valid for one look. Checked on each of 14 days, it excludes a true 0 at some time in every
fifth test; this one does so in at most one of twenty, however often it is checked, and is wider. It is
asymptotic: valid from the number of users that ``validity.MANY_LOOKS`` requires, and not shown before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PLANNED = 10_000
"""Users at which the sequence is narrowest without a planned number: one that does not depend on results. Ten
times as many make it 7 % wider than necessary, ten times fewer 26 %.
"""


def sequence(
    log_ratio: Any, std_error: Any, n: Any, n_planned: int | None = None, alpha: float = 0.05
) -> tuple[Any, Any]:
    """Returns the lower and upper end as shares (0.05 = +5 %), from a log ratio with its standard error at
    ``n`` users: numbers, or arrays of one shape.

    With x = ρ²n the half width is std_error · √( (x + 1)/x · (log(x + 1) − 2 log α) ): the normal mixture of
    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Time-uniform central limit theory and asymptotic confidence
    sequences, Annals of Statistics 52 (2024), Theorem 2.2. ρ makes it narrowest at ``n_planned`` users, which
    must not depend on interim results; at α = .05 its half width is then 3.03 standard errors, against 1.96
    of an interval for one look. ``n`` and ``n_planned`` count the same users (both variants together), from
    1.
    """
    x = tuned(alpha) * n / (n_planned or PLANNED)
    half = std_error * np.sqrt((x + 1) / x * (np.log(x + 1) - 2 * math.log(alpha)))
    return np.expm1(log_ratio - half), np.expm1(log_ratio + half)


def tuned(alpha: float) -> float:
    """Returns ρ² times the planned users: x with x = log(x + 1) − 2 log α, where the width is smallest."""
    from scipy.special import lambertw

    return float(-lambertw(-(alpha**2) / math.e, k=-1).real - 1)
