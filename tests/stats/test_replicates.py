"""Differences over folds and seeds: against scipy where it has the test, by arithmetic where it has not."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from recdash.stats.replicates import ReplicateValues, judge_replicates, replicate_difference

ALS = {"1": 0.31, "2": 0.35, "3": 0.33, "4": 0.36}
EASE = {"1": 0.30, "2": 0.31, "3": 0.31, "4": 0.33}


def seeds(values: dict[str, float]) -> ReplicateValues:
    return ReplicateValues(values, "seed")


def folds(values: dict[str, float]) -> ReplicateValues:
    return ReplicateValues(values, "fold", overlap=True)


def test_seeds_of_the_same_labels_are_paired() -> None:
    found = replicate_difference(seeds(ALS), seeds(EASE))
    expected = stats.ttest_rel(list(ALS.values()), list(EASE.values()))
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.mean == pytest.approx((0.01 + 0.04 + 0.02 + 0.03) / 4)
    assert (found.n, found.n_baseline) == (4, 4)
    assert found.method == "paired t-test over 4 seeds"


def test_labels_pair_whatever_their_order() -> None:
    turned = dict(reversed(EASE.items()))
    assert replicate_difference(seeds(ALS), seeds(turned)) == replicate_difference(seeds(ALS), seeds(EASE))


def test_folds_get_the_variance_of_overlapping_training_sets() -> None:
    found = replicate_difference(folds(ALS), folds(EASE))
    # differences 0.01, 0.04, 0.02, 0.03: s² = (0.015² + 0.015² + 0.005² + 0.005²) / 3; n_test/n_train = 1/3
    variance = (2 * 0.015**2 + 2 * 0.005**2) / 3
    half = stats.t.ppf(0.975, 3) * math.sqrt((1 / 4 + 1 / 3) * variance)
    assert (found.low, found.high) == pytest.approx((0.025 - half, 0.025 + half))
    assert found.p == pytest.approx(2 * stats.t.sf(0.025 / math.sqrt(7 / 12 * variance), 3))
    assert found.method == (
        "corrected resampled t-test over 4 folds, whose training sets overlap (Nadeau and Bengio 2003)"
    )


def test_a_difference_may_hold_across_seeds_and_not_as_many_folds() -> None:
    assert replicate_difference(seeds(ALS), seeds(EASE)).significant is True
    assert replicate_difference(folds(ALS), folds(EASE)).significant is False


@pytest.mark.parametrize(("labels", "same_users"), [("abcd", True), ("1234", False)])
def test_other_labels_or_other_users_are_compared_by_their_means(labels: str, same_users: bool) -> None:
    other = seeds(dict(zip(labels, EASE.values(), strict=True)))
    found = replicate_difference(seeds(ALS), other, same_users=same_users)
    expected = stats.ttest_ind(list(ALS.values()), list(EASE.values()), equal_var=False)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(expected.confidence_interval()))
    assert found.method == "Welch's t-test, 4 seeds against 4 seeds"


def test_a_candidate_uploaded_once_is_taken_to_vary_as_much_as_the_others_seeds() -> None:
    """The variance of a mean of four seeds less one value is s²/4 + s², with three degrees of freedom."""
    found = replicate_difference(seeds(ALS), seeds({"": 0.32}))
    values = list(ALS.values())
    mean = sum(values) / 4
    error = math.sqrt((1 / 4 + 1) * sum((value - mean) ** 2 for value in values) / 3)
    half = stats.t.ppf(0.975, 3) * error
    assert (found.low, found.high) == pytest.approx((mean - 0.32 - half, mean - 0.32 + half))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(mean - 0.32) / error, 3))
    assert (found.n, found.n_baseline, found.significant) == (4, 1, False)
    assert found.method == "t-test of 4 seeds against one value that is assumed to vary as much"


def test_turning_the_two_round_turns_the_sign() -> None:
    forth = replicate_difference(seeds({"": 0.32}), seeds(ALS))
    back = replicate_difference(seeds(ALS), seeds({"": 0.32}))
    assert (forth.mean, forth.low, forth.high, forth.p) == pytest.approx(
        (-back.mean, -back.high, -back.low, back.p)
    )


def test_two_candidates_uploaded_once_leave_it_open() -> None:
    found = replicate_difference(seeds({"": 0.4}), seeds({"": 0.3}))
    assert found.significant is None
    assert found.mean == pytest.approx(0.1)
    assert math.isnan(found.p)


def test_seeds_that_all_differ_alike_are_compared_by_their_means() -> None:
    """Equal differences would prove too much: a spread of 0 makes any t-test certain."""
    moved = {label: value - 0.1 for label, value in ALS.items()}
    found = replicate_difference(seeds(ALS), seeds(moved))
    expected = stats.ttest_ind(list(ALS.values()), list(moved.values()))
    assert found.p == pytest.approx(expected.pvalue)
    assert found.method == "Welch's t-test, 4 seeds against 4 seeds"


def test_replicates_that_do_not_differ_leave_it_open() -> None:
    found = replicate_difference(seeds({"1": 0.4, "2": 0.4}), seeds({"1": 0.3, "2": 0.3}))
    assert (found.significant, found.method) == (None, "replicates that do not differ")
    assert math.isnan(found.p)


def test_seeds_against_seeds_that_do_not_differ_have_the_spread_of_the_first() -> None:
    found = replicate_difference(seeds(ALS), seeds(dict.fromkeys("abcd", 0.32)))
    expected = stats.ttest_1samp(list(ALS.values()), 0.32)
    assert found.p == pytest.approx(expected.pvalue)


def test_candidates_side_by_side_are_one_family() -> None:
    """Alone each holds across seeds (p = 0.03); two of them are one try too many (2 · 0.03)."""
    alone = replicate_difference(seeds(ALS), seeds(EASE))
    other = replicate_difference(seeds({"1": 0.4}), seeds({"1": 0.3}))
    assert 0.025 < alone.p < 0.05
    one, two, lonely = judge_replicates([alone, alone, other])
    assert (one.significant, one.p) == (False, pytest.approx(2 * alone.p))
    assert one.low < 0 < alone.low
    assert two == one
    assert lonely is other
    (left,) = judge_replicates([alone])
    assert (left.p, left.low, left.high, left.significant) == (alone.p, alone.low, alone.high, True)
    assert [found.significant for found in judge_replicates([alone, alone], "bh")] == [True, True]


def test_nothing_to_compare_is_an_error() -> None:
    with pytest.raises(ValueError, match="no replicate"):
        replicate_difference(seeds({}), seeds(ALS))


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
        return sum(bool(replicate_difference(kind(row), kind(nothing)).significant) for row in rows) / tries  # type: ignore[operator]

    assert found(folds) < 0.06 < found(seeds)


def test_a_run_trained_once_against_folds_varies_as_one_training_run_does() -> None:
    """Differences 1, 2, 3: s² = 1. (1/3 + 1/2)·s² for the mean of folds; folds share 1/3 of the variance, so
    that of one training run is s² / (1 − 1/3) = 1.5·s².
    """
    folds = ReplicateValues({"1": 1.0, "2": 2.0, "3": 3.0}, "fold", overlap=True)
    once = ReplicateValues({"1": 0.0, "2": 0.0, "3": 0.0}, "fold", overlap=True, trained_once=True)
    each = ReplicateValues({"1": 0.0, "2": 0.0, "3": 0.0}, "fold", overlap=True)
    assert replicate_difference(folds, each).error ** 2 == pytest.approx(1 / 3 + 1 / 2)
    for found in (replicate_difference(folds, once), replicate_difference(once, folds)):
        assert found.error**2 == pytest.approx(1 / 3 + 1 / 2 + 1.5)
        assert found.method.endswith("the one trained once is assumed to vary as much")
