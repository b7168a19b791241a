"""Computes the sample size that a lift needs, and the minimum detectable effect of a sample.

Both follow from the test that compares the variants (``smallest_lift``). Tests stored before use the power
analysis of tea-tasting with the normal distribution, solved in closed form. Its search takes 40 ms per metric
and variant, and fails with Welch's t, because the noncentral t is NaN for many users.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from recdash.online.analysis.comparison import (
    Comparison,
    RateComparison,
    SplitComparison,
    WelchComparison,
)
from recdash.online.analysis.lift import before, value
from recdash.online.metrics import OnlineMetric
from recdash.online.validity import MOST_USERS
from recdash.stats.random_split import RandomSplits

POWER, ALPHA = 0.8, 0.05
LARGEST = 50.0
"""The largest lift that is looked for, 5,000 %."""


def smallest_lift(comparison: Comparison) -> float | None:
    """Returns the minimum detectable effect, as a share, of the users of a comparison, each variant with its
    own variance, at 80 % power (two-sided, 5 %).

    Returns None if nothing is compared, or if the control is not above 0.
    """
    if isinstance(comparison, SplitComparison):
        return _of_splits(comparison)
    if isinstance(comparison, WelchComparison):
        sides = comparison.control, comparison.variant
        squared, base = sum(side.squared_error for side in sides), comparison.control.value
    elif isinstance(comparison, RateComparison):
        rates = comparison.control, comparison.variant
        squared, base = sum(side.rate * (1 - side.rate) / side.n for side in rates), comparison.control.rate
    else:
        return None
    return _standard_errors() * math.sqrt(squared) / base if base > 0 and squared > 0 else None


def _standard_errors() -> float:
    """Returns the distance, in standard errors, between no effect and the smallest detectable one."""
    from scipy.special import ndtri

    return float(ndtri(1 - ALPHA / 2) + ndtri(POWER))


def _of_splits(comparison: SplitComparison) -> float | None:
    """Returns the lift that the test by splits detects in 80 % of the splits of these users.

    Values are those without the lift that was found. A lift of δ multiplies the variant's by 1 + δ; the total
    of a split that is less lucky than 80 % must then reach the total at which the test rejects. Returns None
    if no lift up to ``LARGEST`` does.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    pair, lift = comparison.pair, comparison.lift(1 - ALPHA).value
    if lift is None or not lift > -1:
        return None
    numerator = np.where(pair.is_variant, pair.numerator / (1 + lift), pair.numerator)
    whole = float(numerator.sum())
    share = float(pair.denominator[pair.is_variant].sum() / pair.denominator.sum())
    above = pair.plain.residuals(numerator)
    explained = above - pair.residuals(numerator)
    rejected = RandomSplits(above - explained, pair.n_variant).total_at(float(ndtri(1 - ALPHA / 2)))
    rate = whole / float(pair.denominator.sum())

    def beyond(lift: float) -> float:
        """Returns by how much the total of an unlucky split exceeds that at which the test rejects."""
        pooled = 1 + lift * share
        own = (1 + lift - lift * share) * numerator - pooled * (rate * pair.denominator + explained)
        unlucky = RandomSplits(own, pair.n_variant).total_at(-float(ndtri(POWER)))
        spread = math.sqrt(1 - share + share * (1 + lift) ** 2)
        return unlucky + lift * share**2 * whole - spread * rejected

    if not whole > 0 or not beyond(LARGEST) > 0:
        return None
    return float(brentq(beyond, 0.0, LARGEST, xtol=1e-6, rtol=1e-4))


def users_for(comparison: Comparison, n: int, effect: float) -> int | None:
    """Returns how many more users than the ``n`` of a comparison detect a lift of ``effect`` (.03 = +3 %).

    The power is 80 % (two-sided, 5 %), the split and the variances stay the same. Returns 0 if there are
    enough users, and None for an effect of 0, if nothing is compared, or if the world's population is too
    small.
    """
    return users_to_detect(smallest_lift(comparison), n, effect)


def users_to_detect(smallest: float | None, n: int, effect: float) -> int | None:
    """Returns how many more users detect a lift of ``effect``, if ``n`` detect one of ``smallest``."""
    if not effect or smallest is None:
        return None
    needed = n * (smallest / effect) ** 2
    return None if needed > MOST_USERS else max(math.ceil(needed) - n, 0)


def smallest_of_interval(low: float | None, high: float | None, level: float) -> float | None:
    """Returns the minimum detectable effect of a lift whose interval has these ends; None without one.

    The interval is that of the logarithm of the ratio.
    """
    from scipy.special import ndtri

    if low is None or high is None or not low > -1:
        return None
    error = (math.log1p(high) - math.log1p(low)) / 2 / float(ndtri((1 + level) / 2))
    return math.expm1(_standard_errors() * error)


def more_users(
    metric: OnlineMetric, control: Any, variant: Any, effect: float, *, adjusted: bool = False
) -> int | None:
    """Returns how many more users, of control and variant together, detect a lift of ``effect`` (.03 = +3 %).

    The power is 80 % (two-sided, 5 %). The split stays the same, and the variance is that of the control.
    ``adjusted``: with CUPED. Returns 0 if there are enough users, and None for an effect of 0, for a control
    that is 0 or has no variance, or if the world's population is too small.
    """
    if not effect or not variant.count() or not _spreads(metric, control):
        return None
    ratio = variant.count() / control.count()
    needed = (_at_one_user(metric, control, ratio, adjusted=adjusted) / effect) ** 2
    if needed > MOST_USERS:
        return None
    return max(math.ceil(needed) - control.count() - variant.count(), 0)


def to_settle(distance: float, std_error: float, n: int, level: float) -> int | None:
    """Returns how many more users an interval needs to exclude, at 80 % power, a value at ``distance``.

    ``distance`` is measured from the estimate, on the log scale like ``std_error``; ``n`` users are present.
    Returns at least 1; None for a distance or error of 0, or if the world's population is too small.
    """
    from scipy.special import ndtri

    if not distance or not std_error:
        return None
    needed = n * ((ndtri((1 + level) / 2) + ndtri(POWER)) * std_error / distance) ** 2
    return None if needed > MOST_USERS else max(math.ceil(needed) - n, 1)


def detectable(
    metric: OnlineMetric, control: Any, n: int, ratio: float = 1.0, *, adjusted: bool = False
) -> float | None:
    """Returns the minimum detectable effect, as a share, of ``n`` users of control and variant at 80 % power.

    ``ratio`` is the number of the variant's users per user of the control. Returns None for a control that is
    0 or has no variance, or below 4 users.
    """
    if n < 4 or not _spreads(metric, control):
        return None
    return _at_one_user(metric, control, ratio, adjusted=adjusted) / math.sqrt(n)


def _spreads(metric: OnlineMetric, control: Any) -> bool:
    """Returns True if the control has a value above 0 and an interval."""
    estimate = value(metric, control)
    return estimate.low is not None and estimate.value is not None and estimate.value > 0


def _at_one_user(metric: OnlineMetric, control: Any, ratio: float, *, adjusted: bool) -> float:
    """Returns the minimum detectable lift times √n.

    It is (z of the level + z of the power) · relative standard error of one user.
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
