"""Scoring without storing: questions, sources, populations, notices, and errors with all their problems."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import recdash
from recdash.errors import InputError, UnknownName
from recdash.metrics import METRICS, parse
from recdash.metrics.naming import SCORED

TRUTH = {"u": ["a", "b"], "v": ["a"], "w": ["c"]}
ALS = {"u": ["a", "x", "b"], "v": ["x", "a"]}
EASE = {"u": ["b", "a"], "v": ["a"], "w": ["x", "c"]}

RUN_COLUMNS = {"user_id": [1, 1, 2], "item_id": ["a", "x", "a"], "rank": [1, 2, 1]}
TRUTH_COLUMNS = {"user_id": [1, 1, 2], "item_id": ["a", "b", "c"], "rating": [5.0, 3.0, 1.0]}


def values(found: recdash.Evaluation) -> list[float]:
    return [row["value"] for row in found.rows()]


# ── sources ──────────────────────────────────────────────────────────────────────────────────


def as_file(columns: dict[str, list[Any]], path: Path) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        table.to_pandas().to_csv(path, index=False)
    return path


@pytest.mark.parametrize("form", ["pandas", "polars", "arrow", "csv", "parquet", "path as text"])
def test_tables_of_any_kind_give_the_same_scores(form: str, tmp_path: Path) -> None:
    def source(columns: dict[str, list[Any]], name: str) -> Any:
        makers: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
        if form in makers:
            return makers[form](columns)
        file = as_file(columns, tmp_path / f"{name}.{'parquet' if form == 'parquet' else 'csv'}")
        return str(file) if form == "path as text" else file

    evaluation = recdash.evaluate(
        {"als": source(RUN_COLUMNS, "run")}, source(TRUTH_COLUMNS, "truth"), metrics="recall@2,ndcg@1"
    )
    assert values(evaluation) == pytest.approx([(1 / 2 + 0) / 2, (5 / 5 + 0) / 2])


def test_one_file_with_several_candidates_is_several_runs() -> None:
    several = pd.DataFrame(
        {"model": ["x", "y"], "user_id": ["u", "u"], "item_id": ["a", "z"], "rank": [1, 1]}
    )
    evaluation = recdash.evaluate({"night": several}, TRUTH, metrics="precision@1")
    assert [(row["run"], row["value"]) for row in evaluation.rows()] == [
        ("night: x", 1 / 3),
        ("night: y", 0.0),
    ]


def test_candidates_are_named_as_asked_whatever_their_files_are_called(tmp_path: Path) -> None:
    file = as_file(RUN_COLUMNS, tmp_path / "final_v2.csv")
    evaluation = recdash.evaluate({"als": file}, pd.DataFrame(TRUTH_COLUMNS), metrics="recall@1")
    assert [run.name for run in evaluation.runs] == ["als"]


# ── the question ─────────────────────────────────────────────────────────────────────────────


def test_without_a_question_all_metrics_are_answered_or_absent_with_a_reason() -> None:
    evaluation = recdash.evaluate({"als": ALS}, TRUTH)
    answered = {row["metric"] for row in evaluation.rows()}
    absent = {row["metric"] for row in evaluation.as_dict()["absent"]}
    assert answered | absent == set(SCORED)
    assert answered & absent == set()
    must_be_told_which = {"coverage_by", "exposure_fairness"}
    asked_for_by_name = {
        "hits",
        "dcg",
        "ncrr",
        "auc",
        "success",
        "value",
        "snips",
    }
    known = (
        "precision", "precision(average=micro)", "recall", "recall(average=micro)", "f1", "hit_rate", "mrr",
        "map", "mar", "ndcg", "r_precision", "rbp", "err", "bpref", "judged", "serendipity", "user_coverage",
        "coverage", "novelty", "diversity", "personalization", "gini", "popularity", "entropy", "tail_share",
        "rmse", "mae", "r2",
    )  # fmt: skip
    assert tuple(spec for spec in SCORED if spec in known) == known  # as rows of CSV and JSON are ordered
    usual = set(METRICS) - must_be_told_which - asked_for_by_name
    assert {parse(spec).name for spec in SCORED} == usual


def test_a_metric_without_k_is_the_curve_to_the_depth() -> None:
    evaluation = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall", depth=3)
    assert [(row["metric"], row["k"]) for row in evaluation.rows()] == [
        ("recall", 1),
        ("recall", 2),
        ("recall", 3),
    ]


def test_the_depth_is_a_hundred_or_what_was_asked_for() -> None:
    def deepest(**question: Any) -> int:
        return int(recdash.evaluate({"als": ALS}, TRUTH, **question).table()["k"].max())

    assert deepest(metrics="recall") == 100
    assert deepest(metrics="recall,precision@150") == 150
    assert deepest(metrics="recall", depth=20) == 20


@pytest.mark.parametrize(
    ("depth", "said"),
    [
        (0, "Use a whole number from 1 to 10,000"),
        (-3, "Use a whole number from 1 to 10,000"),
        (5, "Use a whole number from 10 to 10,000"),
    ],
)
def test_a_depth_that_cannot_answer_is_refused(depth: int, said: str) -> None:
    metrics = "recall@10" if depth > 0 else "recall"
    with pytest.raises(InputError, match=said):
        recdash.evaluate({"als": ALS}, TRUTH, metrics=metrics, depth=depth)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ({"users": "all"}, "users: 'all'. Choose truth, both, judged, judged_both or run."),
        ({"order": "file"}, "order: 'file'. Choose rank or score."),
        ({"ties": "random"}, "ties: 'random'. Choose file or item_desc."),
    ],
)
def test_a_choice_that_is_none_is_answered_with_the_choices(question: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as caught:
        recdash.evaluate({"als": ALS}, TRUTH, **question)
    assert said in str(caught.value)


def test_unknown_metrics_and_presets_are_refused_before_any_file_is_read() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'ndcg'"):
        recdash.evaluate({"als": "no such file"}, "no such truth", metrics="ndgc@10")
    with pytest.raises(UnknownName, match="Did you mean 'rectools'"):
        recdash.evaluate({"als": "no such file"}, "no such truth", preset="rectool")


def test_the_metric_is_named_as_it_was_asked_for() -> None:
    evaluation = recdash.evaluate({"als": ALS}, TRUTH, metrics=["ndcg(gain=linear)@2", "f1( of=map,mar )@2"])
    assert [row["metric"] for row in evaluation.rows()] == ["ndcg(gain=linear)", "f1(of=map,mar)"]


def test_what_is_given_beside_a_preset_wins() -> None:
    of_preset = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall@3", preset="recommenders")
    beside = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall@3", preset="recommenders", users="truth")
    assert (values(of_preset), values(beside)) == ([1.0], [pytest.approx(2 / 3)])


# ── relevance ────────────────────────────────────────────────────────────────────────────────

RATED = pd.DataFrame(
    {"user_id": ["u", "u", "v"], "item_id": ["a", "b", "a"], "rating": [5, 2, 0], "liked": [0, 1, 1]}
)
ONE_EACH = {"u": ["b"], "v": ["a"]}


@pytest.mark.parametrize(
    ("how", "recall", "n_users"),
    [
        ({}, (1 / 2) / 1, 1),  # v's only rating is 0
        ({"relevance": "none"}, (1 / 2 + 1) / 2, 2),
        ({"relevance": "liked"}, (1 + 1) / 2, 2),
        ({"relevance_threshold": 4}, 0.0, 1),
        ({"relevance_threshold": 2}, 1 / 2, 1),
        ({"relevance": "liked", "relevance_threshold": 1}, 1.0, 2),
    ],
)
def test_what_counts_as_relevant_is_chosen(how: dict[str, Any], recall: float, n_users: int) -> None:
    (row,) = recdash.evaluate({"als": ONE_EACH}, RATED, metrics="recall@1", **how).rows()
    assert (row["value"], row["n_users"]) == (pytest.approx(recall), n_users)


# ── the answer ───────────────────────────────────────────────────────────────────────────────


def test_the_table_has_one_row_per_run_metric_and_k() -> None:
    table = recdash.evaluate(
        {"als": ALS, "ease": EASE}, TRUTH, metrics="recall@1,recall@2,r_precision"
    ).table()
    assert table.columns.tolist() == ["run", "metric", "k", "value", "std_error", "n_users"]
    assert table["run"].tolist() == ["als"] * 3 + ["ease"] * 3
    assert table["k"].tolist() == [1, 2, pd.NA] * 2
    assert table["k"].dtype == "Int64"
    assert table["n_users"].tolist() == [3] * 6


def test_the_dict_can_be_written_as_json_and_holds_scores_ledger_and_warnings() -> None:
    result = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall@2,coverage@1,personalization@1").as_dict()
    again = json.loads(json.dumps(result, allow_nan=False))
    assert again == result
    assert set(result) == {"scores", "ledger", "known_ids", "absent", "warnings"}
    recall, personalization = result["scores"]
    assert set(recall) == {"run", "metric", "k", "value", "std_error", "n_users"}
    assert (personalization["value"], personalization["std_error"]) == (1.0, None)
    assert result["ledger"]["als"]["without_list"] == 1
    assert result["absent"] == [
        {"run": "als", "metric": "coverage", "reason": "needs a catalogue table, and none was given"}
    ]
    assert any("file order" in warning for warning in result["warnings"])


def test_values_per_user_are_in_the_order_of_the_truth_and_average_to_the_score() -> None:
    evaluation = recdash.evaluate({"als": ALS, "ease": EASE}, TRUTH, metrics="ndcg@2")
    per_user = evaluation.per_user("ndcg@2")
    assert per_user["user_id"].tolist() == ["u", "v", "w"] * 2
    assert per_user.groupby("run")["value"].mean().tolist() == pytest.approx(values(evaluation))


def test_values_per_user_follow_the_population_and_the_preset() -> None:
    evaluation = recdash.evaluate({"als": ALS}, TRUTH, metrics="ndcg@2", preset="lenskit")
    assert evaluation.per_user("ndcg@2")["user_id"].tolist() == ["u", "v"]
    assert evaluation.per_user("ndcg@2")["value"].tolist() == [1 / (1 + 1), 1 / 1]


def test_values_per_user_beyond_the_depth_or_without_a_user_are_refused() -> None:
    evaluation = recdash.evaluate({"als": ALS}, TRUTH, metrics="ndcg", depth=5)
    with pytest.raises(InputError, match="read to depth 5"):
        evaluation.per_user("ndcg@6")
    with pytest.raises(InputError, match="no value per user"):
        evaluation.per_user("coverage@5")


def test_the_ledger_follows_the_population() -> None:
    both = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall@1", users="both").as_dict()["ledger"]["als"]
    truth = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall@1").as_dict()["ledger"]["als"]
    assert (truth["counted"], both["counted"]) == (3, 2)
    assert (truth["without_list"], both["without_list"]) == (1, 1)


def test_without_anybody_who_counts_the_metric_is_absent() -> None:
    rated = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "a"], "rating": [0, 5]})
    result = recdash.evaluate({"als": {"u": ["a"]}}, rated, metrics="recall@1", users="both").as_dict()
    assert result["scores"] == []
    assert "no user has both a list and a relevant item" in result["absent"][0]["reason"]


# ── predictions ──────────────────────────────────────────────────────────────────────────────


def predicted(rows: list[tuple[Any, ...]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rating", "prediction"])


def test_predictions_belong_to_the_candidate_of_their_name() -> None:
    rows = predicted([("u", "a", 3.0, 4.0), ("u", "b", 5.0, 2.0)])
    evaluation = recdash.evaluate(
        {"als": ALS, "ease": EASE}, TRUTH, metrics="recall@3,mae", predictions={"als": rows, "svd": rows}
    )
    assert [(row["run"], row["metric"], row["n_users"]) for row in evaluation.rows()] == [
        ("als", "recall", 3), ("als", "mae", 1), ("ease", "recall", 3), ("svd", "mae", 1),
    ]  # fmt: skip
    assert {(row["run"], row["metric"]) for row in evaluation.as_dict()["absent"]} == {
        ("ease", "mae"),
        ("svd", "recall"),
    }


def test_a_row_without_a_prediction_is_counted_and_left_out() -> None:
    rows = predicted([("u", "a", 3.0, 4.0), ("v", "a", 3.0, math.nan)])
    evaluation = recdash.evaluate({}, TRUTH, metrics="rmse", predictions={"svd": rows})
    assert [(row["value"], row["n_users"]) for row in evaluation.rows()] == [(1.0, 1)]
    assert any("no prediction in 1 row" in warning for warning in evaluation.as_dict()["warnings"])


def test_a_metric_that_is_absent_has_no_values_per_user_either() -> None:
    evaluation = recdash.evaluate({"als": ALS}, TRUTH, metrics="f1(bpref,recall)@2,judged(list)@2")
    assert evaluation.table().empty
    for spec in ("bpref@2", "f1(bpref,recall)@2", "serendipity@2", "judged(over=list)@2"):
        with pytest.raises(InputError, match="needs"):
            evaluation.per_user(spec)


# ── relevance and slices ─────────────────────────────────────────────────────────────────────


GRADED = pd.DataFrame({"user_id": [*"uuv"], "item_id": [*"abc"], "relevance": [5, 0, 3]})
TWO_LISTS = {"u": ["b", "a"], "v": ["x", "c"]}


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ({}, (0 + 0) / 2),
        ({"preset": "rectools"}, (1 + 0) / 2),
        ({"preset": "rectools", "relevance": "relevance"}, (0 + 0) / 2),
        ({"preset": "rectools", "relevance_threshold": 4}, 0 / 1),
        ({"relevance": "none"}, (1 + 0) / 2),
    ],
)
def test_a_preset_says_what_is_relevant_unless_it_was_asked_for(how: dict[str, Any], expected: float) -> None:
    evaluation = recdash.evaluate({"run": TWO_LISTS}, GRADED, metrics="precision@1", **how)
    assert evaluation.table()["value"].tolist() == [expected]


def test_a_slice_is_scored_beside_the_whole() -> None:
    train = pd.DataFrame({"user_id": ["u"], "item_id": ["c"]})
    asked, by = "mrr@2,popularity@2", ["user_warmth", "item_warmth"]
    evaluation = recdash.evaluate({"run": TWO_LISTS}, GRADED, metrics=asked, train=train, slices=by)
    told = ("metric", "slice_by", "slice", "value", "n_users")
    assert [tuple(row[name] for name in told) for row in evaluation.rows()] == [
        ("mrr", None, None, (1 / 2 + 1 / 2) / 2, 2),
        ("popularity", None, None, (0 / 2 + 1 / 2) / 2, 2),
        ("mrr", "user_warmth", "warm", 1 / 2, 1),
        ("popularity", "user_warmth", "warm", 0 / 2, 1),
        ("mrr", "user_warmth", "cold", 1 / 2, 1),
        ("popularity", "user_warmth", "cold", 1 / 2, 1),
        ("mrr", "item_warmth", "warm", 1 / 2, 1),
        ("mrr", "item_warmth", "cold", 1 / 2, 1),
    ]  # fmt: skip


def test_a_slice_of_all_items_keeps_the_judged_negatives() -> None:
    catalogue = pd.DataFrame({"item_id": [*"ab"], "genre": ["g", "g"]})
    truth = pd.DataFrame({"user_id": [*"uu"], "item_id": [*"ab"], "relevance": [1, 0]})
    how = {"metrics": "judged@2,bpref@2", "catalogue": catalogue, "slices": "item:genre"}
    rows = list(recdash.evaluate({"run": {"u": ["b", "a"]}}, truth, **how).rows())
    assert [(row["slice"], row["value"]) for row in rows] == [
        (None, 1.0),
        (None, 0.0),
        ("g", 1.0),
        ("g", 0.0),
    ]


def test_what_no_slice_has_is_told_with_the_reason() -> None:
    train = pd.DataFrame({"user_id": ["u"], "item_id": ["c"]})
    rated = predicted([("u", "a", 3.0, 4.0)])
    evaluation = recdash.evaluate(
        {"run": TWO_LISTS}, GRADED, metrics="popularity@2,mae", train=train, slices="item_warmth",
        predictions={"run": rated, "svd": rated},
    )  # fmt: skip
    told = [(row["run"], row["metric"], row.get("slice")) for row in evaluation.absences()]
    assert told == [
        ("run", "popularity", "warm"), ("run", "mae", "warm"),
        ("run", "popularity", "cold"), ("run", "mae", "cold"),
        ("svd", "popularity", None), ("svd", "mae", "warm"), ("svd", "mae", "cold"),
    ]  # fmt: skip


def test_a_cutoff_beyond_the_deepest_says_so() -> None:
    with pytest.raises(InputError, match=r"cutoff: k = 10001\. Use a whole number up to 10,000\."):
        recdash.evaluate({"run": TWO_LISTS}, GRADED, metrics="ndcg@10001")


def test_an_unknown_slice_is_answered_with_those_that_can_be_had() -> None:
    with pytest.raises(InputError, match="needs training data"):
        recdash.evaluate({"run": TWO_LISTS}, GRADED, slices="history")
    with pytest.raises(UnknownName, match="No slice is called 'warmth'"):
        recdash.evaluate({"run": TWO_LISTS}, GRADED, slices="warmth")


def test_the_error_of_rmse_counts_users_and_not_rows() -> None:
    one = [("u", "a", 1.0, 2.0), ("v", "a", 1.0, 4.0)]
    twice = one + [(user, "b", rating, guess) for user, _, rating, guess in one]
    single, doubled = (
        next(recdash.evaluate({}, TRUTH, metrics="rmse", predictions={"svd": predicted(rows)}).rows())
        for rows in (one, twice)
    )
    # squares 1 and 9 of two users: mean 5, deviation √32, error of the mean √(32/2) = 4; over 2·√5
    assert single["std_error"] == pytest.approx(4 / (2 * math.sqrt(5)))
    assert (doubled["value"], doubled["std_error"]) == pytest.approx((single["value"], single["std_error"]))


# ── notices and errors ───────────────────────────────────────────────────────────────────────


def codes(found: recdash.Evaluation) -> list[str]:
    return [notice.code for notice in found.notices()]


def test_short_lists_are_said_at_the_cutoff_that_was_asked_for() -> None:
    ranked = pd.DataFrame({"user_id": ["u", "u", "v"], "item_id": ["a", "b", "a"], "rank": [1, 2, 1]})
    assert codes(recdash.evaluate({"als": ranked}, TRUTH, metrics="recall@1")) == []
    evaluation = recdash.evaluate({"als": ranked}, TRUTH, metrics="recall@2")
    counted = "lists shorter than k = 2: 1 of the 2 users with a list"
    assert [str(notice) for notice in evaluation.notices()] == [
        f"run 'als': {counted}. The missing positions count as misses."
    ]


def test_that_all_lists_end_before_the_depth_is_no_news() -> None:
    def lists(of_v: int) -> pd.DataFrame:
        rows = [(user, f"i{rank}", rank) for user, n in (("u", 20), ("v", of_v)) for rank in range(1, n + 1)]
        return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])

    even = recdash.evaluate({"als": lists(20)}, TRUTH, metrics="recall", depth=100, accept_unknown_ids=True)
    assert "short-lists" not in codes(even)
    uneven = recdash.evaluate({"als": lists(19)}, TRUTH, metrics="recall", depth=100, accept_unknown_ids=True)
    said = [notice.found for notice in uneven.notices() if notice.code == "short-lists"]
    assert said == ["lists shorter than k = 20: 1 of the 2 users with a list"]


def test_items_that_the_catalogue_does_not_know_are_said() -> None:
    catalogue = pd.DataFrame({"item_id": ["a", "b", "c"]})
    evaluation = recdash.evaluate({"als": ALS}, TRUTH, metrics="recall@1", catalogue=catalogue)
    (notice,) = [notice for notice in evaluation.notices() if notice.code == "unknown-items"]
    assert (notice.count, notice.found) == (1, "1 item ids are not in the catalogue ('x')")


def test_what_is_noticed_of_the_truth_is_said_once_and_not_per_run() -> None:
    truth = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["a", "a"]})
    evaluation = recdash.evaluate({"als": {"u": ["a"]}, "ease": {"u": ["a"]}}, truth, metrics="recall@1")
    assert codes(evaluation).count("duplicate-truth") == 1


def test_problems_of_all_shared_tables_are_raised_together(tmp_path: Path) -> None:
    empty = tmp_path / "catalogue.csv"
    empty.write_text("")
    with pytest.raises(InputError) as caught:
        recdash.evaluate({"als": ALS}, pd.DataFrame({"user_id": ["u"]}), catalogue=empty)
    assert len(caught.value.problems) == 2
    assert "catalogue" in str(caught.value)
    assert "no item column" in str(caught.value)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        ("user_id,item_id,rank\nu,a,first\nv,b,x\n", ["rank", "line 2", "'first' is not a rank"]),
        (
            "user_id,item_id,rank\nstranger,a,1\n",
            ["run 'als'", "no user of this run is in the truth", "'u', 'v', 'w'"],
        ),
        ("rank,score\n1,2\n", ["user", "item"]),
    ],
)
def test_a_candidate_that_cannot_be_used_names_place_found_and_fix(
    tmp_path: Path, run: str, said: list[str]
) -> None:
    file = tmp_path / "als.csv"
    file.write_text(run)
    with pytest.raises(InputError) as caught:
        recdash.evaluate({"als": file}, TRUTH)
    assert [word for word in said if word not in str(caught.value)] == []
    assert all(problem.fix for problem in caught.value.problems)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InputError, match=r"nowhere\.csv: cannot be opened"):
        recdash.evaluate({"als": ALS}, "nowhere.csv")


# ── definitions hold or are absent ───────────────────────────────────────────────────────────


def test_r_precision_is_absent_where_places_up_to_m_were_not_read() -> None:
    wanted = {"u": [f"i{n}" for n in range(10)]}
    late = {"u": [f"x{n}" for n in range(5)] + [f"i{n}" for n in range(5)]}
    (shallow,) = recdash.evaluate({"als": late}, wanted, metrics="r_precision", depth=5).runs
    assert "use a depth of 10" in shallow.absent["r_precision"]
    deep = recdash.evaluate({"als": late}, wanted, metrics="r_precision", depth=10).table()
    assert deep["value"].tolist() == [pytest.approx(5 / 10)]


def test_r_precision_of_lists_that_end_before_the_depth_needs_no_more() -> None:
    wanted = {"u": [f"i{n}" for n in range(10)]}
    table = recdash.evaluate({"als": {"u": ["i1", "x"]}}, wanted, metrics="r_precision", depth=5).table()
    assert table["value"].tolist() == [pytest.approx(1 / 10)]


def test_exponential_gain_of_counts_is_absent_with_the_reason() -> None:
    (run,) = recdash.evaluate(
        {"als": {"u": ["a"]}}, {"u": {"a": 2000, "b": 1}}, metrics="ndcg(gain=exp)"
    ).runs
    assert "gain=exp needs gains up to 1000" in run.absent["ndcg(gain=exp)"]


def test_a_preset_reaches_metrics_inside_others_and_those_asked_later() -> None:
    wanted, lists = {"u": [f"i{n}" for n in range(9)]}, {"u": ["i0", "x", "i1"]}
    evaluation = recdash.evaluate({"als": lists}, wanted, metrics=["f1(of=map,mar)@3"], preset="recbole")
    ap = (1 / 1 + 2 / 3) / 3  # over min(m, k), as RecBole does
    ar = (1 / 9 + 1 / 9 + 2 / 9) / 3
    assert evaluation.table()["value"].tolist() == [pytest.approx(2 * ap * ar / (ap + ar))]
    assert evaluation.per_user("map@3")["value"].tolist() == [pytest.approx(ap)]


@pytest.mark.parametrize("threshold", [0.0, -1.0])
def test_a_relevance_threshold_is_above_zero(threshold: float) -> None:
    with pytest.raises(InputError, match="Use a number above 0"):
        recdash.evaluate({"als": {"u": ["a"]}}, {"u": {"a": 2}}, relevance_threshold=threshold)


def test_a_depth_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(InputError, match="to 10,000"):
        recdash.evaluate({"als": {"u": ["a"]}}, {"u": ["a"]}, metrics="ndcg@100000000")


def test_users_that_meet_in_spite_of_spelling_are_said() -> None:
    candidate = pd.DataFrame({"user_id": ["12", "12"], "item_id": ["b", "a"]})
    evaluation = recdash.evaluate({"als": candidate}, {"0012": ["a"]}, metrics="mrr@2")
    assert evaluation.table()["value"].tolist() == [0.5]
    assert any(
        "column 'user_id'" in str(notice) and "'0012'" in str(notice) for notice in evaluation.notices()
    )


def test_integer_ids_that_meet_padded_text_are_said() -> None:
    wanted = pd.DataFrame({"user_id": ["u"], "item_id": ["0110912"]})
    candidate = pd.DataFrame({"user_id": ["u"], "item_id": [110912]})
    evaluation = recdash.evaluate({"als": candidate}, wanted, metrics="mrr@2")
    assert evaluation.table()["value"].tolist() == [1.0]
    assert any("'110912', written '0110912' elsewhere" in str(notice) for notice in evaluation.notices())


def test_what_is_shown_counts_all_lists_of_the_run_or_those_of_users_with_a_relevant_item() -> None:
    """v has no relevant item, w and x are not in the truth; x repeats an item, beyond the depth."""
    wanted = {"u": {"a": 1}, "v": {"a": 0}}
    items = pd.DataFrame({"item_id": list("abcde")})
    lists = {"u": ["a", "b"], "v": ["b", "c"], "w": ["c", "d"], "x": ["d", "d", "a", "e"]}
    shown = {
        "coverage@1": (4 / 5, 4), "coverage@2": (4 / 5, 4), "coverage(users=run)@2": (4 / 5, 4),
        "coverage(users=truth)@2": (2 / 5, 1), "coverage(users=both)@2": (2 / 5, 1),
        "coverage(of=truth)@2": (1.0, 4), "coverage(of=truth,users=truth)@2": (1.0, 1),
    }  # fmt: skip
    evaluation = recdash.evaluate({"als": lists}, wanted, catalogue=items, metrics=list(shown), depth=2)
    rows = evaluation.table()
    assert list(zip(rows["value"], rows["n_users"], strict=True)) == list(shown.values())


SCATTERED = pd.DataFrame(
    [
        ("w", "c", 1, 9.0), ("u", "a", 1, 9.0), ("x", "d", 1, 9.0), ("w", "d", 2, 8.0), ("v", "b", 1, 9.0),
        ("x", "a", 2, 8.0), ("u", "b", 2, 8.0), ("v", "c", 2, 8.0), ("x", "e", 3, 7.0),
    ],
    columns=["user_id", "item_id", "rank", "score"],
)  # fmt: skip


@pytest.mark.parametrize("order", ["rank", "score"])
@pytest.mark.parametrize("scattered", [True, False])
def test_lists_of_users_outside_the_truth_are_counted_however_the_file_is_ordered(
    order: Any, *, scattered: bool
) -> None:
    """Places at k = 3: a 2, b 2, c 2, d 2, e 1 of all lists; Gini of 1, 2, 2, 2, 2: (−4 − 4 + 4 + 8)/45."""
    run = SCATTERED if scattered else SCATTERED.sort_values("user_id", kind="stable")
    wanted, items = {"u": {"a": 1}, "v": {"a": 0}}, pd.DataFrame({"item_id": list("abcde")})
    evaluation = recdash.evaluate(
        {"als": run}, wanted, catalogue=items, metrics=["gini@3", "gini(users=truth)@3"], order=order
    )
    # of u alone 0, 0, 0, 1, 1: (2·1 + 4·1)/(5·2)
    assert evaluation.table()["value"].tolist() == pytest.approx([4 / 45, 6 / 10], abs=1e-15)
    assert evaluation.runs[0].ledger is not None
    assert evaluation.runs[0].ledger.without_truth == 2


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        # u finds a, s has no list, v has no relevant item, w and x are not in the truth
        ("truth", (2, 1 / 2)), ("both", (1, 1.0)), ("judged", (3, 1 / 3)), ("judged_both", (2, 1 / 2)),
        ("run", (4, 1 / 4)),
    ],
)  # fmt: skip
def test_who_counts_is_said_in_one_word(users: Any, expected: tuple[int, float]) -> None:
    wanted = {"u": {"a": 1}, "s": {"a": 1}, "v": {"a": 0}}
    specs = ["recall", "ndcg", "ndcg(ideal=full)", "map", "mrr", "mar", "mar(form=hits)", "hit_rate", "f1",
             "f1(of=map,mar)", "ndcg(gain=exp,ideal=all)", "r_precision"]  # fmt: skip
    asked = [spec if spec == "r_precision" else f"{spec}@1" for spec in specs]
    evaluation = recdash.evaluate({"als": SCATTERED}, wanted, metrics=asked, users=users)
    n_users, value = expected
    assert {row["metric"]: row["value"] for row in evaluation.rows()} == pytest.approx(
        dict.fromkeys(specs, value), abs=1e-15
    )
    assert {row["n_users"] for row in evaluation.rows()} == {n_users}
    assert evaluation.runs[0].ledger is not None
    assert evaluation.runs[0].ledger.counted == n_users
    errors = [row["std_error"] for row in evaluation.rows()]
    values = np.array([1.0] * round(n_users * value) + [0.0] * (n_users - round(n_users * value)))
    spread = values.std(ddof=1) / n_users**0.5 if n_users > 1 else None
    assert errors == [spread if spread is None else pytest.approx(spread, abs=1e-15)] * len(errors)


def test_users_outside_the_truth_have_no_row_of_their_own() -> None:
    """They have 0 whatever they are shown, so no comparison looks at them."""
    evaluation = recdash.evaluate({"als": SCATTERED}, {"u": {"a": 1}, "v": {"a": 0}}, users="run")
    assert evaluation.per_user("recall@1")[["user_id", "value"]].to_numpy().tolist() == [
        ["u", 1.0],
        ["v", 0.0],
    ]


def test_a_repeated_item_counts_once_or_at_each_place() -> None:
    """Truth a, b; list a, a, x: kept once it is a, x, and nDCG@3 is 1/(1 + 1/log2 3)."""
    wanted, lists = {"u": {"a": 1, "b": 1}}, {"als": {"u": ["a", "a", "x"]}}
    items, best = pd.DataFrame({"item_id": list("abx")}), 1 + 1 / np.log2(3)
    asked = ["ndcg@3", "precision@3", "recall@3", "hit_rate@3", "mrr@3", "map@3", "gini@3"]
    values = {
        rule: recdash.evaluate(lists, wanted, metrics=asked, catalogue=items, duplicates=rule).table()
        for rule in ("first", "keep")
    }
    # places of a, b, x: 1, 0, 1 (Gini of 0, 1, 1: 2/(3·2)) or 2, 0, 1 (of 0, 1, 2: 4/(3·3))
    assert values["first"]["value"].tolist() == pytest.approx([1 / best, 1 / 3, 1 / 2, 1, 1, 1 / 2, 2 / 6])
    assert values["keep"]["value"].tolist() == pytest.approx([1, 2 / 3, 1, 1, 1, (1 + 1) / 2, 4 / 9])


def test_kept_repeats_may_take_a_metric_above_1() -> None:
    evaluation = recdash.evaluate(
        {"als": {"u": ["a", "a"]}}, {"u": {"a": 1}}, metrics=["ndcg@2", "recall@2"], duplicates="keep"
    )
    assert evaluation.table()["value"].tolist() == pytest.approx([1 + 1 / np.log2(3), 2.0])
    kept = recdash.evaluate(
        {"als": {"u": ["a", "a"], "v": ["a"]}},
        {"u": {"a": 1}},
        metrics="personalization@2",
        duplicates="keep",
    )
    assert [absence["reason"] for absence in kept.absences()] == [
        "needs each item once in a list; use duplicates=first"
    ]
    assert "Each counts again at its rank" in " ".join(map(str, evaluation.notices()))


def test_n_users_are_those_whose_list_has_a_value() -> None:
    """u is shown two films of a genre, v one of them and one without a genre, w one film alone."""
    films = pd.DataFrame({"item_id": ["a", "b", "c"], "genre": ["Crime", "Crime", None]})
    lists = {"u": ["a", "b"], "v": ["a", "c"], "w": ["b"]}
    wanted = {user: ["a"] for user in lists}
    evaluation = recdash.evaluate(
        {"als": lists}, wanted, catalogue=films, metrics=["diversity@2", "coverage@2"]
    )
    assert evaluation.table()[["value", "n_users"]].to_numpy().tolist() == [[0.0, 1], [1.0, 3]]


@pytest.mark.parametrize("categories", [["u", "w"], ["u", "v", "w"], ["u", "w", "z"]])
def test_users_and_items_of_the_truth_are_those_with_a_row(categories: list[str]) -> None:
    users = pd.Categorical(["u", "u", "w", "w"], categories=categories)
    items = pd.Categorical(["a", "b", "a", "c"], categories=["a", "x", "b", "c"])
    wanted = pd.DataFrame({"user_id": users, "item_id": items})
    lists = {"u": ["a", "b"], "w": ["b", "a"]}
    evaluation = recdash.evaluate({"als": lists}, wanted, metrics=["mrr@2", "coverage(of=truth)@2"])
    assert evaluation.table()["value"].tolist() == [(1 + 1 / 2) / 2, 2 / 3]
    assert evaluation.as_dict()["ledger"]["als"]["truth_users"] == 2


@pytest.mark.parametrize("metric", ["recall(average=micro)@2", "f1(average=means)@2"])
def test_a_pooled_metric_has_no_value_of_a_user(metric: str) -> None:
    evaluation = recdash.evaluate({"als": {"u": ["a"]}}, {"u": ["a"], "v": ["b"]}, metrics="recall@2")
    with pytest.raises(InputError, match="it pools all users"):
        evaluation.per_user(metric)


def test_lists_of_items_that_train_never_saw_are_said() -> None:
    evaluation = recdash.evaluate(
        {"als": {"u": ["a"]}}, {"u": ["a"]}, train={"q": ["z"]}, metrics="novelty@1", depth=1
    )
    assert any(
        "no item of these lists is in the training data" in str(notice) for notice in evaluation.notices()
    )


def test_two_candidates_of_one_name_are_refused() -> None:
    both = pd.DataFrame({"model": ["x", "y"], "user_id": ["u", "u"], "item_id": ["a", "b"]})
    with pytest.raises(InputError, match="two have the name 'm: x'"):
        recdash.evaluate({"m": both, "m: x": {"u": ["a"]}}, {"u": ["a"]}, metrics="recall@1")


def test_no_metric_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="Name one, such as ndcg@10"):
        recdash.evaluate({"als": {"u": ["a"]}}, {"u": ["a"]}, metrics=" , ")


@pytest.mark.parametrize("name", ["", " ", "\x1b[31mals", "als\n", "\tals", 1])
@pytest.mark.parametrize("given_as", ["runs", "predictions"])
def test_a_candidate_without_a_name_and_one_that_steers_a_terminal_are_refused(
    name: Any, given_as: str
) -> None:
    table = pd.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [4.0], "prediction": [3.0]})
    given = {"runs": {}, given_as: {name: table}}
    with pytest.raises(InputError, match="candidate"):
        recdash.evaluate(truth=table[["user_id", "item_id"]], **given)


def test_columns_are_not_known_by_values_beside_vectors_that_can_be_read_once() -> None:
    truth = pd.DataFrame({"reader": ["u1", "u2", "u3"], "thing": ["i1", "i2", "i3"]})
    run = pd.DataFrame({"user_id": ["u1", "u2", "u3"], "item_id": ["i2", "i2", "i3"], "rank": [1, 1, 1]})
    vectors = b"item_id,v0,v1\ni1,1,0\ni2,0,1\ni3,1,1\n"
    asked = {"truth": truth, "metrics": "recall@1"}
    with pytest.raises(InputError, match="no item column; found: reader, thing"):
        recdash.evaluate({"a": run}, item_vectors=io.BytesIO(vectors), **asked)
    assert recdash.evaluate({"a": run}, item_vectors=vectors, **asked).columns_by_values
    named = truth.set_axis(["user_id", "item_id"], axis=1)
    assert recdash.evaluate({"a": run}, named, item_vectors=io.BytesIO(vectors), metrics="recall@1")
