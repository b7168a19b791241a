"""How many users a lift needs to be found, and how small a lift users are enough for.

tea-tasting's power analysis with the normal distribution, solved by hand: its search takes 40 ms for each
metric and variant, and with Welch's t, where the noncentral t is NaN for many users, it ends in an error.
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
    """Users still missing, in control and variant together, to find a lift of ``effect`` (a share, .03 = +3
    %) in four of five tests (two-sided, 5 %); 0 when there are enough.

    Their split stays, and their variance is that of the control. ``adjusted``: with CUPED. None for an effect
    of 0, for a control that is 0 or does not vary, or where all people on earth were too few.
    """
    if not effect or not variant.count() or not _spreads(metric, control):
        return None
    ratio = variant.count() / control.count()
    needed = (_at_one_user(metric, control, ratio, adjusted=adjusted) / effect) ** 2
    if needed > MOST_USERS:
        return None
    return max(math.ceil(needed) - control.count() - variant.count(), 0)


def to_settle(distance: float, std_error: float, n: int, level: float) -> int | None:
    """Users still missing beside the ``n`` there are, for an interval of ``level`` to exclude, in four of
    five tests, what lies ``distance`` from the estimate; both on the log scale, as found. At least 1; None
    for no distance, or where all people on earth were too few.
    """
    from scipy.special import ndtri

    if not distance or not std_error:
        return None
    needed = n * ((ndtri((1 + level) / 2) + ndtri(POWER)) * std_error / distance) ** 2
    return None if needed > MOST_USERS else max(math.ceil(needed) - n, 1)


def detectable(
    metric: OnlineMetric, control: Any, n: int, ratio: float = 1.0, *, adjusted: bool = False
) -> float | None:
    """The smallest lift (a share) that ``n`` users, control and variant together, find in four of five tests.

    ``ratio``: users of the variant per user of the control. None for a control that is 0 or does not vary, or
    below 4 users.
    """
    if n < 4 or not _spreads(metric, control):
        return None
    return _at_one_user(metric, control, ratio, adjusted=adjusted) / math.sqrt(n)


def _spreads(metric: OnlineMetric, control: Any) -> bool:
    """Whether the control has a value above 0 and an interval around it."""
    estimate = value(metric, control)
    return estimate.low is not None and estimate.value is not None and estimate.value > 0


def _at_one_user(metric: OnlineMetric, control: Any, ratio: float, *, adjusted: bool) -> float:
    """The smallest lift found, times √n: (z of the level + z of the power) · relative standard error."""
    from scipy.special import ndtri

    mean = control.mean(metric.numerator) / control.mean(metric.denominator)
    variance = control.ratio_var(metric.numerator, metric.denominator)
    if adjusted:
        names = before(metric).numerator, before(metric).denominator
        shared = control.ratio_cov(metric.numerator, metric.denominator, *names)
        variance -= shared**2 / control.ratio_var(*names)
    # A share 1/(1 + ratio) of the users is in the control, the others are in the variant.
    spread = math.sqrt(variance * (1 + ratio) * (1 + 1 / ratio)) / mean
    return float((ndtri(1 - ALPHA / 2) + ndtri(POWER)) * spread)
