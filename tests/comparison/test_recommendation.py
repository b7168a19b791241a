"""The recommendation: every kind of candidate, and which of several is chosen, from values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from verdict_table import BASE, CLEAR, LOSS, UNSURE, N, Table, run

from recdash.comparison import ComparisonQuery, Margin, Terms, compare
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.wording import plain
from recdash.domain.results import OnlineLift
from recdash.errors import Problem

BEST = CLEAR + run(0.02, wins=120, losses=40)
"""20 % above Popular, and significantly above ``CLEAR``."""
ROSE = OnlineLift("Homepage", "Session watch time", 0.051, 0.02, 0.08)
CUT = OnlineLift("Homepage", "Session watch time", -0.122, -0.157, -0.086)
ENGAGED = OnlineLift("Homepage", "Engagement rate", 0.068, 0.04, 0.09)
OPEN = OnlineLift("Homepage", "Session watch time", 0.01, -0.02, 0.04)
GAIN = "nDCG@10 is 10.0 % above Popular"
COVERAGE = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
"""ALS loses 40 % of the coverage; its guardrail allows 20 %."""


def recommendation(source: Table, terms: Terms | None = None) -> Recommendation:
    runs = tuple(name for name in source.of if name != "Popular")
    query = ComparisonQuery(runs, "Popular", "ndcg", 10, terms=terms or Terms())
    return recommend(source, compare(source, query))


def cases(found: Recommendation) -> dict[str, str]:
    return {case.name: case.case for case in found.cases}


def told(found: Recommendation) -> list[str]:
    return [plain(sentence) for sentence in (*found.why, *found.risks)]


# ── ship ─────────────────────────────────────────────────────────────────────────────────────


def test_a_clear_gain_that_nothing_speaks_against_is_shipped() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR}))
    assert (result.action, result.run, result.headline) == ("ship", "ALS", "Ship ALS")
    assert told(result) == ["nDCG@10 is 10.0 % above Popular, and nothing here speaks against it."]


def test_the_winner_of_an_ab_test_is_shipped_before_one_that_scores_higher_offline() -> None:
    table = Table(
        {"Popular": BASE, "ALS": CLEAR, "Tower": BEST}, lifts={"ALS": [ROSE], "Tower": [CUT, ENGAGED]}
    )
    result = recommendation(table)
    assert cases(result) == {"Tower": "refuted", "ALS": "proven"}
    assert (result.action, result.run) == ("ship", "ALS")
    assert told(result) == [
        f"It won offline and online: {GAIN}, and session watch time rose by 5.10 % in the A/B test.",
        "Tower scores higher offline, but cut session watch time by 12.2 % in the A/B test.",
    ]


def test_a_broken_guardrail_is_a_risk_of_a_candidate_that_won_its_test() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR}, COVERAGE, lifts={"ALS": [ROSE]}))
    assert result.headline == "Ship ALS"
    assert told(result)[-1] == (
        "But ALS lowers catalogue coverage by 40.0 %, which exceeds the 20 % guardrail."
    )


@pytest.mark.parametrize(
    ("offline", "standing"),
    [
        (UNSURE, "5.00 % above Popular, which is not significant."),
        (LOSS, "10.0 % below Popular."),
    ],
)
def test_what_users_did_counts_more_than_the_offline_metric(offline: np.ndarray, standing: str) -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": offline}, lifts={"ALS": [ROSE]}))
    assert result.headline == "Ship ALS"
    lift = "session watch time rose by 5.10 % in the A/B test"
    assert told(result)[0] == f"It won online: {lift}. Offline, nDCG@10 is {standing}"


def test_where_the_first_is_contested_the_next_is_judged_and_shipped() -> None:
    """Tower loses coverage beyond its guardrail; ALS, significantly below it, has nothing against it."""
    catalogue = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.5, ("Tower", "coverage"): 0.3}
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR, "Tower": BEST}, catalogue))
    assert cases(result) == {"Tower": "contested", "ALS": "sound"}
    assert result.headline == "Ship ALS"
    assert told(result)[1] == (
        "Tower scores higher offline, but lowers catalogue coverage by 40.0 %, which exceeds the 20 % "
        "guardrail."
    )


# ── test, collect data, keep ─────────────────────────────────────────────────────────────────


def test_a_contested_gain_is_to_be_tested() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR}, COVERAGE))
    assert (result.action, result.run, result.headline) == ("test", "ALS", "Run an A/B test of ALS")
    assert told(result) == [
        "nDCG@10 is 10.0 % above Popular.",
        "But ALS lowers catalogue coverage by 40.0 %, which exceeds the 20 % guardrail.",
    ]


def test_where_others_were_tested_an_untested_candidate_is_tested_before_it_is_shipped() -> None:
    table = Table({"Popular": BASE, "ALS": CLEAR, "Tower": BEST}, lifts={"Tower": [CUT]})
    result = recommendation(table)
    assert result.headline == "Run an A/B test of ALS"
    assert told(result)[1] == (
        "Tower scores higher offline, but cut session watch time by 12.2 % in the A/B test."
    )


def test_two_that_do_not_differ_are_tested_together() -> None:
    rival = CLEAR + run(0.001, wins=60, losses=50)
    lifts = {"BPR": [CUT]}
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR, "EASE": rival, "BPR": CLEAR}, lifts=lifts))
    assert result.headline == "Run an A/B test of EASE and ALS"


def test_a_test_without_a_significant_lift_runs_longer() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR}, tests=[OPEN]))
    assert (result.action, result.headline) == ("test", "Run the A/B test of ALS longer")
    assert told(result)[1] == "Its A/B test shows no significant lift yet."


def test_a_difference_that_is_not_significant_asks_for_more_users() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": UNSURE}))
    more = result.cases[0].pair.judged.more_users
    assert more is not None
    assert more > N
    assert result.action == "collect data"
    assert result.headline.startswith("Not enough data: about ")


@pytest.mark.parametrize(
    ("offline", "terms", "why"),
    [
        (LOSS, Terms(), "ALS is worse offline: nDCG@10 is 10.0 % below Popular."),
        (
            BASE + run(0.0001, wins=40, losses=20),
            Terms(margin=Margin(0.05)),
            "ALS differs from Popular by less than the margin.",
        ),
    ],
)
def test_without_a_gain_the_baseline_is_kept(offline: np.ndarray, terms: Terms, why: str) -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": offline}), terms)
    assert (result.action, result.run, result.headline) == ("keep", "Popular", "Keep Popular")
    assert told(result) == [why]


def test_one_that_won_and_lost_online_is_not_shipped_but_said_what_it_depends_on() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR}, tests=[CUT, ENGAGED]))
    assert result.headline == "Keep Popular"
    assert told(result) == [
        "ALS cut session watch time by 12.2 % in the A/B test.",
        "Ship ALS only if session watch time matters less to you than engagement rate.",
    ]


def test_runs_that_answer_different_questions_get_no_recommendation() -> None:
    other = Problem("different-truth", "comparison", "the runs have two truths", "Score again.")
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR}, between=[other]))
    assert (result.action, result.run) == ("not comparable", None)
    assert told(result) == ["The runs have two truths. Score again."]


def test_json_names_the_action_the_run_and_every_case() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR, "BPR": LOSS}))
    assert result.as_dict() == {
        "action": "ship",
        "run": "ALS",
        "text": "Ship ALS. nDCG@10 is 10.0 % above Popular, and nothing here speaks against it.",
        "candidates": {"ALS": "sound", "BPR": "refuted"},
    }
