"""The track record of an offline metric: how often it predicted A/B tests, and what lift its differences
meant.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from recdash.domain.kinds import Floats, Ints
from recdash.stats import NORMAL_95

LEAST_TESTS = 10
"""Number of tests from which a calibration line is fitted."""


@dataclass(frozen=True)
class Point:
    """One variant of one test against its control.

    ``offline``: difference in % of the baseline's value, ``online``: lift in %, both with standard errors and
    signed so that more is better. ``calls``: whether offline predicted the winner; None if either result is
    inconclusive, each judged with the other variants of its test.
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


class Called(NamedTuple):
    """``right`` of ``n`` decided comparisons, with Wilson's 95 % interval for the share; 0..1."""

    right: int
    n: int
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Calibration:
    """The line: online lift = ``slope`` · offline difference, through the origin, with its 95 % interval.

    ``tau``: spread of variants around the line beyond their errors (standard deviation, in % of lift), by
    DerSimonian and Laird's estimate; weights are 1/(SE² + τ²). ``std_error`` is clustered by test, whose
    variants share a control; ``degrees`` of freedom of t, at most one less than there are tests.
    """

    slope: float
    std_error: float
    low: float
    high: float
    tau: float
    degrees: float

    def predict(self, offline: float) -> tuple[float, float, float]:
        """Returns the expected lift in %, and the 95 % prediction interval of a new test's true lift."""
        from scipy.special import stdtrit

        half = float(stdtrit(self.degrees, 0.975)) * math.hypot(self.tau, self.std_error * offline)
        middle = self.slope * offline
        return middle, middle - half, middle + half


@dataclass(frozen=True)
class TrackRecord:
    """All ``points`` of stored tests with offline and online results; ``n_tests`` of them.

    ``calibration`` is None if ``reason`` says why. ``left_out``: tests without a point, and why.
    """

    metric: str
    online_metric: str
    points: tuple[Point, ...]
    n_tests: int
    called: Called
    calibration: Calibration | None
    reason: str
    left_out: tuple[tuple[str, str], ...]

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
    """Returns the track record of ``points``, with a calibration line from ten tests on."""
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
    line = None if reason else calibrated(points)
    calls = called([point.calls for point in points])
    return TrackRecord(metric, online_metric, tuple(points), n_tests, calls, line, reason, tuple(left_out))


def called(outcomes: Sequence[bool | None]) -> Called:
    """Returns how many of the decided ``outcomes`` were predicted correctly."""
    settled = [is_right for is_right in outcomes if is_right is not None]
    return Called(sum(settled), len(settled), *wilson(sum(settled), len(settled)))


def wilson(right: int, n: int) -> tuple[float | None, float | None]:
    """Returns Wilson's 95 % interval of a share; None without a trial."""
    if not n:
        return None, None
    from scipy.stats import binomtest

    interval = binomtest(right, n).proportion_ci(method="wilson")
    return float(interval.low), float(interval.high)


def calibrated(points: Sequence[Point]) -> Calibration:
    """Returns the line through the origin.

    τ² is DerSimonian and Laird's moment estimate for one slope: max(0, (Q − (n − 1)) / C) with Q = Σ w (y − b
    x)² and C = Σ w − Σ w² x² / Σ w x². Errors of the offline values, where the same users rank for both runs,
    are small compared with online ones and are not modelled.

    Variants of one test share their control and other circumstances, so that the slope's error is
    cluster-robust by test (``_of_tests``). It is never less than the points' own errors imply, as when all
    points happen to be on the line.
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
    """Returns τ²."""
    excess = float(weight @ (y - _slope(x, y, weight) * x) ** 2) - (len(x) - 1)
    spare = float(weight.sum() - (weight**2 @ x**2) / (weight @ x**2))
    return max(0.0, excess / spare) if spare > 0 else 0.0


def _of_tests(squares: Floats, scores: Floats, test: Ints) -> tuple[float, float]:
    """Returns the slope's cluster-robust standard error and its degrees of freedom.

    ``squares`` w x² and ``scores`` w x (y − b x) of the points, ``test`` the index of each point's test. With
    a test's share L of Σ w x² and its part s of the slope the variance is Σ s² / (1 − L), and the degrees of
    freedom are Satterthwaite's (Bell & McCaffrey 2002; Pustejovsky & Tipton 2018, "CR2").
    """
    share = np.bincount(test, squares) / squares.sum()
    part = np.bincount(test, scores) / squares.sum()
    root = share / np.sqrt(1 - share)
    spread = np.diag(share / (1 - share)) - np.outer(root, root)
    degrees = float(np.trace(spread) ** 2 / (spread**2).sum())
    return math.sqrt(float((part**2 / (1 - share)).sum())), degrees


def _slope(x: Floats, y: Floats, weight: Floats) -> float:
    return float((weight * x) @ y / ((weight * x) @ x))
