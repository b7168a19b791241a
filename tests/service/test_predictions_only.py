"""A candidate that predicts ratings and has no lists is stored, shown and compared by its errors."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from terminal import Recdash

from recdash.comparison import ComparisonQuery
from recdash.errors import InputError
from recdash.service import Workspace

USERS = [f"u{number:02}" for number in range(40)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [str(number) for number in range(100, 140)]})
RATED = TRUTH.assign(rating=[1.0, 2.0, 4.0, 5.0] * 10)
LISTS = {user: [str(100 + at), "100"] for at, user in enumerate(USERS)}


def predicted(error: float) -> pd.DataFrame:
    """Wrong by so much for every second user, right for the others."""
    return RATED.assign(prediction=RATED["rating"] + [error, 0.0] * 20)


FILES = {"truth.csv": TRUTH.to_csv(index=False), "svd.csv": predicted(1.0).to_csv(index=False)}


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")


@pytest.fixture
def films(space: Workspace) -> str:
    return space.experiments.create("films", TRUTH, depth=3).id


def test_it_is_stored_with_its_errors_and_without_ranking_metrics(space: Workspace, films: str) -> None:
    ((als,),) = [space.runs.add(films, LISTS, name="als")]
    ((svd,),) = [space.runs.add(films, None, name="svd", predictions=predicted(1.0))]
    ids = [als.run.id, svd.run.id]
    board = space.scores.scoreboard(ids, ["mae", "recall"], 2).set_index(["run_id", "metric"])["value"]
    assert board[svd.run.id, "mae"] == pytest.approx(1 / 2)
    assert board[als.run.id, "recall"] == 1
    assert (svd.run.id, "recall") not in board.dropna().index
    assert space.scores.absences(ids, "recall") == {
        svd.run.id: "needs ranked lists, and only rating predictions were given"
    }
    assert space.scores.comparability(ids) == []
    assert space.runs.add(films, None, name="svd", predictions=predicted(1.0))[0].already_there


def test_two_of_them_are_compared_by_their_errors(space: Workspace, films: str) -> None:
    for name, error in (("svd", 1.0), ("knn", 0.1)):
        space.runs.add(films, None, name=name, predictions=predicted(error))
    ids = {run.name: run.id for run in space.runs.all(films)}
    found = space.comparisons.compare(ComparisonQuery((ids["knn"],), ids["svd"], "mae", 2))
    (row,) = found.rows()
    assert row["mean_diff"] == pytest.approx(0.05 - 0.5)
    assert (row["n_users"], row["wins"]) == (40, 20)


def test_predictions_in_another_spelling_are_refused_and_nothing_is_stored(
    space: Workspace, films: str
) -> None:
    other = predicted(1.0).assign(item_id="movie_" + RATED["item_id"])
    with pytest.raises(InputError, match="Remove the prefix 'movie_' from item_id"):
        space.runs.add(films, None, name="svd", predictions=other)
    with pytest.raises(InputError, match="predictions and a name"):
        space.runs.add(films, None, predictions=predicted(1.0))
    assert space.runs.all(films) == []


def test_the_command_line_adds_it(run: Recdash) -> None:
    added = run("add", "--experiment", "films", "--truth", "truth.csv", "--predictions", "svd=svd.csv")
    assert (added.exit_code, "svd: added" in added.stdout) == (0, True)
