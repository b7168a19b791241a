"""Corrects the t statistic of a skewed mean, such as that of many small gains and a few large losses.

Its t is skewed too: it is far above 0 more often than far below, or the reverse. The cubic of Hall (1992, J.
Royal Statistical Society B 54, 221) removes the skewness from t, and the result is compared with Student's
distribution. Skewness here is that of the mean: the skewness of the differences divided by √n.

Letters in shapes: ``n`` users, or groups of users, ``r`` runs, ``x`` users who differ.
"""

from __future__ import annotations

from math import cbrt

import numpy as np

from recdash.domain.kinds import Floats

SKEWED = 0.005
"""If the skewness is larger than this, t needs Hall's cubic.

By Edgeworth's expansion, a one-sided error of 2.5 % becomes 2.5 % + (2z² + 1)/6 · φ(z) · skewness, here 2.54
%. The skewness of 400 symmetric differences of ±1 is estimated with an error of 1/400.
"""
_SAME = 1e-12
"""Runs are equal if their differences are below this share of the squares: they are only rounding errors."""


def skewness_of_mean(differences: Floats, n: int, mean: float, sd: float) -> float:
    """Returns the skewness of the mean difference of n users, whose ``sd`` must be above 0.

    ``differences`` [x] has the nonzero differences; all other users do not differ.
    """
    squares = differences * differences
    cubes = float((squares * differences).sum()) - 3 * mean * float(squares.sum()) + 2 * n * mean**3
    return float(cubes / ((n - 1) * sd**2) ** 1.5)


def skewness_of_means(off: Floats, products: Floats | None = None) -> Floats:
    """Returns [r, r] the skewness of the mean of the column's run minus the row's.

    ``off`` [n, r] is each user's, or group's, deviation from the run's mean; ``products`` [r, r] is off.T @
    off if it is known.
    """
    squares, products = off * off, off.T @ off if products is None else products
    own, uneven = np.diag(products), squares.T @ off
    squares *= off  # in place: another array of 162,000 users and nine runs is new memory each time
    cubes = squares.sum(axis=0)
    third = cubes[None, :] - cubes[:, None] + 3 * (uneven - uneven.T)
    total = own[:, None] + own[None, :]
    second = total - 2 * products
    spread = second > _SAME * total
    skewness = np.zeros(second.shape)
    skewness[spread] = third[spread] / second[spread] ** 1.5
    return skewness


def unskewed(t: Floats, skewness: Floats) -> Floats:
    """Returns each t with the effect of skewness removed; unchanged where the skewness is small."""
    needed = np.abs(skewness) > SKEWED
    by = np.where(needed, skewness, 1.0)
    return np.where(needed, ((1 + by * t / 3) ** 3 - 1) / by + by / 6, t)


def with_skewness(deviate: float, skewness: float) -> float:
    """Returns the t that ``unskewed`` maps to ``deviate``."""
    if abs(skewness) <= SKEWED:
        return deviate
    return 3 / skewness * (cbrt(1 + skewness * (deviate - skewness / 6)) - 1)
