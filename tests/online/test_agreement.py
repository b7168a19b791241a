"""Offline winners and online winners: the corners, what stays undecided, and the order of all runs."""

from __future__ import annotations

import json
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from recdash.online.agreement.agreement import (
    Agreement,
    BestMetric,
    DifferenceInterval,
    RunPair,
    ServedRun,
    agreement,
    best_metric,
    quadrant,
)
from recdash.online.agreement.join import outcome


@pytest.mark.parametrize(
    ("offline", "online", "expected"),
    [
        ((0.01, 0.03), (0.02, 0.08), "won both"),
        ((0.01, 0.03), (-0.08, -0.02), "won offline, lost online"),
        ((-0.03, -0.01), (0.02, 0.08), "lost offline, won online"),
        ((-0.03, -0.01), (-0.08, -0.02), "lost both"),
        ((-0.01, 0.03), (0.02, 0.08), "undecided"),
        ((0.01, 0.03), (-0.02, 0.08), "undecided"),
        ((0.0, 0.03), (0.02, 0.08), "undecided"),
        ((0.01, 0.03), (-0.02, 0.0), "undecided"),
        ((0.01, 0.03), (None, None), "undecided"),
        ((float("nan"), float("nan")), (0.02, 0.08), "undecided"),
    ],
)
def test_a_candidate_stands_in_the_corner_that_both_intervals_point_to(
    offline: tuple[float, float], online: tuple[float, float], expected: str
) -> None:
    assert quadrant(*offline, *online) == expected


def test_a_run_that_lost_another_metric_says_so_unless_it_lost_by_this_one() -> None:
    lost = {"quadrant": "undecided", "also_lost": "unsubscribes"}
    assert outcome(lost, "Saves") == "inconclusive in saves, but lost unsubscribes online"
    assert outcome(lost) == "inconclusive, but lost unsubscribes online"
    assert outcome(lost | {"quadrant": "won both"}, "Saves") == "won both, but lost unsubscribes online"
    assert outcome(lost | {"quadrant": "lost both"}) == "lost both"
    assert outcome({"quadrant": "undecided", "also_lost": ""}) == "inconclusive"


# ── the order of all runs ────────────────────────────────────────────────────────────────────

SETTLED = 0.5
"""Intervals reach so far to both sides of a difference."""


def over(offline: list[float | None], online: list[float | None], reason: str = "") -> Agreement:
    """Runs a, b, c … with these values; a is the control."""
    names = "abcdefgh"[: len(offline)]
    runs = [
        ServedRun(name, name, name, name == "a", x, y)
        for name, x, y in zip(names, offline, online, strict=True)
    ]
    pairs = {
        (one.variant, other.variant): RunPair(
            one.run, other.run, around(one.offline, other.offline), around(one.online, other.online)
        )
        for one, other in combinations(runs, 2)
    }
    return agreement("nDCG@10", "watch time", runs, pairs, reason)


def around(first: float | None, second: float | None) -> DifferenceInterval:
    if first is None or second is None:
        return DifferenceInterval()
    return DifferenceInterval(second - first - SETTLED, second - first + SETTLED)


def test_pairs_between_variants_count_as_much_as_those_with_the_control() -> None:
    """a is the control: 3 pairs with it, and b–c, b–d, c–d; only c–d is in another order online."""
    result = over([0, 1, 2, 3], [0, 1, 3, 2])
    assert len(result.pairs) == 6
    assert (result.count("concordant"), result.count("discordant"), result.decided) == (5, 1, 6)
    assert result.tau is not None
    assert result.tau.value == pytest.approx((5 - 1) / 6)
    assert [(pair.first, pair.second) for pair in result.pairs if pair.outcome == "discordant"] == [
        ("c", "d")
    ]


def test_a_pair_that_one_side_does_not_settle_is_no_agreement() -> None:
    """b and c differ by 0.4 online, within ±0.5: in order, and undecided."""
    result = over([0, 1, 2], [0, 1, 1.4])
    assert (result.count("concordant"), result.count("undecided")) == (2, 1)
    assert result.sentences[0] == (
        "Offline picked the online winner in 2 of 2 decided pairs. 1 of all 3 is undecided."
    )


def test_without_a_settled_pair_nothing_agrees() -> None:
    result = over([0, 0.1, 0.2], [0, 0.1, 0.2])
    assert result.decided == 0
    assert result.sentences[0].startswith("None of 3 pairs of runs is significant both offline and online")


def test_few_runs_are_said_to_say_little_however_well_they_agree() -> None:
    result = over([0, 1, 2, 3], [0, 1, 2, 3])
    assert result.sentences[1] == (
        "Kendall's τ over all 4 runs is 1.00 (p = 0.083). With 4 runs, even full agreement has p = 0.083."
    )


def test_five_runs_in_the_same_order_are_more_than_chance_explains() -> None:
    assert over([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]).sentences[1] == (
        "Kendall's τ over all 5 runs is 1.00, which is significant (p = 0.017)."
    )
    assert (
        over([0, 1, 2, 3, 4], [1, 0, 3, 2, 4]).sentences[1].endswith("which is not significant (p = 0.233).")
    )


def test_a_run_without_a_value_on_one_side_takes_no_part() -> None:
    result = over([0, 1, None, 3], [0, 1, 2, 3])
    assert [run.run for run in result.runs] == ["a", "b", "d"]
    assert len(result.pairs) == 3


def test_one_run_has_no_order() -> None:
    assert over([1], [0]).sentences == [
        (
            "Agreement cannot be judged: one run has both an offline and an online value, and comparing "
            "orders needs two."
        )
    ]


def test_a_broken_split_is_not_judged() -> None:
    result = over([0, 1, 2], [0, 1, 2], "the split is broken")
    assert (result.tau, result.pairs) == (None, ())
    assert result.sentences == ["Agreement cannot be judged: the split is broken."]


def test_runs_that_are_all_alike_have_pairs_and_no_tau() -> None:
    result = over([1, 1, 1], [0, 1, 2])
    assert result.tau is None
    assert len(result.sentences) == 1


def test_agreement_as_plain_values_can_be_written_as_json() -> None:
    facts = json.loads(json.dumps(over([0, 1, 2], [0, 1, 2]).as_dict()))
    assert (facts["concordant"], facts["discordant"], facts["undecided"]) == (3, 0, 0)
    assert facts["least_p"] == pytest.approx(1 / 3)
    assert facts["pairs"][0]["outcome"] == "concordant"


# ── which metric had the order right ─────────────────────────────────────────────────────────


def asked(n: int, *metrics: list[float | None], reason: str = "") -> BestMetric:
    """Metrics m0, m1 … of ``n`` runs that online puts in the order in which they stand."""
    candidates = {(f"m{place}", 10, f"m{place}@10"): values for place, values in enumerate(metrics)}
    return best_metric("watch time", candidates, [float(one) for one in range(n)], reason)


def test_below_six_runs_no_metric_is_named_and_the_reason_says_why() -> None:
    result = asked(5, [1, 2, 3, 4, 5], [5, 4, 3, 2, 1])
    assert result.winners == ()
    assert result.predictions[0].label == "m0@10"
    assert result.reason == (
        "with 5 runs, one of 2 metrics matches their whole order by chance in 2 of 100 cases; the best "
        "is named from 6 runs on"
    )


def test_from_six_runs_on_the_best_is_named() -> None:
    result = asked(6, [6, 5, 4, 3, 2, 1], [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5])
    assert result.winners == ("m1@10",)
    assert result.reason == ""
    assert result.p == pytest.approx(3 / 720), "each of three orders would have been found perfect"
    assert [prediction.label for prediction in result.predictions] == ["m1@10", "m2@10", "m0@10"]


def test_a_best_that_chance_explains_is_not_named() -> None:
    """τ is .6 and .467: how many orders are as near to one of them as .6?"""
    metrics: list[list[float | None]] = [[2, 1, 4, 3, 6, 5], [1, 3, 2, 6, 5, 4]]
    tried = permutations(range(6))
    reached = [
        max(kendalltau(metric, order).statistic for metric in metrics) >= 0.6 - 1e-9 for order in tried
    ]
    result = asked(6, *metrics)
    assert result.winners == ()
    assert result.p == pytest.approx(np.mean(reached))
    assert result.reason == "the best of 2 metrics does as well by chance with p = 0.129"


def test_metrics_of_the_same_order_are_named_together() -> None:
    assert asked(6, [1, 2, 3, 4, 5, 6], [10, 20, 30, 40, 50, 60]).winners == ("m0@10", "m1@10")


def test_a_metric_that_a_run_lacks_is_left_out_and_said() -> None:
    result = asked(3, [1, None, 3], [1, 2, 3])
    assert result.left_out == ("m0@10",)
    assert [prediction.label for prediction in result.predictions] == ["m1@10"]


def test_a_metric_that_is_the_same_for_all_comes_last_without_a_tau() -> None:
    result = asked(3, [1, 1, 1], [3, 2, 1])
    assert [(prediction.label, prediction.tau) for prediction in result.predictions] == [
        ("m1@10", pytest.approx(-1)),
        ("m0@10", None),
    ]


def test_after_a_broken_split_no_metric_is_measured() -> None:
    result = asked(6, [1, 2, 3, 4, 5, 6], reason="the split is broken")
    assert (result.winners, result.reason, result.p) == ((), "the split is broken", None)


def test_twenty_useless_metrics_are_hardly_ever_named() -> None:
    chance = np.random.default_rng(9)
    named = sum(bool(asked(6, *chance.random((20, 6)).tolist()).winners) for _ in range(200))
    assert named <= 16, "about one in twenty"
