"""The track record of an offline metric: how often it predicted A/B tests, and the lifts that followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.formatting import numbers
from recdash.stats import NORMAL_95

LEAST_TESTS = 10
"""Smallest number of tests for which a calibration line is fitted."""


@dataclass(frozen=True)
class Point:
    """One variant of one A/B test, compared with the test's control.

    ``offline`` is the difference in % of the baseline's value, ``online`` the lift in %, each with its
    standard error and the sign set so that more is better. ``calls`` says whether offline predicted the
    winner; None if one of the results is inconclusive. Each result is judged together with the other variants
    of its test. ``difference`` is the offline difference in units of the metric. ``from_zero``: the
    baseline's value is nearly 0, so that no share of it tells anything. ``signs`` are those that were set
    (offline, online): −1 if less of the metric is better.
    """

    experiment: str
    test: str
    test_id: str
    run: str
    run_id: str
    offline: float
    offline_error: float
    online: float
    online_error: float
    calls: bool | None
    difference: float = 0.0
    difference_error: float = 0.0
    from_zero: bool = False
    signs: tuple[int, int] = (1, 1)


class Called(NamedTuple):
    """How often offline was ``right`` in ``n`` decided comparisons.

    ``low`` and ``high`` are Wilson's 95 % interval of that share, from 0 to 1; None without a comparison.
    """

    right: int
    n: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Calibration:
    """The line online lift = ``slope`` · offline difference, through the origin, with a 95 % interval.

    The interval is that of the slope. ``tau`` is the standard deviation of variants around the line beyond
    their own errors, in % of lift, by DerSimonian and Laird's estimate; points have the weights 1/(SE² + τ²).
    ``std_error`` is clustered by test, since the variants of a test share a control. ``degrees`` are the
    degrees of freedom of t, at most the number of tests − 1.
    """

    slope: float
    std_error: float
    low: float
    high: float
    tau: float
    degrees: float

    def predict(self, offline: float) -> tuple[float, float, float]:
        """Returns the expected lift in %, and the low and high end of the prediction interval.

        The interval contains the true lift of a new test with 95 % probability.
        """
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees, 0.975)) * math.hypot(self.tau, self.std_error * offline)
        middle = self.slope * offline
        return middle, middle - half, middle + half


@dataclass(frozen=True)
class TrackRecord:
    """The ``points`` of all ``n_tests`` stored tests with offline and online results, and what they show.

    ``calibration`` is None if ``reason`` says why. ``left_out`` has each test without a point, and why.
    """

    metric: str
    online_metric: str
    points: tuple[Point, ...]
    n_tests: int
    called: Called
    calibration: Calibration | None
    reason: str
    left_out: tuple[tuple[str, str], ...]

    @property
    def in_units(self) -> bool:
        """Returns whether offline results are shown as differences rather than in %: if the value of any
        baseline is nearly 0.
        """
        return any(point.from_zero for point in self.points)

    @property
    def signs(self) -> tuple[int, int]:
        """Returns the signs of the offline and the online results: −1 if less of the metric is better in all
        tests, so that the results are shown as they were measured.
        """
        offline, online = (
            -1 if self.points and all(point.signs[side] < 0 for point in self.points) else 1
            for side in (0, 1)
        )
        return offline, online

    @property
    def shown_points(self) -> tuple[Point, ...]:
        """Returns the points as they are shown: with the sign that was measured, and with a difference as
        ``offline`` if the record is ``in_units``.
        """
        points = self.points
        if self.in_units:
            points = tuple(
                replace(point, offline=point.difference, offline_error=point.difference_error)
                for point in points
            )
        offline, online = self.signs
        return tuple(
            replace(point, offline=offline * point.offline, online=online * point.online) for point in points
        )

    @property
    def shown_calibration(self) -> Calibration | None:
        """Returns the line through the shown points; None without one."""
        line, (offline, online) = self.calibration, self.signs
        if line is None or offline == online:
            return line
        return replace(line, slope=-line.slope, low=-line.high, high=-line.low)

    def offline_text(self, point: Point) -> str:
        """Returns the offline result of a shown point, in % or as a difference."""
        return numbers.change(point.offline, "" if self.in_units else " %")

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "online_metric": self.online_metric,
            "n_tests": self.n_tests,
            "called": self.called._asdict(),
            "points": [asdict(point) for point in self.points],
            "calibration": asdict(self.calibration) if self.calibration else None,
            "reason": self.reason,
            "left_out": [{"test": test, "reason": reason} for test, reason in self.left_out],
        }


def track_record(
    metric: str, online_metric: str, points: Sequence[Point], left_out: Sequence[tuple[str, str]] = ()
) -> TrackRecord:
    """Returns the track record of the points; with ten tests or more it has a calibration line."""
    n_tests = len({point.test_id for point in points})
    n_different = len({point.test_id for point in points if point.offline})
    reason = ""
    if n_tests < LEAST_TESTS:
        tests = f"{n_tests or 'no'} test{'' if n_tests == 1 else 's'}"
        reason = (
            f"{tests} so far; the online effect of an offline difference is estimated from {LEAST_TESTS} "
            "tests on"
        )
    elif n_different < 2:
        reason = f"{'only one' if n_different else 'no'} test has an offline difference"
    elif any(point.from_zero for point in points):
        reason = "a baseline's value is nearly 0, so that a change in % of it says nothing"
    line = None if reason else calibrated(points)
    calls = called([point.calls for point in points])
    return TrackRecord(metric, online_metric, tuple(points), n_tests, calls, line, reason, tuple(left_out))


def called(outcomes: Sequence[bool | None]) -> Called:
    """Returns how many of the decided outcomes were predicted correctly; None is an undecided outcome."""
    settled = [is_right for is_right in outcomes if is_right is not None]
    return Called(sum(settled), len(settled), *wilson(sum(settled), len(settled)))


def wilson(right: int, n: int) -> tuple[float | None, float | None]:
    """Returns Wilson's 95 % interval of the share right / n; None for both ends if n is 0."""
    if not n:
        return None, None
    from scipy.stats import binomtest

    interval = binomtest(right, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def calibrated(points: Sequence[Point]) -> Calibration:
    """Returns the calibration line through the origin.

    τ² is DerSimonian and Laird's moment estimate for one slope: max(0, (Q − (n − 1)) / C) with Q = Σ w (y − b
    x)² and C = Σ w − Σ w² x² / Σ w x². Errors of the offline values are ignored: both runs rank for the same
    users, so that their errors are small compared with the online ones.

    Variants of one test share their control and other circumstances, so that the standard error of the slope
    is cluster-robust by test (``_of_tests``). It is at least what the points' own errors imply, which matters
    if all points happen to be on the line.
    """
    from scipy.special import stdtrit

    x, y, error = (
        np.array([getattr(point, name) for point in points]) for name in ("offline", "online", "online_error")
    )
    weight = 1 / error**2
    least = 1 / math.sqrt(float(weight @ x**2))
    tau2 = _spread(x, y, weight)
    weight = 1 / (error**2 + tau2)
    slope = _slope(x, y, weight)
    test = np.unique([point.test_id for point in points], return_inverse=True)[1]
    robust, degrees = _of_tests(weight * x**2, weight * x * (y - slope * x), test)
    t = float(stdtrit(degrees, 0.975))
    of_slope = max(robust, least * NORMAL_95 / t)
    return Calibration(slope, of_slope, slope - t * of_slope, slope + t * of_slope, math.sqrt(tau2), degrees)


def _spread(x: Floats, y: Floats, weight: Floats) -> float:
    """Returns τ², the variance of the points around the line beyond their own errors."""
    excess = float(weight @ (y - _slope(x, y, weight) * x) ** 2) - (len(x) - 1)
    spare = float(weight.sum() - (weight**2 @ x**2) / (weight @ x**2))
    return max(0.0, excess / spare) if spare > 0 else 0.0


def _of_tests(squares: Floats, scores: Floats, test: Ints) -> tuple[float, float]:
    """Returns the slope's cluster-robust standard error and its degrees of freedom.

    ``squares`` are w x² and ``scores`` w x (y − b x) of the points, ``test`` is the index of each point's
    test. For a test with the share L of Σ w x² and the contribution s to the slope, the variance is Σ s² / (1
    − L). The degrees of freedom are Satterthwaite's (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018,
    "CR2").
    """
    share = np.bincount(test, squares) / squares.sum()
    part = np.bincount(test, scores) / squares.sum()
    root = share / np.sqrt(1 - share)
    spread = np.diag(share / (1 - share)) - np.outer(root, root)
    degrees = float(np.trace(spread) ** 2 / (spread**2).sum())
    return math.sqrt(float((part**2 / (1 - share)).sum())), degrees


def _slope(x: Floats, y: Floats, weight: Floats) -> float:
    return float((weight * x) @ y / ((weight * x) @ x))
