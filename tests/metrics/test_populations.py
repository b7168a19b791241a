"""A metric's mean over other users than those who count by the rule."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest

import recdash
from recdash.comparison import ComparisonQuery
from recdash.errors import InputError, UnknownName
from recdash.metrics import PRESETS
from recdash.service import Workspace
from recdash.store import open_store

TRUTH = pd.DataFrame(
    [("a", "x", 1), ("b", "x", 1), ("c", "x", 1), ("d", "y", 0)], columns=["user_id", "item_id", "relevance"]
)
LISTS = {"a": ["x", "y"], "b": ["y", "x"], "d": ["x", "y"], "s": ["x", "y"], "t": ["y"]}
"""a finds x at once, b at rank 2; c has no list, d nothing relevant, the truth does not know s and t."""
TRAIN = pd.DataFrame({"user_id": ["p", "q", "q"], "item_id": ["x", "x", "y"]})
NDCG = 1 + 1 / math.log2(3)
"""Σ of the users' nDCG@2."""
USERS = {"truth": 3, "both": 2, "judged": 4, "judged_both": 3, "run": 5}
"""How many count by each rule: a b c; a b; a b c d; a b d; a b d s t."""


def value(metric: str, **how: object) -> dict[str, float]:
    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics=metric, train=TRAIN, **how)  # type: ignore[arg-type]
    (row,) = found.rows()
    return {name: row[name] for name in ("value", "std_error", "n_users")}


@pytest.mark.parametrize("rule", ["truth", "both", "judged", "run"])
@pytest.mark.parametrize("users", USERS)
def test_the_sum_is_divided_by_the_users_of_the_population_whatever_the_rule(users: str, rule: str) -> None:
    assert value(f"ndcg(users={users})@2", users=rule)["value"] == pytest.approx(
        NDCG / USERS[users], rel=1e-14
    )


@pytest.mark.parametrize("metric", ["ndcg", "map", "serendipity"])
@pytest.mark.parametrize("users", USERS)
def test_mean_and_error_are_those_of_the_rule_of_that_name(metric: str, users: str) -> None:
    same = value(f"{metric}@2", users=users)
    found = value(f"{metric}(users={users})@2")
    assert found["value"] == pytest.approx(same["value"], rel=1e-14)
    assert found["std_error"] == pytest.approx(same["std_error"], rel=1e-12)


def test_a_slice_counts_its_own_users() -> None:
    cut = pd.DataFrame({"user_id": [*"abcd"], "group": ["1", "1", "2", "2"]})
    found = recdash.evaluate(
        {"run": LISTS},
        TRUTH,
        metrics="ndcg(users=truth)@2",
        users="both",
        user_attributes=cut,
        slices="user:group",
    )
    values = {row["slice"]: row["value"] for row in found.rows() if row["slice_by"]}
    assert values["1"] == pytest.approx(NDCG / 2)


def test_its_shares_are_no_users_own_and_a_comparison_takes_the_users_values() -> None:
    found = recdash.evaluate({"run": LISTS}, TRUTH, metrics="ndcg(users=truth)@2", users="both")
    with pytest.raises(InputError, match=r"the population users=truth\. Write users=rule"):
        found.per_user("ndcg(users=truth)@2")


def test_without_the_population_of_a_preset_each_user_has_a_value() -> None:
    evaluation = recdash.evaluate({"run": LISTS}, TRUTH, metrics="map@2", preset="lenskit")
    with pytest.raises(InputError) as refusal:
        evaluation.per_user("map@2")
    (problem,) = refusal.value.problems
    assert "average=" not in str(problem)
    assert "users=rule" in problem.fix
    # by the preset's own rule who has a list counts; the truth does not know s and t
    assert evaluation.per_user("map(users=rule)@2")["user_id"].tolist() == ["a", "b", "d"]


@pytest.mark.parametrize("rule", ["truth", "both"])
@pytest.mark.parametrize(("users", "means"), [("both", (0.5, 0.8)), ("truth", (0.5, 4 / 15))])
def test_a_comparison_is_over_the_users_of_the_metric_whatever_the_rule(
    users: str, means: tuple[float, float], rule: str, tmp_path: Path
) -> None:
    """half finds the item of every second of 60 users; few has lists for 20 users, and finds 16 of theirs."""
    names = [f"u{number}" for number in range(60)]
    truth = {name: ["x"] for name in names}
    runs = {
        "half": {name: ["x" if at % 2 else "y"] for at, name in enumerate(names)},
        "few": {name: ["x" if at % 5 else "y"] for at, name in enumerate(names) if at % 3 == 0},
    }
    metric = f"ndcg(users={users})@1"
    scored = recdash.evaluate(runs, truth, metrics=metric, users=rule)
    assert [row["value"] for row in scored.rows()] == pytest.approx(means)
    (pair,) = scored.compare(metric, "half").as_dict()["pairs"]
    assert (pair["base_value"], pair["value"]) == pytest.approx(means)
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    films = space.experiments.create("films", truth, users=rule)
    half, few = (space.runs.add(films.id, lists, name=name)[0].run.id for name, lists in runs.items())
    (row,) = space.comparisons.pairs(ComparisonQuery((few,), half, metric, 1)).to_dict("records")
    assert (row["base_value"], row["value"]) == pytest.approx(means)


def test_a_metric_in_which_others_may_have_a_value_has_no_population_of_its_own() -> None:
    for metric in ("user_coverage", "judged"):
        with pytest.raises(UnknownName, match="users"):
            value(
                f"{metric}(users=truth)@2".replace(
                    "user_coverage(users=truth)@2", "user_coverage(users=truth)"
                )
            )


def test_an_unknown_population_is_refused() -> None:
    with pytest.raises(UnknownName, match="judged_both"):
        value("ndcg(users=all)@2")


# ── the presets that need it, by hand ────────────────────────────────────────────────────────


def test_recommenders_counts_ndcg_alone_over_all_users_of_the_truth() -> None:
    assert PRESETS["recommenders"].users == "both"
    # every row is relevant there: d's list has y at rank 2; c has no list
    total = 1 + 2 / math.log2(3)
    assert value("ndcg@2", preset="recommenders")["value"] == pytest.approx(total / 4, rel=1e-14)
    assert value("recall@2", preset="recommenders")["value"] == 1.0


# ── further forms of catalogue metrics ───────────────────────────────────────────────────────


def shown(metric: str, lists: dict[str, list[str]] | None = None) -> float:
    catalogue = pd.DataFrame({"item_id": [*"vwxyz"]})
    found = recdash.evaluate(
        {"run": LISTS if lists is None else lists}, TRUTH, metrics=metric, train=TRAIN, catalogue=catalogue
    )
    (row,) = found.rows()
    return float("nan") if row["value"] is None else float(row["value"])


def test_gini_of_the_items_that_are_shown() -> None:
    """At 1 x has three places and y two: (−1·2 + 1·3) / (2·5) = 0.1; times n/(n − 1) = 2 it is 0.2."""
    assert shown("gini(items=shown)@1") == pytest.approx(0.1)
    assert shown("gini(items=shown,norm=n-1)@1") == pytest.approx(0.2)
    # of five items, three never shown: (2·2 + 4·3) / (5·5) = 0.64
    assert shown("gini@1") == pytest.approx(0.64)
    assert shown("gini(norm=n-1)@1") == pytest.approx(0.8)


def test_a_single_shown_item_has_no_corrected_gini() -> None:
    assert math.isnan(shown("gini(items=shown,norm=n-1)@1", {"a": ["x"], "b": ["x"]}))


def test_coverage_may_count_shown_items_that_train_lacks() -> None:
    lists = {"a": ["x", "v"], "b": ["y", "w"]}  # train knows x and y
    assert shown("coverage(of=train)@2", lists) == 1.0
    assert shown("coverage(of=train,counted=every)@2", lists) == 2.0
    assert shown("coverage(of=train,counted=every)@1", lists) == 1.0


def test_popularity_may_leave_unseen_items_out_and_be_a_share_of_trains_rows() -> None:
    lists = {
        "a": ["x", "v"],
        "b": ["v", "y"],
        "c": ["w", "v"],
    }  # x has two users in train, y one, v and w none
    assert shown("popularity@2", lists) == pytest.approx((2 / 2 + 1 / 2 + 0) / 3)
    assert shown("popularity(unseen=drop)@2", lists) == pytest.approx((2 + 1) / 2)
    assert shown("popularity(unseen=drop)@1", lists) == pytest.approx(2)
    assert shown("popularity(norm=rows)@2", lists) == pytest.approx((1 + 0.5) / 3 / 3)
    assert shown("popularity(unseen=drop,norm=rows)@2", lists) == pytest.approx(1.5 / 3)
