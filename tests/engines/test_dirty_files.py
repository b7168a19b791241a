"""Real files whose faults show when tables meet: said in the words of their manifest, and scored right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recdash

CUTOFFS = (1, 5, 10, 20)
METRICS = ("precision", "recall", "hit_rate", "mrr", "map", "ndcg")


@pytest.fixture(scope="module")
def dirty(shared_data: Path) -> Path:
    return shared_data / "dirty"


def manifest(dirty: Path) -> dict[str, Any]:
    return json.loads((dirty / "manifest.json").read_text())


def said(found: recdash.Evaluation) -> str:
    return "\n".join(map(str, found.notices()))


def scores(run: Path, truth: Path) -> dict[str, float]:
    found = recdash.evaluate({"run": run}, truth, metrics=METRICS, relevance="none")
    return {f"{row['metric']}@{row['k']}": row["value"] for row in found.rows() if row["k"] in CUTOFFS}


@pytest.mark.parametrize(
    ("kind", "file", "words"),
    [
        ("run", "run_duplicate_pairs_inside_top10.csv", ["40", "duplicate (user, item)"]),
        ("run", "run_duplicate_ranks.csv", ["40 users", "duplicate ranks"]),
        ("run", "run_rank_gaps.csv", ["gaps in the ranks"]),
        ("run", "run_all_ties.csv", ["ties"]),
        ("run", "run_short_lists.csv", ["lists shorter than k = 10: 18 of the 40 users with a list"]),
        ("run", "run_users_not_in_truth.csv", ["6 users not in the test set"]),
        ("run", "run_items_not_in_catalogue.csv", ["68", "not in the catalogue"]),
        ("run", "run_mixed_id_forms.csv", ["mixed id forms", "item_id"]),
        ("run", "run_scores_nan_inf.csv", ["16", "NaN", "inf"]),
        ("run", "trec_rank_conflict.run", ["rank", "score used"]),
        ("truth", "truth_duplicate_pairs.csv", ["25", "duplicate"]),
        ("train", "train_leaks_truth.csv", ["50", "train and truth"]),
    ],
)
def test_what_shows_only_when_tables_meet_is_said(
    dirty: Path, kind: str, file: str, words: list[str]
) -> None:
    good = {kind: dirty / "good" / f"{kind}.csv" for kind in ("run", "truth", "train", "catalogue")}
    used = {**good, kind: dirty / file}
    found = recdash.evaluate(
        {"run": used["run"]}, used["truth"], train=used["train"], catalogue=used["catalogue"]
    )
    assert [word for word in words if word.lower() not in said(found).lower()] == []


def test_of_the_clean_tables_only_what_was_guessed_is_remarked_upon(dirty: Path) -> None:
    good = dirty / "good"
    found = recdash.evaluate(
        {"run": good / "run.csv"},
        good / "truth.csv",
        train=good / "train.csv",
        catalogue=good / "catalogue.csv",
        depth=20,
    )
    relevance, column = said(found).splitlines()
    assert relevance.startswith("relevance: every row counts; the page Add data suggests from 7 up")
    assert column == "truth 'truth', columns: read as relevance = 'rating'. Change it if wrong."


def test_every_run_that_equals_the_clean_one_scores_as_ranx_scores_that(dirty: Path) -> None:
    expected = manifest(dirty)["good_reference"]["values"]
    cases = [case for case in manifest(dirty)["cases"] if case["same_metrics_as"] == "good/run.csv"]
    assert len(cases) > 15
    for case in cases:
        truth = dirty / next(iter(case.get("context", ())), "good/truth.csv")
        found = scores(dirty / case["file"], truth)
        assert found == pytest.approx(expected, abs=1e-12), case["file"]


def test_ranks_with_gaps_are_the_clean_lists_too(dirty: Path) -> None:
    found = scores(dirty / "run_rank_gaps.csv", dirty / "good" / "truth.csv")
    assert found == pytest.approx(manifest(dirty)["good_reference"]["values"], abs=1e-12)


def test_a_truth_in_another_format_scores_the_same(dirty: Path) -> None:
    clean, other = (
        scores(dirty / "good" / "run.csv", dirty / file) for file in ("good/truth.csv", "movielens_truth.dat")
    )
    assert other == clean


def test_negative_and_zero_relevance_is_no_hit_and_keeps_ndcg_a_share(dirty: Path) -> None:
    run, truth = {"run": dirty / "good" / "run.csv"}, dirty / "truth_negative_relevance.csv"
    found = recdash.evaluate(run, truth, metrics="ndcg,recall")
    values = found.table()["value"]
    assert values.between(0, 1).all()
    counted = found.runs[0].ledger
    assert counted is not None
    assert counted.counted + counted.without_relevant == counted.truth_users


def test_predictions_with_other_column_names_score_the_same(dirty: Path) -> None:
    truth, files = dirty / "good" / "truth.csv", ("good/predictions.csv", "predictions_surprise_columns.csv")
    clean, other = (
        [
            row["value"]
            for row in recdash.evaluate(
                {}, truth, metrics="rmse,mae", predictions={"svd": dirty / file}
            ).rows()
        ]
        for file in files
    )
    assert other == clean
    assert len(clean) == 2
