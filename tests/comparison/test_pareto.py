"""Two metrics at once: the front, and who is beaten by whom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from recdash.comparison import Terms
from recdash.comparison.pareto import TradeOff, dominates, front, goal, trade_off
from recdash.domain.kinds import Users
from recdash.domain.results import Slice, UserValues
from recdash.errors import Problem, UnknownName

N = 100
USERS = np.arange(N)
HALF = np.tile([0.0, 1.0], N // 2)
SPREAD = np.tile([0.01, 0.01, -0.01, -0.01], N // 4)
"""Adds nothing to a mean, and the spread that a test of differences needs."""


def of_users(values: np.ndarray, users: np.ndarray = USERS) -> UserValues:
    return UserValues(users, values.astype(float), values.astype(float))


@dataclass(frozen=True)
class Held:
    """Runs whose users' values are written down: run → metric → values."""

    known: Mapping[str, Mapping[str, UserValues]]
    names: Mapping[str, str] = field(default_factory=dict)

    def values(self, run: str, metric: str, k: int, users: Users | None = None) -> UserValues | None:
        assert (k, users) == (10, None)
        return self.known[run].get(metric)

    def value(self, run: str, metric: str, k: int) -> float | None:
        raise AssertionError((run, metric, k))

    def why_absent(self, run: str, metric: str) -> str:
        raise AssertionError((run, metric))

    def user_slices(self) -> Sequence[Slice]:
        raise AssertionError

    def known_ids(self, run: str) -> None:
        """Not counted."""

    def problems(self, runs: Sequence[str]) -> Sequence[Problem]:
        raise AssertionError(runs)


def asked(
    known: Mapping[str, Mapping[str, UserValues]],
    coverage: Mapping[str, float],
    about: Sequence[str] | None = None,
    metrics: tuple[str, str] = ("coverage", "ndcg"),
) -> TradeOff:
    """Runs with values per user of the second metric, and one value of the first."""
    places = {
        run: (
            coverage[run] if metrics[0] == "coverage" else float(of[metrics[0]].values.mean()),
            float(of[metrics[1]].values.mean()),
        )
        for run, of in known.items()
    }
    return trade_off(Held(known), metrics, 10, places, list(known) if about is None else about, Terms())


# ── the front ────────────────────────────────────────────────────────────────────────────────


def test_the_front_holds_whom_nobody_passes_from_the_best_by_y_to_the_best_by_x() -> None:
    heights = {"corner": (3.0, 1.0), "middle": (2.0, 2.0), "inside": (1.0, 1.0), "top": (0.0, 4.0)}
    assert front(heights) == ("top", "middle", "corner")


def test_equal_runs_stand_on_the_front_together_and_one_that_is_level_on_one_metric_does_not() -> None:
    heights = {"one": (2.0, 2.0), "twin": (2.0, 2.0), "level": (2.0, 1.0), "below": (1.0, 2.0)}
    assert set(front(heights)) == {"one", "twin"}


def test_the_front_is_whom_nobody_passes_whatever_the_values() -> None:
    rng = np.random.default_rng(3)
    heights = {str(n): (float(x), float(y)) for n, (x, y) in enumerate(rng.integers(0, 12, (60, 2)))}
    by_definition = {
        run for run, own in heights.items() if not any(dominates(other, own) for other in heights.values())
    }
    assert set(front(heights)) == by_definition
    assert 1 < len(by_definition) < 20


@pytest.mark.parametrize(
    ("metric", "less"),
    [("rmse", True), ("gini", True), ("popularity", True), ("ndcg", False), ("novelty", False)],
)
def test_which_metrics_one_wants_little_of(metric: str, less: bool) -> None:
    assert goal(metric).less_is_better is less
    assert (goal(metric).height(2.0) > goal(metric).height(1.0)) is not less


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(UnknownName, match="nonsense"):
        goal("nonsense")


def test_where_less_is_better_the_smallest_value_is_on_the_front() -> None:
    known = {run: {"ndcg": of_users(HALF)} for run in ("even", "steep")}
    result = trade_off(
        Held(known), ("gini", "ndcg"), 10, {"even": (0.2, 0.5), "steep": (0.9, 0.5)}, [], Terms()
    )
    assert result.front == ("even",)


# ── who is beaten ────────────────────────────────────────────────────────────────────────────


def test_a_run_is_beaten_on_both_where_the_paired_difference_is_settled() -> None:
    """Users have 0.2 more, and coverage decides by value."""
    known = {"poor": {"ndcg": of_users(HALF)}, "good": {"ndcg": of_users(HALF + 0.2 + SPREAD)}}
    (one,) = asked(known, {"poor": 0.1, "good": 0.3}).beaten
    assert (one.run, one.by, one.sides, one.settled) == ("poor", "good", ("by value", "better"), True)
    assert one.pairs[0] is None
    assert one.pairs[1] is not None
    assert one.pairs[1].paired.mean == pytest.approx(0.2)


def test_a_run_behind_by_chance_is_not_beaten() -> None:
    """51 users gain what 49 lose: +0.02 on the mean, with an interval of about ±0.2."""
    swing = np.where(USERS < 51, 1.0, -1.0)
    known = {"poor": {"ndcg": of_users(np.zeros(N))}, "good": {"ndcg": of_users(swing)}}
    (one,) = asked(known, {"poor": 0.1, "good": 0.3}).beaten
    assert one.sides == ("by value", "not settled")
    assert not one.settled


def test_a_difference_within_the_margin_is_a_tie_and_no_beating() -> None:
    known = {"poor": {"ndcg": of_users(HALF)}, "good": {"ndcg": of_users(HALF + 1e-4 + SPREAD / 1000)}}
    (one,) = asked(known, {"poor": 0.1, "good": 0.3}).beaten
    assert one.sides == ("by value", "tie")
    assert not one.settled


def test_level_on_one_metric_is_not_beaten_on_both() -> None:
    known = {"poor": {"ndcg": of_users(HALF)}, "good": {"ndcg": of_users(HALF + 0.2 + SPREAD)}}
    (one,) = asked(known, {"poor": 0.3, "good": 0.3}).beaten
    assert one.sides == ("level", "better")
    assert not one.settled


def test_runs_that_count_other_users_may_be_the_other_way_round_where_they_share_them() -> None:
    """By its own mean the good run has 0.75, but the only users both have get less from it."""
    poor = of_users(0.6 + SPREAD[:50], USERS[:50])
    good = of_users(np.r_[np.full(50, 0.5), np.full(50, 1.0)])
    (one,) = asked({"poor": {"ndcg": poor}, "good": {"ndcg": good}}, {"poor": 0.1, "good": 0.3}).beaten
    assert one.sides[1] == "worse"
    assert not one.settled


def test_two_metrics_with_values_per_user_are_one_family() -> None:
    """Three runs make 3 pairs by 2 metrics; Holm multiplies the smallest p by 6."""
    rng = np.random.default_rng(5)
    known = {str(n): {m: of_users(rng.random(N) + 0.2 * n) for m in ("ndcg", "recall")} for n in range(3)}
    result = asked(known, {}, metrics=("recall", "ndcg"))
    pairs = [pair for one in result.beaten for pair in one.pairs if pair]
    smallest = min(pairs, key=lambda pair: pair.paired.p)
    assert smallest.judged.p == pytest.approx(6 * smallest.paired.p)
    assert [(one.run, one.by) for one in result.beaten] == [("0", "2"), ("1", "2")]


def test_a_settled_opponent_is_named_before_one_that_is_higher_but_unsure() -> None:
    wild = HALF + 0.3 + np.where(USERS % 4 < 2, 3.0, -3.0)
    known = {
        "poor": {"ndcg": of_users(HALF)},
        "sure": {"ndcg": of_users(HALF + 0.2 + SPREAD)},
        "wild": {"ndcg": of_users(wild)},
    }
    result = asked(known, {"poor": 0.1, "sure": 0.2, "wild": 0.3})
    assert result.front == ("wild",)
    assert [(one.run, one.by, one.settled) for one in result.beaten] == [
        ("poor", "sure", True),
        ("sure", "wild", False),
    ]


def test_whom_only_a_run_nobody_asked_about_beats_is_held_against_that_run() -> None:
    known = {"mine": {"ndcg": of_users(HALF)}, "other": {"ndcg": of_users(HALF + 0.2 + SPREAD)}}
    (one,) = asked(known, {"mine": 0.1, "other": 0.3}, about=["mine"]).beaten
    assert (one.run, one.by, one.settled) == ("mine", "other", True)


def test_a_single_run_is_the_front_and_beaten_by_nobody() -> None:
    result = asked({"only": {"ndcg": of_users(HALF)}}, {"only": 0.1})
    assert (result.front, result.beaten) == (("only",), ())


def test_runs_without_a_place_are_left_out() -> None:
    known = {"mine": {"ndcg": of_users(HALF)}}
    result = trade_off(Held(known), ("coverage", "ndcg"), 10, {"mine": (0.1, 0.5)}, ["mine", "bare"], Terms())
    assert (result.front, result.beaten) == (("mine",), ())
