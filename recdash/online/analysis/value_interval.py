"""Computes a metric in one variant with its interval, or the reason why it has none.

A rate has Wilson's interval, or the exact one for few users, successes or failures. A mean or a ratio has
Student's, from which the skewness of the mean is removed (``recdash.stats.skewed``). In few users of a
heavy-tailed metric the largest values are missing: mean, variance and skewness are then too small together,
and the interval lies too low. So the skewness is that of the users of all variants together, which depends
less on the luck of one variant, unless the variant's own is larger. Even that is too small for few users,
so there is no interval until there are enough for it, and until there are more for a variant with most of
all users, whose luck is theirs too. From ``SURE`` users on, hardly any test is withheld: those with little
skewness would be the ones that lack the largest values, and miss more often than all do.
``benchmarks.calibration_values`` measures from how many users on the interval holds.

Of sums, the skewness is unknown; the interval is Student's, and needs many users and a small error.

Letters in shapes: ``U`` users.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats
from recdash.online import counts, validity
from recdash.online.analysis import lift
from recdash.online.analysis.lift import CONFIDENCE, Estimate
from recdash.online.counts import Count
from recdash.online.metrics import OnlineMetric
from recdash.online.users import OnlineUsers
from recdash.online.validity import ONE_LOOK, Bound
from recdash.stats.skewed import with_skewness
from recdash.stats.sparse import clopper_pearson, wilson

EXACT_USERS = 100
"""Rates of at most so many users are exact."""
FEWEST, SURE = 200, 1_000
"""A mean needs the first number of users at least, as the skewness of fewer is uncertain; fewer than the
second, if they seem to be skewed, need more of them.
"""
MOST, SURE_OF_MOST = 2 / 3, 5_000
"""A variant with more than the first share of all users needs the second number of them instead of ``SURE``:
the skewness is nearly its own, which is too small whenever its mean is. As many are needed of sums.
"""
OF_FEW, OF_MANY = 100, 3
"""Users needed by squared skewness: if these are at most ``SURE``, and if not.

The latter leaves out values that hardly come from more than one user: the skewness of n users is at most √n.
"""
OF_SUMS = Bound(users=5_000, relative_error=0.05)
"""What the interval of a mean requires whose skewness is unknown."""
UNKNOWN_SKEWNESS = "since sums do not tell how skewed the users' values are"
BLOCK = 1 << 15
"""So many users at a time stay in the processor's cache."""
SAME_COUNT = 0.02
"""Successes of a table written with few digits are whole numbers up to this."""


@dataclass(frozen=True)
class Distribution:
    """How the values of a metric are distributed over the users of a test.

    ``is_rate``: all are 0 or 1. ``skewness`` is that of what users have above the metric of their variant, of
    all variants together; ``skewness_of_mean`` maps each variant to that of its mean, which is the skewness
    of its own users, or of all if that is larger, divided by the √n of its users. ``n_users`` are all users.
    """

    is_rate: bool
    skewness: float
    skewness_of_mean: Mapping[str, float]
    n_users: int


def distribution(metric: OnlineMetric, users: OnlineUsers) -> Distribution:
    """Returns the distribution of a metric; users who do not differ are not skewed."""
    numerator, code = users.totals[metric.numerator], users.variant
    if metric.denominator is None and _are_zeros_and_ones(metric, numerator):
        return Distribution(True, 0.0, {}, len(code))
    n_variants = len(users.variants)
    denominator = None if metric.denominator is None else users.totals[metric.denominator]
    squares, cubes = np.zeros(n_variants), np.zeros(n_variants)
    # Skewness has no unit; without one, no power of a value is too large or too small for a float.
    unit = max(float(numerator.max(initial=0.0)), -float(numerator.min(initial=0.0))) or 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        below = np.bincount(code, denominator, minlength=n_variants)
        ratio = np.nan_to_num(np.bincount(code, numerator, minlength=n_variants) / below)
    for first in range(0, len(code), BLOCK):
        block = slice(first, first + BLOCK)
        above = ratio[code[block]]
        if denominator is not None:
            above *= denominator[block]
        np.subtract(numerator[block], above, out=above)
        above /= unit
        power = above * above
        squares += np.bincount(code[block], power, minlength=n_variants)
        power *= above
        cubes += np.bincount(code[block], power, minlength=n_variants)
    total = float(squares.sum())
    skewness = float(cubes.sum()) / total**1.5 * math.sqrt(len(numerator)) if total > 0 else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.nan_to_num(cubes / squares**1.5)
        of_all = np.nan_to_num(skewness / np.sqrt(np.bincount(code, minlength=n_variants)))
    of_means = np.where(np.abs(of_all) > np.abs(own), of_all, own)
    return Distribution(False, skewness, dict(zip(users.variants, of_means.tolist(), strict=True)), len(code))


def _are_zeros_and_ones(metric: OnlineMetric, values: Floats) -> bool:
    """Returns True for zeros and ones; if all are equal, only of a metric whose largest value is 1."""
    ones = values == 1
    n_ones = int(ones.sum())
    is_one_value = n_ones in {0, len(values)}
    return bool((ones | (values == 0)).all()) and (metric.high == 1 or not is_one_value)


def of_users(metric: OnlineMetric, arm: Any, known: Distribution, variant: str) -> Estimate:
    """Returns the metric in ``variant``, whose aggregates are ``arm``."""
    former = lift.value(metric, arm)
    if known.is_rate:
        return _of_rate(metric, arm)
    if _never_has_interval(former, arm):
        return former
    needed = users_needed(known.skewness, SURE if arm.count() <= MOST * known.n_users else SURE_OF_MOST)
    if arm.count() < needed:
        return Estimate(former.value, note=validity.note(needed, arm.count(), ""))
    return of_mean(metric, arm, known.skewness_of_mean[variant])


def of_aggregates(metric: OnlineMetric, arm: Any) -> Estimate:
    """Returns the metric in a variant of which only counts, means and variances are known."""
    former = lift.value(metric, arm)
    if former.value is not None and _sums_are_of_rate(metric, arm):
        return _of_rate(metric, arm)
    if _never_has_interval(former, arm):
        return former
    n, ratio = arm.count(), _ratio(metric, arm)
    high = math.inf if metric.high is None else metric.high
    needed = float(validity.users_needed(OF_SUMS, n, abs(ratio), _squared_error(metric, arm), high))
    if n < needed:
        return Estimate(ratio, note=f"{validity.note(needed, n, '')}, {UNKNOWN_SKEWNESS}")
    return of_mean(metric, arm)


def users_needed(skewness: float, sure: int = SURE) -> int:
    """Returns the users of a variant from which the interval of a mean is valid; ``sure`` of skewed users."""
    of_few, of_many = (math.ceil(factor * skewness**2) for factor in (OF_FEW, OF_MANY))
    return max(FEWEST, of_few if of_few <= SURE else max(of_many, sure))


def rate_interval(count: Count) -> tuple[float, float]:
    """Returns the interval of a rate: Wilson's (1927), or that of Clopper and Pearson (1934) for few."""
    error = count.rate * (1 - count.rate) / max(count.n - 1, 1)
    if count.n <= EXACT_USERS or count.n < validity.users_needed(ONE_LOOK, count.n, count.rate, error, 1.0):
        return clopper_pearson(*count, CONFIDENCE)
    return wilson(*count, CONFIDENCE)


def of_mean(metric: OnlineMetric, arm: Any, skewness_of_mean: float = 0.0) -> Estimate:
    """Returns a mean or ratio with Student's interval, corrected for skewness, clipped to possible values."""
    from scipy.special import stdtrit

    ratio, error = _ratio(metric, arm), math.sqrt(_squared_error(metric, arm))
    half = float(stdtrit(arm.count() - 1, (1 + CONFIDENCE) / 2))
    low, high = (ratio - error * with_skewness(end, skewness_of_mean) for end in (half, -half))
    if metric.low is not None and metric.low <= ratio:  # else the value shows that it is no bound
        low = max(low, metric.low)
    if metric.high is not None and metric.high >= ratio:
        high = min(high, metric.high)
    return Estimate(ratio, low, high)


def _of_rate(metric: OnlineMetric, arm: Any) -> Estimate:
    count = Count(round(arm.mean(metric.numerator) * arm.count()), int(arm.count()))
    return Estimate(_ratio(metric, arm), *rate_interval(count))


def _never_has_interval(former: Estimate, arm: Any) -> bool:
    """Returns True if a mean that had no interval by ``lift.value`` has none whatever its number of users."""
    return former.low is None and (former.value is None or arm.count() >= ONE_LOOK.users)


def _sums_are_of_rate(metric: OnlineMetric, arm: Any) -> bool:
    """Returns True if n, mean and variance are those of zeros and ones.

    Of few users, the variance of many other values is between those by n and by n − 1 too.
    """
    rates = counts.counted(metric, arm)
    if rates is None:
        return False
    (count,) = rates
    of_ones = count.rate * (1 - count.rate)
    variances = of_ones, of_ones * count.n / max(count.n - 1, 1)
    variance, total = float(arm.var(metric.numerator)), float(arm.mean(metric.numerator)) * count.n
    is_near = any(abs(variance - own) <= counts.VARIANCE_TOLERANCE * own for own in variances)
    return is_near and abs(total - count.successes) <= SAME_COUNT


def _ratio(metric: OnlineMetric, arm: Any) -> float:
    return float(arm.mean(metric.numerator) / arm.mean(metric.denominator))


def _squared_error(metric: OnlineMetric, arm: Any) -> float:
    return float(arm.ratio_var(metric.numerator, metric.denominator)) / float(arm.count())
