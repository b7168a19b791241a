"""The t of a mean that is skewed itself, such as that of many small gains against a few large losses.

Its t is skewed too: more often far above 0 than far below, or the other way round. The cubic of Hall (1992,
J. Royal Statistical Society B 54, 221) takes that out of t, and what is left is held against Student's
distribution. Skewness is here that of a mean: that of the differences by √n.
"""

from __future__ import annotations

from math import cbrt

import numpy as np

from recdash.domain.kinds import Floats

SKEWED = 0.005
"""Beyond such a skewness t needs Hall's cubic.

By Edgeworth a one-sided error of 2.5 % becomes 2.5 % + (2z² + 1)/6 · φ(z) · skewness: 2.54 % here. The
skewness of 400 differences of ±1 that are symmetric is seen with an error of 1/400.
"""
_SAME = 1e-12
"""Runs are alike where their differences have no more of their squares: only rounding separates them."""


def skewness_of_mean(differences: Floats, n: int, mean: float, sd: float) -> float:
    """Of n users with this mean and spread > 0; the others than ``differences`` [x] do not differ."""
    squares = differences * differences
    cubes = float((squares * differences).sum()) - 3 * mean * float(squares.sum()) + 2 * n * mean**3
    return float(cubes / ((n - 1) * sd**2) ** 1.5)


def skewness_of_means(off: Floats) -> Floats:
    """[r, r] of the column's run minus the row's, from what each unit [n, r] is off its run's mean."""
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
    """[…] each t as it would be without the skewness; itself where that is small."""
    needed = np.abs(skewness) > SKEWED
    by = np.where(needed, skewness, 1.0)
    return np.where(needed, ((1 + by * t / 3) ** 3 - 1) / by + by / 6, t)


def with_skewness(deviate: float, skewness: float) -> float:
    """The t that ``unskewed`` makes so large."""
    if abs(skewness) <= SKEWED:
        return deviate
    return 3 / skewness * (cbrt(1 + skewness * (deviate - skewness / 6)) - 1)
