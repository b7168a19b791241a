"""Gaffke's test of the mean of bounded values: its p, and the lower bound that it gives.

Every value seen, and one more that is the worst possible, gets a random weight (independent, exponential).
The chance that the weighted mean is at most m is the p of a mean of at most m. It is the chance that a sum of
exponentials is below 0, here by the saddlepoint approximation (Lugannani and Rice 1980, Advances in Applied
Probability 12): 2 % too large for five values, less for more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import copysign, erfc, exp, log, pi, sqrt

import numpy as np

from recdash.domain.kinds import Floats

_STEPS, _NEAR, _LEAST = 100, 1e-12, 1e-300
_EXACT = 1e-8
"""So close to the wanted chance, in normal deviates, a search ends."""
_NEAREST, _STEP, _MOST, _WIDEST = 0.3, 0.2, 2.0, 50.0
"""A search for a pole begins no nearer to the lowest value, steps so far at first and at most, ends beyond so
much: exponents, but for the first."""
_STEEP = 1e-6
"""At its peak the capital is so flat that a slope of this share of its curvature changes no digit told."""
_NO_TILT = 1e-4
"""So near to the middle of the distribution the approximation is 0 / 0: its limit is taken."""

Point = tuple[float, float]
"""A place, and the function there."""


@dataclass(frozen=True)
class WeightedMean:
    """Of ``differences`` [x], of so many ``zeros`` and of one value −``bound``, below which none lies."""

    differences: Floats
    zeros: int
    bound: float

    @cached_property
    def _values(self) -> tuple[Floats, Floats]:
        """[v] the values that differ, and how often each is there."""
        values, counts = np.unique(self.differences, return_counts=True)
        others = (0.0, -self.bound) if self.zeros else (-self.bound,)
        times = (float(self.zeros), 1.0) if self.zeros else (1.0,)
        return np.append(values, others), np.append(counts.astype(float), times)

    def chance_of_at_most(self, mean: float) -> float:
        """That the weighted mean is at most ``mean``."""
        values, counts = self._values
        above = values - mean
        if above.max() <= _NEAR * self.bound:
            return 1.0
        if above.min() >= -_NEAR * self.bound:
            return 0.0
        return self._chance_at(mean, _tilt(above, counts))

    def lowest_mean(self, tail: float) -> float:
        """The mean with a chance of ``tail`` ≤ 1/4; no lower one is plausible at that level."""
        from scipy.special import ndtri

        if float(self.differences.sum()) / (len(self.differences) + self.zeros) <= -self.bound:
            return -self.bound
        wanted = float(ndtri(tail))

        def beyond(exponent: float) -> float:
            """In normal deviates, at a pole so far below the lowest value: it grows with that."""
            chance = self._chance_at(*self._tilted_to(exponent))
            return float(ndtri(min(max(chance, _LEAST), 1 - _NEAR))) - wanted

        return self._tilted_to(_root(beyond, self._pole_near(wanted)))[0]

    def _tilted_to(self, exponent: float) -> tuple[float, float]:
        """A mean and its tilt t, from a pole: the value at which 1 + t·(value − mean) is 0.

        The pole lies e^exponent bounds below −bound. It gives both at once, while of a given mean the tilt
        has to be searched for.
        """
        values, counts = self._values
        weights = counts / (values + self.bound + self.bound * exp(exponent))
        weight = float(weights.sum())
        return float((weights * values).sum()) / weight, weight / float(counts.sum())

    def _pole_near(self, deviates: float) -> float:
        """The exponent of the pole that belongs to a mean so many standard deviations from the middle one."""
        values, counts = self._values
        n = float(counts.sum())
        middle = _sum(counts, values) / n
        spread = sqrt(_sum(counts, (values - middle) ** 2))
        below = spread / -deviates - deviates * spread / n - middle - self.bound
        return log(max(below / self.bound, _NEAREST))

    def _chance_at(self, mean: float, tilt: float) -> float:
        """The chance of at most ``mean``, to which ``tilt`` belongs."""
        values, counts = self._values
        above = values - mean
        tilted = above / (1 + tilt * above)
        distance = -copysign(sqrt(max(2 * _sum(counts, np.log1p(tilt * above)), 0.0)), tilt)
        if abs(distance) < _NO_TILT:
            skewness = 2 * _sum(counts, above**3) / _sum(counts, above**2) ** 1.5
            return 0.5 + skewness / (6 * sqrt(2 * pi))
        other = -tilt * sqrt(_sum(counts, tilted**2))
        correction = exp(-(distance**2) / 2) / sqrt(2 * pi) * (1 / distance - 1 / other)
        return normal_chance(distance) + correction


def _tilt(above: Floats, counts: Floats) -> float:
    """The t at which Σ count · a / (1 + t·a) is 0, between the poles on both sides of 0; it falls in t."""
    low, high = (-(1 - _NEAR) / float(end) for end in (above.max(), above.min()))
    tilt = 0.0
    for _ in range(_STEPS):
        tilted = above / (1 + tilt * above)
        slope, fall = _sum(counts, tilted), _sum(counts, tilted**2)
        if abs(slope) <= _STEEP * sqrt(fall):
            break
        low, high = (tilt, high) if slope > 0 else (low, tilt)
        by_newton = tilt + slope / fall
        tilt = by_newton if low < by_newton < high else (low + high) / 2
    return tilt


def _root(of: Callable[[float], float], near: float) -> float:
    """Where a function that grows is 0: by secants, and by halves where these leave what holds it."""
    low, high = -_WIDEST, _WIDEST
    last = near, of(near)
    step = -copysign(_STEP, last[1])
    for _ in range(_STEPS):
        low, high = (last[0], high) if last[1] < 0 else (low, last[0])
        place = last[0] + step if low < last[0] + step < high else (low + high) / 2
        now = place, of(place)
        if abs(now[1]) <= _EXACT or place == last[0]:
            return place
        step, last = _secant(last, now), now
    return last[0]


def _secant(last: Point, now: Point) -> float:
    """The step from ``now`` to where the line through both points is 0."""
    rise = (now[1] - last[1]) / (now[0] - last[0])
    step = -now[1] / rise if rise > 0 else -copysign(_MOST, now[1])
    return min(max(step, -_MOST), _MOST)


def _sum(counts: Floats, of: Floats) -> float:
    return float((counts * of).sum())  # no threads, unlike a dot product


def normal_chance(z: float) -> float:
    """The chance that a normal deviate is below z."""
    return erfc(-z / sqrt(2)) / 2
