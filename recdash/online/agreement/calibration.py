"""The line through the offline differences of A/B tests and the lifts that followed.

Both sides have errors that are known.

Letters in shapes: ``n`` points (variants of tests), ``q`` quantiles.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.formatting import numbers
from recdash.stats import NORMAL_95
from recdash.stats.clustered import clustered_error

ROUNDS = 50
"""Rounds in which slope and τ are fitted in turn; they rarely need ten."""
CONVERGED = 1e-10
QUANTILES = 40
"""Equally likely values of τ over which a prediction is averaged."""
STEPS = 25
"""Steps, each half as long again as the one before, in which the end of an interval is looked for. An
interval that is more than 50,000 standard errors wide has none.
"""
LEAST_STEP = 1e-12
"""The first step if the points are on a line, so that there is no standard error."""


@dataclass(frozen=True)
class Calibration:
    """The line online lift = ``slope`` · offline difference, through the origin, with a 95 % interval.

    The interval from ``low`` to ``high`` is that of the slope. ``tau`` is the standard deviation of variants
    around the line beyond their own errors, in % of lift, with its 95 % interval. ``std_error`` is clustered
    by test, since the variants of a test share a control. ``degrees`` are the degrees of freedom of t, at
    most the number of tests − 1. ``taus`` [q] are equally likely values of τ, in ascending order.
    """

    slope: float
    std_error: float
    low: float
    high: float
    tau: float
    degrees: float
    tau_low: float
    tau_high: float
    taus: tuple[float, ...]

    @property
    def tau_text(self) -> str:
        """Returns the interval of τ as text, such as ``0 to 2.14 %``."""
        ends = (self.tau_low, self.tau_high)
        low, high = (numbers.fixed(end, numbers.places(ends)) if end else "0" for end in ends)
        return f"{low} to {high} %"

    def as_dict(self) -> dict[str, Any]:
        """Returns JSON-ready values, without ``taus``."""
        values = asdict(self)
        del values["taus"]
        return values

    def predict(self, offline: float, offline_error: float = 0.0) -> tuple[float, float, float]:
        """Returns the expected lift in %, and the low and high end of the prediction interval.

        The interval contains the true lift of a new test with 95 % probability. It allows for the errors of
        the slope, of τ, and of the new offline difference, ``offline_error`` (Nagashima, Noma & Furukawa
        2019).
        """
        middle = self.slope * offline
        spread = np.array(self.taus) ** 2 + (self.slope * offline_error) ** 2
        below, above = self.slope - self.low, self.high - self.slope
        if offline < 0:
            below, above = above, below
        low, high = (
            _half_width(np.sqrt(spread + (offline * side / NORMAL_95) ** 2)) for side in (below, above)
        )
        return middle, middle - low, middle + high


@dataclass(frozen=True)
class _Points:
    """The points ``x`` [n] and ``y`` [n] with the variances of their errors, and the ``test`` [n] of each."""

    x: Floats
    y: Floats
    x_variance: Floats
    y_variance: Floats
    test: Ints

    def __len__(self) -> int:
        return len(self.x)

    def variance(self, slope: float, tau2: float) -> Floats:
        """Returns [n] the variance of each point's distance from the line, y − slope · x."""
        return self.y_variance + tau2 + slope**2 * self.x_variance

    def expected(self, slope: float, variance: Floats) -> Floats:
        """Returns [n] the best estimates of the true offline differences if this is the slope.

        They are uncorrelated with the distances from the line.
        """
        return self.x + slope * self.x_variance * (self.y - slope * self.x) / variance


def calibrated(
    offline: Floats, offline_error: Floats, online: Floats, online_error: Floats, test: Ints
) -> Calibration | None:
    """Returns the line through the origin for points with known errors on both sides; None if the offline
    differences are too uncertain for an interval of the slope.

    ``test`` [n] is the index of each point's test. The slope is York's (1966): the root of Σ r ξ / V, where r
    = y − b x is a point's distance from the line, V = SE_y² + τ² + b² SE_x² its variance, and ξ the best
    estimate of the true offline difference given b. With exact offline differences this is weighted least
    squares. τ² solves Σ r² / V = n − 1 (Paule & Mandel 1982).

    The interval has each slope b for which r does not depend on ξ, by a test with standard errors that are
    cluster-robust by test, since variants of one test share their control (``_gap``). Unlike a standard error
    of b, the test is valid if offline differences are as small as their errors. The interval is at least as
    wide as the points' own errors imply, which matters if all points happen to be on the line.

    The low end of τ's interval is the lowest at the slope and at those one standard error away: a line that
    is too flat leaves the errors of the offline differences in r, as if variants were off the line.
    """
    points = _Points(offline, online, offline_error**2, online_error**2, test)
    slope, tau2 = _fitted(points)
    _, error, degrees = _gap(points, slope)
    low, high = (_end(points, slope, sign * error) for sign in (-1, 1))
    if low is None or high is None:
        return None
    variance = points.variance(slope, 0.0)
    least = NORMAL_95 / math.sqrt(float((points.expected(slope, variance) ** 2 / variance).sum()))
    tau_at = _tau_quantiles(points, slope)
    slopes = (slope, max(low, slope - error), min(high, slope + error))
    return Calibration(
        slope=slope,
        std_error=error,
        low=min(low, slope - least),
        high=max(high, slope + least),
        tau=math.sqrt(tau2),
        degrees=degrees,
        tau_low=min(_tau_quantiles(points, other)(0.025) for other in slopes),
        tau_high=tau_at(0.975),
        taus=tuple(tau_at((place + 0.5) / QUANTILES) for place in range(QUANTILES)),
    )


def _fitted(points: _Points) -> tuple[float, float]:
    """Returns the slope and τ², fitted in turn."""
    of_x = points.x / points.y_variance
    slope, tau2 = float(of_x @ points.y / (of_x @ points.x)), 0.0
    for _ in range(ROUNDS):
        before, tau2 = slope, _tau2(points, slope, len(points) - 1)
        variance = points.variance(slope, tau2)
        expected = points.expected(slope, variance) / variance
        slope = float(expected @ points.y / (expected @ points.x))
        if abs(slope - before) <= CONVERGED * max(1.0, abs(slope)):
            break
    return slope, tau2


def _half_width(errors: Floats) -> float:
    """Returns the half-width of a 95 % interval of an error whose standard deviation is one of ``errors``
    [q], each of which is equally likely.
    """
    from scipy.special import ndtr

    if not errors.all():  # such an error is exactly 0, and within every interval
        errors = np.maximum(errors, 1e-12 * max(float(errors.max()), 1e-300))
    return _root(lambda half: 0.975 - float(ndtr(half / errors).mean()), 0.0, 5 * float(errors.max()))


def _tau2(points: _Points, slope: float, aim: float) -> float:
    """Returns the τ² at which Σ r² / V is ``aim``; 0 if it is smaller without any τ."""
    squares = (points.y - slope * points.x) ** 2

    def excess(tau2: float) -> float:
        return float((squares / points.variance(slope, tau2)).sum()) - aim

    if excess(0.0) <= 0:
        return 0.0
    return _root(excess, 0.0, 1.01 * float(squares.sum()) / aim)


def _tau_quantiles(points: _Points, slope: float) -> Callable[[float], float]:
    """Returns a function that returns the quantile of τ for a probability: the Q-profile of Viechtbauer
    (2007).

    Σ r² / V has n − 1 degrees of freedom if each point is a test of its own. The points of one test may be
    off the line together, so that there are only as many as the effective number of tests, n² / Σ n_t², − 1.
    """
    from scipy.special import chdtri

    n = len(points)
    degrees = n**2 / float((np.bincount(points.test) ** 2).sum()) - 1

    def quantile(probability: float) -> float:
        aim = float(chdtri(degrees, probability)) * (n - 1) / degrees
        return math.sqrt(_tau2(points, slope, aim))

    return quantile


def _gap(points: _Points, slope: float) -> tuple[float, float, float]:
    """Returns how much steeper than ``slope`` the points seem to be, the standard error of that, and its
    degrees of freedom.

    It is the slope of r on ξ. τ² is estimated from the same r, and each ξ depends on it: its error is part of
    the standard error (the scores of both estimating equations are combined).
    """
    variance = points.variance(slope, _tau2(points, slope, len(points) - 1))
    distance, expected = points.y - slope * points.x, points.expected(slope, variance)
    squares = expected**2 / variance
    gap = float((expected * distance / variance).sum() / squares.sum())
    scores = expected * (distance - gap * expected) / variance
    by_tau = slope * float((points.x_variance / variance**2).sum() / (1 / variance).sum())
    relative = distance**2 / variance
    scores = scores - by_tau * (relative - relative.mean())
    return gap, *_of_tests(squares, scores, points.test)


def _excess(points: _Points, slope: float) -> float:
    """Returns by how much the points differ from a line with this slope beyond what is not significant; below
    0 if they do not differ significantly.
    """
    from scipy.special import stdtrit

    gap, error, degrees = _gap(points, slope)
    return abs(gap) - float(stdtrit(degrees, 0.975)) * error


def _end(points: _Points, slope: float, step: float) -> float | None:
    """Returns the end of the slope's interval in the direction of ``step``; None if the interval has none."""
    inside, step = slope, step or LEAST_STEP
    for _ in range(STEPS):
        outside = inside + step
        if _excess(points, outside) > 0:
            if _excess(points, inside) >= 0:  # all points are on the line
                return inside
            return _root(partial(_excess, points), inside, outside)
        inside, step = outside, 1.5 * step
    return None


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Returns where a function changes its sign between ``low`` and ``high``."""
    from scipy.optimize import brentq

    return float(brentq(function, low, high, xtol=1e-300, rtol=1e-12))


def _of_tests(squares: Floats, scores: Floats, test: Ints) -> tuple[float, float]:
    """Returns the slope's cluster-robust standard error and its degrees of freedom.

    ``squares`` are w x² and ``scores`` w x (y − b x) of the points, ``test`` is the index of each point's
    test.
    """
    share = np.bincount(test, squares) / squares.sum()
    part = np.bincount(test, scores) / squares.sum()
    return clustered_error(share, part)
