"""Words follow the statistics."""

from __future__ import annotations

import pandas as pd
import pytest

from recdash.ui import findings
from recdash.ui.board import metrics_of_set, ranks
from recdash.ui.findings import Delta
from recdash.ui.words import finding, listed, metric_at, metric_name

NAMES = {"p": "Popular", "a": "ALS", "b": "BPR"}


def delta(run_id: str, mean: float, low: float, high: float) -> Delta:
    return Delta(run_id, NAMES[run_id], "ndcg", 0.2 + mean, 0.2, mean, low, high, 100, 40, 30, 30)


BETTER, OPEN, WORSE = (
    delta("a", 0.02, 0.01, 0.03),
    delta("a", 0.02, -0.01, 0.05),
    delta("a", -0.02, -0.03, -0.01),
)


def headline(order: list[str], *found: Delta) -> findings.Headline:
    return findings.headline(order, NAMES, "p", found, "ndcg", 10)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (0.01, 0.02, "better"),
        (-0.02, -0.01, "worse"),
        (-0.01, 0.01, "not settled"),
        (0.0, 0.01, "not settled"),
    ],
)
def test_better_and_worse_need_an_interval_without_zero(low: float, high: float, word: str) -> None:
    assert finding(low, high) == word


def test_a_lower_error_is_better() -> None:
    assert finding(-0.02, -0.01, lower_is_better=True) == "better"


def test_a_leader_that_is_settled_leads() -> None:
    found = headline(["a", "p"], BETTER)
    assert (found.word, found.title) == ("better", "ALS leads on nDCG@10")
    assert found.sentence == (
        "nDCG@10 of ALS is 10.0 % above Popular (difference +0.0200, 95 % CI +0.0100 to +0.0300, "
        "paired over 100 users)."
    )


def test_a_leader_that_is_not_settled_is_only_ahead() -> None:
    found = headline(["a", "p"], OPEN)
    assert (found.word, found.title) == (
        "not settled",
        "ALS is ahead of Popular on nDCG@10, but that is not settled",
    )


def test_a_baseline_in_front_is_not_beaten() -> None:
    assert headline(["p", "a"], WORSE).title == "No candidate beats Popular on nDCG@10"


def test_candidates_are_counted_only_when_better() -> None:
    assert (
        findings.beats([BETTER, delta("b", 0.01, -0.01, 0.03)], "Popular")
        == "One of two candidates beats Popular"
    )
    assert findings.beats([BETTER, BETTER], "Popular") == "Two of two candidates beat Popular"
    assert findings.beats([OPEN], "Popular") == "ALS is not settled against Popular"


def test_runs_that_cannot_be_told_apart_share_the_top() -> None:
    to_leader = pd.DataFrame(
        [{"run_id": "b", "run": "BPR", "mean_diff": -0.001, "ci_low": -0.003, "ci_high": 0.001},
         {"run_id": "p", "run": "Popular", "mean_diff": -0.02, "ci_low": -0.03, "ci_high": -0.01}]
    )  # fmt: skip
    shared = findings.shared_first(["a", "b", "p"], NAMES, to_leader, "nDCG@10")
    assert shared == "ALS and BPR are not separable at the top on nDCG@10"
    assert "BPR" in findings.not_separable(to_leader, "ALS")
    assert "Popular" not in findings.not_separable(to_leader, "ALS")


def test_other_cutoffs_name_who_takes_over() -> None:
    assert findings.leaders_at({5: "ALS", 20: "BPR"}, "ALS").answer == "BPR first at 20"
    assert findings.leaders_at({5: "ALS", 20: "ALS"}, "ALS").answer == "Nothing: ALS first at each"


def test_agreement_counts_the_settled_sides_that_match() -> None:
    found = findings.agreement(["won both", "won offline, lost online", "undecided"])
    assert found == "Offline and online agree on one of three candidates"
    assert (
        findings.agreement(["won offline, lost online"])
        == "Offline and online agree on none of one candidate"
    )
    assert findings.agreement(["undecided"]) == "Offline and online: nothing is settled yet"


def test_equal_values_share_a_rank_and_a_missing_value_has_none() -> None:
    assert ranks(["a", "b", "c", "d"], {"a": 0.2, "b": 0.2, "c": 0.1}) == {
        "a": "=1",
        "b": "=1",
        "c": "3",
        "d": "–",
    }


def test_column_sets_start_with_the_primary_metric() -> None:
    available = [
        "ndcg",
        "recall",
        "precision",
        "hit_rate",
        "map",
        "recall(average=micro)",
        "coverage",
        "gini",
    ]
    assert metrics_of_set(available, "map", "core") == ("map", "ndcg", "recall", "precision")
    assert metrics_of_set(available, "ndcg", "beyond") == ("ndcg", "coverage", "gini")
    assert set(metrics_of_set(available, "ndcg", "all")) == set(available)


def test_metrics_carry_their_cutoff_and_their_definition() -> None:
    assert metric_at("ndcg", 10) == "nDCG@10"
    assert metric_at("r_precision", 10) == "R-precision"
    assert metric_name("precision(average=micro)") == "Precision(average=micro)"


def test_names_are_listed_as_in_a_sentence() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
