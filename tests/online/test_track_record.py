"""How offline differences have called A/B tests, and what lift they have meant."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from recdash.online.agreement.track_record import Point, calibrated, called, track_record, wilson


def point(
    test: int, offline: float, online: float, error: float = 1.0, *, calls: bool | None = True
) -> Point:
    return Point("films", f"test {test}", f"t{test}", "als", "r1", offline, 0.5, online, error, calls)


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


def test_points_on_a_line_give_that_line_as_far_as_their_errors_know() -> None:
    """Lift is 0.3 times the difference; Σ w x² = 385 with x = 1..10 and w = 1."""
    result = calibrated([point(x, x, 0.3 * x) for x in range(1, 11)])
    assert result.slope == pytest.approx(0.3)
    assert result.tau == 0
    assert (result.high - result.low) / 2 == pytest.approx(1.959964 / math.sqrt(385))
    middle, low, high = result.predict(10.0)
    assert middle == pytest.approx(3.0)
    assert (low + high) / 2 == pytest.approx(3.0)
    assert (high - low) / 2 == pytest.approx(1.959964 * 10 / math.sqrt(385))


def test_the_error_is_that_of_whole_tests() -> None:
    """Two points at x = 1 in each of ten tests, off the line by ±2 together: Σ w x² = 20 w, a test's part
    4 w / 20 w = ±.2, its share of Σ w x² .1, so the variance is 10 · .2² / .9; ten like tests have 9 degrees.
    """
    result = calibrated([point(n // 2, 1, 2 if n // 2 % 2 else -2) for n in range(20)])
    assert result.slope == pytest.approx(0)
    assert result.std_error == pytest.approx(math.sqrt(10 * 0.2**2 / 0.9))
    assert result.degrees == pytest.approx(9)


@pytest.mark.parametrize("of_test", [0.0, 1.5], ids=["a shared control", "and an effect of each test"])
def test_the_slope_of_tests_with_four_variants_is_held_by_95_of_100_intervals(of_test: float) -> None:
    chance, held, test = np.random.default_rng(11), 0, np.repeat(np.arange(10), 4)
    for _ in range(600):
        error = chance.uniform(0.5, 2, 10)
        x = chance.normal(0, 10, 10)[test] + chance.normal(0, 10, 40)
        shared = chance.normal(0, 1, 10) * error / math.sqrt(2) + of_test * chance.normal(0, 1, 10)
        y = 0.3 * x + shared[test] + chance.normal(0, 1, 40) * error[test] / math.sqrt(2)
        y += chance.normal(0, 1, 40)
        result = calibrated([point(*one) for one in zip(test, x, y, error[test], strict=True)])
        held += result.low <= 0.3 <= result.high
    assert 0.93 <= held / 600 <= 0.97


def test_a_precise_test_weighs_more_than_a_vague_one() -> None:
    """x = 1 twice, y = 0 with SE 1 and y = 1 with SE 2: (0·1 + 1·¼) ÷ (1 + ¼)."""
    result = calibrated([point(1, 1, 0, 1), point(2, 1, 1, 2)])
    assert result.slope == pytest.approx(0.2)


def test_the_spread_over_tests_is_the_moment_estimate() -> None:
    """x = 1, SE = 1, y = ±2 five times each: Q = 40, C = 10 − 1, τ² = (40 − 9) ÷ 9."""
    result = calibrated([point(n, 1, 2 if n % 2 else -2) for n in range(10)])
    assert result.slope == pytest.approx(0)
    assert result.tau == pytest.approx(math.sqrt(31 / 9))


def test_the_intervals_hold_slope_and_a_new_tests_true_lift_about_95_times_in_100() -> None:
    chance = np.random.default_rng(2)
    slope_held = lift_held = 0
    for _ in range(400):
        x = chance.normal(0, 10, 15)
        true = 0.3 * x + chance.normal(0, 1.5, 15)
        error = chance.uniform(0.5, 2, 15)
        y = true + chance.normal(0, 1, 15) * error
        result = calibrated([point(n, *one) for n, one in enumerate(zip(x, y, error, strict=True))])
        slope_held += result.low <= 0.3 <= result.high
        _, low, high = result.predict(8.0)
        lift_held += low <= 0.3 * 8 + chance.normal(0, 1.5) <= high
    assert 0.92 <= slope_held / 400 <= 0.98
    assert 0.90 <= lift_held / 400 <= 0.98


def test_the_record_as_plain_values_can_be_written_as_json() -> None:
    record = track_record("nDCG@10", "watch", [point(n, n + 1, n) for n in range(10)], [("t", "no run")])
    facts = json.loads(json.dumps(record.as_dict()))
    assert facts["n_tests"] == 10
    assert facts["left_out"] == [{"test": "t", "reason": "no run"}]
    assert 1 <= facts["calibration"]["degrees"] < 9
