"""Folds and seeds of one candidate: what its score is, and what a fold's or seed's own is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recdash import Evaluation, evaluate
from recdash.errors import InputError
from recdash.evaluation.uploads import several_of, shared_name
from recdash.metrics.ranking import RANKING

TRUTH = pd.DataFrame({"user_id": ["u1", "u2", "u3", "u4"], "item_id": list("abcd")})


def lists(**first: str) -> pd.DataFrame:
    """One item for each user named."""
    return pd.DataFrame({"user_id": list(first), "item_id": list(first.values())})


SEED_1 = lists(u1="a", u2="x", u3="c", u4="x")
SEED_2 = lists(u1="x", u2="b", u3="c", u4="x")
FOLD_1 = lists(u1="a", u2="x")
FOLD_2 = lists(u3="c")


def scored(source: Any, **how: Any) -> Evaluation:
    return evaluate({"als": source}, TRUTH, metrics=["recall@1"], **how)


def value(found: Evaluation) -> tuple[float, int]:
    (row,) = found.rows()
    return row["value"], row["n_users"]


def per_replicate(found: Evaluation) -> dict[str, tuple[float, int]]:
    return {row["replicate"]: (row["value"], row["n_users"]) for row in found.replicate_rows()}


# ── seeds ────────────────────────────────────────────────────────────────────────────────────


def test_seeds_score_the_mean_of_each_users_values() -> None:
    result = scored({"7": SEED_1, "42": SEED_2})
    assert value(result) == (pytest.approx((0.5 + 0.5 + 1 + 0) / 4), 4)
    assert per_replicate(result) == {"7": (2 / 4, 4), "42": (2 / 4, 4)}
    users = result.per_user("recall@1")
    assert dict(zip(users["user_id"], users["value"], strict=True)) == {
        "u1": 0.5, "u2": 0.5, "u3": 1.0, "u4": 0.0,
    }  # fmt: skip


def test_the_standard_error_of_seeds_is_that_of_the_users_means() -> None:
    (row,) = scored({"7": SEED_1, "42": SEED_2}).rows()
    assert row["std_error"] == pytest.approx(np.std([0.5, 0.5, 1, 0], ddof=1) / 2)


def test_a_user_without_a_list_in_one_seed_is_a_miss_there() -> None:
    result = scored({"7": SEED_1, "42": SEED_2.query("user_id != 'u3'")}, replicates="seeds")
    assert value(result) == (pytest.approx((0.5 + 0.5 + 0.5 + 0) / 4), 4)
    assert per_replicate(result)["42"] == (1 / 4, 4)
    assert any("1 users have a list in some of its replicates only" in n.found for n in result.notices())


def test_with_users_both_a_user_counts_in_the_seeds_that_serve_the_user() -> None:
    result = scored({"7": SEED_1, "42": SEED_2.query("user_id != 'u3'")}, replicates="seeds", users="both")
    assert value(result) == (pytest.approx((0.5 + 0.5 + 1 + 0) / 4), 4)
    assert per_replicate(result) == {"7": (2 / 4, 4), "42": (1 / 3, 3)}


def test_seeds_are_said_to_be_a_mean() -> None:
    (notice,) = [one for one in scored({"7": SEED_1, "42": SEED_2}).notices() if one.code == "replicates"]
    assert str(notice) == (
        "run 'als': 2 seeds of one candidate over the same users: 7, 42. "
        "The value of a user is the mean over the 2 seeds."
    )


def test_a_metric_without_values_per_user_is_the_mean_over_the_seeds() -> None:
    catalogue = pd.DataFrame({"item_id": list("abcdx")})
    evaluation = evaluate(
        {"als": {"7": SEED_1, "42": lists(u1="x", u2="x", u3="x", u4="x")}},
        TRUTH, metrics=["coverage@1"], catalogue=catalogue,
    )  # fmt: skip
    assert value(evaluation)[0] == pytest.approx((3 / 5 + 1 / 5) / 2)


@pytest.mark.parametrize("metric", ["ndcg", "map", "precision(average=micro)", "f1", "r_precision"])
def test_seeds_that_are_all_alike_score_as_one_of_them(metric: str) -> None:
    table = evaluate({"als": SEED_1}, TRUTH, metrics=[metric], depth=3).table()
    three = evaluate({"als": [SEED_1] * 3}, TRUTH, metrics=[metric], depth=3).table()
    pd.testing.assert_frame_equal(table, three)


def some_lists(seed: int) -> pd.DataFrame:
    """30 users with 8 of 12 items each, in an order of chance."""
    rng = np.random.default_rng(seed)
    rows = [(f"u{u}", f"i{i}", rank) for u in range(30) for rank, i in enumerate(rng.permutation(12)[:8], 1)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


@pytest.fixture(scope="module")
def judged() -> pd.DataFrame:
    """Six rows for each of 32 users, with relevance 0 (judged and not relevant) to 3."""
    rng = np.random.default_rng(1)
    rows = [(f"u{u}", f"i{i}", rng.integers(0, 4)) for u in range(32) for i in rng.permutation(12)[:6]]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "relevance"])


@pytest.mark.parametrize("users", ["truth", "both"])
@pytest.mark.parametrize(
    "metric",
    [
        *(metric.name for metric in RANKING if metric.usage.is_scored),
        "ndcg(gain=exp)", "map(norm=hits)", "precision(over=list)", "f1(of=map,mar)",
    ],
)  # fmt: skip
def test_the_curve_of_seeds_is_mean_and_standard_error_of_the_users_means(
    metric: str, users: Any, judged: pd.DataFrame
) -> None:
    seeds = {"a": some_lists(1), "b": some_lists(2).query("user_id != 'u7'"), "c": some_lists(3)}
    train = some_lists(4)[["user_id", "item_id"]]
    evaluation = evaluate(
        {"als": seeds}, judged, metrics=[metric], depth=5, train=train, users=users, replicates="seeds"
    )
    for row in evaluation.rows():
        at_k = f"{metric}@{row['k']}" if row["k"] else metric
        values = evaluation.per_user(at_k)["value"].to_numpy()
        assert row["n_users"] == len(values)
        assert row["value"] == pytest.approx(values.mean())
        assert row["std_error"] == pytest.approx(values.std(ddof=1) / len(values) ** 0.5)


@pytest.mark.parametrize("metric", ["precision(average=micro)", "recall(average=micro)", "f1(average=means)"])
def test_pooled_metrics_of_seeds_are_the_means_of_theirs(metric: str, judged: pd.DataFrame) -> None:
    evaluation = evaluate({"als": [some_lists(1), some_lists(2)]}, judged, metrics=[metric], depth=5)
    own = [row["value"] for row in evaluation.replicate_rows()]
    assert [row["value"] for row in evaluation.rows()] == pytest.approx(
        np.mean(np.reshape(own, (2, 5)), axis=0)
    )


# ── folds ────────────────────────────────────────────────────────────────────────────────────


def test_folds_are_one_run_and_nobody_is_a_miss_in_anothers_fold() -> None:
    result = scored({"1": FOLD_1, "2": FOLD_2})
    # u4 has no list in any fold: a miss, once
    assert value(result) == ((1 + 0 + 1 + 0) / 4, 4)
    assert per_replicate(result) == {"1": (1 / 2, 2), "2": (1.0, 1)}
    assert result.runs[0].ledger is not None
    assert (result.runs[0].ledger.counted, result.runs[0].ledger.without_list) == (4, 1)


def test_folds_score_as_the_same_lists_in_one_file() -> None:
    together = pd.concat([FOLD_1, FOLD_2])
    folds = evaluate({"als": [FOLD_1, FOLD_2]}, TRUTH, depth=3).table()
    pd.testing.assert_frame_equal(folds, evaluate({"als": together}, TRUTH, depth=3).table())


def test_with_users_both_those_without_a_list_in_any_fold_are_left_out() -> None:
    assert value(scored([FOLD_1, FOLD_2], users="both")) == (pytest.approx(2 / 3), 3)


def test_a_column_of_folds_is_read_as_folds() -> None:
    rows = pd.concat([FOLD_1.assign(fold="A"), FOLD_2.assign(fold="B")])
    result = scored(rows)
    assert per_replicate(result) == {"A": (1 / 2, 2), "B": (1.0, 1)}
    assert result.runs[0].replicated is not None
    assert str(result.runs[0].replicated) == "2 folds"


def test_ids_that_files_write_as_numbers_and_as_text_are_the_same_users() -> None:
    truth = pd.DataFrame({"user_id": [1, 2], "item_id": [10, 20]})
    folds = [
        pd.DataFrame({"user_id": [1], "item_id": [10]}),
        pd.DataFrame({"user_id": ["2"], "item_id": ["20"]}),
    ]
    assert value(evaluate({"als": folds}, truth, metrics=["recall@1"])) == (1.0, 2)


# ── which it is ──────────────────────────────────────────────────────────────────────────────


def test_disjoint_users_are_folds_unless_said_otherwise() -> None:
    result = scored({"1": FOLD_1, "2": FOLD_2}, replicates="seeds")
    assert value(result) == (pytest.approx((0.5 + 0 + 0.5 + 0) / 4), 4)


def test_folds_that_share_users_are_refused() -> None:
    with pytest.raises(InputError, match="1 users, such as 'u1', have lists in several folds"):
        scored([FOLD_1, lists(u1="a", u3="c")], replicates="folds")


def test_neither_seeds_nor_folds_must_be_told() -> None:
    with pytest.raises(InputError, match="1 of 3 users have lists in several"):
        scored([FOLD_1, lists(u1="a", u3="c")])


def test_predictions_beside_replicates_are_refused() -> None:
    rated = pd.DataFrame({"user_id": ["u1"], "item_id": ["a"], "rating": [4.0], "prediction": [3.0]})
    with pytest.raises(InputError, match="they come with 2 uploads of lists"):
        evaluate({"als": [SEED_1, SEED_2]}, TRUTH, predictions={"als": rated})


def test_replicates_of_another_form_are_refused() -> None:
    with pytest.raises(InputError, match="'2' without a rank, the others with one"):
        scored([FOLD_1.assign(rank=1), FOLD_2])


# ── beside others ────────────────────────────────────────────────────────────────────────────


def test_a_candidate_with_seeds_stands_beside_one_without() -> None:
    evaluation = evaluate({"als": [SEED_1, SEED_2], "pop": SEED_1}, TRUTH, metrics=["recall@1"])
    assert [(row["run"], row["value"]) for row in evaluation.rows()] == [("als", 0.5), ("pop", 0.5)]
    assert evaluation.comparability() == []
    assert {row["run"] for row in evaluation.as_dict()["replicates"]} == {"als"}


def test_without_replicates_nothing_is_said_of_them() -> None:
    assert "replicates" not in scored(SEED_1).as_dict()


def test_slices_of_seeds_are_means_too() -> None:
    users = pd.DataFrame({"user_id": ["u1", "u2", "u3", "u4"], "age": ["old", "old", "new", "new"]})
    result = scored([SEED_1, SEED_2], user_attributes=users, slices="user:age")
    rows = {row["slice"]: row["value"] for row in result.rows()}
    assert (rows["old"], rows["new"]) == ((0.5 + 0.5) / 2, (1 + 0) / 2)


def test_ties_and_what_is_shown_are_told_of_each_seed() -> None:
    tied = pd.DataFrame({"user_id": ["u1", "u1"], "item_id": ["a", "x"], "score": [1.0, 1.0]})
    catalogue = pd.DataFrame({"item_id": list("abcdx"), "genre": ["one", "two", "one", "two", "one"]})
    result = scored({"7": tied, "42": tied}, catalogue=catalogue)
    assert [(row["run"], row["worst"], row["best"]) for row in result.tie_bands()] == [
        ("als, seed 7", 0.0, 0.25), ("als, seed 42", 0.0, 0.25),
    ]  # fmt: skip
    assert {row["run"] for row in result.shown_rows("genre", 1)} == {"als, seed 7", "als, seed 42"}


# ── what is given ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "table", [{"u1": {"a": 1.0}}, {"u1": ["a"]}, {"user_id": ["u1"], "item_id": ["a"]}, SEED_1, "als.csv", {}]
)
def test_a_single_table_is_not_taken_for_several(table: Any) -> None:
    assert several_of(table) is None


def test_dicts_by_label_hold_dicts_by_user() -> None:
    assert value(scored({"7": {"u1": {"a": 1.0}}, "42": {"u1": ["x"]}})) == (1 / 2 / 4, 4)


@pytest.mark.parametrize(
    ("files", "labels"),
    [
        (["fold1.csv", "fold2.csv"], ["1", "2"]),
        (["als_seed10.csv", "als_seed11.csv"], ["10", "11"]),
        (["s7/als.csv", "s42/als.csv"], ["7", "42"]),
        (["first.csv", "second.csv"], ["first", "second"]),
        (["a.csv", "a.csv"], ["1", "2"]),
        (["als.csv", "als2.csv"], ["1", "2"]),
    ],
)
def test_files_are_called_by_what_tells_them_apart(files: list[str], labels: list[str]) -> None:
    assert list(several_of([Path(file) for file in files]) or ()) == labels


@pytest.mark.parametrize(
    ("names", "shared"),
    [
        (["als_seed1", "als_seed2"], "als"),
        (["als1", "als2"], "als"),
        (["mine v2 - fold 1", "mine v2 - fold 2"], "mine v2"),
        (["knn_s10", "knn_s11"], "knn"),
        (["first", "second"], ""),
    ],
)
def test_what_files_are_called_alike_names_the_candidate(names: list[str], shared: str) -> None:
    assert shared_name(names) == shared
