"""The track record of an offline metric: how often it predicted A/B tests, and the lifts that followed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recdash.formatting import numbers
from recdash.online.agreement.calibration import Calibration, calibrated
from recdash.stats import sparse

if TYPE_CHECKING:
    import pandas as pd

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

    @property
    def usual_offline_error(self) -> float:
        """Returns the median standard error of the points' offline differences in %; 0 without points."""
        errors = [point.offline_error for point in self.points if math.isfinite(point.offline_error)]
        return float(np.median(errors)) if errors else 0.0

    def offline_text(self, point: Point) -> str:
        """Returns the offline result of a shown point, in % or as a difference."""
        return numbers.change(point.offline, "" if self.in_units else " %")

    def table(self) -> pd.DataFrame:
        """Returns a data frame with one row per point, as the points are shown."""
        import pandas as pd

        columns = ["experiment", "test", "run", "offline", "offline_error", "online", "online_error", "calls"]
        rows = [[getattr(point, name) for name in columns] for point in self.shown_points]
        return pd.DataFrame(rows, columns=columns)

    def as_dict(self) -> dict[str, Any]:
        return {
            "metric": self.metric,
            "online_metric": self.online_metric,
            "n_tests": self.n_tests,
            "called": self.called._asdict(),
            "points": [asdict(point) for point in self.points],
            "calibration": self.calibration.as_dict() if self.calibration else None,
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
    line = None if reason else line_through(points)
    if not (line or reason):
        reason = (
            "the offline differences are too small for their errors to tell what a larger one means online"
        )
    calls = called([point.calls for point in points])
    return TrackRecord(metric, online_metric, tuple(points), n_tests, calls, line, reason, tuple(left_out))


def called(outcomes: Sequence[bool | None]) -> Called:
    """Returns how many of the decided outcomes were predicted correctly; None is an undecided outcome."""
    settled = [is_right for is_right in outcomes if is_right is not None]
    return Called(sum(settled), len(settled), *wilson(sum(settled), len(settled)))


def wilson(right: int, n: int) -> tuple[float | None, float | None]:
    """Returns Wilson's 95 % interval of the share right / n; None for both ends if n is 0."""
    return sparse.wilson(right, n, 0.95) if n else (None, None)


def line_through(points: Sequence[Point]) -> Calibration | None:
    """Returns the calibration line of the points; None if it has no interval.

    Points whose offline difference has no error, such as those of a single user, are left out.
    """
    points = [point for point in points if math.isfinite(point.offline_error)]
    if len({point.test_id for point in points if point.offline}) < 2:
        return None
    offline, offline_error, online, online_error = (
        np.array([getattr(point, name) for point in points], dtype=np.float64)
        for name in ("offline", "offline_error", "online", "online_error")
    )
    test = np.unique([point.test_id for point in points], return_inverse=True)[1]
    return calibrated(offline, offline_error, online, online_error, test)
