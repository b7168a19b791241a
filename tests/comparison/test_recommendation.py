"""The recommendation: every kind of candidate, and which of several is chosen, from values by hand.

``CLEAR`` is 10 % above Popular, ``BEST`` 20 %, both significantly; ``LOSS`` is 10 % below; ``UNSURE`` is 5 %
above and not significant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from verdict_table import BASE, CLEAR, LOSS, UNSURE, N, Table, run

from recdash.comparison import ComparisonQuery, Margin, Terms, compare, pairs
from recdash.comparison.case_table import case_table
from recdash.comparison.pairs import pair_of
from recdash.comparison.recommendation import Recommendation, open_guardrails, recommend, untested_rivals
from recdash.comparison.sensitivity import changes
from recdash.comparison.wording import plain
from recdash.domain.results import AbTestElsewhere, OnlineLift, Slice
from recdash.errors import Problem
from recdash.stats import Paired, judge

BEST = CLEAR + run(0.02, wins=120, losses=40)
"""20 % above Popular, and significantly above ``CLEAR``."""
RIVAL = CLEAR + run(0.001, wins=60, losses=50)
"""10.5 % above Popular, not significantly above ``CLEAR``."""
BELOW = BASE - run(0.01, wins=60, losses=50)
"""5 % below Popular, not significant."""
WIN = OnlineLift("Homepage", "Session watch time", 0.051, 0.02, 0.08)
LARGER = replace(WIN, lift=0.081, low=0.05, high=0.11)
CUT = OnlineLift("Homepage", "Session watch time", -0.122, -0.157, -0.086)
ENGAGED = OnlineLift("Homepage", "Engagement rate", 0.068, 0.04, 0.09)
OPEN = OnlineLift("Homepage", "Session watch time", 0.01, -0.02, 0.04)
ENDED = replace(OPEN, is_complete=True)
HELD = OnlineLift("Homepage", "Sessions per user", -0.005, -0.009, -0.001, margin=0.02)
"""A guardrail that lost significantly, but for certain less than its margin of 2 %."""
BROKEN = replace(HELD, lift=-0.05, low=-0.07, high=-0.03)
SAVED = OnlineLift("Homepage", "Complaints", 0.03, 0.01, 0.05, margin=0.01)
"""A guardrail that improved; that wins nothing."""
SLOWER = OnlineLift("Homepage", "Time to first click", -0.1, -0.15, -0.05, lower_is_better=True)
QUICKER = replace(SLOWER, lift=0.1, low=0.05, high=0.15)
COVERAGE = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
"""ALS loses 40 % of the coverage; its guardrail allows 20 %."""
GAIN = "nDCG@10 is 10 % above Popular"
CLEAN = f"{GAIN}, and nothing else was examined."
UNTESTED = "But no A/B test has confirmed it yet."
SHORT_OF_COVERAGE = "lowers catalogue coverage by 40 %, which exceeds the 20 % guardrail."
ROSE = "session watch time rose by 5.1 % in the A/B test"
FELL = "time to first click fell by 10 % in the A/B test"
CUT_SESSIONS = "cut sessions per user by 5.0 % in the A/B test, which exceeds its 2 % margin."
NO_LIFT = "Tower wins offline, but its A/B test ended without a significant lift: "
CUT_TIME = "cut session watch time by 12 % in the A/B test."


def recommendation(source: Table, terms: Terms | None = None, **wording: bool) -> Recommendation:
    """Returns the recommendation on all runs of the table; ``wording`` are flags of older reports."""
    runs = tuple(name for name in source.of if name != "Popular")
    query = ComparisonQuery(runs, "Popular", "ndcg", 10, terms=terms or Terms())
    return recommend(source, compare(source, query), **wording)


def only(values: np.ndarray, **table: object) -> Table:
    return Table({"Popular": BASE, "ALS": values}, **table)  # type: ignore[arg-type]


def two(als: np.ndarray, tower: np.ndarray, **table: object) -> Table:
    return Table({"Popular": BASE, "ALS": als, "Tower": tower}, **table)  # type: ignore[arg-type]


def told(result: Recommendation) -> list[str]:
    return [plain(sentence) for sentence in (*result.why, *result.risks)]


# ── one candidate: offline × online × guardrails ─────────────────────────────────────────────

BETTER, UNDECIDED, WORSE = CLEAR, UNSURE, LOSS


@pytest.mark.parametrize(
    ("table", "case", "action", "headline"),
    [
        # offline alone
        (only(BETTER), "sound", "ship", "Ship ALS"),
        (only(BETTER, catalogue=COVERAGE), "contested", "test", "Run an A/B test of ALS"),
        (only(UNDECIDED), "unsure", "collect data", "Not enough data: about "),
        (only(BELOW), "unsure", "keep", "Keep Popular"),  # more users would hardly turn it
        (only(WORSE), "worse", "keep", "Keep Popular"),
        # a goal won: what users did decides, guardrails offline are a risk
        (only(BETTER, tests=[WIN]), "proven", "ship", "Ship ALS"),
        (only(BETTER, catalogue=COVERAGE, tests=[WIN]), "proven", "ship", "Ship ALS"),
        (only(UNDECIDED, tests=[WIN]), "proven", "ship", "Ship ALS"),
        (only(WORSE, tests=[WIN]), "proven", "ship", "Ship ALS"),
        (only(BETTER, tests=[WIN, HELD]), "proven", "ship", "Ship ALS"),  # the loss is within its margin
        # a goal lost, or a guardrail of the test broken: never shipped
        (only(BETTER, tests=[CUT]), "lost online", "keep", "Keep Popular"),
        (only(BETTER, tests=[CUT, ENGAGED]), "mixed", "keep", "Keep Popular"),
        (only(BETTER, tests=[WIN, BROKEN]), "mixed", "keep", "Keep Popular"),
        (only(BETTER, tests=[OPEN, BROKEN]), "lost online", "keep", "Keep Popular"),
        (only(BETTER, tests=[SLOWER]), "lost online", "keep", "Keep Popular"),
        # nothing significant online: a guardrail that improves is no win
        (only(BETTER, tests=[OPEN]), "inconclusive", "test", "Run a longer A/B test of ALS"),
        (only(BETTER, tests=[OPEN, SAVED]), "inconclusive", "test", "Run a longer A/B test of ALS"),
        # it ended at its planned size: making it longer now would find an effect by chance
        (only(BETTER, tests=[ENDED]), "inconclusive", "keep", "Keep Popular"),
        (only(UNDECIDED, tests=[OPEN]), "unsure", "collect data", "Not enough data: about "),
        (only(WORSE, tests=[OPEN]), "worse", "keep", "Keep Popular"),
        # a test with a broken split says nothing, and offline alone does not ship what was to be tested
        (only(BETTER, broken={"ALS": ["Homepage"]}), "invalid test", "test", "Run the A/B test of ALS again"),
        (only(WORSE, broken={"ALS": ["Homepage"]}), "worse", "keep", "Keep Popular"),
    ],
)
def test_one_candidate(table: Table, case: str, action: str, headline: str) -> None:
    result = recommendation(table)
    assert (result.cases[0].case, result.action) == (case, action)
    assert result.headline.startswith(headline)
    assert result.run == ("Popular" if action == "keep" else "ALS")
    assert len(result.sentences) <= 3


def test_a_tested_winner_is_told_apart_from_an_untested_equal() -> None:
    """Tower has the same values as ALS, so that nothing offline speaks for one of them."""
    equal = recommendation(two(CLEAR, CLEAR, lifts={"ALS": [WIN]}))
    assert untested_rivals(equal) == (
        "Tower does not differ significantly from ALS offline, but has not been in an A/B test."
    )
    assert untested_rivals(recommendation(two(CLEAR, CLEAR, lifts={"ALS": [WIN], "Tower": [OPEN]}))) == ""


# ── several candidates ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("table", "headline", "passed_over"),
    [
        # the leader failed online: the next is judged and named
        (two(CLEAR, BEST, lifts={"ALS": [WIN], "Tower": [CUT, ENGAGED]}), "Ship ALS", CUT_TIME),
        (two(CLEAR, BEST, lifts={"Tower": [CUT]}), "Run an A/B test of ALS", CUT_TIME),
        # the leader is contested, the next is not
        (
            two(CLEAR, BEST, catalogue={("Popular", "coverage"): 0.5, ("Tower", "coverage"): 0.3}),
            "Ship ALS",
            SHORT_OF_COVERAGE,
        ),
        # a proven one goes before an untested one that scores higher
        (two(CLEAR, BEST, lifts={"ALS": [WIN]}), "Ship ALS", "has not been in an A/B test."),
        (
            two(CLEAR, BEST, lifts={"ALS": [WIN], "Tower": [OPEN]}),
            "Ship ALS",
            "shows no significant lift in its A/B test.",
        ),
        # of two that won the one with the larger lift, whatever the offline metric says
        (
            two(CLEAR, BEST, lifts={"ALS": [LARGER], "Tower": [WIN]}),
            "Ship ALS",
            "gained less in the A/B test.",
        ),
        # the test of the best is broken, and the other one won a valid test
        (
            two(CLEAR, BEST, broken={"Tower": ["Homepage"]}, lifts={"ALS": [WIN]}),
            "Ship ALS",
            "has no valid A/B test.",
        ),
    ],
)
def test_a_leader_that_is_passed_over(table: Table, headline: str, passed_over: str) -> None:
    result = recommendation(table)
    assert (result.headline, result.run) == (headline, "ALS")
    assert told(result)[1] == f"Tower scores higher offline, but {passed_over}"


def test_of_two_with_a_risk_the_tested_one_says_what_sets_it_apart() -> None:
    coverage = {("Popular", "coverage"): 0.5, ("Tower", "coverage"): 0.3, ("ALS", "coverage"): 0.35}
    result = recommendation(two(CLEAR, BEST, lifts={"ALS": [OPEN]}, catalogue=coverage))
    assert result.run == "ALS"
    passed_over = SHORT_OF_COVERAGE.removesuffix(".")
    assert told(result)[1] == (
        f"Tower scores higher offline, but {passed_over}, and has not been in an A/B test."
    )


@pytest.mark.parametrize("als", [[], [OPEN], [ENDED]])
def test_a_broken_split_does_not_promote_a_weaker_candidate(als: list[OnlineLift]) -> None:
    """Whatever is known of ALS but a win: the test of Tower, which is better, has to be repeated."""
    lifts = {"ALS": als} if als else {}
    result = recommendation(two(CLEAR, BEST, broken={"Tower": ["Homepage"]}, lifts=lifts))
    assert (result.action, result.run) == ("test", "Tower")
    assert result.headline == "Run the A/B test of Tower again: its split is broken"


def test_an_inconclusive_test_that_ended_keeps_the_baseline_and_says_what_it_rules_out() -> None:
    lifts = {"Tower": [ENDED]}
    result = recommendation(two(UNSURE, BEST, lifts=lifts))
    assert result.headline == "Keep Popular"
    assert told(result) == [
        f"{NO_LIFT}session watch time −2.00 to +4.00 % (95 % CI).",
        "ALS does not beat Popular: its nDCG@10 is 5.0 % above Popular.",
        "If a smaller lift matters to you, plan a larger A/B test of Tower.",
    ]


def test_a_completed_test_of_a_weaker_candidate_does_not_stop_a_stronger_one() -> None:
    """Tower is 2 % above Popular with a test that ended; ALS is 8 % above, and not significant yet."""
    weaker = BASE + run(0.004, wins=120, losses=40)
    result = recommendation(two(BASE + run(0.016, wins=60, losses=50), weaker, lifts={"Tower": [ENDED]}))
    assert {case.name: case.case for case in result.cases} == {"ALS": "unsure", "Tower": "inconclusive"}
    assert (result.action, result.run) == ("collect data", "ALS")


def test_two_risks_are_named_and_further_ones_counted() -> None:
    unsure = replace(HELD, low=-0.03, high=0.01)
    result = recommendation(only(CLEAR, catalogue=COVERAGE, tests=[WIN, unsure]))
    assert len(result.risks) == 2
    second = "a drop of 2 % in sessions per user is not ruled out"
    both = f"But ALS {SHORT_OF_COVERAGE.removesuffix('.')}; {second}."
    assert [plain(risk) for risk in result.gravest_risk] == [both]
    assert result.text.endswith(both)
    three = replace(result, risks=(*result.risks, result.risks[1]))
    assert plain(three.gravest_risk[0]) == f"{both.removesuffix('.')}; there is 1 more risk."


def test_lifts_in_different_tests_do_not_rank_two_winners() -> None:
    elsewhere = replace(LARGER, test="Search")
    result = recommendation(two(CLEAR, BEST, lifts={"ALS": [elsewhere], "Tower": [WIN]}))
    assert result.headline == "Ship Tower"
    assert told(result)[0].startswith("It won offline and online: nDCG@10 is 20 % above Popular")


def test_which_of_two_scores_higher_is_judged_over_the_users_of_both() -> None:
    """Over its own 200 users Tower is 20 % above Popular, ALS 10 % over all; over these 200 ALS is better."""
    first, spread = np.arange(N) < 200, np.where(np.arange(N) % 2, 0.01, -0.01)
    tower = np.where(first, BASE + 0.04 + spread, BASE)
    als = np.where(first, BASE + 0.06 - spread, BASE - 0.02 + spread)
    table = two(als, tower[:200], users={"Tower": np.arange(200)}, lifts={"ALS": [WIN]})
    result = recommendation(table)
    assert [case.name for case in result.cases] == ["Tower", "ALS"]
    assert not any("scores higher offline" in sentence for sentence in told(result))


def test_a_guardrail_that_may_be_broken_online_is_a_risk_of_what_won() -> None:
    """Sessions per user: from −3 % to +1 %, with a margin of 2 %."""
    result = recommendation(only(CLEAR, tests=[WIN, replace(HELD, low=-0.03, high=0.01)]))
    assert result.headline == "Ship ALS"
    assert told(result)[-1] == "But a drop of 2 % in sessions per user is not ruled out."
    open_ = "A drop of 2 % in sessions per user is not ruled out: −3.00 to +1.00 % (95 % CI)"
    assert open_guardrails(result) == f"{open_}."
    known = replace(HELD, low=-0.03, high=0.01, more_users=179_800)
    result = recommendation(only(CLEAR, tests=[WIN, known]))
    assert open_guardrails(result) == f"{open_}. About 180,000 more users would decide it."


def test_two_tests_that_contradict_each_other_ask_for_another() -> None:
    fell = replace(CUT, test="Search")
    result = recommendation(only(CLEAR, tests=[WIN, fell]))
    assert result.headline == "Keep Popular"
    assert told(result)[-1] == (
        "Repeat its A/B test before you decide: session watch time of ALS improved in Homepage and got worse "
        "in Search."
    )


def test_a_candidate_that_lost_to_another_run_is_not_recommended() -> None:
    result = recommendation(only(CLEAR, elsewhere={"ALS": [CUT]}))
    assert result.headline == "Keep Popular"
    assert told(result) == [
        f"Don't ship ALS yet: it wins offline, but {CUT_TIME[:-1]} Homepage against another run.",
        "ALS has not been in an A/B test against Popular.",
    ]


@pytest.mark.parametrize(
    ("tower", "als", "headline"),
    [
        # the test of the best has no plan, or lacks planned users: it goes on
        ({"lifts": [OPEN]}, {}, "Run a longer A/B test of Tower"),
        ({"lifts": [OPEN]}, {"broken": ["Homepage"]}, "Run a longer A/B test of Tower"),
        # it has all its users, and shows nothing
        ({"lifts": [ENDED]}, {}, "Run an A/B test of ALS"),
        # the running test is that of the weaker one
        ({}, {"lifts": [OPEN]}, "Run an A/B test of Tower"),
    ],
)
def test_a_running_test_of_the_best_goes_on_before_a_weaker_one_is_tested(
    tower: dict[str, list[Any]], als: dict[str, list[Any]], headline: str
) -> None:
    of_runs = {"Tower": tower, "ALS": als}
    table = two(
        CLEAR,
        BEST,
        lifts={run: facts["lifts"] for run, facts in of_runs.items() if "lifts" in facts},
        broken={run: facts["broken"] for run, facts in of_runs.items() if "broken" in facts},
    )
    assert recommendation(table).headline == headline


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            {"Popular": BASE, "ALS": CLEAR},
            "But the A/B test Homepage is not used: link its variants to the runs that they served.",
        ),
        (
            {"Popular": BASE, "ALS": LOSS},
            "The A/B test Homepage is not used: link its variants to the runs that they served.",
        ),
    ],
)
def test_an_a_b_test_without_links_to_runs_is_named(table: dict[str, np.ndarray], said: str) -> None:
    result = recommendation(Table(table, unlinked=["Homepage"]))
    assert result.text.endswith(said)
    assert result.action == recommendation(Table(table)).action


def test_two_that_do_not_differ_are_tested_together() -> None:
    table = Table({"Popular": BASE, "ALS": CLEAR, "EASE": RIVAL, "BPR": CLEAR}, lifts={"BPR": [CUT]})
    result = recommendation(table)
    assert result.headline == "Run an A/B test of EASE and ALS"
    assert told(result)[0] == "nDCG@10 of EASE is 11 % above Popular; it has not been in an A/B test."


def test_the_reason_says_how_much_was_examined() -> None:
    new = Slice("user_warmth", "new", "New users", users=np.arange(N) >= N // 2)
    table = only(CLEAR, cuts=[new])
    (why, _) = told(recommendation(table))
    assert why == f"{GAIN}, and nothing speaks against it in 1 segment of users."


def test_one_that_is_as_good_is_named() -> None:
    result = recommendation(two(CLEAR, RIVAL))
    assert result.headline == "Ship Tower"
    assert told(result)[1] == "ALS is not significantly different from Tower."


def test_of_several_that_lose_the_baseline_is_kept() -> None:
    table = Table({"Popular": BASE, "ALS": LOSS, "BPR": LOSS - 0.01, "SVD": LOSS - 0.02})
    result = recommendation(table)
    assert (result.headline, result.run) == ("Keep Popular", "Popular")
    assert told(result) == [
        "None of the three candidates beats Popular.",
        "ALS is worse: its nDCG@10 is 10 % below Popular.",
    ]
    assert result.evidence.name == "ALS"


# ── words ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (only(BETTER), [CLEAN, UNTESTED]),
        (
            only(BETTER, catalogue=COVERAGE, tests=[WIN]),
            [
                f"It won offline and online: {GAIN}, and {ROSE}.",
                f"But ALS {SHORT_OF_COVERAGE}",
            ],
        ),
        (
            only(UNDECIDED, tests=[WIN]),
            [f"It won online: {ROSE}; offline, nDCG@10 is 5.0 % above Popular, which is not significant."],
        ),
        (
            only(WORSE, tests=[QUICKER]),
            [f"It won online: {FELL}; offline, nDCG@10 is 10 % below Popular."],
        ),
        (
            only(BETTER, catalogue=COVERAGE),
            [f"{GAIN}; it has not been in an A/B test.", f"But ALS {SHORT_OF_COVERAGE}"],
        ),
        (only(BETTER, tests=[OPEN]), [f"{GAIN}, but its A/B test shows no significant lift yet."]),
        (
            only(BETTER, broken={"ALS": ["Homepage"]}),
            [f"{GAIN}, but the A/B test split its users unevenly (SRM) and has no valid result."],
        ),
        (
            only(BETTER, tests=[CUT, ENGAGED]),
            [
                f"Don't ship ALS yet: it wins offline, but {CUT_TIME}",
                "Ship ALS if session watch time matters less to you than engagement rate.",
            ],
        ),
        (
            only(BETTER, tests=[SLOWER]),
            ["Don't ship ALS yet: it wins offline, but raised time to first click by 10 % in the A/B test."],
        ),
        (
            only(WORSE, tests=[BROKEN]),
            [
                f"Don't ship ALS yet: it {CUT_SESSIONS}",
            ],
        ),
        (only(BELOW), ["ALS does not beat Popular: its nDCG@10 is 5.0 % below Popular."]),
    ],
)
def test_the_sentences(table: Table, words: list[str]) -> None:
    assert told(recommendation(table)) == words


def test_a_longer_test_says_for_how_many_users() -> None:
    """Of the goals the one that needs the fewest; a guardrail does not end a test."""
    lifts = [replace(OPEN, more_users=4_321), replace(ENGAGED, low=-0.01, more_users=7_000)]
    guard = replace(HELD, more_users=100)
    assert recommendation(only(CLEAR, tests=[*lifts, guard])).headline == (
        "Run a longer A/B test of ALS: about 4,400 more users"
    )


def test_a_difference_too_small_to_matter_keeps_the_baseline() -> None:
    tight = BASE + run(0.0001, wins=40, losses=20)
    result = recommendation(only(tight), Terms(margin=Margin(0.05)))
    assert (result.action, result.cases[0].case) == ("keep", "no gain")
    assert told(result) == ["ALS differs from Popular by less than the margin of 5 %."]


# ── not enough data ──────────────────────────────────────────────────────────────────────────


def test_where_the_correction_decides_that_is_said() -> None:
    """Alone p is below 5 %; beside seven that do not differ Holm multiplies the smallest p by 8."""
    almost = BASE + run(0.01, wins=120, losses=85)
    mixed = {f"Twin {n}": UNSURE for n in range(7)}
    alone = recommendation(only(almost))
    assert alone.action == "ship"
    result = recommendation(Table({"Popular": BASE, "ALS": almost, **mixed}))
    case = result.case_of("ALS")
    assert case is not None
    assert case.pair.judged.p == pytest.approx(8 * case.pair.paired.p)
    assert case.pair.paired.p < 0.05 < case.pair.judged.p
    assert case.decided_by_correction
    row = case.as_dict()
    assert (row["p"], row["p_corrected"]) == (case.pair.paired.p, case.pair.judged.p)
    assert "Significant alone, not after Holm over 8 candidates." in told(result)
    assert not any(other.decided_by_correction for other in result.cases if other is not case)


def test_a_gain_that_seeds_do_not_confirm_is_not_shipped() -> None:
    across = {"ALS": dict(zip("123", (0.29, 0.21, 0.16), strict=True))}
    across["Popular"] = dict(zip("123", (0.2, 0.21, 0.19), strict=True))
    result = recommendation(only(CLEAR, seeds=across))
    assert result.action == "collect data"
    assert result.headline == "Not enough data: the gain of ALS does not hold across seeds"


def test_a_difference_that_next_to_no_number_of_users_shows_says_so() -> None:
    tiny = BASE + run(0.0001, wins=101, losses=99)
    result = recommendation(only(tiny), Terms(margin=Margin(0.0)))
    assert (result.action, result.headline) == ("keep", "Keep Popular")
    (why,) = told(result)
    assert why == (
        "ALS does not beat Popular: its nDCG@10 is 0.050 % above Popular, and more than 100 times the users "
        "would be needed to confirm it."
    )


@pytest.mark.parametrize(
    ("values", "served", "why"),
    [
        (BASE, N, "its nDCG@10 is equal to Popular for every user"),
        (0 * BASE, N, "its nDCG@10 is 0 for every user, as that of Popular"),
        (0 * BASE, 0, "it has no recommendations for these users"),
    ],
)
def test_of_equal_values_it_is_said_why_and_not_that_more_users_would_help(
    values: np.ndarray, served: int, why: str
) -> None:
    source = Table({"Popular": values, "ALS": values}, served={"ALS": served})
    assert told(recommendation(source)) == [f"ALS does not beat Popular: {why}."]
    former = recommendation(source, repeats=True)
    assert told(former)[0].startswith("ALS does not beat Popular: its nDCG@10 is equal to Popular")


def test_of_a_candidate_that_is_kept_out_a_loss_in_another_metric_is_told() -> None:
    """ALS does not differ in the primary metric, and is 10 % below in recall."""
    source = only(BELOW, others={("Popular", "recall"): BASE, ("ALS", "recall"): LOSS})
    (why,) = told(recommendation(source))
    (former,) = told(recommendation(source, former=True))
    assert former.startswith("ALS does not beat Popular: its nDCG@10 is 5.0 % below Popular")
    assert why == f"{former} Its Recall@10 is significantly worse: 10 % below Popular."


def test_a_reason_of_both_sides_leads_to_the_metric_in_which_they_disagree() -> None:
    """Tower is better offline and lost session watch time, in which the two sides disagree."""
    cut, won = replace(CUT, metric="session_watch_time"), replace(ENGAGED, metric="engagement_rate")
    result = recommendation(two(CLEAR, BEST, lifts={"ALS": [won], "Tower": [cut]}))
    assert result.headline == "Ship ALS"
    assert [piece.params for piece in result.why[0]] == [{"om": "session_watch_time"}]
    alone = recommendation(only(CLEAR, tests=[won]))
    assert [piece.params for piece in alone.why[0]] == [{"om": "engagement_rate"}]


def test_that_candidates_do_not_beat_the_baseline_is_said_once() -> None:
    source = Table({"Popular": BASE, "ALS": UNSURE - 0.01, "BPR": LOSS, "SVD": LOSS - 0.02})
    first, second = told(recommendation(source))
    assert first == "None of the three candidates beats Popular."
    assert second.startswith("ALS comes closest: its nDCG@10 is ")
    _, former = told(recommendation(source, repeats=True))
    assert former.startswith("ALS does not beat Popular: its nDCG@10 is ")


def test_a_slice_of_few_users_is_no_risk() -> None:
    """29 users who lose are too few to judge; 64, of whom 40 lose, are enough."""
    for users, case in ((np.r_[120:149], "sound"), (np.r_[120:184], "contested")):
        inside = np.isin(np.arange(N), users)
        cuts = [Slice("user_warmth", "New users", "New users (no train rows)", users=inside)]
        result = recommendation(only(CLEAR, cuts=cuts))
        assert result.cases[0].case == case
        assert case == "sound" or told(result)[-1] == "But ALS is worse for new users."


# ── not comparable ───────────────────────────────────────────────────────────────────────────


def test_runs_that_answer_different_questions_get_no_recommendation() -> None:
    other = Problem("different-truth", "comparison", "the runs have two truths", "Score again.")
    result = recommendation(only(CLEAR, between=[other], tests=[WIN]))
    assert (result.action, result.run) == ("not comparable", None)
    assert result.headline == "Cannot be compared: the runs have two truths"
    assert told(result) == ["The runs have two truths. Score again."]


IDS = Problem("ids-do-not-meet", "comparison", "run 'Tower': 0 % of its users are in the truth", "Map them.")


def test_one_run_that_cannot_be_compared_is_left_out() -> None:
    """The others are judged as if it had not been asked for, in its family of corrections too."""
    result = recommendation(two(CLEAR, BEST, beyond={"Tower": IDS}))
    alone = recommendation(only(CLEAR))
    assert (result.headline, result.run) == ("Ship ALS", "ALS")
    assert told(result) == [
        CLEAN,
        "Tower is left out: run 'Tower': 0 % of its users are in the truth.",
        UNTESTED,
    ]
    assert [case.name for case in result.cases] == ["ALS"]
    assert result.cases[0].pair.judged.p == alone.cases[0].pair.judged.p
    assert result.evidence.comparison.apart == {"Tower": f"{IDS.found}. Map them"}


def test_several_left_out_are_named() -> None:
    table = Table({"Popular": BASE, "ALS": CLEAR, "BPR": BEST, "SVD": BEST}, beyond={"BPR": IDS, "SVD": IDS})
    result = recommendation(table)
    assert result.headline == "Ship ALS"
    assert told(result)[1] == "BPR and SVD are left out: they cannot be compared with Popular."


def test_a_baseline_that_cannot_be_compared_leaves_nothing_to_recommend() -> None:
    assert recommendation(two(CLEAR, BEST, beyond={"Popular": IDS})).action == "not comparable"


def test_what_a_candidate_lost_online_speaks_against_it_in_the_table() -> None:
    table = case_table(recommendation(only(CLEAR, tests=[CUT, ENGAGED])))
    but = [column.title for column in table.columns].index("But")
    assert table.rows[0][but] == "Cut session watch time by 12 % in the A/B test"


def test_a_candidate_whose_other_losses_were_not_looked_for_is_not_free_of_them() -> None:
    table = case_table(recommendation(Table({"Popular": BASE, "ALS": BELOW, "SVD": LOSS})))
    assert [row[-1].word for row in table.rows] == ["–", "Not checked"]
    assert table.note.startswith("Losses in other metrics and in segments are checked of candidates that")
    covered = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.5, ("SVD", "coverage"): 0.3}
    runs = Table({"Popular": BASE, "ALS": BELOW, "SVD": LOSS}, catalogue=covered)
    table = case_table(recommendation(runs))
    assert str(table.rows[1][-1]).endswith("; other losses not checked")


def test_runs_without_a_pair_say_why() -> None:
    apart = only(CLEAR, users={"ALS": np.arange(N) + N})
    assert recommendation(apart).headline == "Cannot be compared: ALS shares no user with Popular"
    alone = recommendation(Table({"Popular": BASE}))
    assert alone.headline == "Cannot be compared: there is no candidate beside Popular"


def test_json_names_the_action_the_run_and_the_reasons() -> None:
    result = recommendation(Table({"Popular": BASE, "ALS": CLEAR, "BPR": LOSS}))
    assert result.as_dict() == {
        "state": "ship",
        "run": "ALS",
        "headline": "Ship ALS",
        "text": f"Ship ALS. {CLEAN} {UNTESTED}",
        "why": [CLEAN],
        "risks": [UNTESTED],
    }
    assert {case.name: case.case for case in result.cases} == {"ALS": "sound", "BPR": "worse"}


AGAINST_TOWER = {"control": "Tower", "control_run": "Tower"}


def test_a_test_against_another_run_is_evidence_that_names_that_run() -> None:
    won = replace(WIN, **AGAINST_TOWER)
    result = recommendation(only(CLEAR, elsewhere={"ALS": [won]}))
    assert result.headline == "Ship ALS"
    assert told(result)[-1] == (
        "But its A/B test was against Tower, not Popular: session watch time rose by 5.1 % in the A/B test."
    )
    assert result.cases[0].words == "Better offline, won in its A/B test against Tower"
    assert "vs Tower" in str(case_table(result).rows[0])


def test_a_test_against_another_run_may_be_inconclusive() -> None:
    result = recommendation(only(CLEAR, elsewhere={"ALS": [replace(OPEN, **AGAINST_TOWER)]}))
    assert result.cases[0].words == "Better offline, A/B test against Tower inconclusive"
    assert told(result)[-1].endswith(", which is not significant.")


def test_a_loss_beyond_a_margin_against_another_run_names_test_and_run() -> None:
    lost = replace(CUT, margin=0.02, **AGAINST_TOWER)
    result = recommendation(only(CLEAR, elsewhere={"ALS": [lost]}))
    assert told(result)[0] == (
        "Don't ship ALS yet: it wins offline, but cut session watch time by 12 % in the A/B test Homepage "
        "against Tower, which exceeds its 2 % margin."
    )
    assert result.cases[0].words == "Better offline, lost in its A/B test against Tower"


def test_the_control_that_lost_to_another_candidate_is_not_shipped() -> None:
    table = two(CLEAR, BEST, elsewhere={"ALS": [replace(WIN, **AGAINST_TOWER)]})
    result = recommendation(table)
    assert result.headline == "Ship ALS"
    assert told(result)[1] == "Tower scores higher offline, but ALS won the A/B test against it."
    assert recommendation(two(CLEAR, BEST)).headline == "Ship Tower"


LOST_TO_TOWER = {"elsewhere": {"ALS": [replace(CUT, **AGAINST_TOWER)]}}
CUT_AGAINST_TOWER = "cut session watch time by 12 % in the A/B test Homepage against Tower."


def without_coverage(*runs: str) -> dict[tuple[str, str], float]:
    """Coverages of which those of ``runs`` break the guardrail."""
    return {("Popular", "coverage"): 0.5, **{(run, "coverage"): 0.3 for run in runs}}


def test_the_control_that_won_is_shipped_although_the_loser_scores_higher() -> None:
    result = recommendation(two(BEST, CLEAR, **LOST_TO_TOWER))
    assert result.headline == "Ship Tower"
    assert told(result)[1] == f"ALS scores higher offline, but {CUT_AGAINST_TOWER}"


def test_the_loser_is_named_where_it_does_not_score_higher() -> None:
    result = recommendation(two(CLEAR, CLEAR, **LOST_TO_TOWER))
    assert (result.headline, told(result)[1]) == ("Ship Tower", f"ALS {CUT_AGAINST_TOWER}")


def test_the_control_that_won_is_tested_if_it_has_a_risk() -> None:
    control = {"Tower": [AbTestElsewhere("Homepage", "Tower", "Tower", is_control=True)]}
    coverage = without_coverage("Tower")
    table = two(BEST, CLEAR, catalogue=coverage, tests_against_others=control, **LOST_TO_TOWER)
    result = recommendation(table)
    assert result.headline == "Run an A/B test of Tower against Popular"
    assert told(result)[:2] == [
        "nDCG@10 of Tower is 10 % above Popular; its A/B test was against ALS, not Popular.",
        f"ALS scores higher offline, but {CUT_AGAINST_TOWER}",
    ]


@pytest.mark.parametrize("lift", [OPEN, None])
def test_the_loser_is_not_tested_further_instead_of_the_control_that_has_a_risk(
    lift: OnlineLift | None,
) -> None:
    tests = {"lifts": {"ALS": [lift]}} if lift else {"broken": {"ALS": ["Search"]}}
    table = two(BEST, CLEAR, catalogue=without_coverage("Tower"), **tests, **LOST_TO_TOWER)
    result = recommendation(table)
    assert result.headline == "Run an A/B test of Tower against Popular"
    assert told(result)[1] == f"ALS scores higher offline, but {CUT_AGAINST_TOWER}"
    without = recommendation(two(BEST, LOSS, **tests, **LOST_TO_TOWER))
    assert (without.action, without.run) == ("test", "ALS")


def test_two_that_lost_to_each_other_give_way_to_no_weaker_candidate() -> None:
    lost = {
        "ALS": [replace(CUT, **AGAINST_TOWER)],
        "Tower": [replace(CUT, control="ALS", control_run="ALS")],
    }
    table = Table(
        {"Popular": BASE, "ALS": BEST, "Tower": BEST, "EASE": CLEAR},
        catalogue=without_coverage("EASE"),
        broken={"ALS": ["Search"], "Tower": ["Search"]},
        elsewhere=lost,
    )
    assert recommendation(table).headline.startswith("Run the A/B test of ALS and Tower again")


def test_the_baseline_is_kept_if_neither_loser_nor_control_may_be_shipped() -> None:
    result = recommendation(two(CLEAR, LOSS, **LOST_TO_TOWER))
    assert result.headline == "Keep Popular"
    assert told(result)[0] == f"Don't ship ALS yet: it wins offline, but {CUT_AGAINST_TOWER}"


def test_a_winner_against_the_baseline_gives_way_to_the_control_to_which_it_lost() -> None:
    lifts = {"ALS": [WIN]}
    assert recommendation(two(CLEAR, CLEAR, lifts=lifts, **LOST_TO_TOWER)).headline == "Ship Tower"
    both = {"ALS": [LARGER], "Tower": [WIN]}
    assert recommendation(two(CLEAR, CLEAR, lifts=both, **LOST_TO_TOWER)).headline == "Ship Tower"
    told_risks = recommendation(two(CLEAR, LOSS, lifts=lifts, **LOST_TO_TOWER))
    assert told_risks.headline == "Ship ALS"
    assert told(told_risks)[-1] == f"But ALS {CUT_AGAINST_TOWER}"


def test_a_control_against_which_a_goal_was_won_and_another_lost_is_not_beaten() -> None:
    mixed = [replace(lift, **AGAINST_TOWER) for lift in (CUT, ENGAGED)]
    result = recommendation(two(BEST, CLEAR, elsewhere={"ALS": mixed}))
    assert result.headline == "Ship Tower"


def test_the_test_to_run_names_the_baseline_if_the_candidate_was_tested_against_another_run() -> None:
    won = {"ALS": [replace(WIN, **AGAINST_TOWER)]}
    result = recommendation(only(CLEAR, catalogue=COVERAGE, elsewhere=won))
    assert result.headline == "Run an A/B test of ALS against Popular"


HOMEPAGE = AbTestElsewhere("Homepage", "Tower", "Tower")


def test_the_control_of_a_test_is_called_that() -> None:
    control = {"Tower": [replace(HOMEPAGE, is_control=True)]}
    result = recommendation(two(BEST, CLEAR, tests_against_others=control))
    tower = result.case_of("Tower")
    assert tower is not None
    assert tower.words == "Better offline, control of the A/B test Homepage"
    assert "control of Homepage" in str(case_table(result).rows[1])


def test_a_test_against_another_run_with_a_broken_split_is_invalid() -> None:
    broken = {"ALS": [replace(HOMEPAGE, is_valid=False)]}
    result = recommendation(only(CLEAR, tests_against_others=broken))
    assert result.headline == "Ship ALS"
    assert told(result)[-1] == (
        "But its A/B test Homepage was against Tower, not Popular, and is invalid: it split its users "
        "unevenly (SRM)."
    )
    assert result.cases[0].words == "Better offline, A/B test against Tower invalid"
    assert "invalid vs Tower: sample ratio mismatch" in str(case_table(result).rows[0])
    risky = recommendation(only(CLEAR, catalogue=COVERAGE, tests_against_others=broken))
    assert told(risky)[0] == (
        "nDCG@10 of ALS is 10 % above Popular; its A/B test against Tower is invalid (SRM)."
    )


def test_a_baseline_that_lost_to_another_run_is_kept_with_that_risk() -> None:
    lost = {"Popular": [replace(CUT, **AGAINST_TOWER)]}
    result = recommendation(only(LOSS, elsewhere=lost))
    assert result.headline == "Keep Popular"
    assert told(result)[-1] == f"But Popular {CUT_AGAINST_TOWER}"
    ended = recommendation(only(CLEAR, lifts={"ALS": [ENDED]}, elsewhere=lost))
    assert plain(ended.sentences[-1]) == f"But Popular {CUT_AGAINST_TOWER}"
    assert recommendation(only(LOSS, elsewhere=lost), tells_control=False).risks == ()


AGAINST_ALS = {"control": "ALS", "control_run": "ALS"}
WON_AGAINST_TOWER = {"elsewhere": {"ALS": [replace(WIN, **AGAINST_TOWER)]}}


@pytest.mark.parametrize(("lift", "reverse"), [(0.25, -0.2), (-0.2, 0.25)])
@pytest.mark.parametrize("lower_is_better", [False, True])
def test_the_lift_of_control_against_the_variant(lift: float, reverse: float, lower_is_better: bool) -> None:
    """A value of 125 is 25 % above 100, and 100 is 20 % below 125."""
    sign = -1 if lower_is_better else 1
    ends = sorted((sign * lift, sign * lift - 0.1))
    own = replace(WIN, lift=sign * lift, low=ends[0], high=ends[1], lower_is_better=lower_is_better)
    other = own.reversed("ALS", "ALS")
    assert other is not None
    assert other.change == pytest.approx(reverse)
    assert other.low <= other.lift <= other.high
    again = other.reversed("Tower", "Tower")
    assert again is not None
    assert (again.low, again.lift, again.high) == pytest.approx((own.low, own.lift, own.high))


def test_a_fall_of_more_than_all_has_no_reverse() -> None:
    assert replace(CUT, low=-1.2).reversed("ALS", "ALS") is None


def test_the_control_that_lost_is_said_to_have_lost_also_beside_a_third_candidate() -> None:
    middle = CLEAR + run(0.01, wins=150, losses=10)
    best = CLEAR + run(0.03, wins=200, losses=10)
    table = Table({"Popular": BASE, "ALS": CLEAR, "Middle": middle, "Tower": best}, **WON_AGAINST_TOWER)
    result = recommendation(table)
    assert result.headline == "Ship Middle"
    assert told(result)[1] == (
        "Tower scores higher offline, but cut session watch time by 4.9 % in the A/B test Homepage "
        "against ALS."
    )
    tower = result.case_of("Tower")
    assert tower is not None
    assert tower.words == "Better offline, lost in its A/B test against ALS"
    assert "Session watch time −4.85 % vs ALS" in str(case_table(result).rows)


def test_the_control_that_lost_is_not_the_one_to_test() -> None:
    table = Table(
        {"Popular": BASE, "ALS": CLEAR, "Tower": BEST, "Old": LOSS},
        lifts={"Old": [OPEN]},
        **WON_AGAINST_TOWER,
    )
    assert recommendation(table).headline == "Run an A/B test of ALS against Popular"


@pytest.mark.parametrize("als", [CLEAR, UNSURE])
def test_the_control_that_lost_is_not_shipped_although_the_winner_is_not_either(als: np.ndarray) -> None:
    coverage = without_coverage("ALS")
    result = recommendation(
        two(als, BEST, catalogue={**coverage, ("Tower", "coverage"): 0.5}, **WON_AGAINST_TOWER)
    )
    assert result.run == "ALS"
    assert result.action in ("test", "collect data")
    assert "Tower scores higher offline, but ALS won the A/B test against it." in told(result)


def test_a_baseline_that_won_as_a_variant_is_kept() -> None:
    """The test's control served ALS."""
    result = recommendation(only(CLEAR, elsewhere={"Popular": [replace(WIN, **AGAINST_ALS)]}))
    assert result.headline == "Keep Popular"
    assert told(result) == [
        "Don't ship ALS yet: it wins offline, but cut session watch time by 4.9 % in the A/B test."
    ]
    assert result.cases[0].words == "Lost its A/B test"


def test_a_control_to_which_the_baseline_lost_as_a_variant_is_shipped() -> None:
    table = only(UNSURE, catalogue=COVERAGE, elsewhere={"Popular": [replace(CUT, **AGAINST_ALS)]})
    result = recommendation(table)
    assert result.headline == "Ship ALS"
    assert told(result)[0].startswith("It won online: session watch time rose by 14 % in the A/B test; ")
    assert "But ALS lowers catalogue coverage by 40 %" in told(result)[-1]
    former = recommendation(table, tells_control=False)
    assert former.action == "collect data"


def test_a_result_that_is_not_significant_is_called_that_and_no_other() -> None:
    held = [replace(lift, **AGAINST_TOWER) for lift in (HELD, OPEN)]
    assert told(recommendation(only(CLEAR, elsewhere={"ALS": held})))[-1] == (
        "But its A/B test was against Tower, not Popular: session watch time rose by 1.0 % in the A/B test, "
        "which is not significant."
    )
    assert told(recommendation(only(CLEAR, elsewhere={"ALS": held[:1]})))[-1] == (
        "But its A/B test was against Tower, not Popular: sessions per user fell by 0.50 % in the A/B test."
    )


def test_results_against_several_runs_name_each() -> None:
    lost = replace(CUT, test="Search", control="SVD", control_run="SVD")
    result = recommendation(only(CLEAR, elsewhere={"ALS": [replace(WIN, **AGAINST_TOWER), lost]}))
    assert result.cases[0].words == "Better offline, won against Tower and lost against SVD in A/B tests"
    cell = "Session watch time −12.2 % vs SVD, session watch time +5.1 % vs Tower"
    assert cell in str(case_table(result).rows[0])


def test_a_risk_is_named_beside_a_win_against_another_run() -> None:
    result = recommendation(only(CLEAR, catalogue=COVERAGE, **WON_AGAINST_TOWER))
    assert result.cases[0].words == "Better offline, won in its A/B test against Tower, with a risk"


def test_older_reports_say_nothing_of_tests_against_another_run_but_losses() -> None:
    tests = {"ALS": [replace(HOMEPAGE, is_valid=False)], "Tower": [replace(HOMEPAGE, is_control=True)]}
    table = two(BEST, CLEAR, tests_against_others=tests, catalogue=without_coverage("Tower"), **LOST_TO_TOWER)
    former = recommendation(table, tells_control=False)
    assert former.headline == "Run an A/B test of ALS"
    assert [case.words for case in former.cases] == ["Better offline, with a risk"] * 2
    assert "control" not in str(case_table(former).rows)


def test_what_older_reports_say_would_change_it_uses_no_tests_against_another_run() -> None:
    table = two(BEST, CLEAR, catalogue=without_coverage("Tower"), **LOST_TO_TOWER)
    former = recommendation(table, tells_control=False)
    answers = changes(table, former, 10, "truth", opened=False, by_rule=False)
    assert {what_if.question: what_if.answer for what_if in answers}["Without guardrails"] == (
        "Changes: ship Tower"
    )
    shown = {what_if.answer for what_if in answers} - {"Changes: ship Tower"}
    assert not any("Tower" in answer for answer in shown)


def test_older_reports_tell_only_losses_against_another_run() -> None:
    table = only(CLEAR, elsewhere={"ALS": [replace(WIN, **AGAINST_TOWER)]})
    former = recommendation(table, tells_control=False)
    assert told(former)[-1] == "But no A/B test has confirmed it yet."
    assert former.cases[0].words == "Better offline, not tested online"


def count_pairs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Returns a list that grows by (baseline, candidate) with each paired difference."""
    tested: list[tuple[str, str]] = []

    def counted(baseline: str, candidate: str, *values: Any, **rules: Any) -> Any:
        tested.append((baseline, candidate))
        return pair_of(baseline, candidate, *values, **rules)

    monkeypatch.setattr(pairs, "pair_of", counted)
    return tested


def test_candidates_are_not_compared_with_each_other_where_none_may_win(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of four candidates there are 4 pairs with the baseline and 6 others."""
    tested = count_pairs(monkeypatch)
    found = recommendation(Table({"Popular": BASE, "A": LOSS, "B": LOSS, "C": LOSS, "D": LOSS}))
    assert found.action == "keep"
    assert tested == [("Popular", name) for name in "ABCD"]
    assert len(found.evidence.comparison.pairs) == 4 + 6


def test_candidates_are_compared_with_each_other_where_two_may_win(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however often the pairs are read."""
    tested = count_pairs(monkeypatch)
    found = recommendation(Table({"Popular": BASE, "ALS": CLEAR, "EASE": BEST, "Tower": LOSS}))
    assert (found.action, found.run) == ("ship", "EASE")
    assert sorted(tested[3:]) == [("ALS", "EASE"), ("ALS", "Tower"), ("EASE", "Tower")]
    assert found.evidence.comparison.among == found.evidence.comparison.pairs[3:]
    assert len(tested) == 6


@dataclass
class CountedIntervals:
    """A method of which every interval is counted: the level of each."""

    levels: list[float]
    name: str = "counted"
    p: float = 0.01

    def interval(self, level: float) -> tuple[float, float]:
        self.levels.append(level)
        return 1.0, 2.0

    def p_beyond(self, margin: float) -> float:
        return margin


def test_an_interval_is_computed_once_and_only_if_it_is_read() -> None:
    """By Holm, the smaller p of two is tested at 97.5 %: 1 − 0.05 / 2."""
    method = CountedIntervals([])
    paired = Paired(50, 1.5, 1.0, method.p, wins=30, ties=10, losses=10, method=method)
    weaker = Paired(50, 1.5, 1.0, 0.2, wins=30, ties=10, losses=10, method=CountedIntervals([]))
    judged, _ = judge([paired, weaker])
    assert method.levels == []
    assert (judged.word, judged.corrected.low, judged.corrected.high) == ("better", 1.0, 2.0)
    assert method.levels == [0.975]
    assert (judged.paired.low, judged.paired.level) == (1.0, 0.95)
    assert method.levels == [0.975, 0.95]
