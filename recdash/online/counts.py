"""Intervals and p-values of rates that are valid for few successes or failures."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from recdash.online.metrics import OnlineMetric

METHOD = "few successes (or few failures): Fisher's exact p, with a matching score interval"
VARIANCE_TOLERANCE = 0.01
"""Tolerance for recognising zeros and ones by their variance, since tables are written with few digits."""
INFINITE_SCORE = 1e6
"""Stands for an infinite number of standard errors: larger than for every level, and finite for a search."""
WIDEST = 60.0
"""Largest logarithm of a ratio; a larger ratio needs more users than the world has."""


class Count(NamedTuple):
    """The number of ``successes`` among ``n`` users (or independent trials)."""

    successes: int
    n: int

    @property
    def rate(self) -> float:
        return self.successes / self.n


def counted(metric: OnlineMetric, *sides: Any) -> list[Count] | None:
    """Returns the counts of each variant; None if some user has another value than 0 or 1.

    ``sides`` are tea-tasting's aggregates, whose means and variances show whether all values are zeros and
    ones. If all users are equal, only a metric whose largest possible value is 1 counts as a rate.
    """
    if metric.denominator is not None or not all(_is_of_zeros_and_ones(metric, side) for side in sides):
        return None
    if metric.high != 1 and not any(side.var(metric.numerator) > 0 for side in sides):
        return None
    return [Count(round(side.mean(metric.numerator) * side.count()), int(side.count())) for side in sides]


def _is_of_zeros_and_ones(metric: OnlineMetric, side: Any) -> bool:
    mean, variance, n = side.mean(metric.numerator), side.var(metric.numerator), side.count()
    if not 0 <= mean <= 1 or math.isnan(variance):
        return False
    of_ones = mean * (1 - mean)
    most = of_ones * n / (n - 1) if n > 1 else of_ones
    return bool((1 - VARIANCE_TOLERANCE) * of_ones <= variance <= (1 + VARIANCE_TOLERANCE) * most)


def p_value(control: Count, variant: Count) -> float:
    """Returns the two-sided p-value of equal rates by Fisher's exact test, twice the smaller tail.

    Each direction thus uses at most half the level. If the score test, on which the interval is based, has a
    larger p, that is returned; this happens in few tables, and differs by very little.
    """
    from scipy.stats import hypergeom

    successes = control.successes + variant.successes
    chance = hypergeom(control.n + variant.n, successes, variant.n)
    tails = chance.cdf(variant.successes), chance.sf(variant.successes - 1)
    exact = float(min(2 * min(tails), 1.0))
    if not control.successes:
        return exact
    return max(exact, math.erfc(abs(_score(1.0, control, variant)) / math.sqrt(2)))


def score_p_value(control: Count, variant: Count) -> float:
    """Returns the two-sided p-value of equal rates by the score test, on which the intervals are based.

    It is Pearson's χ² times (N − 1) / N, and valid if there are enough successes and failures.
    """
    return math.erfc(abs(_difference_score(0.0, control, variant)) / math.sqrt(2))


def difference_interval(control: Count, variant: Count, level: float) -> tuple[float, float]:
    """Returns the score interval of the variant's rate − the control's (Miettinen & Nurminen 1985)."""
    from scipy.optimize import brentq
    from scipy.special import ndtri

    largest, middle = float(ndtri((1 + level) / 2)), variant.rate - control.rate

    def beyond(difference: float, sign: int) -> float:
        return sign * _difference_score(difference, control, variant) - largest

    low = brentq(beyond, -1.0, middle, args=(1,)) if middle > -1 else -1.0
    high = brentq(beyond, middle, 1.0, args=(-1,)) if middle < 1 else 1.0
    return float(low), float(high)


def ratio_interval(control: Count, variant: Count, level: float) -> tuple[float, float]:
    """Returns the score interval of the variant's rate ÷ the control's (Miettinen & Nurminen 1985).

    The control's rate must be above 0.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    largest = float(ndtri((1 + level) / 2))

    def beyond(log_ratio: float, sign: int) -> float:
        return sign * _score(math.exp(log_ratio), control, variant) - largest

    middle = math.log(variant.rate / control.rate) if variant.successes else -WIDEST
    low = math.exp(brentq(beyond, -WIDEST, middle, args=(1,))) if variant.successes else 0.0
    return low, math.exp(brentq(beyond, middle, WIDEST, args=(-1,)))


def _difference_score(difference: float, control: Count, variant: Count) -> float:
    """Returns how many standard errors the variant's rate is above the control's plus ``difference``.

    The standard errors are those of the likeliest rates with this difference, which solve a cubic equation
    (Farrington & Manning 1990, Statistics in Medicine 9, 1447).
    """
    ratio, rate, base = control.n / variant.n, variant.rate, control.rate
    cubic = 1 + ratio
    square = -(1 + ratio + rate + ratio * base + difference * (ratio + 2))
    linear = difference**2 + difference * (2 * rate + ratio + 1) + rate + ratio * base
    constant = -rate * difference * (1 + difference)
    third = square / (3 * cubic)
    v = third**3 - square * linear / (6 * cubic**2) + constant / (2 * cubic)
    u = math.copysign(math.sqrt(max(third**2 - linear / (3 * cubic), 0.0)), v)
    angle = math.pi / 3 + math.acos(min(max(v / u**3, -1.0), 1.0)) / 3 if u else 0.0
    likeliest = min(max(2 * u * math.cos(angle) - third, difference, 0.0), 1.0, 1.0 + difference)
    other = min(max(likeliest - difference, 0.0), 1.0)
    total = control.n + variant.n
    variance = likeliest * (1 - likeliest) / variant.n + other * (1 - other) / control.n
    distance = rate - base - difference
    if not variance > 0:
        return math.copysign(INFINITE_SCORE, distance) if distance else 0.0
    return distance / math.sqrt(variance * total / (total - 1))


def _score(ratio: float, control: Count, variant: Count) -> float:
    """Returns how many standard errors the variant's rate is above ``ratio`` times the control's.

    The standard errors are those of the likeliest rates with this ratio, which solve a quadratic equation.
    """
    total = control.n + variant.n
    square = ratio * total
    half = (control.n + variant.successes + ratio * (variant.n + control.successes)) / 2
    constant = control.successes + variant.successes
    base = min(constant / (half + math.sqrt(max(half**2 - square * constant, 0.0))), 1.0)
    other = min(ratio * base, 1.0)
    variance = other * (1 - other) / variant.n + ratio**2 * base * (1 - base) / control.n
    distance = variant.rate - ratio * control.rate
    if not variance > 0:
        return math.copysign(INFINITE_SCORE, distance) if distance else 0.0
    return distance / math.sqrt(variance * total / (total - 1))
