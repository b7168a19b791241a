"""Paired tests on real runs against values that other libraries computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

import recdash
from recdash.comparison.wording import plain
from recdash.evaluation import Evaluation

METRICS = ("ndcg@10", "map@10", "recall@10", "precision@10", "hit_rate@10")
RUNS = ("als", "bpr", "ease", "popular", "itemknn")


@pytest.fixture(scope="module")
def tweetings(shared_data: Path) -> Path:
    return shared_data / "movietweetings"


@pytest.fixture(scope="module")
def reference(tweetings: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((tweetings / "reference" / "significance.json").read_text())["pairs"]
    return result


@pytest.fixture(scope="module")
def scored(tweetings: Path) -> Evaluation:
    """Every held-out row is relevant, as in the reference values."""
    runs = {name: tweetings / "runs" / f"{name}.parquet" for name in RUNS}
    return recdash.evaluate(
        runs, tweetings / "truth.csv", metrics=[*METRICS, "coverage@10"], relevance="none",
        train=tweetings / "train.csv.gz", catalogue=tweetings / "catalogue.csv",
    )  # fmt: skip


Rows = Callable[[str, str], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def rows_of(scored: Evaluation) -> Rows:
    """All pairs by a metric with a baseline, tested in every way, which takes seconds: once for all tests."""
    return cache(lambda metric, baseline: list(scored.compare(metric, baseline).rows()))


def pair_of(rows: list[dict[str, Any]], candidate: str, baseline: str) -> dict[str, Any]:
    return next(row for row in rows if (row["candidate"], row["baseline"]) == (candidate, baseline))


OFTEN = ("ndcg@10", "popular vs itemknn")
"""The metric and the pair that are tested each time; the long tests have all."""
PAIRS = ("popular vs itemknn", "als vs bpr", "als vs ease")
PERMUTATION_P = "paired randomisation p ((c+1)/(B+1), B=5000, numpy default_rng(0))"


def test_every_pair_with_reference_values_is_tested(reference: dict[str, Any]) -> None:
    assert set(reference) == set(PAIRS)


@pytest.mark.parametrize(
    ("metric", "pair"),
    [
        pytest.param(metric, pair, marks=() if (metric, pair) == OFTEN else pytest.mark.long)
        for metric in METRICS
        for pair in PAIRS
    ],
)
def test_t_wilcoxon_and_intervals_are_those_of_scipy(
    rows_of: Rows, reference: dict[str, Any], metric: str, pair: str
) -> None:
    candidate, baseline = pair.split(" vs ")
    result, expected = pair_of(rows_of(metric, baseline), candidate, baseline), reference[pair][metric]
    assert result["n_users"] == expected["n_users"]
    assert result["mean_diff"] == pytest.approx(expected["mean_diff"], abs=1e-12)
    assert result["t_p"] == pytest.approx(expected["scipy.ttest_rel p"], rel=1e-9)
    assert result["wilcoxon_p"] == pytest.approx(expected["scipy.wilcoxon(wilcox) p"], rel=1e-9)
    ends = expected["ttest 95% CI of diff"]
    width = ends[1] - ends[0]
    by_t = result["method"] == "paired t-test"  # else wider, by what could not be seen
    assert [result["ci_low"], result["ci_high"]] == pytest.approx(ends, abs=1e-12 if by_t else width / 4)
    assert result["bootstrap_low"] == pytest.approx(ends[0], abs=0.02 * width)
    assert result["bootstrap_high"] == pytest.approx(ends[1], abs=0.02 * width)


@pytest.mark.parametrize(
    "pair", [pytest.param(one, marks=() if one == OFTEN[1] else pytest.mark.long) for one in PAIRS]
)
def test_the_permutation_test_agrees_where_both_are_sure(
    rows_of: Rows, reference: dict[str, Any], pair: str
) -> None:
    candidate, baseline = pair.split(" vs ")
    result = pair_of(rows_of("ndcg@10", baseline), candidate, baseline)
    assert result["permutation_p"] == pytest.approx(reference[pair]["ndcg@10"][PERMUTATION_P], abs=0.002)


def test_holm_is_over_every_pair_that_is_answered(rows_of: Rows) -> None:
    rows = rows_of("ndcg@10", "itemknn")
    p = np.array([row["t_p"] for row in rows])
    assert len(rows) == 5 * 4 / 2
    order = np.argsort(p)
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)).clip(max=1)
    assert [rows[at]["t_p_holm"] for at in order] == pytest.approx(stepped.tolist())
    by_bh = scipy_stats.false_discovery_control(p)
    assert [row["t_p_bh"] for row in rows] == pytest.approx(by_bh.tolist())


def test_als_against_itemknn_is_a_verdict_to_act_on(tweetings: Path) -> None:
    runs = {name: tweetings / "runs" / f"{name}.parquet" for name in ("als", "itemknn")}
    compared = recdash.evaluate(
        runs, tweetings / "truth.csv", metrics=["ndcg@10", "coverage@10"], relevance="none",
        catalogue=tweetings / "catalogue.csv",
    ).compare("ndcg@10", "itemknn")  # fmt: skip
    verdict = compared.verdict
    assert verdict.text == (
        "Keep itemknn. als does not beat itemknn: its nDCG@10 is 4.4 % below itemknn. "
        "Its Precision@10 is significantly worse: 15 % below itemknn."
    )
    first, *others = map(plain, verdict.offline.sentences)
    assert first.startswith("nDCG@10 of als is 4.44 % below itemknn (95 % CI −")
    assert any("If the true difference is the one measured, " in other for other in others)
    assert any(other.startswith("als costs ") and "catalogue coverage@10" in other for other in others)


def test_popular_is_kept_until_only_users_with_a_list_count(scored: Evaluation) -> None:
    from recdash.comparison.sensitivity import changes

    compared = scored.compare("ndcg@10", "popular")
    assert compared.verdict.headline == "Keep popular"
    asked = {
        change.question: change
        for change in changes(compared.source, compared.verdict, depth=100, users="truth")
    }
    assert asked["Only users with a list"].answer.startswith("Open: not enough data: about ")
    assert asked["Other k than 10"].answer == "Same result at k = 5, 20 and 50"
