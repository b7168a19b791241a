"""The lists of a run as the target policy: in a world that can be enumerated, and by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pyarrow as pa
import pytest

from recdash.errors import InputError
from recdash.online.off_policy.list_policy import ListPolicy
from recdash.online.off_policy.ope import ope
from recdash.online.off_policy.target import logged

LISTS = {"u": [("a", 2.0), ("b", 1.0), ("c", 0.0)], "v": [("c", 3.0), ("a", 1.0)]}
"""Items with scores, best first."""
LOGGING = {"a": 0.5, "b": 0.3, "c": 0.2}
RATE = {("u", "a"): 0.1, ("u", "b"): 0.5, ("u", "c"): 0.9, ("v", "a"): 0.3, ("v", "b"): 0.7, ("v", "c"): 0.2}


def lists(users: pa.Array) -> pa.Table:
    rows = [(user, *entry) for user in users.to_pylist() for entry in LISTS.get(user, [])]
    user, item, score = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"user_id": pa.array(user, pa.string()), "item_id": pa.array(item, pa.string())}
    return pa.table({**columns, "score": pa.array(score, pa.float64())})


def log_of(users: Any, items: Any, clicks: Any = None, **columns: Any) -> pa.Table:
    propensity = [LOGGING[item] for item in items]
    click = clicks or [0.0] * len(items)
    return pa.table(
        {"user_id": users, "item_id": items, "click": click, "propensity_score": propensity, **columns}
    )


def probabilities(rows: pa.Table, **policy: Any) -> list[float]:
    _, target, _ = ListPolicy("als", lists, **policy).applied(logged(rows), rows)
    return target.probability.tolist()


def test_without_positions_each_slot_has_the_first_item() -> None:
    rows = log_of(["u", "u", "v", "v"], ["a", "b", "a", "c"])
    assert probabilities(rows) == [1, 0, 0, 1]


@pytest.mark.parametrize("first", [0, 1])
def test_a_position_has_the_item_at_its_rank(first: int) -> None:
    rows = log_of(["u"] * 4, ["a", "b", "c", "a"], position=[first, first + 1, first + 2, first + 2])
    assert probabilities(rows) == [1, 1, 1, 0]


def test_with_a_temperature_items_are_drawn_by_their_scores() -> None:
    """Of the first two at temperature 2: exp(2 / 2) to exp(1 / 2)."""
    rows = log_of(["u", "u", "u"], ["a", "b", "c"])
    of_a = math.e / (math.e + math.exp(0.5))
    assert probabilities(rows, k=2, temperature=2.0) == pytest.approx([of_a, 1 - of_a, 0])


def test_scores_as_large_as_they_may_be_do_not_overflow() -> None:
    rows = log_of(["u", "u"], ["a", "b"])
    assert probabilities(rows, temperature=1e-6) == pytest.approx([1, 0])


@pytest.mark.parametrize("temperature", [None, 1.5])
def test_over_all_logs_that_can_happen_the_estimates_average_the_true_value(
    temperature: float | None,
) -> None:
    """A row of u and one of v, each with any item, clicked or not."""
    chances = {user: dict(LISTS[user]) for user in "uv"}
    if temperature is not None:
        parts = {
            user: {item: math.exp(score / temperature) for item, score in own.items()}
            for user, own in chances.items()
        }
    else:
        parts = {"u": {"a": 1.0}, "v": {"c": 1.0}}
    true = sum(
        part / sum(own.values()) * RATE[user, item] / 2
        for user, own in parts.items()
        for item, part in own.items()
    )
    policy = ListPolicy("als", lists, temperature=temperature)
    means = {"ips": 0.0, "dr": 0.0, "mean_weight": 0.0}
    for items in itertools.product("abc", repeat=2):
        for clicks in itertools.product((0.0, 1.0), repeat=2):
            chance = 1.0
            for user, item, click in zip("uv", items, clicks, strict=True):
                rate = RATE[user, item]
                chance *= LOGGING[item] * (rate if click else 1 - rate)
            result = ope(log_of(["u", "v"], list(items), list(clicks)), policy)
            means["ips"] += chance * result.ips.value
            means["dr"] += chance * result.dr.value
            means["mean_weight"] += chance * result.mean_weight
    assert means == pytest.approx({"ips": true, "dr": true, "mean_weight": 1.0})


def test_rows_without_an_item_of_the_policy_are_left_out_with_a_notice() -> None:
    """w has no list, and v's list no third item."""
    rows = log_of(["u", "w", "v", "v"], ["a", "a", "a", "c"], [1.0, 1.0, 0.0, 0.0], position=[1, 2, 3, 1])
    result = ope(rows, ListPolicy("als", lists))
    (notice,) = [notice for notice in result.notices if notice.code == "rows-without-list"]
    assert notice.count == 2
    assert notice.found == "50 % (2 of 4) of the rows are left out: the user's list has no item there"
    assert (result.n, result.n_users, result.observed.value) == (2, 2, 0.5)


def test_the_share_of_rows_that_the_policy_never_shows_is_told() -> None:
    result = ope(log_of(["u", "u", "v", "v"], ["a", "b", "a", "b"]), ListPolicy("als", lists))
    assert result.not_shown_share == 0.75
    assert result.as_dict()["not_shown_share"] == 0.75


def test_what_the_log_never_shows_is_told() -> None:
    """v's first item, c, is in no row: half of what the policy shows."""
    result = ope(log_of(["u", "v"], ["a", "a"]), ListPolicy("als", lists))
    assert "50 % of what the target shows is never in the log" in [n.found for n in result.notices]
    assert result.mean_weight == pytest.approx(1)  # 1 ÷ 0.5 and 0


@pytest.mark.parametrize(
    ("rows", "policy", "says"),
    [
        (log_of(["w"], ["a"]), {}, "no list for a user of the log"),
        (log_of(["u"], ["a"]).drop_columns(["user_id"]), {}, "no column names the user"),
    ],
)
def test_a_log_without_lists_is_refused_in_words(rows: pa.Table, policy: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        ope(rows, ListPolicy("als", lists, **policy))


def test_a_run_without_scores_has_no_temperature() -> None:
    def unscored(users: pa.Array) -> pa.Table:
        return lists(users).drop_columns(["score"])

    rows = log_of(["u"], ["a"])
    assert ope(rows, ListPolicy("als", unscored)).ips.value == 0
    with pytest.raises(InputError, match="it has no scores"):
        ope(rows, ListPolicy("als", unscored, temperature=1.0))


@pytest.mark.parametrize("policy", [{"k": 0}, {"temperature": 0.0}, {"temperature": math.inf}])
def test_a_policy_of_nothing_is_refused(policy: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ListPolicy("als", lists, **policy)
