"""The verdict in its five states, sentence by sentence, from values that can be checked by hand."""

# a table answers the same whatever it is asked for

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from verdict_table import BASE, CLEAR, LOSS, ONCE, UNSURE, N, Table, run

from recdash.comparison import (
    ComparisonQuery,
    Margin,
    OfflineVerdict,
    Terms,
    compare,
    decide,
    gather_evidence,
    read_margin,
)
from recdash.comparison.recommendation import Recommendation, recommend
from recdash.comparison.result import compared
from recdash.comparison.sensitivity import WhatIf, brief, changes, former_summary, summary_of
from recdash.comparison.wording import plain
from recdash.domain.results import OnlineLift, Slice, UserValues
from recdash.errors import InputError, Problem
from recdash.metrics import define
from recdash.report.reproduce.facts import BETTER, WORSE


def verdict(source: Table, terms: Terms | None = None) -> OfflineVerdict:
    runs = [name for name in source.of if name != "Popular"]
    query = ComparisonQuery(tuple(runs), "Popular", "ndcg", 10, terms=terms or Terms())
    return decide(gather_evidence(source, compare(source, query)))


def said(found: OfflineVerdict) -> list[str]:
    return [plain(sentence) for sentence in found.sentences]


# ── ship ─────────────────────────────────────────────────────────────────────────────────────


def test_a_clear_gain_is_shipped() -> None:
    """120 users gain 0.1 and 40 lose 0.1: mean 0.02, sd √(0.01·160/400 − 0.02²)·√(400/399) = 0.0601."""
    sd = ((0.01 * 160 / 400 - 0.02**2) * 400 / 399) ** 0.5
    half = 1.965927 * sd / 400**0.5  # t with 399 degrees of freedom
    low, high = (100 * end / 0.2 for end in (0.02 - half, 0.02 + half))
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}))
    assert (result.state, result.run) == ("ship", "ALS")
    told, once = said(result)
    assert told == (
        f"nDCG@10 is 10.0 % above Popular (95 % CI +{low:.1f} to +{high:.1f} %, paired over 400 users; "
        "better for 30 of 100 users, worse for 10)."
    )
    assert once == ONCE
    assert result.as_dict() == {"state": "ship", "run": "ALS", "text": f"{told} {once}"}


def test_small_gains_that_a_rare_large_loss_could_undo_are_not_shipped() -> None:
    """Of 400 users 3.69 may have lost 1 unseen (2.5 % = (1 − 3.69/400)⁴⁰⁰): 0.0092 each on average."""
    gain = BASE + np.resize([0.005, 0.01], N)
    result = verdict(Table({"Popular": BASE, "ALS": gain}, bound=1.0))
    assert result.state == "not enough evidence"
    assert "paired over 400 users;" in said(result)[0]
    (hint,) = {piece.hint for piece in result.sentences[0] if piece.hint}
    assert hint == "Gaffke's test of a bounded mean"
    larger = Table({"Popular": BASE, "ALS": gain + 0.005}, bound=1.0)
    assert verdict(larger).state == "ship"


def test_where_every_candidate_is_worse_the_baseline_is_kept() -> None:
    result = verdict(Table({"Popular": BASE, "ALS": LOSS, "BPR": LOSS - 0.01}))
    assert (result.state, result.run) == ("ship", "Popular")
    assert said(result)[0].startswith("nDCG@10 of ALS is 10.0 % below Popular (95 % CI −")
    assert ", Holm-corrected over 2 candidates, paired" in said(result)[0]


def test_of_those_that_are_better_the_best_is_shipped_and_its_rivals_are_named() -> None:
    rival = CLEAR + run(0.001, wins=60, losses=50)
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR, "EASE": rival, "BPR": LOSS}))
    assert (result.state, result.run) == ("ship", "EASE")
    assert [
        one
        for one in said(result)
        if one.startswith("Not separable from ALS (difference +0.00100, 95 % CI −")
    ]


def test_a_small_loss_of_coverage_is_told_and_allowed() -> None:
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.445}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept))
    assert result.state == "ship"
    assert said(result)[1] == (
        "It costs 11.0 % of catalogue coverage@10 (from 50.0 % to 44.5 %; "
        "no interval: its upload was not kept)."
    )


def test_a_change_too_small_to_mention_is_not_mentioned() -> None:
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.49}
    assert len(said(verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept)))) == 2


def test_a_gain_of_coverage_is_told_too() -> None:
    kept = {("Popular", "coverage"): 0.012, ("ALS", "coverage"): 0.234}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept))
    assert said(result)[1] == "It raises catalogue coverage@10 from 1.20 % to 23.4 %."


LOSERS = np.r_[120:184]


def part(title: str, users: np.ndarray) -> Slice:
    mask = np.zeros(N, dtype=bool)
    mask[users] = True
    return Slice("user_warmth", title, title, users=mask)


def test_a_slice_without_a_shown_gain_is_named_with_its_size() -> None:
    """Three of forty new users gain 0.1, the others nothing: the interval holds zero."""
    cut = [part("New users", np.r_[0:3, 160:197])]
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, cuts=cut))
    assert result.state == "ship"
    assert said(result)[1] == "No significant gain for new users (n = 40)."


# ── trade-off ────────────────────────────────────────────────────────────────────────────────


def test_a_broken_guardrail_is_a_trade_off() -> None:
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept))
    assert (result.state, result.run) == ("trade-off", "ALS")
    assert said(result)[1] == (
        "It costs 40.0 % of catalogue coverage@10 (from 50.0 % to 30.0 %; no interval: its upload was "
        "not kept), beyond its 20 % guardrail."
    )


def rail_at(value: float, error: float, metric: str = "coverage", base: float = 0.5) -> OfflineVerdict:
    """A clear gain beside a guardrail whose value has a standard error; that of the baseline has none."""
    kept = {("Popular", metric): base, ("ALS", metric): value}
    return verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept, error=error))


def ends(value: float, error: float, base: float = 0.5) -> tuple[float, float]:
    """In %: value/base · exp(± t · error/value) − 1, t with 399 degrees of freedom."""
    half = 1.965927 * error / value
    return 100 * (value / base * np.exp(-half) - 1), 100 * (value / base * np.exp(half) - 1)


def test_a_guardrail_is_surely_broken_where_the_interval_lies_beyond_it() -> None:
    low, high = ends(0.38, 0.005)
    result = rail_at(0.38, 0.005)
    assert (result.state, high < -20) == ("trade-off", True)
    assert said(result)[1] == (
        "It costs 24.0 % of catalogue coverage@10 (from 50.0 % to 38.0 %; "
        f"95 % CI −{-low:.1f} to −{-high:.1f} %), beyond its 20 % guardrail."
    )


def test_a_broken_guardrail_whose_interval_holds_less_says_so() -> None:
    result = rail_at(0.38, 0.05)
    assert (result.state, ends(0.38, 0.05)[1] > -20) == ("trade-off", True)
    assert said(result)[1].endswith("beyond its 20 % guardrail; the interval does not exclude less.")


def test_a_guardrail_that_may_be_broken_is_told_and_stops_nothing() -> None:
    low, high = ends(0.425, 0.05)
    result = rail_at(0.425, 0.05)
    assert (result.state, low < -20 < -15 < high) == ("ship", True)
    assert said(result)[1] == (
        "It may cost more than the 20 % of catalogue coverage@10 that its guardrail allows: "
        f"−15.0 % (from 50.0 % to 42.5 %; 95 % CI −{-low:.1f} to +{high:.1f} %)."
    )
    (rail,) = result.evidence.guardrails
    assert (rail.shown, rail.former_word, rail.sign) == (
        "may exceed its guardrail", "may be below its guardrail", "▼"
    )  # fmt: skip
    assert rail.as_dict()["finding"] == rail.shown


def test_of_gini_more_is_the_loss() -> None:
    low, high = ends(0.65, 0.005)
    broken = rail_at(0.65, 0.005, "gini")
    assert broken.state == "trade-off"
    assert said(broken)[1] == (
        f"It raises Gini@10 by 30.0 % (from 0.500 to 0.650; 95 % CI +{low:.1f} to +{high:.1f} %), "
        "beyond its 20 % guardrail."
    )
    (rail,) = broken.evidence.guardrails
    assert (rail.shown, rail.former_word) == ("exceeds its guardrail", "above its guardrail")
    better = rail_at(0.3, 0.005, "gini")
    assert (better.state, said(better)[1]) == ("ship", "It lowers Gini@10 from 0.500 to 0.300.")
    unsure = rail_at(0.58, 0.03, "gini")
    assert unsure.state == "ship"
    assert said(unsure)[1].startswith("It may raise Gini@10 by more than its 20 % guardrail: +16.0 % (")


def test_asking_otherwise_takes_no_further_look_at_the_lists() -> None:
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.45}
    source = Table({"Popular": BASE, "ALS": CLEAR}, kept, error=0.01)
    plain_rails = gather_evidence(
        source, compare(source, ComparisonQuery(("ALS",), "Popular", "ndcg", 10)), intervals=False
    ).guardrails
    assert [(rail.change, rail.has_interval) for rail in plain_rails] == [(pytest.approx(-0.1), False)]


def test_a_wider_guardrail_holds() -> None:
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
    assert verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept), Terms(guard=0.5)).state == "ship"


@pytest.mark.parametrize(
    ("guard", "checked", "state"),
    [
        ((("coverage", 0.5), ("novelty", 0.2)), ["coverage", "novelty"], "ship"),
        ((("coverage", 0.3), ("novelty", 0.2)), ["coverage", "novelty"], "trade-off"),
        ((("novelty", 0.2),), ["novelty"], "ship"),
        ((), [], "ship"),
    ],
)
def test_each_metric_has_its_own_guardrail_or_none(guard: Any, checked: list[str], state: str) -> None:
    """Coverage falls by 40 %, novelty not at all."""
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
    kept |= {("Popular", "novelty"): 4.0, ("ALS", "novelty"): 4.0}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept), Terms(guard=guard))
    assert [rail.metric for rail in result.evidence.guardrails] == checked
    assert result.state == state


def test_a_slice_that_loses_is_a_trade_off() -> None:
    """40 users lose 0.1; 24 who neither gain nor lose give the difference a spread."""
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, cuts=[part("New users", LOSERS)]))
    assert result.state == "trade-off"
    assert said(result)[1] == "Worse for new users (n = 64)."


def test_what_won_offline_and_lost_online_is_a_trade_off() -> None:
    tests = [
        OnlineLift("Homepage", "Session watch time", -0.122, -0.157, -0.0856),
        OnlineLift("Homepage", "Engagement rate", 0.068, 0.0438, 0.0927),
        OnlineLift("Homepage", "Videos watched", -0.04, -0.08, 0.001),
    ]
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, tests=tests))
    assert result.state == "trade-off"
    assert said(result)[1:-1] == [
        "But online it lost: session watch time −12.2 % (95 % CI −15.7 to −8.6 %).",
        "Online it won: engagement rate +6.80 % (95 % CI +4.38 to +9.27 %).",
    ]


def test_another_metric_that_loses_is_a_trade_off() -> None:
    others = {("Popular", "recall"): BASE, ("ALS", "recall"): LOSS}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, others=others))
    assert result.state == "trade-off"
    assert said(result)[1].startswith("But Recall@10 is 10.0 % below Popular (95 % CI −")


# ── tie, not enough evidence, not comparable ─────────────────────────────────────────────────


def test_a_difference_inside_the_margin_is_a_tie() -> None:
    tight = BASE + run(0.0001, wins=40, losses=20)
    result = verdict(Table({"Popular": BASE, "ALS": tight}), Terms(margin=Margin(0.05)))
    assert (result.state, result.run) == ("tie", "ALS")
    assert said(result)[1] == "The difference is within ±5 % (0.0100): too small to matter."


def test_an_absolute_margin_is_told_in_units_of_the_metric() -> None:
    tight = BASE + run(0.0001, wins=40, losses=20)
    result = verdict(Table({"Popular": BASE, "ALS": tight}), Terms(margin=Margin(0.01, relative=False)))
    assert said(result)[1] == "The difference is within ±0.0100: too small to matter."


def test_a_margin_that_is_itself_uncertain_makes_no_tie() -> None:
    """20 % of a baseline whose own value may be 4 % lower: the difference alone would lie just within it."""
    rng = np.random.default_rng(4)
    base = (rng.random(N) < 0.5).astype(float)
    candidate = (rng.random(N) < 0.5).astype(float)
    half = 1.966 * (base - candidate).std(ddof=1) / N**0.5
    size = (abs(candidate.mean() - base.mean()) + half) / base.mean() + 0.004
    runs = {"Popular": base, "ALS": candidate}
    assert verdict(Table(runs), Terms(margin=Margin(size * base.mean(), relative=False))).state == "tie"
    assert verdict(Table(runs), Terms(margin=Margin(size))).state == "not enough evidence"
    assert verdict(Table(runs), Terms(margin=Margin(1.5 * size))).state == "tie"


@pytest.mark.parametrize("share", [0.15, 0.2, 0.25, 0.3, 0.4])
@pytest.mark.parametrize("relative", [True, False])
def test_the_p_of_equivalence_and_the_finding_of_a_tie_are_one_answer(share: float, relative: bool) -> None:
    rng = np.random.default_rng(4)
    base, candidate = ((rng.random(N) < 0.5).astype(float) for _ in range(2))
    margin = Margin(share if relative else share * base.mean(), relative)
    for level in (0.9, 0.95):
        source = Table({"Popular": base, "ALS": candidate})
        terms = Terms(margin=margin, level=level)
        (row,) = compared(source, ComparisonQuery(("ALS",), "Popular", "ndcg", 10, terms=terms)).rows()
        assert (row["equivalence_p"] < (1 - level) / 2) == (row["finding"] == "tie")


def test_every_interval_is_at_the_level_of_the_terms() -> None:
    source = Table({"Popular": BASE, "ALS": CLEAR})
    query = ComparisonQuery(("ALS",), "Popular", "ndcg", 10, terms=Terms(level=0.8))
    result = compared(source, query).as_dict()
    (pair,) = result["pairs"]
    expected = stats.t.interval(0.8, N - 1, (CLEAR - BASE).mean(), stats.sem(CLEAR - BASE))
    assert result["level"] == 0.8
    for name in ("ci", "ci_corrected"):
        assert [pair[f"{name}_low"], pair[f"{name}_high"]] == pytest.approx(expected)
    assert [pair["bootstrap_low"], pair["bootstrap_high"]] == pytest.approx(expected, rel=0.02)


SAME = {"1": 0.20, "2": 0.21, "3": 0.19}


def seeds(*values: float) -> dict[str, float]:
    return dict(zip("123", values, strict=True))


def test_a_gain_that_does_not_hold_across_seeds_is_not_enough_evidence() -> None:
    """+0.09, 0.00 and −0.03 from seed to seed; then +0.021, +0.010 and +0.029 less a hundredth each."""
    apart = {"ALS": seeds(0.29, 0.21, 0.16), "Popular": SAME}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, seeds=apart))
    assert (result.state, result.run) == ("not enough evidence", "ALS")
    assert said(result)[1].startswith(
        "But it does not hold across seeds: over 3 seeds of ALS and 3 of Popular it is +0.020 (95 % CI −0."
    )


def test_a_gain_that_holds_across_seeds_is_shipped() -> None:
    steady = {"ALS": seeds(0.221, 0.230, 0.209), "Popular": SAME}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, seeds=steady))
    assert result.state == "ship"
    assert said(result)[1].startswith(
        "It holds across seeds: over 3 seeds of ALS and 3 of Popular it is +0.0200 (95 % CI +"
    )
    assert ONCE not in said(result)


def test_the_same_data_mirrored_give_the_mirrored_verdict() -> None:
    """Neither shipped nor kept where the seeds do not agree; shipped or kept where they do."""
    apart, steady = seeds(0.29, 0.21, 0.16), seeds(0.221, 0.230, 0.209)
    for of_als, ship, keep in (
        (apart, ("not enough evidence", "ALS"), ("not enough evidence", "Popular")),
        (steady, ("ship", "ALS"), ("ship", "ALS")),
    ):
        source = Table({"Popular": BASE, "ALS": CLEAR}, seeds={"ALS": of_als, "Popular": SAME})
        for candidate, base, expected in (("ALS", "Popular", ship), ("Popular", "ALS", keep)):
            query = ComparisonQuery((candidate,), base, "ndcg", 10)
            result = decide(gather_evidence(source, compare(source, query)))
            assert (result.state, result.run) == expected


def test_a_tie_must_hold_across_seeds_too() -> None:
    tight = BASE + run(0.0001, wins=40, losses=20)
    wide = Terms(margin=Margin(0.05))
    for of_als, state in (
        (seeds(0.21, 0.20, 0.19), "not enough evidence"),
        (seeds(0.2001, 0.2101, 0.1902), "tie"),
    ):
        source = Table({"Popular": BASE, "ALS": tight}, seeds={"ALS": of_als, "Popular": SAME})
        assert verdict(source, wide).state == state


def test_several_candidates_are_corrected_over_seeds_too() -> None:
    """Alone p is below 5 % over three seeds; among eight such candidates Holm asks for 5 % / 8."""
    barely = seeds(0.2305, 0.2350, 0.2250)
    alone = Table({"Popular": BASE, "ALS": CLEAR}, seeds={"ALS": barely, "Popular": SAME})
    assert verdict(alone).state == "ship"
    others = {f"Twin {n}": CLEAR for n in range(7)}
    many = Table(
        {"Popular": BASE, "ALS": CLEAR, **others},
        seeds={"Popular": SAME, **dict.fromkeys(("ALS", *others), barely)},
    )
    result = verdict(many)
    assert result.state == "not enough evidence"
    assert "Holm-corrected over 8)" in said(result)[1]


def test_a_candidate_that_holds_across_seeds_is_found_behind_one_that_does_not() -> None:
    runs = {"Popular": BASE, "ALS": CLEAR, "Wild": BASE + run(0.03, wins=120, losses=40)}
    across = {"Popular": SAME, "ALS": seeds(0.221, 0.230, 0.209), "Wild": seeds(0.33, 0.19, 0.17)}
    result = verdict(Table(runs, seeds=across))
    assert (result.state, result.run) == ("ship", "ALS")


def test_who_was_trained_once_is_named() -> None:
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, seeds={"ALS": seeds(0.221, 0.220, 0.219)}))
    assert said(result)[-1] == "Popular was trained once; its seeds are assumed to vary as much as ALS's."


def test_seeds_that_do_not_differ_say_nothing_of_another_training_run() -> None:
    same = {"ALS": seeds(0.22, 0.22, 0.22), "Popular": seeds(0.2, 0.2, 0.2)}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, seeds=same))
    assert result.state == "ship"
    assert (
        said(result)[1] == "The seeds do not differ, so they do not show the effect of another training run."
    )


def test_a_metric_of_one_seed_only_says_nothing_of_another_training_run() -> None:
    alone = {"ALS": seeds(0.22, np.nan, np.nan)}
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, seeds=alone))
    assert result.state == "ship"
    assert said(result)[1:] == [
        "Only one of the seeds has the metric, so they do not show the effect of another training run."
    ]


def test_of_another_method_the_users_needed_are_an_upper_end() -> None:
    """The estimate is that of a normal mean with a win and a loss added."""
    result = verdict(Table({"Popular": BASE, "ALS": UNSURE}, bound=1.0))
    assert " at most about " in said(result)[1]
    assert " at most " not in said(verdict(Table({"Popular": BASE, "ALS": UNSURE})))[1]


def test_what_includes_zero_and_leaves_the_margin_is_not_enough_evidence() -> None:
    """110 users change by ±0.4: sd² = (0.16·110/400 − 0.01²)·400/399, and (1.96 + 0.84)²·sd²/0.01² in all."""
    variance = (0.16 * 110 / 400 - 0.01**2) * 400 / 399
    more = (1.965927 + 0.841621) ** 2 * variance / 0.01**2 - 400
    result = verdict(Table({"Popular": BASE, "ALS": UNSURE}))
    assert (result.state, result.run) == ("not enough evidence", "ALS")
    told = said(result)[1]
    assert told.startswith("The interval includes zero. If the true difference is the one measured")
    assert told.endswith(
        " more users like these would show with a probability of 80 % whether nDCG@10 differs from Popular's."
    )
    number = int(told.split("about ")[1].split(" more")[0].replace(",", ""))
    assert number == pytest.approx(more, rel=0.05)  # two digits are told


def test_an_equal_mean_is_never_settled_by_more_users_without_a_margin() -> None:
    mixed = BASE + np.where(np.arange(N) % 2, 0.125, -0.125)  # adds up to 0 exactly
    result = verdict(Table({"Popular": BASE, "ALS": mixed}), Terms(margin=Margin(0.0)))
    assert result.state == "not enough evidence"
    assert said(result)[0].startswith("nDCG@10 of ALS is equal to Popular (95 % CI −")
    assert said(result)[1] == "The interval includes zero. The number of users needed is unknown."


def test_who_is_not_settled_is_named_before_who_is_worse() -> None:
    """The worse one has the higher mean; the other may still be better than the baseline."""
    tight, wide = BASE - 0.002 - run(0.002, wins=30, losses=10), BASE - run(0.006, wins=60, losses=50)
    result = verdict(Table({"Popular": BASE, "ALS": tight, "BPR": wide}), Terms(margin=Margin(0.0)))
    assert [pair.judged.word for pair in result.evidence.comparison.against] == ["worse", "not settled"]
    assert (result.state, result.run) == ("not enough evidence", "BPR")


def test_few_users_of_a_slice_say_nothing() -> None:
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, cuts=[part("New users", np.r_[120:149])]))
    assert (result.state, result.evidence.slices) == ("ship", ())


def test_the_name_of_an_uploaded_column_is_left_as_it_is() -> None:
    cut = [replace(part("NPS: high", LOSERS), by="user:NPS")]
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, cuts=cut))
    assert said(result)[1] == "Worse for users with NPS: high (n = 64)."


def test_who_would_raise_coverage_is_named_where_the_baseline_is_kept() -> None:
    kept = {("Popular", "coverage"): 0.012, ("ALS", "coverage"): 0.234}
    result = verdict(Table({"Popular": BASE, "ALS": LOSS}, kept))
    assert said(result)[1] == "ALS raises catalogue coverage@10 from 1.20 % to 23.4 %."


def test_runs_of_different_truths_are_not_compared() -> None:
    told = ("the runs were scored with different truths", "Score them in one.")
    between = [Problem("different-truth", "comparison", *told)]
    result = verdict(Table({"Popular": BASE, "ALS": CLEAR}, between=between))
    assert (result.state, result.run) == ("not comparable", None)
    assert said(result) == ["The runs were scored with different truths. Score them in one."]


def test_a_caveat_does_not_block_the_verdict() -> None:
    caveat = [
        Problem("lists-missing", "comparison", "some users have no recommendations", "Compare both rules.")
    ]
    assert verdict(Table({"Popular": BASE, "ALS": CLEAR}, between=caveat)).state == "ship"


def test_runs_without_a_shared_user_are_not_compared() -> None:
    apart = Table({"Popular": BASE, "ALS": CLEAR}, users={"ALS": np.arange(N) + N})
    result = verdict(apart)
    assert result.state == "not comparable"
    assert said(result) == ["ALS shares no user with Popular."]


def test_a_single_run_is_compared_with_nothing() -> None:
    result = verdict(Table({"Popular": BASE}))
    assert said(result) == ["There is no candidate to compare with the baseline."]


# ── links, families, margins ─────────────────────────────────────────────────────────────────


def test_every_number_leads_to_its_chart() -> None:
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
    cut = [part("New users", np.r_[120:160])]
    pieces = [piece for sentence in verdict(Table({"Popular": BASE, "ALS": CLEAR}, kept, cuts=cut)).sentences
              for piece in sentence]  # fmt: skip
    pages = {piece.text: piece.page for piece in pieces if piece.page}
    assert pages["10.0 % above Popular"] == "leaderboard"
    assert pages["better for 30 of 100 users, worse for 10"] == "users"
    assert pages["40.0 % of catalogue coverage@10"] == "catalogue"
    assert pages["new users (n = 40)"] == "segments"


def test_a_pooled_ratio_says_nothing_of_slices() -> None:
    pooled = {(run, "precision(average=micro)"): of for run, of in {"Popular": BASE, "ALS": CLEAR}.items()}
    cut = [part("New users", np.r_[120:160])]
    source = Table({"Popular": BASE, "ALS": CLEAR}, others=pooled, cuts=cut)
    result = decide(
        gather_evidence(
            source, compare(source, ComparisonQuery(("ALS",), "Popular", "precision(average=micro)", 10))
        )
    )
    assert (result.state, result.evidence.slices) == ("ship", ())


def test_a_user_who_is_one_in_a_thousand_is_not_rounded_away() -> None:
    few = np.zeros(2_000)
    few[:3] = 0.5
    result = verdict(Table({"Popular": np.full(2_000, 0.2), "ALS": 0.2 + few}))
    assert "better for 0.1 of 100 users, worse for 0" in said(result)[0]


def test_the_family_is_every_pair_and_the_candidates_come_best_first() -> None:
    source = Table({"Popular": BASE, "BPR": LOSS, "ALS": CLEAR})
    result = compare(source, ComparisonQuery(("BPR", "ALS"), "Popular", "ndcg", 10))
    assert [pair.candidate for pair in result.against] == ["ALS", "BPR"]
    assert [(pair.baseline, pair.candidate) for pair in result.among] == [("BPR", "ALS")]


def test_a_run_that_lacks_the_metric_is_left_out_with_its_reason() -> None:
    recall = {("Popular", "recall"): BASE, ("ALS", "recall"): CLEAR}
    source = Table({"Popular": BASE, "ALS": CLEAR, "SVD": BASE}, others=recall)
    result = compare(source, ComparisonQuery(("ALS", "SVD"), "Popular", "recall", 10))
    assert result.apart == {"SVD": "SVD lacks the metric: it was not uploaded"}
    assert [pair.candidate for pair in result.pairs] == ["ALS"]


@pytest.mark.parametrize(
    ("text", "size", "relative"),
    [("1%", 0.01, True), ("2.5 %", 0.025, True), ("0.002", 0.002, False), ("0", 0.0, False)],
)
def test_a_margin_is_a_share_or_an_amount(text: str, size: float, relative: bool) -> None:
    assert read_margin(text) == Margin(pytest.approx(size), relative)


@pytest.mark.parametrize("text", ["", "%", "-1%", "one", "1%%", "nan"])
def test_a_margin_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="margin"):
        read_margin(text)


# ── what would change this ───────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class ByCutoff(Table):
    """A table in which the candidate loses at 20 and by recall, and wins otherwise."""

    def values(self, run: str, metric: str, k: int) -> UserValues | None:
        loses = run == "ALS" and (k == 20 or metric == "recall" or self.rule == "both")
        result = LOSS if loses else self.of[run]
        return UserValues(np.arange(N), result, result)


def today(source: Table) -> Recommendation:
    runs = tuple(name for name in source.of if name != "Popular")
    return recommend(source, compare(source, ComparisonQuery(runs, "Popular", "ndcg", 10)))


UNCHANGED = WhatIf("definition", "With exponential gain", "Same result", matters=False)
CHANGED = WhatIf("cutoff", "Other k than 10", "Changes: keep Popular at k = 20", matters=True)
UNSETTLED = WhatIf("segment", "Only new users", "Inconclusive (n = 110)", matters=False, is_open=True)


def questions(found: Sequence[WhatIf]) -> dict[str, str]:
    return {one.question: one.answer for one in found}


def test_every_question_is_answered_by_deciding_anew() -> None:
    source = ByCutoff({"Popular": BASE, "ALS": CLEAR})
    asked = changes(source, today(source), depth=20, users="truth")
    assert questions(asked) == {
        "Other k than 10": "Changes: keep Popular at k = 20",
        "Recall instead of nDCG": "Changes: keep Popular",
        "With exponential gain": "Same result",
        "Only users with a list": "Changes: keep Popular",
    }
    assert [one.matters for one in asked] == [True, True, True, False]
    assert asked[0].params == (("k", "20"),)
    assert asked[1].params == (("m", "recall"),)
    users = next(one for one in asked if one.question == "Only users with a list")
    assert users.params == (("m", "ndcg(users=both)"),)


def test_a_metric_that_does_not_name_its_users_has_no_view_of_other_users() -> None:
    """A link with ``m=recall`` would open the same numbers."""
    values = {(run, "recall"): numbers for run, numbers in (("Popular", BASE), ("ALS", CLEAR))}
    source = Table({"Popular": BASE, "ALS": CLEAR}, others=values)
    query = ComparisonQuery(("ALS",), "Popular", "recall", 10)
    asked = changes(source, recommend(source, compare(source, query)), depth=20, users="truth")
    users = next(one for one in asked if one.question == "Only users with a list")
    assert users.params == ()


def test_recommendations_that_are_known_already_are_asked_for_and_answer_the_same() -> None:
    source = ByCutoff({"Popular": BASE, "ALS": CLEAR})
    asked: list[tuple[str, int]] = []

    def known(query: ComparisonQuery) -> Recommendation:
        asked.append((query.metric, query.k))
        return recommend(source, compare(source, query), intervals=False)

    answers = changes(source, today(source), depth=20, users="truth", recommendation=known)
    assert answers == changes(source, today(source), depth=20, users="truth")
    assert {k for metric, k in asked if metric == "ndcg"} >= {5, 20}


@pytest.mark.parametrize(
    ("answers", "title"),
    [
        ([UNCHANGED], "Nothing here would change the recommendation"),
        ([UNCHANGED, UNSETTLED], "Nothing here is known to change the recommendation"),
        ([UNCHANGED, UNSETTLED, CHANGED], "1 of 3 other questions would change the recommendation"),
    ],
)
def test_the_heading_of_the_answers_claims_no_more_than_they_say(answers: list[WhatIf], title: str) -> None:
    assert former_summary(answers) == title
    assert not {*title.lower().split()} & (BETTER | WORSE)  # it has no direction: older reports are confirmed


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ([UNCHANGED], "None of 1 other question would change the recommendation"),
        (
            [UNCHANGED, UNSETTLED],
            "None of 2 other questions would change the recommendation; 1 leaves it open",
        ),
        ([UNCHANGED, CHANGED], "1 of 2 other questions would change the recommendation"),
    ],
)
def test_page_and_report_count_the_questions_that_change_it(answers: list[WhatIf], text: str) -> None:
    assert summary_of(answers) == text


def test_what_changes_it_comes_first() -> None:
    source = Table({"Popular": BASE, "ALS": CLEAR}, cuts=[part("New users", LOSERS)])
    result = changes(source, today(source), depth=10, users="truth")
    assert [one.matters for one in result][:2] == [True, False]


def test_a_slice_with_too_few_users_leaves_its_question_open() -> None:
    """Of its 50 users 30 gain and 20 lose."""
    source = Table({"Popular": BASE, "ALS": CLEAR}, cuts=[part("New users", np.r_[90:140])])
    (answer,) = [one for one in changes(source, today(source), depth=10, users="truth") if one.is_open]
    assert (answer.question, answer.matters) == ("Only new users", False)
    assert answer.answer.startswith("Open: inconclusive")
    answers = changes(source, today(source), depth=10, users="truth", opened=False, by_rule=False)
    (former,) = [one for one in answers if one.is_open]
    assert former.answer.startswith("Inconclusive")


def test_a_slice_of_another_mind_is_named() -> None:
    source = Table({"Popular": BASE, "ALS": CLEAR}, cuts=[part("New users", LOSERS)])
    result = changes(source, today(source), depth=10, users="truth")
    assert questions(result)["Only new users"] == "Changes: keep Popular (worse, n = 64)"


def test_a_rival_with_the_same_values_is_called_equal() -> None:
    twins = verdict(Table({"Popular": BASE, "ALS": CLEAR, "EASE": CLEAR.copy()}))
    assert "EASE has the same value for every user." in said(twins)


def test_where_data_are_too_few_a_slice_with_a_finding_changes_the_answer() -> None:
    """Nothing can be recommended over all users, so that a better slice is not the same result."""
    gaining = np.r_[:60, 110:200]
    source = Table({"Popular": BASE, "ALS": UNSURE}, cuts=[part("New users", gaining)])
    few = today(source)
    assert few.action == "collect data"
    answers = questions(changes(source, few, depth=10, users="truth"))
    assert answers["Only new users"] == "Changes: ALS is better than Popular (n = 150)"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"ALS": CLEAR}, "ship ALS"),
        ({"ALS": LOSS}, "keep Popular"),
        ({"ALS": UNSURE}, "not enough data: about "),
    ],
)
def test_a_recommendation_in_a_few_words(table: Mapping[str, np.ndarray], words: str) -> None:
    assert brief(today(Table({"Popular": BASE, **table}))).startswith(words)


def test_without_guardrails_a_contested_candidate_is_shipped() -> None:
    """Coverage falls by 40 %, beyond the 20 % guardrail; nothing else speaks against ALS."""
    kept = {("Popular", "coverage"): 0.5, ("ALS", "coverage"): 0.3}
    source = Table({"Popular": BASE, "ALS": CLEAR}, kept)
    answers = questions(changes(source, today(source), depth=10, users="truth"))
    assert answers["Without offline guardrails"] == "Changes: ship ALS"
    assert "Without offline guardrails" not in questions(
        changes(source, today(Table({"Popular": BASE, "ALS": CLEAR})), depth=10, users="truth")
    )


def test_the_same_at_every_k_is_said_once() -> None:
    source = Table({"Popular": BASE, "ALS": CLEAR})
    answers = questions(changes(source, today(source), depth=50, users="truth"))
    assert answers["Other k than 10"] == "Same result at k = 5, 20 and 50"


@dataclass(frozen=True)
class ByUsers(Table):
    """A table in which the candidate loses by every metric, but is inconclusive over users with a list."""

    def values(self, run: str, metric: str, k: int) -> UserValues | None:  # noqa: ARG002
        counts_lists = (define(metric).own_rule or self.rule) == "both"
        result = (2 * BASE - UNSURE if counts_lists else LOSS) if run == "ALS" else self.of[run]
        return UserValues(np.arange(N), result, result)


def test_an_answer_says_when_the_same_recommendation_has_another_finding() -> None:
    source = ByUsers({"Popular": BASE, "ALS": LOSS})
    keep = today(source)
    (answer,) = [one for one in changes(source, keep, depth=10, users="truth") if "list" in one.question]
    assert keep.action == "keep"
    assert (answer.answer, answer.matters, answer.is_open) == (
        # over the users with a list ALS has 5 % less than Popular: 0.2 - 0.01
        "Same result, but ALS: no significant difference (0.190 vs 0.200, n = 400)", False, False,
    )  # fmt: skip
    for flags, words in (
        ({"by_rule": False}, "Open: ALS has no"),
        ({"opened": False, "by_rule": False}, "Same result, but"),
    ):
        former = changes(source, keep, depth=10, users="truth", **flags)
        (answer,) = [one for one in former if "list" in one.question]
        assert answer.answer.startswith(words)
        assert answer.is_open


@dataclass(frozen=True)
class AheadWithLists(Table):
    """A table in which the candidate loses by every metric, but is ahead over users with a list."""

    def values(self, run: str, metric: str, k: int) -> UserValues | None:  # noqa: ARG002
        counts_lists = (define(metric).own_rule or self.rule) == "both"
        result = (UNSURE if counts_lists else LOSS) if run == "ALS" else self.of[run]
        return UserValues(np.arange(N), result, result)


def test_more_data_would_decide_an_answer_that_is_open() -> None:
    """Everywhere an inconclusive candidate keeps the baseline, unless it is ahead and the users within
    reach.
    """
    source = AheadWithLists({"Popular": BASE, "ALS": LOSS})
    (answer,) = [one for one in changes(source, today(source), depth=10, users="truth") if one.is_open]
    assert answer.question == "Only users with a list"
    assert answer.answer.startswith("Open: not enough data: about ")
    assert not answer.matters
    former = changes(source, today(source), depth=10, users="truth", by_rule=False)
    (answer,) = [one for one in former if "list" in one.question]
    assert answer.answer.startswith("Changes: not enough data: about ")


def test_a_slice_in_which_a_candidate_is_inconclusive_and_behind_keeps_the_baseline() -> None:
    """Of its 50 users 20 gain and 30 lose."""
    source = Table({"Popular": BASE, "ALS": CLEAR}, cuts=[part("New users", np.r_[100:150])])
    answers = changes(source, today(source), depth=10, users="truth")
    assert questions(answers)["Only new users"] == "Changes: keep Popular (inconclusive, n = 50)"
    former = changes(source, today(source), depth=10, users="truth", by_rule=False)
    assert questions(former)["Only new users"].startswith("Open: inconclusive")


@pytest.mark.parametrize("change", [0.05, -0.12])
def test_an_inconclusive_slice_undoes_no_result_of_an_a_b_test(change: float) -> None:
    lift = OnlineLift("Homepage", "Session watch time", change, change - 0.03, change + 0.03)
    cuts = [part("New users", np.r_[100:150])]
    source = Table({"Popular": BASE, "ALS": CLEAR}, cuts=cuts, lifts={"ALS": [lift]})
    answers = changes(source, today(source), depth=10, users="truth")
    assert questions(answers)["Only new users"] == "Same result (inconclusive, n = 50)"


def test_another_known_case_with_other_users_leaves_nothing_open() -> None:
    """Over the users with a list ALS is not significantly different, over all it is worse."""
    source = ByUsers({"Popular": BASE, "ALS": LOSS})
    query = ComparisonQuery(("ALS",), "Popular", "ndcg(users=both)", 10)
    keep = recommend(source, compare(source, query))
    (answer,) = [one for one in changes(source, keep, depth=10, users="truth") if "without" in one.question]
    assert answer.answer.startswith("Same result, but ALS: worse offline (")
    assert not answer.is_open


def test_other_metrics_count_the_users_that_the_primary_metric_names() -> None:
    source = ByUsers({"Popular": BASE, "ALS": LOSS})
    query = ComparisonQuery(("ALS",), "Popular", "ndcg(users=both)", 10)
    evidence = gather_evidence(source, compare(source, query))
    assert {pair.judged.word for _, pair in evidence.metrics} == {"not settled"}
    first_format = gather_evidence(source, compare(source, query), same_users=False)
    assert {pair.judged.word for _, pair in first_format.metrics} == {"worse"}
    older = recommend(source, compare(source, query), same_users=False)
    assert {pair.judged.word for _, pair in older.evidence.metrics} == {"worse"}


def test_a_slice_answers_for_the_candidate_in_question_where_there_are_several() -> None:
    """Tower, with a risk, is better for new users too: the baseline is not the one to keep for them."""
    same = np.where(np.arange(N) < 50, BASE, CLEAR)
    source = Table({"Popular": BASE, "ALS": same, "Tower": CLEAR}, cuts=[part("New users", np.r_[:50])])
    query = ComparisonQuery(("ALS", "Tower"), "Popular", "ndcg", 10)
    decided = recommend(source, compare(source, query))
    als = decided.case_of("ALS")
    assert als is not None
    of_als = replace(decided, evidence=als.evidence)
    answers = {
        opened: questions(changes(source, of_als, depth=10, users="truth", opened=opened))["Only new users"]
        for opened in (True, False)
    }
    assert answers[True] == "Changes: ALS is no better than Popular (equal for every user, n = 50)"
    assert answers[False] == "Changes: keep Popular (equal for every user, n = 50)"


def test_a_slice_in_which_all_users_score_the_same_asks_for_no_more_users() -> None:
    same = np.where(np.arange(N) < 50, BASE, CLEAR)
    source = Table({"Popular": BASE, "ALS": same}, cuts=[part("New users", np.r_[:50])])
    answers = questions(changes(source, today(source), depth=10, users="truth"))
    assert answers["Only new users"] == "Changes: keep Popular (equal for every user, n = 50)"
    (matters,) = [one for one in changes(source, today(source), depth=10, users="truth") if one.matters]
    assert matters.question == "Only new users"
    unnamed = changes(source, today(source), depth=10, users="truth", named=False)
    former = "No difference: equal to Popular for every user (n = 50)"
    assert questions(unnamed)["Only new users"] == former
    older = changes(source, today(source), depth=10, users="truth", former=True, named=False)
    assert not any(one.matters for one in older)
    (new,) = today(source).evidence.slices
    assert (new.pair.is_identical, new.pair.words) == (True, "equal for every user")
