"""Corrects t of a skewed mean, such as that of many small gains against a few large losses.

Its t is skewed too: more often far above 0 than far below, or the reverse. The cubic of Hall (1992, J. Royal
Statistical Society B 54, 221) removes that from t, and the result is compared with Student's distribution.
Skewness here is that of a mean: that of the differences by √n.
"""

from __future__ import annotations

from math import cbrt

import numpy as np

from recdash.domain.kinds import Floats

SKEWED = 0.005
"""Skewness beyond which t needs Hall's cubic.

By Edgeworth a one-sided error of 2.5 % becomes 2.5 % + (2z² + 1)/6 · φ(z) · skewness: 2.54 % here. The
skewness of 400 symmetric differences of ±1 is estimated with an error of 1/400.
"""
_SAME = 1e-12
"""Runs are equal if their differences have no larger share of the squares: only rounding separates them."""


def skewness_of_mean(differences: Floats, n: int, mean: float, sd: float) -> float:
    """Returns the skewness of the mean of n users with spread > 0; all but ``differences`` [x] do not
    differ.
    """
    squares = differences * differences
    cubes = float((squares * differences).sum()) - 3 * mean * float(squares.sum()) + 2 * n * mean**3
    return float(cubes / ((n - 1) * sd**2) ** 1.5)


def skewness_of_means(off: Floats) -> Floats:
    """Returns [r, r] skewness of the column's run minus the row's, from each unit's [n, r] deviation from its
    run's mean.
    """
    squares, products = off * off, off.T @ off
    own, cubes, uneven = np.diag(products), (squares * off).sum(axis=0), squares.T @ off
    third = cubes[None, :] - cubes[:, None] + 3 * (uneven - uneven.T)
    total = own[:, None] + own[None, :]
    second = total - 2 * products
    spread = second > _SAME * total
    skewness = np.zeros(second.shape)
    skewness[spread] = third[spread] / second[spread] ** 1.5
    return skewness


def unskewed(t: Floats, skewness: Floats) -> Floats:
    """Returns […] each t without the effect of skewness; unchanged if that is small."""
    needed = np.abs(skewness) > SKEWED
    by = np.where(needed, skewness, 1.0)
    return np.where(needed, ((1 + by * t / 3) ** 3 - 1) / by + by / 6, t)


def with_skewness(deviate: float, skewness: float) -> float:
    """Returns the t that ``unskewed`` maps to ``deviate``."""
    if abs(skewness) <= SKEWED:
        return deviate
    return 3 / skewness * (cbrt(1 + skewness * (deviate - skewness / 6)) - 1)
