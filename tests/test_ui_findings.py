"""Words follow the statistics."""

from __future__ import annotations

import pandas as pd
import pytest

from recdash import numbers
from recdash.metrics import METRICS
from recdash.ui import findings
from recdash.ui.board import metrics_of_set, ranks
from recdash.ui.findings import Delta
from recdash.ui.words import BEYOND, CORE, finding, listed, metric_at, metric_name

NAMES = {"p": "Popular", "a": "ALS", "b": "BPR"}


def delta(run_id: str, mean: float, low: float, high: float) -> Delta:
    return Delta(run_id, NAMES[run_id], "ndcg", 0.2 + mean, 0.2, mean, low, high, 100, 40, 30, 30)


BETTER, OPEN, WORSE = (
    delta("a", 0.02, 0.01, 0.03),
    delta("a", 0.02, -0.01, 0.05),
    delta("a", -0.02, -0.03, -0.01),
)


def headline(known: dict[str, float], *found: Delta) -> findings.Headline:
    return findings.headline(known, NAMES, "p", found, "ndcg", 10)


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
    found = headline({"a": 0.22, "p": 0.2}, BETTER)
    assert (found.word, found.title) == ("better", "ALS leads on nDCG@10")
    assert found.sentence == (
        "nDCG@10 of ALS is 10.0 % above Popular (difference +0.0200, 95 % CI +0.0100 to +0.0300, "
        "paired over 100 users)."
    )


def test_a_leader_that_is_not_settled_is_only_ahead() -> None:
    found = headline({"a": 0.22, "p": 0.2}, OPEN)
    assert (found.word, found.title) == (
        "not settled",
        "ALS is ahead of Popular on nDCG@10, but that is not settled",
    )


def test_a_baseline_in_front_is_not_beaten() -> None:
    assert headline({"p": 0.2, "a": 0.18}, WORSE).title == "No candidate beats Popular on nDCG@10"


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
    shared = findings.shared_first({"a": 0.3, "b": 0.29, "p": 0.2}, NAMES, to_leader, "nDCG@10")
    assert shared == "ALS and BPR are not separable at the top on nDCG@10"
    assert "BPR" in findings.not_separable(to_leader, "ALS")
    assert "Popular" not in findings.not_separable(to_leader, "ALS")


def test_other_cutoffs_name_who_takes_over() -> None:
    assert findings.leaders_at({5: ["ALS"], 20: ["BPR"]}, ["ALS"]).answer == "BPR first at 20"
    assert findings.leaders_at({5: ["ALS"], 20: ["ALS"]}, ["ALS"]).answer == "Nothing: ALS first at each"


def test_who_shares_first_elsewhere_is_named_together() -> None:
    assert findings.leaders_at({5: ["ALS", "BPR"]}, ["ALS"]).answer == "ALS and BPR first at 5"
    assert findings.leader_by("map", "ndcg", ["BPR", "ALS"], ["ALS", "BPR"]).answer == (
        "Nothing: ALS and BPR first too"
    )


# ── values that are equal ────────────────────────────────────────────────────────────────────


def test_equal_values_share_first_whatever_the_order_of_the_uploads() -> None:
    level = delta("b", 0.02, 0.01, 0.03)
    assert headline({"a": 0.22, "b": 0.22, "p": 0.2}, BETTER, level).title == (
        "ALS and BPR share first on nDCG@10"
    )
    assert headline({"b": 0.22 + 1e-14, "a": 0.22, "p": 0.2}, level, BETTER).title == (
        "BPR and ALS share first on nDCG@10"
    )


def test_no_difference_at_all_is_equality_and_not_zero_percent_above() -> None:
    found = headline({"a": 0.2, "p": 0.2}, delta("a", 0.0, 0.0, 0.0))
    assert found.title == "ALS and Popular share first on nDCG@10"
    assert "nDCG@10 of ALS equals that of Popular" in found.sentence
    assert "above" not in found.sentence


def test_equal_values_without_intervals_share_the_top_of_the_board() -> None:
    nobody = pd.DataFrame(columns=["run_id", "run", "mean_diff", "ci_low", "ci_high"])
    assert findings.shared_first({"a": 0.5, "b": 0.5, "p": 0.1}, NAMES, nobody, "Coverage@10") == (
        "ALS and BPR share first on Coverage@10"
    )


def test_ranks_are_shared_by_what_only_rounding_separates() -> None:
    assert ranks(["a", "b"], {"a": 0.3, "b": 0.1 + 0.2}) == {"a": "=1", "b": "=1"}


# ── means over other users than the difference ───────────────────────────────────────────────


def over_shared(run_id: str, value: float, mean: float, low: float, high: float) -> Delta:
    """A difference over few shared users; the values are means over each run's own."""
    return Delta(run_id, NAMES[run_id], "ndcg", value, 0.2, mean, low, high, 20, 5, 5, 10)


def test_the_best_mean_does_not_lead_when_it_is_worse_for_the_shared_users() -> None:
    found = headline({"a": 0.5, "p": 0.2}, over_shared("a", 0.5, -0.1, -0.15, -0.05))
    assert (found.word, found.title) == (
        "worse",
        "Over the users they share, ALS is below Popular on nDCG@10",
    )
    assert found.sentence.startswith("nDCG@10 of ALS is below Popular (difference −0.100")


def test_a_lower_mean_that_is_better_for_the_shared_users_is_not_called_beaten() -> None:
    found = headline(
        {"p": 0.2, "b": 0.19, "a": 0.1},
        delta("b", -0.01, -0.02, -0.005),
        over_shared("a", 0.1, 0.1, 0.05, 0.15),
    )
    assert (found.word, found.title) == (
        "better",
        "Over the users they share, ALS is above Popular on nDCG@10",
    )
    assert found.about is not None
    assert found.about.run_id == "a"


def test_percentages_are_of_the_users_of_the_difference_or_not_there() -> None:
    assert BETTER.percent(0.02) == pytest.approx(10)
    assert not numbers.is_number(over_shared("a", 0.5, 0.1, 0.05, 0.15).percent(0.1))


def test_a_leader_that_others_beat_over_shared_users_is_not_simply_first() -> None:
    to_leader = pd.DataFrame(
        [{"run_id": "b", "run": "BPR", "mean_diff": 0.1, "ci_low": 0.05, "ci_high": 0.15}]
    )
    assert findings.shared_first({"a": 0.5, "b": 0.4}, NAMES, to_leader, "nDCG@10") == (
        "ALS has the best mean nDCG@10, but BPR does better over shared users"
    )


def test_runs_without_a_shared_user_are_named() -> None:
    nobody = pd.DataFrame(columns=["run_id", "run", "mean_diff", "ci_low", "ci_high"])
    known = {"a": 0.5, "p": 0.2}
    assert findings.apart(known, nobody, "ndcg", "p") == ["a"]
    assert findings.apart(known, nobody, "coverage", "p") == []
    assert findings.no_shared_user(["ALS"], "Popular") == (
        "ALS shares no user with Popular: there is nothing to pair."
    )
    found = headline(known)
    assert found.title == "No candidate shares a user with Popular"
    assert found.about is None


def test_agreement_counts_the_settled_sides_that_match() -> None:
    found = findings.agreement(["won both", "won offline, lost online", "undecided"])
    assert found == "Offline and online agree on one of three candidates"
    assert (
        findings.agreement(["won offline, lost online"])
        == "Offline and online agree on none of one candidate"
    )
    assert findings.agreement(["undecided"]) == "Offline and online: nothing is settled yet"


def test_a_broken_split_is_never_agreement() -> None:
    assert findings.agreement(["blocked", "blocked"]) == (
        "Offline and online: not judged, the split of users is broken"
    )
    assert findings.agreement(["blocked", "undecided"]) == "Offline and online: nothing is settled yet"


@pytest.mark.parametrize("name", [*CORE, *BEYOND])
def test_every_metric_of_the_column_sets_exists(name: str) -> None:
    assert name in METRICS


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
