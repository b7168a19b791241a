"""At the edges of the definitions: reasons for a hole, errors of two users, empty lists, the last place."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from math import log2, nan, sqrt
from typing import Any

import numpy as np
import pytest

from recdash.domain.hits import Exposure, Hits, ListMean, PopulationCounts, RankCounts
from recdash.domain.inputs import Truth
from recdash.domain.results import Curve, Unavailable
from recdash.metrics import MetricInputs, define, score
from recdash.metrics import sample as sample_module
from recdash.metrics.catalogue import CatalogueInputs, Labels, entropy_of, gini_of, levels_of, shown_by
from recdash.metrics.formulas import (
    RatioFormula,
    curves,
    harmonic_slopes,
    more_than_rounding,
    ratio_of_sums,
    standard_error,
)
from recdash.metrics.ranking import Ndcg
from recdash.metrics.ratings import Predictions
from recdash.metrics.sample import (
    Ideals,
    JudgedHits,
    RelevantHits,
    counted_truth,
    item_expectedness,
    positions,
    sample_of,
    sort_within,
)

EXACT = {"rel": 1e-14, "abs": 1e-15}
ROUNDED = {"rtol": 1e-9, "atol": 1e-12}

User = tuple[Sequence[float], Mapping[int, float], int]
"""Gains of the relevant items, {rank of a hit: its gain}, length of the list."""


def sample_of_users(*users: User, depth: int = 4, **more: Any) -> RelevantHits:
    hits = [(user, rank, gain) for user, (_, found, _) in enumerate(users) for rank, gain in found.items()]
    gains = [gain for wanted, _, _ in users for gain in wanted]
    return RelevantHits(
        depth=depth,
        user=np.array([user for user, _, _ in hits], dtype=np.int64),
        rank=np.array([rank for _, rank, _ in hits], dtype=np.int64),
        gain=np.array([gain for _, _, gain in hits]),
        n_relevant=np.array([len(wanted) for wanted, _, _ in users], dtype=np.int64),
        list_length=np.array([length for _, _, length in users], dtype=np.int64),
        truth_user=np.arange(len(users)),
        relevant_gain=np.array(gains, dtype=np.float64),
        item=np.arange(len(hits)),
        top_gain=max(gains, default=0.0),
        **more,
    )


def reason(spec: str, **given: Any) -> str:
    definition = define(spec)
    (absent,) = score([definition], MetricInputs(**given))
    assert isinstance(absent, Unavailable)
    assert absent.metric == str(definition)
    return absent.reason


def curve(spec: str, **given: Any) -> Curve:
    definition = define(spec)
    (found,) = score([definition], MetricInputs(**given))
    assert isinstance(found, Curve)
    assert found.metric == str(definition)
    return found


# ── accuracy ─────────────────────────────────────────────────────────────────────────────────

NOBODY = sample_of_users()
ONE_OF_ONE_TWO_OF_FOUR = sample_of_users(([1], {1: 1}, 4), ([1] * 4, {1: 1, 3: 1}, 4))
GRADED = sample_of_users(
    ([3, 2, 1], {1: 1, 3: 3}, 4),
    ([2], {2: 2}, 2),
    ([1, 1, 1, 1, 3], {2: 1, 3: 1, 4: 3}, 4),
    ([1, 3], {}, 3),
    ([1], {}, 0),
    ([3, 1, 2, 2, 3, 1], {1: 2, 4: 1}, 4),
    ([1, 2], {}, 1),
)
CHAINED = (
    "precision", "precision(over=list)", "recall", "recall(norm=min)", "f1", "f1(of=map,mar)",
    "f1(of=map,mar,average=means)", "f1(of=recall(average=micro),precision)", "hit_rate", "mrr",
    "mrr(sum=all)", "map", "map(norm=min)", "map(norm=list)", "map(norm=hits)", "map(norm=k)",
    "map(norm=none)", "mar", "mar(form=hits)", "mar(form=relevant)", "ndcg", "ndcg(gain=exp)",
    "ndcg(gain=binary)", "ndcg(ideal=all)", "ndcg(ideal=full)", "ndcg(gain=binary,ideal=all)",
    "ndcg(gain=binary,ideal=full)", "ndcg(gain=exp,ideal=full,discount=lenskit)", "rbp", "err",
    "err(max_grade=4)", "r_precision", "user_coverage", "serendipity", "bpref", "judged",
)  # fmt: skip


@pytest.mark.parametrize("spec", CHAINED)
@pytest.mark.parametrize("sample", [GRADED, ONE_OF_ONE_TWO_OF_FOUR], ids=["graded", "binary"])
def test_a_curve_is_at_every_k_the_mean_of_the_users_values_with_its_error(
    spec: str, sample: RelevantHits
) -> None:
    formula = define(spec).formula()
    values = np.array([formula.values(sample, k) for k in range(1, sample.depth + 1)])
    mean, error = formula.curve(sample)
    np.testing.assert_allclose(mean, values.mean(axis=1), **ROUNDED)
    np.testing.assert_allclose(error, values.std(axis=1, ddof=1) / sqrt(sample.n_users), **ROUNDED)


@pytest.mark.parametrize("spec", CHAINED)
def test_unless_users_are_pooled_what_each_got_is_the_value(spec: str) -> None:
    formula = define(spec).formula()
    assert formula.pooled == ("means" in spec)
    if not formula.pooled and "micro" not in spec:
        np.testing.assert_array_equal(formula.own(GRADED, 3), formula.values(GRADED, 3))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # one has a hit at rank 1 and wanted one; the other hits at 1 and 3 and wanted four
        ("mrr(sum=all)", (1 + 1 + 1 / 3) / 2),
        ("map", (1 + (1 + 2 / 3) / 4) / 2),
        ("map(norm=hits)", (1 + (1 + 2 / 3) / 2) / 2),
        ("mar(form=hits)", (1 + (1 / 4 + 2 / 4) / 2) / 2),
        ("mar(form=relevant)", (1 + (1 / 4 + 2 / 4) / 4) / 2),
        ("err", (1 / 2 + 1 / 2 + 1 / 2 * (1 / 2) / 3) / 2),
        ("rbp", 0.2 * (1 + 1 + 0.8**2) / 2),
    ],
)
def test_a_user_begins_anew_after_the_one_before(spec: str, expected: float) -> None:
    mean, _ = define(spec).formula().curve(ONE_OF_ONE_TWO_OF_FOUR)
    assert mean[-1] == pytest.approx(expected, **EXACT)


def test_what_can_be_said_in_a_sentence_does_not_walk_over_every_k() -> None:
    assert isinstance(define("f1").formula(), RatioFormula)
    for spec, sample in (("ndcg", ONE_OF_ONE_TWO_OF_FOUR), ("ndcg(gain=binary)", GRADED)):
        ndcg = define(spec).formula()
        assert isinstance(ndcg, Ndcg)
        assert isinstance(ndcg.formula(sample), RatioFormula)


def test_a_pooled_share_is_the_ratio_moved_by_the_users_pull_on_it() -> None:
    micro = define("recall(average=micro)").formula()
    # hits 1 and 2 of 1 and 4: 3/5; the first user has 1 − 3/5·1 more than the ratio, the second as much less
    pull = (1 - 3 / 5 * 1) / ((1 + 4) / 2)
    assert micro.values(ONE_OF_ONE_TWO_OF_FOUR, 4) == pytest.approx([3 / 5 + pull, 3 / 5 - pull], **EXACT)
    assert micro.own(ONE_OF_ONE_TWO_OF_FOUR, 4).tolist() == [1 / 1, 2 / 4]
    mean, error = micro.curve(ONE_OF_ONE_TWO_OF_FOUR)
    assert mean == pytest.approx([2 / 5, 2 / 5, 3 / 5, 3 / 5], **EXACT)
    assert error[-1] == pytest.approx(pull, rel=1e-12)
    assert micro.pooled


def test_a_pooled_share_is_that_of_its_norm() -> None:
    sample = sample_of_users(([1, 1], {1: 1}, 1), ([1], {3: 1}, 4))
    of = {"precision": [1 / 2, 1 / 4, 2 / 6, 2 / 8], "precision(over=list)": [1 / 2, 1 / 3, 2 / 4, 2 / 5]}
    for name, expected in of.items():
        spec = name.replace("(", "(average=micro,") if "(" in name else f"{name}(average=micro)"
        assert define(spec).formula().curve(sample)[0] == pytest.approx(expected, **EXACT)
        assert define(spec).formula().values(sample, 3).mean() == pytest.approx(expected[2], **EXACT)


def test_users_of_one_kind_are_pooled_like_the_others() -> None:
    # hits a of m relevant items b: 1 of 1, 0 of 1, 2 of 2; together 3 of 4
    sample = sample_of_users(([1], {1: 1}, 4), ([1], {}, 4), ([1, 1], {1: 1, 2: 1}, 4))
    value, error = define("recall(average=micro)").formula().curve(sample)
    left = [1 - 3 / 4 * 1, 0 - 3 / 4 * 1, 2 - 3 / 4 * 2]
    assert value[-1] == pytest.approx(3 / 4, **EXACT)
    assert error[-1] == pytest.approx(sqrt(sum(x**2 for x in left) / 2 / 3) / (4 / 3), rel=1e-12)


def test_a_harmonic_mean_of_means_is_shared_out_along_its_slopes() -> None:
    f1 = define("f1(average=means)").formula()
    a, b = 0.375, 0.75  # precision 1/4 and 2/4, recall 1 and 2/4
    of_a, of_b = 2 * b**2 / (a + b) ** 2, 2 * a**2 / (a + b) ** 2
    expected = [of_a * 1 / 4 + of_b * 1, of_a * 2 / 4 + of_b * 2 / 4]
    assert f1.values(ONE_OF_ONE_TWO_OF_FOUR, 4) == pytest.approx(expected, **EXACT)
    assert f1.own(ONE_OF_ONE_TWO_OF_FOUR, 4) == pytest.approx([2 * 1 / (4 + 1), 2 * 2 / (4 + 4)], **EXACT)


def test_slopes_of_the_harmonic_mean_are_equal_where_both_are_and_none_at_zero() -> None:
    assert harmonic_slopes(0.5, 0.5) == (1 / 2, 1 / 2)
    assert harmonic_slopes(0.0, 0.0) == (0.0, 0.0)


def test_of_nobody_there_are_no_values() -> None:
    assert define("ndcg(gain=exp)").metric.why_unavailable(NOBODY, {"gain": "exp", "grades": "all"}) == ""  # type: ignore[arg-type]
    for spec in ("ndcg(gain=binary)", "recall", "mar", "err", "user_coverage", "f1(of=map,mar)"):
        assert define(spec).formula().values(NOBODY, 3).tolist() == [], spec


def test_where_nobody_has_a_hit_every_metric_is_zero_with_no_spread() -> None:
    nothing = sample_of_users(([1], {}, 2), ([1, 1], {}, 3))
    for spec in set(CHAINED) - {"user_coverage"} | {"recall(average=micro)"}:
        for half in define(spec).formula().curve(nothing):
            assert half.tolist() == [0.0] * 4, spec
        assert define(spec).formula().values(nothing, 2).tolist() == [0.0, 0.0], spec


def test_one_user_has_a_value_and_no_error() -> None:
    alone = sample_of_users(([1, 1], {2: 1}, 2))
    for spec in ("recall", "recall(average=micro)", "ndcg", "mar", "user_coverage"):
        value, error = define(spec).formula().curve(alone)
        assert np.isfinite(value).all()
        assert np.isnan(error).all()


def test_the_error_of_a_mean_is_the_deviation_over_root_n() -> None:
    # 0, 1 and 5: deviations −2, −1, 3 from the mean 2
    found = standard_error(np.array([6.0]), np.array([0.0 + 1 + 25]), 3)
    assert found.tolist() == [pytest.approx(sqrt((4 + 1 + 9) / 2 / 3), **EXACT)]
    assert standard_error(np.array([1.0]), np.array([1.0]), 2).tolist() == [0.5]


def test_what_rounding_leaves_behind_is_no_spread() -> None:
    spread, squares = [-1e-15, 1e-12, 1.1e-12, 0.5, 0.0, 0.5e-10], [1.0, 1.0, 1.0, 1.0, 0.0, 100.0]
    left = more_than_rounding(np.array(spread), np.array(squares))
    assert left.tolist() == [0.0, 0.0, 1.1e-12, 0.5, 0.0, 0.0]


def test_the_error_of_a_ratio_is_that_of_what_it_leaves_unexplained() -> None:
    # 1 of 1, 2 of 4: 3/5, leaving 2/5 and −2/5
    sums = (np.array(x) for x in (1 + 2, 1 + 4, 1 + 4, 1 * 1 + 2 * 4, 1 + 16))
    ratio, error = ratio_of_sums(*sums, 2)
    assert (ratio, error) == (pytest.approx(3 / 5, **EXACT), pytest.approx(2 / 5 / (5 / 2), **EXACT))


# ── holes ────────────────────────────────────────────────────────────────────────────────────


def test_without_lists_or_users_the_reason_is_said() -> None:
    assert reason("mrr") == "needs ranked lists, and only rating predictions were given"
    assert reason("gini") == "needs ranked lists"
    assert reason("mae") == "needs a table of rating predictions"
    assert reason("ndcg(gain=exp)", sample=NOBODY) == ("no user has both a list and a relevant item")


def test_a_place_that_was_not_read_leaves_a_hole_only_where_a_list_was_cut() -> None:
    users = ([1] * 5, {1: 1}, 4), ([1] * 6, {}, 4), ([1] * 4, {1: 1, 2: 1}, 4)
    assert reason("r_precision", sample=sample_of_users(*users, cut_lists=1)) == (
        "2 users have more relevant items than the depth of 4, where lists were cut; use a depth of 6"
    )
    whole = curve("r_precision", sample=sample_of_users(*users))
    assert whole.value.tolist() == [pytest.approx((1 / 5 + 0 + 2 / 4) / 3, **EXACT)]
    deep = curve("r_precision", sample=sample_of_users(users[2], cut_lists=1))
    assert deep.value.tolist() == [2 / 4]


def test_counts_are_no_grades() -> None:
    few, many = sample_of_users(([1000, 1], {1: 1}, 4)), sample_of_users(([1001], {1: 1}, 4))
    assert curve("ndcg(gain=exp)", sample=few).value[0] == 1 / (2.0**1000 - 1)
    assert reason("ndcg(gain=exp)", sample=many) == (
        "gain=exp needs gains up to 1000; are these counts? Use gain=linear"
    )
    assert curve("ndcg", sample=many).value[0] == 1.0


def test_gains_too_large_to_be_added_up_are_no_grades_unless_they_are_all_equal() -> None:
    large = sample_of_users(([1e300, 1e300, 1], {1: 1e300, 3: 1}, 4))
    assert curve("ndcg(ideal=full)", sample=large).value[0] == 1.0
    huge = sample_of_users(([1e308, 1e308, 1], {1: 1e308}, 4))
    for spec in ("ndcg", "ndcg(ideal=full)", "f1(of=ndcg,recall)"):
        assert reason(spec, sample=huge) == (
            "gains above 1e+300 overflow when summed; divide all gains by one number"
        )
    assert curve("ndcg(gain=binary)", sample=huge).value[0] == 1.0
    assert curve("ndcg", sample=sample_of_users(([1e308, 1e308], {1: 1e308}, 4))).value[0] == 1.0


@pytest.mark.parametrize("metric", ["dcg", "rbp"])
def test_what_is_not_divided_by_an_ideal_has_values_whose_squares_are_numbers(metric: str) -> None:
    """The gain of all is the same, and does not cancel; the standard error is made of squares."""
    for spec, huge in (f"{metric}(gain=linear)", 1e160), (f"{metric}(gain=exp)", 900.0):
        users = sample_of_users(([huge, huge], {1: huge, 2: huge}, 4), ([huge], {}, 4))
        assert "divide all by one number" in reason(spec, sample=users)
    large = curve(f"{metric}(gain=linear)", sample=sample_of_users(([1e90], {1: 1e90}, 4), ([1e90], {}, 4)))
    assert np.isfinite(large.value).all()
    assert np.isfinite(large.std_error).all()
    assert curve(f"{metric}(gain=binary)", sample=users).value[0] > 0


def test_gains_of_which_a_power_keeps_nothing_are_no_grades() -> None:
    tiny = sample_of_users(([1e-17, 1e-18], {1: 1e-17}, 4))
    assert reason("ndcg(gain=exp)", sample=tiny) == "gain=exp needs gains from 1e-15; use gain=linear"
    assert curve("ndcg", sample=tiny).value[0] == 1.0


def test_the_truth_may_reach_the_grade_that_was_named_and_not_pass_it() -> None:
    sample = sample_of_users(([2.5], {1: 2.5}, 1))
    assert curve("err(max_grade=2.5)", sample=sample).value[0] == pytest.approx(1 - 2**-2.5, **EXACT)
    assert reason("err(max_grade=2)", sample=sample) == "the test set has grades up to 2.5, above max_grade=2"


def test_what_train_and_judgements_would_have_said_is_missing() -> None:
    assert reason("serendipity", sample=GRADED) == "needs training data, and none was given"
    assert reason("judged", sample=GRADED) == (
        "needs test rows that were judged not relevant (relevance 0), and there are none"
    )


def test_a_curve_has_the_cutoffs_and_the_users_that_count() -> None:
    recall = curve("recall", sample=ONE_OF_ONE_TWO_OF_FOUR)
    assert (recall.k.tolist(), recall.n_users) == ([1, 2, 3, 4], 2)
    coverage = curve("user_coverage", sample=GRADED)
    assert (coverage.k.tolist(), coverage.value.tolist()) == ([], [6 / 7])
    assert coverage.std_error == pytest.approx([sqrt(6 / 7 * (1 / 7) / (7 - 1))], **EXACT)
    assert (coverage.k.dtype, coverage.n_users) == (np.int64, 7)


# ── ratings ──────────────────────────────────────────────────────────────────────────────────


def ratings(user: Sequence[int], rating: Sequence[float], prediction: Sequence[float]) -> Predictions:
    return Predictions(np.array(user), np.array(rating, float), np.array(prediction, float))


# u is off by 1 and 3, v by 5
OFF = ratings([7, 7, 9], [2, 2, 7], [3, 5, 2])


def test_rows_of_one_user_are_not_independent() -> None:
    mae = curve("mae", predictions=OFF)
    # the users' sums 4 and 5 differ from 3 per row by −2 and 2; 3/2 rows per user
    assert (mae.value.tolist(), mae.n_users, mae.k.tolist()) == ([3.0], 2, [])
    assert mae.std_error == pytest.approx([2 / (3 / 2)], **EXACT)
    assert mae.k.dtype == np.int64


def test_the_error_of_a_root_is_that_of_its_square_over_twice_the_root() -> None:
    rmse = curve("rmse", predictions=OFF)
    mean = (1 + 9 + 25) / 3
    of_mean = (25 - mean) / (3 / 2)
    assert rmse.value == pytest.approx([sqrt(mean)], **EXACT)
    assert rmse.std_error == pytest.approx([of_mean / (2 * sqrt(mean))], **EXACT)


def test_predictions_without_an_error_have_none_to_estimate() -> None:
    exact = curve("rmse", predictions=ratings([1, 2], [3, 4], [3, 4]))
    assert (exact.value.tolist(), exact.std_error.tolist()) == ([0.0], [0.0])


def test_the_unexplained_share_is_pooled_over_users() -> None:
    # ratings 1 and 2 of u, 6 of v: mean 3, spread 4 + 1 and 9; off by 1, 0 and 1
    r2 = curve("r2", predictions=ratings([0, 0, 1], [1, 2, 6], [2, 2, 5]))
    assert r2.value == pytest.approx([1 - 2 / 14], **EXACT)
    assert r2.std_error == pytest.approx([(1 - 2 / 14 * 5) / (14 / 2)], **EXACT)


@pytest.mark.parametrize("metric", ["rmse", "mae", "r2"])
def test_errors_whose_squares_are_no_numbers_are_not_scored(metric: str) -> None:
    large = ratings([0, 0, 1], [1, 2, -1e70], [1e70, 2, 3])
    assert np.isfinite(curve(metric, predictions=large).std_error).all()
    for huge in (ratings([0, 1], [1, 2], [-1e80, 2]), ratings([0, 1], [1, 1e308], [1, 2])):
        assert reason(metric, predictions=huge) == (
            "ratings or predictions beyond 1e+70: the squares of their errors overflow"
        )


def test_ratings_that_cannot_be_scored_say_why() -> None:
    assert reason("rmse", predictions=ratings([], [], [])) == "needs a table of rating predictions"
    assert reason("r2", predictions=ratings([], [], [])) == "needs a table of rating predictions"
    assert reason("r2", predictions=ratings([1, 2], [3, 3], [3, 4])) == (
        "all ratings are equal: there is no variance to explain"
    )


# ── beyond accuracy ──────────────────────────────────────────────────────────────────────────


def counts_by_rank(*ranks: Mapping[int, int]) -> RankCounts:
    """One {item: count} per rank."""
    return RankCounts(
        np.cumsum([0, *(len(rank) for rank in ranks)]),
        np.array([item for rank in ranks for item in sorted(rank)], dtype=np.int64),
        np.array([rank[item] for rank in ranks for item in sorted(rank)], dtype=np.int64),
    )


def has(*items: int) -> Any:
    """[5] marks of items 0 to 4."""
    return np.isin(np.arange(5), items)


# Lists of items 0, 1 and 0, 2, 1 and 3; nobody is shown 4, which nobody has in train either.
SHOWN = counts_by_rank({0: 2, 3: 1}, {1: 1, 2: 1}, {1: 1}, {})
ENDED = counts_by_rank({3: 1}, {0: 1, 1: 1}, {0: 1, 1: 1, 2: 1}, {})
SHELF = CatalogueInputs(
    Exposure(list("abcde"), SHOWN, ENDED, 3),
    depth=4,
    truth=has(0, 4),
    catalogue=has(0, 1, 2, 4),
    train_users=np.array([4, 2, 2, 1, 0]),
    n_train_users=4,
    attributes=("kind", "empty"),
    labels=lambda name: KINDS if name == "kind" else Labels((), np.zeros(0, int), np.zeros(0, int)),
)
# item 0 is x, 1 is x and y, 2 has no value, 4 is z
KINDS = Labels("xyz", np.array([0, 1, 1, 4]), np.array([0, 0, 1, 2]))


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("coverage", [1 / 4, 3 / 4, 3 / 4, 3 / 4]),
        ("coverage(of=train)", [2 / 4, 4 / 4, 4 / 4, 4 / 4]),
        ("coverage(of=truth)", [1 / 2] * 4),
        ("coverage_by(kind)", [1 / 3, 2 / 3, 2 / 3, 2 / 3]),
        ("popularity", [(4 + 4 + 1) / 3, (6 / 2 + 6 / 2 + 1) / 3, (6 / 2 + 8 / 3 + 1) / 3, 20 / 9]),
        ("novelty", [(0 + 0 + 2) / 3, (1 / 2 + 1 / 2 + 2) / 3, (1 / 2 + 2 / 3 + 2) / 3, 19 / 18]),
        ("tail_share", [1 / 3, (1 / 2 + 1 / 2 + 1) / 3, (1 / 2 + 2 / 3 + 1) / 3, 13 / 18]),
        # half of four items is two, and the third has as many users as the second
        ("tail_share(head=0.5)", [1 / 3, 1 / 3, 1 / 3, 1 / 3]),
        # pairs of lists: 0 with 0; 01 with 02; 01 with 021
        ("personalization", [1 - 1 / 3, 1 - 1 / 2 / 3, 1 - 2 / sqrt(2 * 3) / 3, 1 - 2 / sqrt(2 * 3) / 3]),
        # places of 0, 1, 2, 4
        ("entropy", [0.0, 2 / 4 + 2 / 4 * 2, log2(5) - 2 * (2 / 5), log2(5) - 2 * (2 / 5)]),
        ("gini", [(3 * 2) / (4 * 2), (-1 * 1 + 1 * 1 + 3 * 2) / (4 * 4), (-1 + 2 + 3 * 2) / (4 * 5), 7 / 20]),
    ],
)
def test_three_lists_of_different_length_have_these_values_at_every_k(
    spec: str, expected: list[float]
) -> None:
    found = curve(spec, catalogue=SHELF)
    assert found.value == pytest.approx(expected, rel=1e-14)
    assert (found.k.tolist(), found.n_users) == ([1, 2, 3, 4], 3)
    assert np.isnan(found.std_error).all()


def test_a_value_that_everybody_is_shown_first_stays_covered() -> None:
    one_kind = replace(SHELF, labels={"kind": Labels("x", np.array([0, 1]), np.array([0, 0]))}.__getitem__)
    assert curve("coverage_by(kind)", catalogue=one_kind).value.tolist() == [1.0] * 4


def test_an_unseen_item_is_as_rare_as_one_users_or_adds_nothing() -> None:
    shelf = replace(SHELF, exposure=replace(SHELF.exposure, shown=counts_by_rank({4: 3}, {}, {}, {})))
    assert curve("novelty", catalogue=shelf).value[0] == 2.0
    assert curve("novelty(unseen=zero)", catalogue=shelf).value[0] == 0.0


def test_what_is_shown_of_each_value_is_counted_up_to_k() -> None:
    found = shown_by(SHELF, "kind", 2)
    assert (list(found.values), found.places.tolist(), found.items.tolist()) == (
        ["x", "y", "z"], [2 + 1, 1, 0], [2, 1, 1],
    )  # fmt: skip
    assert (found.n_places, found.n_items) == (2 + 1 + 1 + 1, 4)
    assert (found.places_without, found.items_without) == (1 + 1, 1)
    assert found.places.dtype == np.int64


def test_nothing_shown_is_neither_even_nor_uneven() -> None:
    assert np.isnan([of(levels_of(np.array([0, 0]))) for of in (entropy_of, gini_of)]).all()
    assert entropy_of(levels_of(np.array([2, 0, 1, 1]))) == 1 / 2 * 1 + 2 * (1 / 4 * 2)
    assert gini_of(levels_of(np.array([3, 1, 0]))) == (-2 * 0 + 0 * 1 + 2 * 3) / (3 * 4)
    assert entropy_of(levels_of(np.array([5]))) == 0.0


MEAN = ListMean(np.array([nan, 0.5]), np.array([nan, 0.25]), np.array([0, 2]))
LONGER = ListMean(np.array([0.5, 0.5, 0.75]), np.full(3, nan), np.array([4, 3, 2]))


def with_means(means: Mapping[str, ListMean]) -> CatalogueInputs:
    return replace(SHELF, exposure=replace(SHELF.exposure, list_means=means))


def test_what_counts_cannot_say_is_taken_from_the_lists() -> None:
    found = curve("novelty(unseen=drop)", catalogue=with_means({"novelty(unseen=drop)": MEAN}))
    np.testing.assert_array_equal(found.value, MEAN.mean)
    np.testing.assert_array_equal(found.std_error, MEAN.std_error)
    assert (found.k.tolist(), found.n_users) == ([1, 2], 2)  # of three lists


def test_a_metric_of_lists_is_of_so_many_as_have_a_value_at_the_depth() -> None:
    found = curve("novelty(unseen=drop)", catalogue=with_means({"novelty(unseen=drop)": LONGER}))
    assert found.n_users == 2  # not 3, which have one at k = 2


def test_the_parts_of_a_sample_are_its_users_some_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Users with 2, 1, 3 and 1 relevant rows, three rows at a time: the first two, the third, the last."""
    whole = RelevantHits(
        depth=3,
        user=np.array([0, 1, 2, 2]),
        rank=np.array([2, 1, 1, 3]),
        gain=np.array([1.0, 3.0, 2.0, 5.0]),
        n_relevant=np.array([2, 1, 3, 1]),
        list_length=np.array([3, 2, 3, 0]),
        truth_user=np.array([5, 6, 8, 9]),
        relevant_gain=np.array([1.0, 4.0, 3.0, 2.0, 5.0, 1.0, 7.0]),
        item=np.array([11, 12, 13, 14]),
    )
    specs = ("ndcg", "ndcg(ideal=all)", "ndcg(ideal=full)", "ndcg(exp)")
    expected = {spec: define(spec).formula().curve(whole) for spec in specs}
    monkeypatch.setattr(sample_module, "_ROWS_OF_A_PART", 3)
    told = [
        {name: getattr(part, name).tolist() for name in ("user", "rank", "gain", "n_relevant", "list_length")}
        | {name: getattr(part, name).tolist() for name in ("truth_user", "relevant_gain", "item")}
        for part in whole.parts()
    ]
    assert told == [
        {
            "user": [0, 1], "rank": [2, 1], "gain": [1.0, 3.0], "n_relevant": [2, 1], "list_length": [3, 2],
            "truth_user": [5, 6], "relevant_gain": [1.0, 4.0, 3.0], "item": [11, 12],
        },
        {
            "user": [0, 0], "rank": [1, 3], "gain": [2.0, 5.0], "n_relevant": [3], "list_length": [3],
            "truth_user": [8], "relevant_gain": [2.0, 5.0, 1.0], "item": [13, 14],
        },
        {
            "user": [], "rank": [], "gain": [], "n_relevant": [1], "list_length": [0],
            "truth_user": [9], "relevant_gain": [7.0], "item": [],
        },
    ]  # fmt: skip
    for spec, (value, error) in expected.items():
        found = define(spec).formula().curve(whole)
        np.testing.assert_allclose(found[0], value, rtol=1e-15, err_msg=spec)
        np.testing.assert_allclose(found[1], error, rtol=1e-12, err_msg=spec)


JUDGED_OF_THREE = RelevantHits(
    depth=3,
    user=np.array([0, 1, 2, 2]),
    rank=np.array([2, 1, 1, 3]),
    gain=np.array([1.0, 3.0, 2.0, 5.0]),
    n_relevant=np.array([2, 1, 3]),
    list_length=np.array([3, 2, 3]),
    truth_user=np.array([0, 1, 2]),
    relevant_gain=np.array([1, 4, 3, 2, 5, 1], dtype=np.int8),
    item=np.array([0, 1, 2, 3]),
    judged=JudgedHits(
        np.array([0, 0, 1, 2, 2, 2]),
        np.array([1, 2, 1, 1, 2, 3]),
        np.array([False, True, True, True, False, True]),
        np.array([1, 0, 2]),
    ),
)


@pytest.mark.parametrize("spec", CHAINED)
def test_a_curve_is_the_same_in_parts(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = define(spec).formula().curve(JUDGED_OF_THREE)
    monkeypatch.setattr(sample_module, "_ROWS_OF_A_PART", 1)
    assert [part.n_users for part in JUDGED_OF_THREE.parts()] == [1, 1, 1]
    (together,) = curves([define(spec).formula()], JUDGED_OF_THREE)
    for found in (define(spec).formula().curve(JUDGED_OF_THREE), together):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_what_the_lists_lacked_is_said() -> None:
    nowhere = replace(MEAN, n_lists=np.array([0, 0]))
    assert reason("diversity", catalogue=with_means({"diversity": nowhere})) == (
        "no list has its input: two items in a list that can be compared"
    )
    assert reason("diversity", catalogue=SHELF) == (
        "diversity needs the lists themselves; score the upload again with this metric"
    )


BARE = CatalogueInputs(SHELF.exposure, 4, SHELF.truth)


@pytest.mark.parametrize(
    ("spec", "shelf", "expected"),
    [
        ("coverage", BARE, "needs a catalogue table, and none was given"),
        ("gini(of=train)", BARE, "needs training data, and none was given"),
        ("popularity", BARE, "needs training data, and none was given"),
        ("popularity", replace(SHELF, n_train_users=0), "the training data is empty"),
        ("entropy", BARE, "needs a catalogue table, and none was given"),
        ("entropy(norm=max)", BARE, "needs a catalogue table, and none was given"),
        ("entropy(norm=max,of=truth)", replace(SHELF, truth=has(3)), "norm=max needs at least two items"),
        ("coverage_by(kind)", BARE, "needs a catalogue table, and none was given"),
        ("coverage_by(kin)", SHELF, "the catalogue has no column 'kin'; it has kind, empty"),
        ("coverage_by(a)", replace(SHELF, attributes=()), "the catalogue has no column 'a'; it has only ids"),
        ("coverage_by(empty)", SHELF, "column 'empty' of the catalogue is empty"),
        ("diversity", BARE, "needs a catalogue table, and none was given"),
        ("diversity(attribute=kin)", SHELF, "the catalogue has no column 'kin'; it has kind, empty"),
        ("diversity(by=vectors)", SHELF, "needs item vectors, and none were given"),
        ("diversity(by=similarity)", SHELF, "needs a table of item similarities, and none was given"),
        (
            "personalization",
            replace(SHELF, exposure=replace(SHELF.exposure, n_lists=1)),
            "needs the lists of at least two users",
        ),
        (
            "coverage",
            replace(SHELF, exposure=replace(SHELF.exposure, n_lists=0)),
            "no user who counts has a list",
        ),
    ],
)  # fmt: skip
def test_a_table_that_lacks_is_named(spec: str, shelf: CatalogueInputs, expected: str) -> None:
    assert reason(spec, catalogue=shelf) == expected


@pytest.mark.parametrize("kind", ["vectors", "similarity"])
def test_likeness_is_had_from_the_table_that_was_given(kind: str) -> None:
    shelf = replace(with_means({f"diversity(by={kind})": MEAN}), tables=(kind,), catalogue=None)
    assert curve(f"diversity(by={kind})", catalogue=shelf).value[1] == 0.5


def test_two_items_are_enough_to_be_spread_evenly_over() -> None:
    even = replace(SHELF, exposure=replace(SHELF.exposure, shown=counts_by_rank({0: 1, 4: 1}, {}, {}, {})))
    assert curve("entropy(norm=max,of=truth)", catalogue=even).value[0] == 1.0


def test_a_table_that_is_not_there_has_no_members() -> None:
    assert BARE.members("catalogue").tolist() == BARE.members("train").tolist() == [False] * 5
    assert BARE.members("train").dtype == np.bool_
    assert SHELF.members("train").tolist() == [True, True, True, True, False]
    assert BARE.members("truth").tolist() == has(0, 4).tolist()


def test_without_labels_nothing_has_a_value() -> None:
    labels = BARE.labels("kind")
    assert (len(labels.values), labels.item.tolist(), labels.value.tolist()) == (0, [], [])
    assert labels.item.dtype == labels.value.dtype == np.int64


# ── samples ──────────────────────────────────────────────────────────────────────────────────


def test_places_are_counted_within_each_stretch() -> None:
    assert positions(np.array([4, 4, 4, 5, 7, 7])).tolist() == [0, 1, 2, 0, 0, 1]
    assert positions(np.array([], dtype=np.int64)).tolist() == []
    assert positions(np.array([], dtype=np.int64)).dtype == np.int64


@pytest.mark.parametrize(
    "values",
    [
        [1, 0, 2, 0, 5],
        [1, 3, 2.5, 0, 5],
        [1, 3, -2, 0, 5],
        [1, 3, 2.0**20, 0, 5],
        [1, 3, 2.0**20 - 1, 0, 5],
        [1, 1e300, 2.0**63, 0, 5],
    ],
    ids=["grades", "halves", "below zero", "large", "just small enough", "too large for whole numbers"],
)
def test_gains_fall_within_each_user(values: list[float]) -> None:
    found = sort_within(np.array(values, float), np.array([0, 0, 0, 1, 1]))
    assert found.tolist() == [*sorted(values[:3], reverse=True), 5.0, 0.0]
    assert found.dtype == np.float64


def test_of_no_gains_there_are_none_to_sort() -> None:
    assert sort_within(np.zeros(0), np.zeros(0, dtype=np.int64)).tolist() == []


def test_how_expected_an_item_is_falls_with_its_place_by_popularity() -> None:
    # four items; users 3, 1, 0 and 3 have them: places 1, 2, none and 1
    found = item_expectedness(np.array([3, 1, 0, 3]), n_items=4, n_truth_items=3)
    assert (found.expected.tolist(), found.n_items) == ([4 / 4, 3 / 4, 0.0], 4)


def test_a_hit_placed_better_than_its_popularity_is_unexpected() -> None:
    # ranks 1 and 3 of items at places 1 and 4 of 4: 4/4 − 4/4 and 2/4 − 1/4
    known = item_expectedness(np.array([4, 3, 2, 1]), n_items=4, n_truth_items=4)
    sample = replace(sample_of_users(([1, 1], {1: 1, 3: 1}, 4), expectedness=known), item=np.array([0, 3]))
    found = curve("serendipity", sample=sample)
    assert found.value == pytest.approx([0, 0, (1 / 4) / 3, (1 / 4) / 4], **EXACT)


# u wants a and c and not b; v wants d, nobody looked at a; w wants b and has no list
TRUTH = Truth(
    "uvw", "abcd", np.array([0, 3, 5, 6]), np.array([0, 1, 2, 0, 3, 1]), np.array([1.0, 0, 2, -1, 1, 1]), True
)
# u is shown b, a, c; v is shown a, something else, d
HITS = Hits(
    TRUTH,
    depth=3,
    user=np.array([0, 0, 0, 1, 1]),
    rank=np.array([1, 2, 3, 1, 3]),
    row=np.array([1, 0, 2, 3, 4]),
    list_length=np.array([3, 3, 0]),
    exposure=None,
    ledger=PopulationCounts(3, 3, 1, 0, 0, 0, 2, 0, 0, None, None, 6),
    order="rank",
)


def plain(sample: RelevantHits | JudgedHits | None) -> dict[str, Any]:
    """Its arrays as lists."""
    return {name: part.tolist() for name, part in vars(sample).items() if isinstance(part, np.ndarray)}


def test_a_sample_holds_the_relevant_hits_of_the_users_who_count() -> None:
    sample = sample_of(HITS)
    assert plain(sample) == {
        "user": [0, 0, 1], "rank": [2, 3, 3], "gain": [1, 2, 1], "item": [0, 2, 3],
        "n_relevant": [2, 1, 1], "list_length": [3, 3, 0], "truth_user": [0, 1, 2],
        "relevant_gain": [1, 2, 1, 1], "relevant_item": [0, 2, 3, 1],
    }  # fmt: skip
    assert (sample.depth, sample.top_gain, sample.cut_lists, sample.expectedness) == (3, 2.0, 2, None)
    assert plain(sample.judged) == {
        "user": [0, 0, 0, 1], "rank": [1, 2, 3, 3], "relevant": [False, True, True, True],
        "n_not_relevant": [1, 0, 0],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("start", "count"),
    [
        ([0, 3, 5, 6], [2, 1, 1]),
        ([0, 0, 5, 6], [0, 3, 1]),
        ([0, 3, 3, 6], [2, 0, 2]),
        ([0, 3, 6, 6], [2, 2, 0]),
    ],
)
def test_a_user_counts_with_a_relevant_row_and_a_user_without_rows_has_none(
    start: list[int], count: list[int]
) -> None:
    truth = replace(TRUTH, start=np.array(start))
    assert truth.per_user(truth.relevant()).tolist() == count
    assert truth.users_who_count().tolist() == [n > 0 for n in count]


def test_users_without_a_list_count_unless_both_are_asked_for() -> None:
    sample = sample_of(HITS, "both")
    assert (sample.truth_user.tolist(), sample.relevant_gain.tolist()) == ([0, 1], [1, 2, 1])
    assert sample_of(HITS, "truth").truth_user.tolist() == [0, 1, 2]


def test_a_slice_of_users_is_counted_from_nought() -> None:
    sample = sample_of(HITS, only=np.array([False, True, True]))
    assert (sample.user.tolist(), sample.rank.tolist(), sample.truth_user.tolist()) == ([0], [3], [1, 2])
    assert plain(sample.judged) == {
        "user": [0], "rank": [3], "relevant": [True], "n_not_relevant": [0, 0],
    }  # fmt: skip


def test_a_slice_of_rows_leaves_the_others_unwanted_and_unjudged() -> None:
    sample = sample_of(HITS, rows=np.array([False, True, True, True, False, True]))
    assert (sample.user.tolist(), sample.rank.tolist(), sample.n_relevant.tolist()) == ([0], [3], [1, 1])
    assert plain(sample.judged) == {
        "user": [0, 0], "rank": [1, 3], "relevant": [False, True], "n_not_relevant": [1, 0],
    }  # fmt: skip
    assert sample_of(HITS, rows=np.array([True, False, True, True, True, True])).judged is None


def test_below_a_threshold_of_its_own_even_a_negative_gain_is_wanted() -> None:
    low = sample_of(replace(HITS, truth=replace(TRUTH, threshold=-1)))
    assert (low.n_relevant.tolist(), low.judged) == ([3, 2, 1], None)
    high = sample_of(replace(HITS, truth=replace(TRUTH, threshold=2)))
    assert (high.truth_user.tolist(), high.rank.tolist()) == ([0], [3])
    assert plain(high.judged) == {
        "user": [0, 0, 0], "rank": [1, 2, 3], "relevant": [False, False, True], "n_not_relevant": [2],
    }  # fmt: skip


def test_the_largest_gain_is_that_of_the_truth_and_not_below_nought() -> None:
    known = item_expectedness(np.array([1, 0, 0, 0]), 4, 4)
    small = sample_of(replace(HITS, truth=replace(TRUTH, gain=TRUTH.gain / 4)), expectedness=known)
    assert (small.top_gain, small.expectedness) == (0.5, known)
    assert sample_of(replace(HITS, truth=replace(TRUTH, gain=TRUTH.gain - 9))).top_gain == 0.0


def judged_sample() -> RelevantHits:
    # u: negative, hit, negative, hit; v: hit, negative; of 3 and 1 negatives
    judged = JudgedHits(
        np.array([0, 0, 0, 0, 1, 1]),
        np.array([1, 2, 3, 4, 1, 3]),
        np.array([False, True, False, True, True, False]),
        np.array([3, 1]),
    )
    return sample_of_users(([1, 1, 1], {2: 1, 4: 1}, 4), ([1], {1: 1}, 4), judged=judged)


def test_negatives_above_a_hit_take_from_it_up_to_as_many_as_there_are() -> None:
    found = curve("bpref", sample=judged_sample()).value
    u = [0, (1 - 1 / 3) / 3, (1 - 1 / 3) / 3, (1 - 1 / 3 + 1 - 2 / 3) / 3]
    assert found == pytest.approx([(of_u + 1) / 2 for of_u in u], **EXACT)


def test_judged_places_are_counted_whether_relevant_or_not() -> None:
    found = curve("judged", sample=judged_sample())
    assert found.value == pytest.approx([1, (1 + 1 / 2) / 2, (1 + 2 / 3) / 2, (1 + 2 / 4) / 2], **EXACT)
    assert define("judged").formula().own(judged_sample(), 2).tolist() == [1.0, 1 / 2]
    of_judged = judged_sample().of_judged()
    assert (of_judged.item.tolist(), of_judged.gain.tolist()) == ([0] * 6, [0.0] * 6)
    assert of_judged.item.dtype == np.int32


def test_a_user_with_a_list_and_nothing_wanted_does_not_count() -> None:
    """Of the three users the second has no relevant row at this threshold, and a list."""
    hits = replace(HITS, truth=replace(TRUTH, threshold=2))
    assert sample_of(hits, "both").truth_user.tolist() == [0]
    everyone = np.ones(3, dtype=bool)
    assert sample_of(hits, only=everyone).truth_user.tolist() == [0]


def test_hits_up_to_k_are_those_with_a_rank_of_at_most_k() -> None:
    sample = sample_of(HITS)
    cut = sample.up_to(2)
    assert (cut.user.tolist(), cut.rank.tolist(), cut.gain.tolist()) == ([0], [2], [1])
    assert cut.item.tolist() == [0]
    assert plain(cut.judged) == {
        "user": [0, 0], "rank": [1, 2], "relevant": [False, True], "n_not_relevant": [1, 0, 0],
    }  # fmt: skip
    assert cut.n_users == sample.n_users
    assert sample.up_to(2) is cut
    assert sample.up_to(3).rank.tolist() == [2, 3, 3]
    assert sample.up_to(2) is not cut  # only the last k is kept


def test_what_the_best_lists_gain_is_worked_out_once_for_all_runs() -> None:
    ideals, asked = Ideals(), []

    def answer() -> np.ndarray:
        asked.append(1)
        return np.zeros(2)

    for _ in range(3):
        ideals.get("nDCG@5", answer)
    assert asked == [1]
    shared = counted_truth(HITS.truth)
    assert sample_of(HITS, shared=shared).ideals is sample_of(HITS, shared=shared).ideals
    assert sample_of(HITS).ideals is not sample_of(HITS).ideals


@pytest.mark.parametrize("threshold", [None, 2.0, 3.0])
def test_a_sample_is_the_same_with_the_rows_of_another_run(threshold: float | None) -> None:
    truth = replace(HITS.truth, gain=np.resize([1, 3, 2, 0, 5], len(HITS.truth.gain)), threshold=threshold)
    hits = replace(HITS, truth=truth)
    only = np.arange(truth.n_users) > 0
    for restriction in (None, only):
        shared = counted_truth(truth, restriction)
        sample_of(hits, only=restriction, shared=shared)
        again = sample_of(hits, only=restriction, shared=shared)
        alone = sample_of(hits, only=restriction)
        _same_fields(again, alone)
        assert (alone.positives is None) == (threshold is None)
        _same_fields(again.of_every_grade, alone.of_every_grade)


def _same_fields(one: Any, other: Any) -> None:
    for part in fields(one):
        if part.compare and part.name != "population":
            value, alone = getattr(one, part.name), getattr(other, part.name)
            if is_dataclass(value):
                _same_fields(value, alone)
            else:
                np.testing.assert_array_equal(value, alone)


def test_credits_up_to_k_are_those_of_the_hits_up_to_k() -> None:
    for k in (1, 2, 3, 4, 9):
        cut = GRADED.up_to(k)
        expected = [float(cut.gain[cut.user == user].sum()) for user in range(GRADED.n_users)]
        assert GRADED.credit_up_to(lambda hits: hits.gain, k).tolist() == pytest.approx(expected)


def test_few_answers_of_the_best_lists_are_kept() -> None:
    ideals = Ideals()
    for k in range(5):
        ideals.get(k, lambda k=k: np.array([k]))  # type: ignore[misc]
    assert ideals.get(4, lambda: np.array([-1])).tolist() == [4]
    assert ideals.get(1, lambda: np.array([-1])).tolist() == [1]
    assert ideals.get(0, lambda: np.array([-1])).tolist() == [-1]


class Forgetful(dict[Any, Any]):
    """Another thread puts everything away as soon as it is there."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        self.clear()


def test_what_another_thread_puts_away_is_answered_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    ideals, sample = Ideals(), sample_of(HITS)
    monkeypatch.setattr(ideals, "_known", Forgetful())
    sample.__dict__["_cut"] = Forgetful()
    assert ideals.get("nDCG@5", lambda: np.array([5])).tolist() == [5]
    assert sample.up_to(2).rank.tolist() == [2]


def test_three_threads_may_ask_for_ideals_at_once() -> None:
    """Each of them asks for more than is kept, so that they put away each other's answers."""
    from concurrent.futures import ThreadPoolExecutor

    ideals = Ideals()

    def ask(first: int) -> bool:
        asked = (first + step % 23 for step in range(40_000))
        return all(ideals.get(n, lambda n=n: np.array([n]))[0] == n for n in asked)  # type: ignore[misc]

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            found = list(threads.map(ask, (0, 5, 10)))
    finally:
        sys.setswitchinterval(usual)
    assert found == [True] * 3


def test_parts_of_the_users_have_ideals_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recdash.metrics.sample._ROWS_OF_A_PART", 1)
    shared = sample_of(HITS)
    parts = list(shared.parts())
    assert len(parts) == 3
    assert all(part.ideals is not shared.ideals for part in parts)
