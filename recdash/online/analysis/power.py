"""Computes the sample size for a lift, and the minimum detectable effect of a sample.

It is tea-tasting's power analysis with the normal distribution, solved in closed form: tea-tasting's search
takes 40 ms per metric and variant, and fails with Welch's t, where the noncentral t is NaN for many users.
"""

from __future__ import annotations

import math
from typing import Any

from recdash.online.analysis.lift import before, value
from recdash.online.metrics import OnlineMetric
from recdash.online.validity import MOST_USERS

POWER, ALPHA = 0.8, 0.05


def more_users(
    metric: OnlineMetric, control: Any, variant: Any, effect: float, *, adjusted: bool = False
) -> int | None:
    """Returns users still needed, in control and variant together, to detect a lift of ``effect`` (.03 = +3
    %) at 80 % power (two-sided, 5 %); 0 if there are enough.

    Their split stays, and their variance is that of control. ``adjusted``: with CUPED. None for an effect of
    0, for a control that is 0 or has no variance, or if the world's population is too small.
    """
    if not effect or not variant.count() or not _spreads(metric, control):
        return None
    ratio = variant.count() / control.count()
    needed = (_at_one_user(metric, control, ratio, adjusted=adjusted) / effect) ** 2
    if needed > MOST_USERS:
        return None
    return max(math.ceil(needed) - control.count() - variant.count(), 0)


def to_settle(distance: float, std_error: float, n: int, level: float) -> int | None:
    """Returns users needed besides the ``n`` present for an interval of ``level`` to exclude, at 80 % power,
    a value at ``distance`` from the estimate.

    Both are on the log scale, as estimated. At least 1; None for no distance, or if the world's population is
    too small.
    """
    from scipy.special import ndtri

    if not distance or not std_error:
        return None
    needed = n * ((ndtri((1 + level) / 2) + ndtri(POWER)) * std_error / distance) ** 2
    return None if needed > MOST_USERS else max(math.ceil(needed) - n, 1)


def detectable(
    metric: OnlineMetric, control: Any, n: int, ratio: float = 1.0, *, adjusted: bool = False
) -> float | None:
    """Returns the minimum detectable effect (a share) of ``n`` users, control and variant together, at 80 %
    power.

    ``ratio``: users of the variant per user of control. None for a control that is 0 or has no variance, or
    below 4 users.
    """
    if n < 4 or not _spreads(metric, control):
        return None
    return _at_one_user(metric, control, ratio, adjusted=adjusted) / math.sqrt(n)


def _spreads(metric: OnlineMetric, control: Any) -> bool:
    """Returns whether control has a value above 0 and an interval."""
    estimate = value(metric, control)
    return estimate.low is not None and estimate.value is not None and estimate.value > 0


def _at_one_user(metric: OnlineMetric, control: Any, ratio: float, *, adjusted: bool) -> float:
    """Returns the smallest detectable lift times √n: (z of the level + z of the power) · relative standard
    error.
    """
    from scipy.special import ndtri

    mean = control.mean(metric.numerator) / control.mean(metric.denominator)
    variance = control.ratio_var(metric.numerator, metric.denominator)
    if adjusted:
        names = before(metric).numerator, before(metric).denominator
        shared = control.ratio_cov(metric.numerator, metric.denominator, *names)
        variance -= shared**2 / control.ratio_var(*names)
    # A share 1/(1 + ratio) of the users is in control, the others are in the variant.
    spread = math.sqrt(variance * (1 + ratio) * (1 + 1 / ratio)) / mean
    return float((ndtri(1 - ALPHA / 2) + ndtri(POWER)) * spread)
