"""The recommendation by the experiment's rules beside that of a view with another k or metric."""

from __future__ import annotations

from dataclasses import replace

from verdict_table import BASE, CLEAR, LOSS, UNSURE, Table

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.case_table import case_table
from recdash.comparison.off_rules import OffRules, off_rules
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.wording import plain
from recdash.formatting.tables import Cell

GAIN, NO_GAIN = {"pop": BASE, "als": CLEAR}, {"pop": BASE, "als": LOSS}


def recommended(runs: dict, *, k: int = 10, metric: str = "ndcg", **table: dict) -> Recommendation:
    source = Table(runs, **table)
    query = ComparisonQuery(("als",), "pop", metric, k)
    return recommend(source, compare(source, query), intervals=False)


def test_the_same_answer_by_the_rules_says_nothing() -> None:
    assert off_rules(recommended(GAIN, k=5), recommended(GAIN), {}) is None
    assert off_rules(recommended(GAIN, k=5), None, {}) is None


def test_an_answer_at_another_k_says_at_which_k_alone_it_holds() -> None:
    keep = recommended(NO_GAIN)
    beside = off_rules(recommended(GAIN, k=5), keep, {10: keep, 20: recommended(GAIN, k=20), 50: keep})
    assert beside is not None
    assert beside.rules == "nDCG@10"
    assert beside.only == "only at k = 5 and 20; not at 10 and 50"
    said = [plain(sentence) for sentence in beside.limited().why]
    assert said == [
        "nDCG@5 is 10 % above pop.",
        "It is recommended only at k = 5 and 20; not at 10 and 50.",
    ], "in place of: nothing speaks against it"


def test_an_answer_by_another_metric_says_by_which() -> None:
    beside = OffRules(recommended(GAIN, metric="recall"), recommended(NO_GAIN))
    assert beside.only == "only by Recall@10; not by nDCG@10"


def test_metrics_without_a_significant_difference_are_named() -> None:
    others = {("pop", "recall"): BASE, ("als", "recall"): UNSURE}
    beside = OffRules(recommended(GAIN, k=5, others=others), recommended(NO_GAIN))
    first = plain(beside.limited().why[0])
    assert first == "nDCG@5 is 10 % above pop, but Recall@5 is inconclusive."


def test_other_runs_are_among_the_rules() -> None:
    view, rules = recommended(GAIN), recommended(NO_GAIN)
    comparison = rules.evidence.comparison
    query = replace(comparison.query, baseline="old", runs=("als", "pop"))
    other = replace(rules.evidence, comparison=replace(comparison, query=query, names={"old": "Old"}))
    assert OffRules(view, replace(rules, evidence=other)).rules == "nDCG@10, against Old"
    assert OffRules(view, replace(rules, evidence=other)).only == ""


def but(recommendation: Recommendation, only: str = "") -> Cell:
    return case_table(recommendation, only=only).rows[0][-1]


def test_the_table_says_for_what_alone_a_candidate_is_recommended() -> None:
    assert but(recommended(GAIN), "only at k = 10; not at 5") == "Only at k = 10; not at 5"


def test_a_loss_of_another_metric_is_told_of_a_candidate_without_a_significant_gain() -> None:
    others = {("pop", "recall"): BASE, ("als", "recall"): LOSS}
    unsure = recommended({"pop": BASE, "als": UNSURE}, others=others)
    assert but(unsure) == "Lowers Recall by 10 %".replace("Recall", "Recall@10")
