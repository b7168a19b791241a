"""Reference candidates of a stored experiment: added once, unranked, and what lies between them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recdash.domain.access import Person
from recdash.domain.records import Experiment, Run
from recdash.errors import Forbidden, InputError, NameTaken, UnknownName
from recdash.references.reference_scale import ReferenceStanding, reference_standing
from recdash.service import Workspace
from recdash.store import open_store

TRUTH = {"u": ["b"], "v": ["c"], "w": ["d"]}
TRAIN = pd.DataFrame({"user_id": ["u", "v", "w", "x"], "item_id": ["a", "a", "b", "b"]})
ALS = {"u": ["x", "b"], "v": ["c"], "w": ["x", "y"]}


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))


@pytest.fixture
def films(space: Workspace) -> Experiment:
    return space.experiments.create("Films", TRUTH, train=TRAIN, depth=5)


def test_reference_runs_carry_their_title_tag_and_provenance(space: Workspace, films: Experiment) -> None:
    space.runs.add_references(films.id, "popular,oracle")
    found = [(run.name, run.tags, run.reference) for run in space.runs.all(films.id)]
    assert found == [
        ("Most popular (reference)", ("reference",), "popular"),
        ("Oracle (reference)", ("reference",), "oracle"),
    ]


def test_adding_a_reference_again_changes_nothing(space: Workspace, films: Experiment) -> None:
    (first,) = space.runs.add_references(films.id, "random")
    (again,) = space.runs.add_references(films.id, ["random"])
    assert (first.already_there, again.already_there) == (False, True)
    assert again.run == first.run
    assert len(space.runs.all(films.id)) == 1


def test_a_reference_that_was_renamed_is_recognised(space: Workspace, films: Experiment) -> None:
    (first,) = space.runs.add_references(films.id, "popular")
    space.runs.rename(first.run.id, "The usual")
    assert [one.run.name for one in space.runs.add_references(films.id, "popular")] == ["The usual"]


def test_a_run_that_took_a_references_name_stops_it(space: Workspace, films: Experiment) -> None:
    space.runs.add(films.id, ALS, name="Oracle (reference)")
    with pytest.raises(NameTaken):
        space.runs.add_references(films.id, "random,oracle")
    assert len(space.runs.all(films.id)) == 1


def test_nothing_is_stored_when_one_reference_lacks_a_table(space: Workspace, films: Experiment) -> None:
    with pytest.raises(InputError, match="'content': it needs the catalogue"):
        space.runs.add_references(films.id, "oracle,content")
    with pytest.raises(UnknownName):
        space.runs.add_references(films.id, "oracle,best")
    assert space.runs.all(films.id) == []


def test_the_choices_say_what_is_there_and_what_each_lacks(space: Workspace, films: Experiment) -> None:
    space.runs.add_references(films.id, "oracle")
    found = {one.name: (one.lacks, one.is_there) for one in space.runs.reference_choices(films.id)}
    assert found == {
        "popular": ("", False),
        "weighted_rating": ("ratings in the training data", False),
        "random": ("", False),
        "content": ("the catalogue", False),
        "oracle": ("", True),
    }


def test_the_choices_say_which_is_archived(space: Workspace, films: Experiment) -> None:
    oracle, _ = space.runs.add_references(films.id, "oracle,popular")
    space.runs.archive(oracle.run.id)
    found = {one.name for one in space.runs.reference_choices(films.id) if one.is_archived}
    assert found == {"oracle"}
    (again,) = space.runs.add_references(films.id, "oracle")
    assert (again.already_there, again.is_archived) == (True, True)


def test_a_viewer_adds_no_references(films: Experiment, tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts", read_only=True)
    with pytest.raises(Forbidden):
        Workspace(store, person=Person("ann", "viewer")).runs.add_references(films.id, "oracle")


def test_a_reference_keeps_the_colours_for_the_candidates(space: Workspace, films: Experiment) -> None:
    space.runs.add_references(films.id, "popular,random,oracle")
    (als,) = space.runs.add(films.id, ALS, name="als")
    assert als.run.slot == 0
    assert space.runs.all(films.id)[0].name == "als"


# ── between floor and ceiling ────────────────────────────────────────────────────────────────


def a_run(run_id: str, reference: str | None = None) -> Run:
    made: dict[str, Any] = {"reference": reference} if reference else {}
    return Run(run_id, "e", run_id, datetime(2026, 1, 1, tzinfo=UTC), 0, None, {}, {}, provenance=made)


RUNS = [a_run("als"), a_run("r", "random"), a_run("p", "popular"), a_run("o", "oracle")]


def stand(metric: str = "ndcg", **values: Any) -> ReferenceStanding | None:
    """``als=0.3`` or, over other users, ``als=(0.3, 50)``."""
    pairs = {name: value if isinstance(value, tuple) else (value, 100) for name, value in values.items()}
    rows = [
        {"run_id": name, "metric": metric, "value": value, "n_users": n} for name, (value, n) in pairs.items()
    ]
    return reference_standing([run for run in RUNS if run.id in values], pd.DataFrame(rows), metric, 10)


def test_a_run_stands_between_random_and_oracle() -> None:
    found = stand(als=0.3, r=0.1, p=0.2, o=0.9)
    assert found is not None
    assert found.share == pytest.approx({"als": (0.3 - 0.1) / (0.9 - 0.1), "r": 0, "p": 0.125, "o": 1})
    assert found.times == pytest.approx({"als": 1.5, "r": 0.5, "p": 1, "o": 4.5})
    assert found.sentence("als") == (
        "als reaches 25.0 % of the way from Random (0.100) to Oracle (0.900) on nDCG@10 "
        "and has 1.50 times the value of Most popular."
    )


def test_a_run_below_chance_is_called_so() -> None:
    found = stand(als=0.05, r=0.1, o=0.9)
    assert found is not None
    assert found.sentence("als") == "als is below Random (0.100) on nDCG@10."


def test_most_popular_alone_gives_a_multiple() -> None:
    found = stand(als=0.3, p=0.2)
    assert found is not None
    assert found.sentence("als") == "als has 1.50 times the value of Most popular on nDCG@10."


@pytest.mark.parametrize(
    "values",
    [
        {"als": 0.3},
        {"als": 0.3, "o": 0.9},
        {"als": 0.3, "r": 0.1, "o": 0.1},
        {"als": 0.3, "p": 0.0},
        {"als": 1.0, "r": 0.1, "o": 0.9},
    ],
    ids=["no reference", "no floor", "no room between", "nobody hits", "above the oracle"],
)
def test_where_references_say_nothing_nothing_is_said(values: dict[str, float]) -> None:
    found = stand(**values)
    assert found is None or found.sentence("als") == ""


def test_means_over_other_users_are_not_compared() -> None:
    found = stand(als=(0.3, 50), r=0.1, p=0.2, o=0.9)
    assert found is not None
    assert "als" not in found.share | found.times
    assert found.sentence("als") == ""


def test_the_workspace_finds_the_references_itself(space: Workspace, films: Experiment) -> None:
    (als,) = space.runs.add(films.id, ALS, name="als")
    assert space.scores.standing([als.run.id], "recall", 1) is None
    space.runs.add_references(films.id, "popular,random,oracle")
    found = space.scores.standing([als.run.id], "recall", 1)
    assert found is not None
    # The first unseen of (a, b): b for u, who wants it; b for v and a for w, who do not.
    assert found.usual is not None
    assert found.usual.value == pytest.approx(1 / 3)
    assert found.times[als.run.id] == pytest.approx((1 / 3) / (1 / 3))


@pytest.mark.parametrize("metric", ["judged", "serendipity", "f1(of=precision,serendipity)"])
def test_where_the_oracle_can_be_beaten_nobody_has_a_standing(space: Workspace, metric: str) -> None:
    truth = pd.DataFrame([("u", "b", 1.0), ("u", "c", 0.0)], columns=["user_id", "item_id", "relevance"])
    films = space.experiments.create("Films", truth, train=TRAIN, depth=5)
    (als,) = space.runs.add(films.id, {"u": ["b"]}, name="als")
    space.runs.add_references(films.id, "popular,random,oracle")
    assert space.scores.standing([als.run.id], "recall", 1) is not None
    assert space.scores.standing([als.run.id], metric, 1) is None


def test_metrics_beyond_accuracy_have_no_floor_and_ceiling(space: Workspace, films: Experiment) -> None:
    (als,) = space.runs.add(films.id, ALS, name="als")
    space.runs.add_references(films.id, "popular,random,oracle")
    assert space.scores.standing([als.run.id], "novelty", 1) is None
    assert np.isfinite(space.scores.scoreboard([als.run.id], ["novelty"], 1)["value"]).all()
