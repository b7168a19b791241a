"""Differences over folds and seeds: against scipy where it has the test, by arithmetic where it has not."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from recdash.stats.replicates import Measured, difference_over_replicates, together

ALS = {"1": 0.31, "2": 0.35, "3": 0.33, "4": 0.36}
EASE = {"1": 0.30, "2": 0.31, "3": 0.31, "4": 0.33}


def seeds(values: dict[str, float]) -> Measured:
    return Measured(values, "seed")


def folds(values: dict[str, float]) -> Measured:
    return Measured(values, "fold", overlap=True)


def test_seeds_of_the_same_labels_are_paired() -> None:
    found = difference_over_replicates(seeds(ALS), seeds(EASE))
    expected = stats.ttest_rel(list(ALS.values()), list(EASE.values()))
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.mean == pytest.approx((0.01 + 0.04 + 0.02 + 0.03) / 4)
    assert (found.n, found.n_baseline) == (4, 4)
    assert found.method == "paired t-test over 4 seeds"


def test_labels_pair_whatever_their_order() -> None:
    turned = dict(reversed(EASE.items()))
    assert difference_over_replicates(seeds(ALS), seeds(turned)) == difference_over_replicates(
        seeds(ALS), seeds(EASE)
    )


def test_folds_get_the_variance_of_overlapping_training_sets() -> None:
    found = difference_over_replicates(folds(ALS), folds(EASE))
    # differences 0.01, 0.04, 0.02, 0.03: s² = (0.015² + 0.015² + 0.005² + 0.005²) / 3; n_test/n_train = 1/3
    variance = (2 * 0.015**2 + 2 * 0.005**2) / 3
    half = stats.t.ppf(0.975, 3) * math.sqrt((1 / 4 + 1 / 3) * variance)
    assert (found.low, found.high) == pytest.approx((0.025 - half, 0.025 + half))
    assert found.p == pytest.approx(2 * stats.t.sf(0.025 / math.sqrt(7 / 12 * variance), 3))
    assert found.method == (
        "corrected resampled t-test over 4 folds, whose training sets overlap (Nadeau and Bengio 2003)"
    )


def test_a_difference_may_outlive_seeds_and_not_as_many_folds() -> None:
    assert difference_over_replicates(seeds(ALS), seeds(EASE)).outlives is True
    assert difference_over_replicates(folds(ALS), folds(EASE)).outlives is False


@pytest.mark.parametrize(("labels", "same_users"), [("abcd", True), ("1234", False)])
def test_other_labels_or_other_users_are_compared_by_their_means(labels: str, same_users: bool) -> None:
    other = seeds(dict(zip(labels, EASE.values(), strict=True)))
    found = difference_over_replicates(seeds(ALS), other, same_users=same_users)
    expected = stats.ttest_ind(list(ALS.values()), list(EASE.values()), equal_var=False)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.method == "Welch's t-test, 4 seeds against 4 seeds"


def test_seeds_against_a_candidate_uploaded_once_are_one_sample() -> None:
    found = difference_over_replicates(seeds(ALS), seeds({"": 0.32}))
    expected = stats.ttest_1samp(list(ALS.values()), 0.32)
    assert found.p == pytest.approx(expected.pvalue)
    low, high = expected.confidence_interval()
    assert (found.low, found.high) == pytest.approx((low - 0.32, high - 0.32))
    assert (found.n, found.n_baseline, found.outlives) == (4, 1, False)
    assert found.method == "one-sample t-test, 4 seeds against one value"


def test_turning_the_two_round_turns_the_sign() -> None:
    forth = difference_over_replicates(seeds({"": 0.32}), seeds(ALS))
    back = difference_over_replicates(seeds(ALS), seeds({"": 0.32}))
    assert (forth.mean, forth.low, forth.high, forth.p) == pytest.approx(
        (-back.mean, -back.high, -back.low, back.p)
    )


def test_two_candidates_uploaded_once_leave_it_open() -> None:
    found = difference_over_replicates(seeds({"": 0.4}), seeds({"": 0.3}))
    assert found.outlives is None
    assert found.mean == pytest.approx(0.1)
    assert math.isnan(found.p)


@pytest.mark.parametrize(("by", "outlives", "p"), [(0.1, True, 0.0), (0.0, False, 1.0)])
def test_replicates_that_all_differ_alike_leave_no_doubt(by: float, outlives: bool, p: float) -> None:
    moved = {label: value - by for label, value in ALS.items()}
    found = difference_over_replicates(seeds(ALS), seeds(moved))
    assert (found.low, found.high) == pytest.approx((by, by))
    assert (found.outlives, found.p) == (outlives, p)


def test_candidates_side_by_side_are_one_family() -> None:
    """Alone each outlives the seeds (p = 0.03); two of them are one try too many (2 · 0.03)."""
    alone = difference_over_replicates(seeds(ALS), seeds(EASE))
    other = difference_over_replicates(seeds({"1": 0.4}), seeds({"1": 0.3}))
    assert 0.025 < alone.p < 0.05
    one, two, lonely = together([alone, alone, other])
    assert (one.outlives, one.p) == (False, pytest.approx(2 * alone.p))
    assert one.low < 0 < alone.low
    assert two == one
    assert lonely is other
    (left,) = together([alone])
    assert (left.p, left.low, left.high, left.outlives) == (alone.p, alone.low, alone.high, True)
    assert [found.outlives for found in together([alone, alone], "bh")] == [True, True]


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no replicate"):
        difference_over_replicates(seeds({}), seeds(ALS))


def test_the_corrected_test_finds_a_difference_where_there_is_none_no_more_often_than_it_may() -> None:
    """Folds whose training sets overlap, as errors that any two of them share half of their variance."""
    import numpy as np

    rng = np.random.default_rng(7)
    n, tries = 5, 2000
    shared, own = rng.normal(size=(tries, 1)), rng.normal(size=(tries, n))
    correlation = 1 / n  # n_test / (n_test + n_train), as Nadeau and Bengio take it
    values = math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own
    nothing = dict.fromkeys("01234", 0.0)

    def found(kind: object) -> float:
        rows = (dict(zip("01234", row, strict=True)) for row in values.tolist())
        return (
            sum(bool(difference_over_replicates(kind(row), kind(nothing)).outlives) for row in rows) / tries
        )  # type: ignore[operator]

    assert found(folds) < 0.06 < found(seeds)
