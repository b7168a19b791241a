"""Always-valid intervals: an asymptotic confidence sequence, safe for continuous monitoring.

A 95 % interval is valid for one look. If it is checked on each of 14 days, it excludes a true lift of 0 on
some day in every fifth test. An always-valid interval does so in at most one of twenty tests, however often
it is checked, and is wider. It is asymptotic: it is valid from the number of users that
``validity.MANY_LOOKS`` requires, and not shown before.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

PLANNED = 10_000
"""Number of users at which the interval is narrowest if no sample size was planned.

It does not depend on results. With ten times as many users it is 7 % wider than necessary, with a tenth of
them 26 %.
"""


def always_valid_interval(
    log_ratio: Any, std_error: Any, n: Any, n_planned: int | None = None, alpha: float = 0.05
) -> tuple[Any, Any]:
    """Returns the lower and upper end of the always-valid interval of a lift, as shares (0.05 = +5 %).

    ``log_ratio`` and ``std_error`` are estimated from ``n`` users; they are numbers, or arrays of one shape.
    With x = ρ²n the half width is std_error · √( (x + 1)/x · (log(x + 1) − 2 log α) ): the normal mixture of
    Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas, Time-uniform central limit theory and asymptotic confidence
    sequences, Annals of Statistics 52 (2024), Theorem 2.2. ρ makes the interval narrowest at ``n_planned``
    users, which must not depend on interim results; at α = .05 its half width is then 3.03 standard errors,
    compared with 1.96 for a single look. ``n`` and ``n_planned`` count users of both variants.
    """
    x = tuned(alpha) * n / (n_planned or PLANNED)
    half = std_error * np.sqrt((x + 1) / x * (np.log(x + 1) - 2 * math.log(alpha)))
    return np.expm1(log_ratio - half), np.expm1(log_ratio + half)


def tuned(alpha: float) -> float:
    """Returns ρ² times the planned users, for which the interval is narrowest at the planned users.

    It is the x with x = log(x + 1) − 2 log α.
    """
    from scipy.special import lambertw

    return float(-lambertw(-(alpha**2) / math.e, k=-1).real - 1)
