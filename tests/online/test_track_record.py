"""How offline differences have called A/B tests, and what lift they have meant."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.calibration_estimates import LEAST, RECORDS, Record
from benchmarks.calibration_estimates import track_record as simulated
from benchmarks.calibration_page import PAGE
from recdash.online.agreement.calibration import Calibration
from recdash.online.agreement.track_record import Point, called, line_through, track_record, wilson


def point(
    test: int,
    offline: float,
    online: float,
    error: float = 1.0,
    *,
    offline_error: float = 0.0,
    calls: bool | None = True,
) -> Point:
    names = ("films", f"test {test}", f"t{test}", "als", "r1")
    return Point(*names, offline, offline_error, online, error, calls)


def calibrated(points: list[Point]) -> Calibration:
    line = line_through(points)
    assert line is not None
    return line


def test_unsettled_comparisons_count_neither_way() -> None:
    points = [point(1, 5, 4), point(2, 5, -4, calls=False), point(3, 5, 1, calls=None)]
    assert track_record("nDCG@10", "watch", points).called[:2] == (1, 2)


@pytest.mark.parametrize(("right", "n"), [(0, 1), (3, 4), (7, 10), (10, 10)])
def test_the_interval_of_the_share_is_wilsons(right: int, n: int) -> None:
    """Its ends are the shares from which ``right`` of ``n`` is 1.96 standard errors away."""
    low, high = wilson(right, n)
    assert low is not None
    assert high is not None
    assert low <= right / n <= high
    for end in (low, high):
        assert (right / n - end) ** 2 == pytest.approx(1.959964**2 * end * (1 - end) / n)


def test_without_a_settled_comparison_there_is_no_share() -> None:
    assert called([None, None]) == (0, 0, None, None)


@pytest.mark.parametrize("n", [0, 1, 9])
def test_below_ten_tests_there_are_points_only_and_the_reason(n: int) -> None:
    record = track_record("nDCG@10", "watch", [point(test, 5, 2) for test in range(n)])
    assert record.calibration is None
    assert len(record.points) == n
    assert record.reason.endswith("is estimated from 10 tests on")


def test_several_variants_of_one_test_are_one_test() -> None:
    record = track_record("nDCG@10", "watch", [point(1, offline, 2) for offline in range(1, 13)])
    assert record.n_tests == 1
    assert record.calibration is None


def test_ten_tests_without_any_offline_difference_give_no_line() -> None:
    record = track_record("nDCG@10", "watch", [point(test, 0, 2) for test in range(10)])
    assert record.reason == "no test has an offline difference"


def test_one_test_with_an_offline_difference_gives_no_line() -> None:
    record = track_record("nDCG@10", "watch", [point(test, 5 * (test == 3), 2) for test in range(10)])
    assert record.reason == "only one test has an offline difference"


def test_a_change_of_a_tiny_baseline_gives_no_line() -> None:
    points = [replace(point(test, 5 + test, 2), from_zero=test == 3) for test in range(10)]
    assert track_record("nDCG@10", "watch", points).reason.startswith("a baseline's value is nearly 0")


def test_offline_differences_that_do_not_tell_give_no_line() -> None:
    """They are nothing but errors, so that a slope of any size is possible."""
    rng = np.random.default_rng(1)
    points = [point(n, *rng.normal(0, (1.0, 3.0)), offline_error=1.0) for n in range(10)]
    record = track_record("nDCG@10", "watch", points)
    assert record.calibration is None
    assert record.reason.startswith("the offline differences are too small for their errors")


def test_points_on_a_line_give_that_line_as_far_as_their_errors_know() -> None:
    """Lift is 0.3 times the difference; Σ w x² = 385 with x = 1..10 and w = 1."""
    result = calibrated([point(x, x, 0.3 * x) for x in range(1, 11)])
    assert result.slope == pytest.approx(0.3)
    assert result.tau == 0
    assert (result.high - result.low) / 2 == pytest.approx(1.959964 / math.sqrt(385))
    middle, low, high = result.predict(10.0)
    assert middle == pytest.approx(3.0)
    assert (low + high) / 2 == pytest.approx(3.0)
    assert (high - low) / 2 == pytest.approx(1.959964 * 10 / math.sqrt(385), rel=1e-6)


def test_exact_offline_differences_give_weighted_least_squares_with_errors_by_test() -> None:
    """Two points at x = 1 in each of ten tests, off the line by ±2 together: Σ w x² = 20 w, a test's part
    4 w / 20 w = ±.2, its share of Σ w x² .1, so the variance is 10 · .2² / .9; ten like tests have 9 degrees.
    """
    result = calibrated([point(n // 2, 1, 2 if n // 2 % 2 else -2) for n in range(20)])
    error = math.sqrt(10 * 0.2**2 / 0.9)
    assert result.slope == pytest.approx(0)
    assert result.std_error == pytest.approx(error)
    assert result.degrees == pytest.approx(9)
    assert result.high == pytest.approx(2.262157 * error, rel=1e-4)


def test_a_precise_test_weighs_more_than_a_vague_one() -> None:
    """x = 1 twice, y = 0 with SE 1 and y = 1 with SE 2: (0·1 + 1·¼) ÷ (1 + ¼)."""
    points = [point(n, 1, n % 2, 1 + n % 2) for n in range(10)]
    assert calibrated(points).slope == pytest.approx(0.2)


def test_equal_errors_on_both_sides_give_orthogonal_regression() -> None:
    """The slope of the first principal axis of the uncentred points, the eigenvector of Σ (x, y)ᵀ (x, y)."""
    rng = np.random.default_rng(4)
    x = rng.normal(0, 5, 12)
    y = 0.8 * x + rng.normal(0, 0.5, 12)
    points = [point(n, *both, 1.0, offline_error=1.0) for n, both in enumerate(zip(x, y, strict=True))]
    axis = np.linalg.eigh(np.array([[x @ x, x @ y], [x @ y, y @ y]]))[1][:, 1]
    assert calibrated(points).slope == pytest.approx(axis[1] / axis[0])


def test_the_slope_is_scipys_orthogonal_distance_regression() -> None:
    """With errors so large that the points have no further spread, τ is 0 and both minimise Σ r² / V."""
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(5)
    x, x_error = rng.normal(0, 10, 15), rng.uniform(1, 4, 15)
    y, y_error = 0.4 * x, rng.uniform(1, 3, 15)
    x, y = x + rng.normal(0, 0.3, 15) * x_error, y + rng.normal(0, 0.3, 15) * y_error

    def squares(slope: float) -> float:
        return float(((y - slope * x) ** 2 / (y_error**2 + slope**2 * x_error**2)).sum())

    points = [
        point(n, x[n], y[n], y_error[n], offline_error=x_error[n]) for n in range(15)
    ]  # fmt: skip
    least = minimize_scalar(squares, bounds=(0, 1), method="bounded", options={"xatol": 1e-12})
    result = calibrated(points)
    assert result.tau == 0
    assert result.slope == pytest.approx(least.x, abs=1e-6)


def test_the_spread_over_tests_is_the_moment_estimate() -> None:
    """x = 1, SE = 1, y = ±2 five times each: Σ r² / (1 + τ²) = 40 ÷ (1 + τ²) = 9, so τ² = 31 ÷ 9. Its ends
    are where it is a quantile of χ² with 9 degrees: 40 ÷ 19.0228 − 1 and 40 ÷ 2.70039 − 1.
    """
    result = calibrated([point(n, 1, 2 if n % 2 else -2) for n in range(10)])
    assert result.slope == pytest.approx(0)
    assert result.tau == pytest.approx(math.sqrt(31 / 9))
    assert result.tau_low == pytest.approx(math.sqrt(40 / 19.0228 - 1), rel=1e-4)
    assert result.tau_high == pytest.approx(math.sqrt(40 / 2.70039 - 1), rel=1e-4)


def test_a_slope_within_its_error_may_leave_no_spread() -> None:
    """Offline 1 to 5, each four times, SE = 2; online as much more as less by 4, SE = 1. So at a slope of b,
    Σ r² = 20 · 4² + (1 − b)² · 220 and V = 1 + 4 b² + τ². The 97.5 % quantile of χ² with 19 degrees is
    32.852.
    """

    def least(slope: float) -> float:
        return max(0.0, (320 + 220 * (1 - slope) ** 2) / 32.852 - 1 - 4 * slope**2)

    line = calibrated(
        [point(n, n // 2 % 5 + 1, n // 2 % 5 + 1 + (-4 if n % 2 else 4), offline_error=2) for n in range(20)]
    )
    assert least(line.slope) > 1
    assert least(line.slope + line.std_error) == 0
    assert line.tau > 3
    assert line.tau_low == 0


def test_variants_of_one_test_tell_less_of_the_spread_than_tests() -> None:
    """Twenty points of ten tests are ten for τ: Q = 19 · χ² / 9."""
    apart = calibrated([point(n, 1, 2 if n % 2 else -2) for n in range(20)])
    together = calibrated([point(n // 2, 1, 2 if n // 2 % 2 else -2) for n in range(20)])
    assert together.tau == pytest.approx(apart.tau)
    assert together.tau_high == pytest.approx(math.sqrt(80 / (2.70039 * 19 / 9) - 1), rel=1e-4)
    assert together.tau_high > apart.tau_high


def test_the_error_of_a_new_offline_difference_widens_its_prediction() -> None:
    """τ is surely 0 here, so that the variance is that of the slope and (b · SE)²."""
    line = calibrated([point(n, n, 0.3 * n, 100.0) for n in range(1, 11)])
    assert line.taus[-1] == 0
    of_slope = (line.high - line.slope) * 10 / 1.959964
    _, low, high = line.predict(10.0, 50.0)
    assert (high - low) / 2 == pytest.approx(1.959964 * math.hypot(of_slope, 0.3 * 50), rel=1e-6)


@pytest.mark.parametrize("record", [Record(1, 10, 0.5, 1.5), Record(3, 20, 1.0, 1.5)], ids=str)
def test_the_intervals_contain_slope_and_true_lift_as_often_as_they_say(record: Record) -> None:
    """At least 92 %, less three standard errors of 250 tries: 92 − 3 · 1.7."""
    tally = simulated(record, 250)
    assert tally.line > 150
    for count in (tally.slope, tally.prediction, tally.tau):
        assert count / tally.line > 0.87


def test_the_page_has_every_record_and_all_intervals_are_wide_enough() -> None:
    """LEAST less the 95 % error of the count: 1.96 · √(.92 · .08 / n)."""
    text = PAGE.read_text(encoding="utf-8").partition("### Track record")[2].partition("\n## ")[0]
    lines = [line for line in text.partition("\n### ")[0].splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[:4] for line in lines] == [
        f"| {record.title}".split(" | ") for record in RECORDS
    ]
    for line in lines:
        share, *shares, tries = line.strip("| ").split(" | ")[4:]
        n_lines = float(share) / 100 * float(tries.replace(",", ""))
        least = 100 * (LEAST - 1.96 * math.sqrt(LEAST * (1 - LEAST) / n_lines))
        assert len(shares) == 3
        for held in shares:
            assert float(held) >= least, line


def test_the_record_as_plain_values_can_be_written_as_json() -> None:
    record = track_record("nDCG@10", "watch", [point(n, n + 1, n) for n in range(10)], [("t", "no run")])
    facts = json.loads(json.dumps(record.as_dict()))
    assert facts["n_tests"] == 10
    assert facts["left_out"] == [{"test": "t", "reason": "no run"}]
    assert 1 <= facts["calibration"]["degrees"] < 9
    assert facts["calibration"]["tau_low"] <= facts["calibration"]["tau"] <= facts["calibration"]["tau_high"]
    assert "taus" not in facts["calibration"]


def test_the_table_has_a_row_for_each_point() -> None:
    table = track_record("nDCG@10", "watch", [point(n, n + 1, n) for n in range(3)]).table()
    assert list(table["offline"]) == [1, 2, 3]
    assert list(table["online"]) == [0, 1, 2]
