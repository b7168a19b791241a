"""A test of units whose values would as likely have the opposite sign, and the interval that follows from it.

Under the null hypothesis each unit's value has either sign with the same probability. The p-value compares
the observed sum with its distribution over all combinations of signs, which a saddlepoint approximation gives
without drawing any (Robinson 1982, J. R. Stat. Soc. B 44; Lugannani and Rice 1980). A tie with the observed
sum counts half (mid-p). The interval has the ratios that the same test does not reject, so that it excludes
exactly the ratios with p < 1 − level. Where nearly all units have the same ratio, it is wider: the few others
do not show how many of them there are.

Letters in shapes: ``n`` units, ``v`` distinct values.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from recdash.domain.kinds import Floats

NEAR_ZERO = 1e-5
"""Below this distance from the mean, in standard deviations, the approximation divides 0 by 0."""
NEAR_END = 1e-9
SAME_RATIO = 1e-12
"""Ratios that differ by less are equal but for rounding."""
MOST_STEPS = 100
FEW = 5
"""With fewer units that differ from the commonest ratio, the test's own interval is too narrow."""


def p_value(values: Floats) -> float:
    """Returns the two-sided p-value, from 0 to 1, of the null hypothesis that the signs of ``values`` [n] are
    random.

    It is 1 if all values are 0.
    """
    distinct, counts = np.unique(np.abs(values), return_counts=True)
    return _p_of(distinct, counts.astype(np.float64), abs(float(np.sum(np.sort(values)))))


def ratio_interval(
    numerators: Floats, denominators: Floats, level: float = 0.95
) -> tuple[float, float] | None:
    """Returns the interval of Σ ``numerators`` / Σ ``denominators`` over units, by inversion of ``p_value``.

    Both are [n]; no numerator is larger than its denominator, which is above 0, so that the ratio is between
    −1 and 1. An end is −1 or 1 if no ratio on its side of the estimate is rejected. If fewer than ``FEW``
    units differ from the commonest ratio, the interval also has the ratios of ``_few_differ``, and may have
    0 although its p-value is small.

    Returns None if so few units differ from 0 that no ratio at all is rejected, and if all units have one
    ratio other than −1 and 1: the test would reject every other ratio, though units not seen may differ.
    """
    pairs = np.column_stack([numerators, denominators]).astype(np.float64)
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    numerator, denominator, times = distinct[:, 0], distinct[:, 1], counts.astype(np.float64)
    estimate = float(times @ numerator) / float(times @ denominator)

    def excess(ratio: float) -> float:
        residuals = numerator - ratio * denominator
        return _p_of(np.abs(residuals), times, abs(float(times @ residuals))) - (1 - level)

    if excess(-1.0) >= 0 and excess(1.0) >= 0:
        return None
    if abs(estimate) < 1 and len(numerators) > 1 and np.ptp(numerator / denominator) < SAME_RATIO:
        return None
    ends = [estimate, estimate]
    if abs(estimate) < 1:
        ends = [_end(excess, estimate, -1.0), _end(excess, estimate, 1.0)]
    ends += _few_differ(numerator / denominator, denominator, times, level)
    return min(ends), max(ends)


def _few_differ(ratios: Floats, weights: Floats, counts: Floats, level: float) -> tuple[float, ...]:
    """Returns the ends of the interval that follows from how many units differ from the commonest ratio;
    nothing if ``FEW`` or more have.

    ``counts`` [v] units have the ratio ``ratios`` [v]. On either side of the commonest, a unit is taken to
    differ by the largest difference that was seen, or is possible if none was. The share of such units has
    the mid-p interval of a binomial share, of the effective number of units where their weights differ (Korn
    and Graubard 1998, Survey Methodology 24).
    """
    ratio, place = np.unique(np.round(ratios, 12), return_inverse=True)
    units = np.bincount(place, counts)
    common = int(units.argmax())
    if units.sum() - units[common] >= FEW:
        return ()
    of_ratio = np.bincount(place, counts * weights)
    effective = float(of_ratio.sum()) ** 2 / float(counts @ weights**2)
    share = of_ratio / of_ratio.sum()
    lowest = ratio[0] if common > 0 else -1.0
    highest = ratio[-1] if common < len(ratio) - 1 else 1.0
    below, above = float(share[:common].sum()), float(share[common + 1 :].sum())
    down = (ratio[common] - lowest) * _largest_share(below, effective, level)
    up = (highest - ratio[common]) * _largest_share(above, effective, level)
    return float(ratio[common] - down), float(ratio[common] + up)


def _largest_share(share: float, n: float, level: float) -> float:
    """Returns the upper end of the mid-p interval of a binomial ``share`` of ``n``, neither necessarily of
    whole units. Without any it is the q with (1 − q)ⁿ = 1 − level.
    """
    from scipy.optimize import brentq
    from scipy.special import betainc

    seen = share * n

    def excess(chance: float) -> float:
        fewer = betainc(n - seen + 1, seen, 1 - chance) if seen else 0.0
        return float(fewer + betainc(n - seen, seen + 1, 1 - chance)) - (1 - level)

    return float(brentq(excess, share, 1.0, xtol=1e-12))


def _end(excess: Callable[[float], float], estimate: float, outermost: float) -> float:
    """Returns the ratio between the estimate and ``outermost`` at which ``excess`` becomes negative;
    ``outermost`` if it does not.
    """
    from scipy.optimize import brentq

    if excess(outermost) >= 0:
        return outermost
    return float(brentq(excess, estimate, outermost, xtol=1e-10))


def _p_of(sizes: Floats, counts: Floats, total: float) -> float:
    """Returns the two-sided p-value of |Σ| = ``total``; ``counts`` [v] units have the value ``sizes`` [v]."""
    used = sizes > 0
    if not used.any():
        return 1.0
    largest = float(sizes[used].max())
    sizes, counts, total = sizes[used] / largest, counts[used], total / largest
    end = float(counts @ sizes)
    if total >= end * (1 - NEAR_END):  # all signs are equal: one combination of 2ⁿ on either side
        return float(2.0 ** -float(counts.sum()))
    if total <= NEAR_ZERO * math.sqrt(float(counts @ sizes**2)):
        return 1.0
    return min(2 * _tail(sizes, counts, total), 1.0)


def _tail(sizes: Floats, counts: Floats, total: float) -> float:
    """Returns the probability that the sum with random signs is above ``total``, which is inside its range.

    The sum's cumulant generating function is Σ log cosh(t · size).
    """
    tilt = _tilt(sizes, counts, total)
    slope = np.tanh(tilt * sizes)
    cumulant = float(counts @ _log_cosh(tilt * sizes))
    spread = float(counts @ (sizes**2 * (1 - slope**2)))
    root = math.sqrt(max(2 * (tilt * total - cumulant), 0.0))
    tilted = tilt * math.sqrt(spread)
    density = math.exp(-(root**2) / 2) / math.sqrt(2 * math.pi)
    beyond = math.erfc(root / math.sqrt(2)) / 2
    return min(max(beyond + density * (1 / tilted - 1 / root), 0.0), 0.5)


def _tilt(sizes: Floats, counts: Floats, total: float) -> float:
    """Returns t with Σ size · tanh(t · size) = ``total``."""
    from scipy.optimize import brentq

    def distance(tilt: float) -> float:
        return float(counts @ (sizes * np.tanh(tilt * sizes))) - total

    high = total / float(counts @ sizes**2)
    for _ in range(MOST_STEPS):
        if distance(high) > 0:
            break
        high *= 2
    else:  # the smallest values decide how near the sum is to its end
        return high
    return float(brentq(distance, 0.0, high, xtol=1e-14, rtol=1e-13))


def _log_cosh(values: Floats) -> Floats:
    size = np.abs(values)
    # exact near 0, where the other form rounds x²/2 to the precision of log 2
    near = np.log1p(2 * np.sinh(np.minimum(size, 1.0) / 2) ** 2)
    return np.where(size < 1, near, size + np.log1p(np.exp(-2 * size)) - math.log(2))
