"""What is left to check before a recommendation is followed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from verdict_table import BASE, CLEAR, Table

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.open_points import open_points
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.sensitivity import WhatIf
from recdash.domain.results import AbTestElsewhere, OnlineLift

WIN = OnlineLift("Homepage", "Session watch time", 0.051, 0.02, 0.08)
UNTESTED = "No candidate was in an A/B test."
TRAINED_ONCE = "ALS was trained once: another training run may give another difference."


def recommendation(**of_als: list[Any]) -> Recommendation:
    """Returns the recommendation on ALS, which is better offline, with these results of A/B tests."""
    source = Table({"Popular": BASE, "ALS": CLEAR}, **{name: {"ALS": own} for name, own in of_als.items()})
    return recommend(source, compare(source, ComparisonQuery(("ALS",), "Popular", "ndcg", 10)))


def test_candidates_without_a_test_and_open_questions_are_named() -> None:
    open_ = WhatIf("segment", "Only new users", "Open: inconclusive (n = 50)", matters=False, is_open=True)
    known = WhatIf("cutoff", "Other k than 10", "Same result", matters=False)
    points = open_points(recommendation(), [known, open_], untested=UNTESTED)
    assert points == [UNTESTED, TRAINED_ONCE, "Inconclusive with the users there are: new users."]


def test_a_test_of_the_candidate_leaves_nothing_of_it_to_check() -> None:
    assert open_points(recommendation(lifts=[WIN]), [], untested=UNTESTED) == [TRAINED_ONCE]


def test_a_test_against_another_run_is_a_test_of_the_candidates() -> None:
    today = recommendation(tests_against_others=[AbTestElsewhere("Homepage", "Tower", "Tower")])
    assert open_points(today, [], untested=UNTESTED) == [TRAINED_ONCE]


def test_a_result_against_another_run_is_that_of_a_test() -> None:
    today = recommendation(elsewhere=[replace(WIN, control="Tower", control_run="Tower")])
    assert open_points(today, [], untested=UNTESTED) == [TRAINED_ONCE]


def test_a_guardrail_that_the_test_leaves_open_is_named() -> None:
    rail = OnlineLift("Homepage", "Sessions per user", -0.01, -0.03, 0.01, margin=0.02)
    points = open_points(recommendation(lifts=[WIN, rail]), [], untested=UNTESTED)
    assert points[0].startswith("A drop of 2 % in sessions per user is not ruled out")
