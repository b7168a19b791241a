"""A run completed by popular items: which lists it has, what is refused, what is offered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recdash.domain.records import Experiment
from recdash.errors import InputError
from recdash.service import Workspace
from recdash.service.catalog.runs import FallbackOffer
from recdash.store import open_store

TRUTH = {"u": ["b"], "v": ["b"], "w": ["a"]}
TRAIN = pd.DataFrame({"user_id": ["u", "v", "w", "x"], "item_id": ["a", "a", "b", "b"]})
"""Popular is a, then b (2 users each, by name): v, who has a, gets b, and w gets a."""
RANKED = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["x", "b"], "rank": [1, 2]})
SCORED = pd.DataFrame({"user_id": ["u", "u"], "item_id": ["b", "x"], "score": [0.1, 0.9]})
IN_NUMBERS = {"u": 1, "v": 2, "w": 3, "x": 4, "a": 11, "b": 12}


@pytest.fixture
def space(tmp_path: Path) -> Iterator[Workspace]:
    opened = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(opened)
    opened.close()


@pytest.fixture
def films(space: Workspace) -> Experiment:
    return space.experiments.create("Films", TRUTH, train=TRAIN, depth=5)


def added(space: Workspace, films: Experiment, lists: Any, name: str = "als") -> str:
    return space.runs.add(films.id, lists, name=name, accept_unknown_ids=True)[0].run.id


def stored_lists(space: Workspace, upload: str | None) -> Mapping[Any, list[Any]]:
    table = (
        space.store.artifacts.table(str(upload)).to_pandas().astype({"user_id": object, "item_id": object})
    )
    return {user: list(rows["item_id"]) for user, rows in table.groupby("user_id")}


@pytest.mark.parametrize("lists", [RANKED, SCORED, {"u": ["x", "b"]}])
def test_users_without_a_list_get_popular_items_that_are_new_to_them(
    space: Workspace, films: Experiment, lists: Any
) -> None:
    """u finds b at rank 2, v and w at rank 1: recall@1 is 2/3, recall@2 is 1."""
    run = space.runs.add_fallback(added(space, films, lists)).run
    assert run.name == "als + popular for the rest"
    assert run.ledger["without_list"] == 0
    completed = stored_lists(space, run.upload)
    assert (set(completed["u"]), completed["v"], completed["w"]) == ({"x", "b"}, ["b"], ["a"])
    board = [space.scores.scoreboard([run.id], ["recall"], k).iloc[0]["value"] for k in (1, 2)]
    assert board == [pytest.approx(2 / 3), 1.0]


def test_numeric_ids_stay_numbers(space: Workspace) -> None:
    truth = {IN_NUMBERS[user]: [IN_NUMBERS[item] for item in items] for user, items in TRUTH.items()}
    train = TRAIN.replace(IN_NUMBERS).astype("int64")
    films = space.experiments.create("Films", truth, train=train, depth=5)
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [99, 12], "rank": [1, 2]})
    run = space.runs.add_fallback(added(space, films, lists)).run
    assert stored_lists(space, run.upload) == {1: [99, 12], 2: [12], 3: [11]}


def test_added_lists_are_as_long_as_the_longest(space: Workspace) -> None:
    """y has none of the two popular items, but no list of als is longer than one."""
    more = space.experiments.create("More", {**TRUTH, "y": ["b"]}, train=TRAIN, depth=5)
    short = pd.DataFrame({"user_id": ["u"], "item_id": ["b"], "rank": [1]})
    run = space.runs.add_fallback(added(space, more, short)).run
    assert stored_lists(space, run.upload)["y"] == ["a"]


def test_the_provenance_says_what_it_is_made_of(space: Workspace, films: Experiment) -> None:
    of = space.store.runs.get(added(space, films, RANKED))
    run = space.runs.add_fallback(of.id).run
    assert run.fallback == {
        "of": of.id, "name": "als", "upload": of.upload, "with": "popular", "users": 2,
    }  # fmt: skip
    assert run.reference is None
    assert of.fallback is None


def test_adding_it_again_changes_nothing(space: Workspace, films: Experiment) -> None:
    als = added(space, films, RANKED)
    first, again = space.runs.add_fallback(als), space.runs.add_fallback(als)
    assert (first.already_there, again.already_there, again.run.id) == (False, True, first.run.id)


def test_it_is_offered_until_it_is_there(space: Workspace, films: Experiment) -> None:
    als = added(space, films, RANKED)
    full = added(space, films, {user: ["b"] for user in TRUTH}, "full")
    (popular,) = space.runs.add_references(films.id, "popular")
    ids = [als, full, popular.run.id]
    assert space.runs.fallback_offer(ids) == [FallbackOffer(als, "als", 2)]
    made = space.runs.add_fallback(als).run
    assert space.runs.fallback_offer([*ids, made.id]) == []
    assert space.runs.fallback_offer([]) == []


def test_what_cannot_be_completed_is_refused_with_the_reason(space: Workspace, films: Experiment) -> None:
    bare = space.experiments.create("Bare", TRUTH, depth=5)
    seeds = space.runs.add(films.id, [{"u": ["b"]}, {"u": ["x"]}], name="seeds", accept_unknown_ids=True)
    refused = {
        added(space, films, {user: ["b"] for user in TRUTH}, "full"): "every user has a list",
        added(space, bare, RANKED): "no training data",
        seeds[0].run.id: "it was uploaded as 2 seeds",
        space.runs.add_references(films.id, "random")[0].run.id: "reference candidate",
    }
    for run_id, reason in refused.items():
        with pytest.raises(InputError, match=reason):
            space.runs.add_fallback(run_id)


def test_real_lists_are_completed(space: Workspace, shared_data: Path) -> None:
    """EASE serves the users of train alone; completed it beats both EASE and popular items for all.

    nDCG@10 over all users adds up: what EASE has from its users, and popular from the others.
    """
    folder = shared_data / "movietweetings"
    made = space.experiments.create("films", folder / "truth.csv", train=folder / "train.csv.gz", depth=10)
    ease, popular = (
        space.runs.add(made.id, folder / "runs" / f"{name}.parquet", name=name)[0].run
        for name in ("ease", "popular")
    )
    (offer,) = space.runs.fallback_offer([ease.id, popular.id])
    assert (offer.run_id, offer.n_users) == (ease.id, 2376)
    completed = space.runs.add_fallback(ease.id).run
    board = space.scores.scoreboard([ease.id, popular.id, completed.id], ["ndcg"], 10)
    value = dict(zip(board["run_id"], board["value"], strict=True))
    assert value[completed.id] > value[popular.id] > value[ease.id]
    served = space.comparisons.values(ease.id, "ndcg", 10, "both").users
    of_popular = space.comparisons.values(popular.id, "ndcg", 10)
    cold = of_popular.values[~pd.Series(of_popular.users).isin(served).to_numpy()]
    n = len(of_popular.users)
    assert value[completed.id] == pytest.approx(value[ease.id] + cold.sum() / n, abs=2e-3)


def test_archiving_the_popular_run_changes_the_state_of_what_a_completion_is_compared_with(
    space: Workspace, films: Experiment
) -> None:
    popular = added(space, films, {user: ["b"] for user in TRUTH}, "popular")
    baseline = added(space, films, {user: ["x"] for user in TRUTH}, "other")
    states = [space.comparisons.verdict_state(baseline)]
    for change in (space.runs.archive, space.runs.unarchive):
        change(popular)
        states.append(space.comparisons.verdict_state(baseline))
    assert states[1] != states[0] == states[2]
