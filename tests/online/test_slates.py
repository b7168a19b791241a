"""Estimates per slate: over all logs that can happen each averages what its assumption says, and by hand."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest

from recdash.online.off_policy.estimates import SlateEstimates
from recdash.online.off_policy.ope import ope
from recdash.online.off_policy.slates import slate_estimates
from recdash.online.off_policy.target import logged, of_table

LOGGING = {"a": 0.6, "b": 0.4}
TARGET = {"a": 0.1, "b": 0.9}
POLICY = pa.table({"item_id": ["a", "b"], "probability": [0.1, 0.9]})
SLATES = list(itertools.product("ab", repeat=2))


def of_own_item(slate: tuple[str, str], place: int) -> float:
    """The reward rests on the item in its position alone."""
    return {"a": 0.2, "b": 0.5}[slate[place]] / (place + 1)


def of_items_above(slate: tuple[str, str], place: int) -> float:
    """The second reward falls if the first item is the same."""
    return of_own_item(slate, place) * (0.5 if place and slate[0] == slate[1] else 1)


def of_all_items(slate: tuple[str, str], place: int) -> float:
    """Both rewards fall if the items are the same."""
    return of_own_item(slate, place) * (0.5 if slate[0] == slate[1] else 1)


def chance(slate: tuple[str, str], policy: dict[str, float]) -> float:
    return policy[slate[0]] * policy[slate[1]]


def estimated(log: pa.Table, policy: pa.Table = POLICY) -> SlateEstimates:
    rows = logged(log)
    result = slate_estimates(rows, log, of_table(rows, log, policy, "the target"))
    assert result is not None
    return result


def result_of(slates: list[tuple[str, str]], rewards: Any, **columns: Any) -> SlateEstimates:
    rows = [(n, place, item) for n, slate in enumerate(slates) for place, item in enumerate(slate, start=1)]
    slate, position, item = zip(*rows, strict=True)
    log = pa.table(
        {
            "slate_id": slate, "position": position, "item_id": item, "click": rewards,
            "propensity_score": [LOGGING[name] for name in item], **columns,
        }
    )  # fmt: skip
    return estimated(log)


@pytest.mark.parametrize(
    ("reward", "unbiased"),
    [
        (of_own_item, {"independent", "reward_interaction", "standard"}),
        (of_items_above, {"reward_interaction", "standard"}),
        (of_all_items, {"standard"}),
    ],
)
def test_over_all_logs_an_estimate_averages_the_truth_where_its_assumption_holds(
    reward: Any, unbiased: set[str]
) -> None:
    true = sum(chance(slate, TARGET) * (reward(slate, 0) + reward(slate, 1)) for slate in SLATES)
    means = dict.fromkeys(("independent", "reward_interaction", "standard"), 0.0)
    for slates in itertools.product(SLATES, repeat=2):
        rewards = [reward(slate, place) for slate in slates for place in (0, 1)]
        result = result_of(list(slates), rewards)
        for name in means:
            value = getattr(result, name).estimate.value
            means[name] += chance(slates[0], LOGGING) * chance(slates[1], LOGGING) * value
    assert {name for name, mean in means.items() if mean == pytest.approx(true, abs=1e-12)} == unbiased


def test_two_slates_by_hand() -> None:
    """Weights a 1/6, b 9/4. Slate a, b with rewards 1 and 2; slate b, b with 0 and 4."""
    result = result_of([("a", "b"), ("b", "b")], [1.0, 2.0, 0.0, 4.0])
    a, b = 1 / 6, 9 / 4
    assert (result.n, result.observed.value) == (2, 3.5)
    assert result.independent.estimate.value == pytest.approx((a * 1 + b * 2 + b * 4) / 2)
    assert result.reward_interaction.estimate.value == pytest.approx((a * 1 + a * b * 2 + b * b * 4) / 2)
    assert result.standard.estimate.value == pytest.approx((a * b * 3 + b * b * 4) / 2)
    assert result.standard.mean_weight == pytest.approx((a * b + b * b) / 2)
    assert result.standard.ess == pytest.approx((a * b + b * b) ** 2 / ((a * b) ** 2 + (b * b) ** 2))
    assert not result.standard.is_usable
    assert (result.independent.zero_share, result.as_dict()["n"]) == (0, 2)


def test_the_order_of_rows_changes_nothing() -> None:
    """Positions tell the order within a slate, ids the slate."""
    table = {
        "slate_id": ["s", "t", "s", "t"], "position": [1, 2, 2, 1], "item_id": ["a", "b", "b", "a"],
        "click": [1.0, 0.0, 2.0, 3.0], "propensity_score": [0.6, 0.4, 0.4, 0.6],
    }  # fmt: skip
    log = pa.table(table)
    assert estimated(log).as_dict() == estimated(log.take([3, 2, 1, 0])).as_dict()


def test_slates_of_one_user_are_not_independent() -> None:
    """Each slate four times, by four users or by one: the error of one is twice as large."""
    slates = [slate for slate in SLATES * 10 for _ in range(4)]
    rewards = [of_own_item(slate, place) for slate in slates for place in (0, 1)]
    users = [f"u{n // 4}" for n in range(len(slates)) for _ in (0, 1)]
    alone = result_of(slates, rewards).standard.estimate.std_error
    by_user = result_of(slates, rewards, user_id=users).standard.estimate.std_error
    assert by_user == pytest.approx(2 * alone, rel=0.03)


def test_a_slate_with_an_item_that_is_never_shown_counts_for_nothing() -> None:
    log = pa.table(
        {
            "slate_id": [1, 1, 2, 2], "position": [1, 2, 1, 2], "item_id": ["a", "b", "b", "b"],
            "click": [1.0] * 4, "propensity_score": [0.5] * 4,
        }
    )  # fmt: skip
    result = estimated(log, pa.table({"item_id": ["b"], "probability": [1.0]}))
    assert result.standard.zero_share == 0.5
    assert result.standard.estimate.value == pytest.approx((0 + 2 * 2 * 2) / 2)
    assert result.reward_interaction.estimate.value == pytest.approx((0 + 2 + 2 * 2) / 2)


def test_without_positions_or_slates_there_are_no_estimates_per_slate() -> None:
    rows = {"item_id": ["a", "b"], "click": [1.0, 0.0], "propensity_score": [0.6, 0.4]}
    assert ope(pa.table({**rows, "slate_id": [1, 1]}), POLICY).slates is None
    assert ope(pa.table({**rows, "position": [1, 2]}), POLICY).slates is None


def test_the_answer_of_a_log_with_slates_has_them() -> None:
    rows = {"item_id": ["a", "b"], "click": [1, 0], "propensity_score": [0.6, 0.4], "position": [1, 2]}
    result = ope(pa.table({**rows, "request_id": ["r", "r"]}), POLICY)
    assert result.slates is not None
    assert result.as_dict()["slates"]["standard"]["value"] == pytest.approx(1 / 6 * 9 / 4)


def test_products_of_weights_beyond_all_numbers_are_no_estimates() -> None:
    log = pa.table({"item_id": ["a", "b"] * 2, "position": [1, 2] * 2, "click": [1.0, 0.0] * 2,
                    "slate_id": ["s1", "s1", "s2", "s2"], "propensity_score": [1e-60] * 4})  # fmt: skip
    rows = logged(log)
    assert slate_estimates(rows, log, of_table(rows, log, POLICY, "the target")) is None
