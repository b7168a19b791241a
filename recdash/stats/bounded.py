"""What the mean of bounded values may be at least: the chance and the bound of Gaffke's test.

Every value seen, and one more that is the worst possible, gets a random weight (independent, exponential).
The chance that the weighted mean is at most m is the p of a mean of at most m. It is the chance that a sum of
exponentials is below 0, here by the saddlepoint approximation (Lugannani and Rice 1980, Advances in Applied
Probability 12): 2 % too large for five values, less for more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import copysign, erfc, exp, pi, sqrt

import numpy as np

from recdash.domain.kinds import Floats

_STEPS, _NEAR, _EXACT, _LEAST = 100, 1e-12, 1e-9, 1e-300
_STEEP = 1e-6
"""At its peak the capital is so flat that a slope of this share of its curvature changes no digit told."""
_NO_TILT = 1e-4
"""So near to the middle of the distribution the approximation is 0 / 0: its limit is taken."""


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
        return self._tail(mean, 0.0)[0]

    def lowest_mean(self, tail: float) -> float:
        """The mean with a chance of ``tail`` < 1/2; no lower one is plausible at that level."""
        from scipy.optimize import brentq
        from scipy.special import ndtri

        if self._seen <= -self.bound:
            return -self.bound
        tilt, wanted = 0.0, float(ndtri(tail))

        def beyond(mean: float) -> float:
            """In normal deviates, which are nearly a straight line in the mean."""
            nonlocal tilt
            chance, tilt = self._tail(mean, tilt)
            return float(ndtri(min(max(chance, _LEAST), 1 - _NEAR))) - wanted

        near = self._about(1.5 * wanted)
        start = near if near > -self.bound and beyond(near) < 0 else -self.bound
        return float(brentq(beyond, start, self._seen, xtol=_EXACT * self.bound))

    @property
    def _seen(self) -> float:
        return float(self.differences.sum()) / (len(self.differences) + self.zeros)

    def _about(self, deviates: float) -> float:
        """So many standard deviations from the middle of the weighted mean."""
        values, counts = self._values
        n = _sum(counts, np.ones(len(values)))
        middle = _sum(counts, values) / n
        return middle + deviates * sqrt(_sum(counts, (values - middle) ** 2)) / n

    def _tail(self, mean: float, near: float) -> tuple[float, float]:
        """The chance, and the tilt that it was found with; ``near`` is where to look for that."""
        values, counts = self._values
        above = values - mean
        if above.max() <= _NEAR * self.bound:
            return 1.0, 0.0
        if above.min() >= -_NEAR * self.bound:
            return 0.0, 0.0
        tilt = _tilt(above, counts, near)
        tilted = above / (1 + tilt * above)
        distance = -copysign(sqrt(max(2 * _sum(counts, np.log1p(tilt * above)), 0.0)), tilt)
        if abs(distance) < _NO_TILT:
            skewness = 2 * _sum(counts, above**3) / _sum(counts, above**2) ** 1.5
            return 0.5 + skewness / (6 * sqrt(2 * pi)), tilt
        other = -tilt * sqrt(_sum(counts, tilted**2))
        correction = exp(-(distance**2) / 2) / sqrt(2 * pi) * (1 / distance - 1 / other)
        return _normal(distance) + correction, tilt


def _tilt(above: Floats, counts: Floats, near: float) -> float:
    """The t at which Σ count · a / (1 + t·a) is 0, between the poles on both sides of 0; it falls in t."""
    low, high = (-(1 - _NEAR) / float(end) for end in (above.max(), above.min()))
    tilt = near if low < near < high else 0.0
    for _ in range(_STEPS):
        tilted = above / (1 + tilt * above)
        slope, fall = _sum(counts, tilted), _sum(counts, tilted**2)
        if abs(slope) <= _STEEP * sqrt(fall):
            break
        low, high = (tilt, high) if slope > 0 else (low, tilt)
        by_newton = tilt + slope / fall
        tilt = by_newton if low < by_newton < high else (low + high) / 2
    return tilt


def _sum(counts: Floats, of: Floats) -> float:
    return float((counts * of).sum())  # no threads, unlike a dot product


def _normal(z: float) -> float:
    """The chance that a normal deviate is below z."""
    return erfc(-z / sqrt(2)) / 2
