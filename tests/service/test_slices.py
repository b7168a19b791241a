"""The further tables of a set-up, and the scores of some of its users or items."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import recdash
from recdash.cli import main
from recdash.domain.access import AccessRole, Person
from recdash.domain.records import Experiment
from recdash.errors import InputError, NameTaken, UnknownName, UploadError
from recdash.service import Workspace
from recdash.store import open_store
from recdash.store.artifacts import Artifacts

TRUTH = {"u": ["a", "b"], "v": ["a"], "w": ["c"]}
EASE = {"u": ["b", "a"], "v": ["a", "x"], "w": ["x", "c"]}
TABLES = {
    "train": {"u": ["c"], "v": ["c", "d"]},
    "catalogue": {"a": {"genre": "Crime|Drama"}, "b": {"genre": "Drama"}, "c": {"genre": ""}, "x": {}},
    "user_attributes": {"u": {"plan": "free"}, "v": {"plan": "paid"}, "w": {"plan": "free"}},
    "item_vectors": {"a": [1, 0], "b": [0, 1]},
    "item_similarity": {"a": {"b": 0.5}},
}
K = 2


def open_at(folder: Path, role: AccessRole = "editor") -> Workspace:
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    return Workspace(store, person=Person("ann", role))


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return open_at(tmp_path)


@pytest.fixture
def films(space: Workspace) -> Experiment:
    return space.experiments.create("Films", TRUTH, depth=5, **TABLES)


@pytest.fixture
def ease(space: Workspace, films: Experiment) -> str:
    (added,) = space.runs.add(films.id, EASE, name="ease")
    return added.run.id


def scores(frame: pd.DataFrame) -> dict[str, tuple[float, int]]:
    """value and n_users by slice."""
    return {row["slice"]: (row["value"], row["n_users"]) for row in frame.to_dict("records")}


# ── the tables ───────────────────────────────────────────────────────────────────────────────


def test_the_further_tables_are_kept_for_the_next_process(films: Experiment, tmp_path: Path) -> None:
    assert set(films.tables) == {"users", "vectors", "similarity"}
    later = open_at(tmp_path, "viewer")
    assert later.experiments.all() == [films]
    assert later.store.artifacts.table(films.tables["vectors"]).to_pylist() == [
        {"item_id": "a", "vector": [1.0, 0.0]},
        {"item_id": "b", "vector": [0.0, 1.0]},
    ]


def test_the_same_set_up_is_recognised_and_another_is_not(space: Workspace, films: Experiment) -> None:
    assert space.experiments.create("Films", TRUTH, depth=5, **TABLES).id == films.id
    for other in ({"item_vectors": None}, {"user_attributes": {"u": {"plan": "paid"}}}):
        with pytest.raises(NameTaken):
            space.experiments.create("Films", TRUTH, depth=5, **{**TABLES, **other})


def test_problems_of_all_further_tables_are_said_at_once(space: Workspace) -> None:
    with pytest.raises(InputError) as error:
        space.experiments.create(
            "Films", TRUTH, item_vectors={"a": [1, 2], "b": [1]}, item_similarity={"a": {"b": 2}}
        )
    told = "\n".join(str(problem) for problem in error.value.problems)
    assert "1 numbers, where the first vector has 2" in told
    assert "'2' is not a similarity" in told
    assert space.experiments.all() == []


def test_further_tables_come_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECDASH_DATABASE_URL", f"sqlite:///{tmp_path}/recdash.db")
    monkeypatch.setenv("RECDASH_ARTIFACTS", f"{tmp_path}/artifacts")
    files = {
        "truth": "user_id,item_id\nu,a\nv,b\n",
        "run": "user_id,item_id,rank\nu,a,1\n",
        "user-attributes": "user_id,plan\nu,free\nv,paid\n",
        "item-vectors": "item_id,vector\na,1|0\n",
        "item-similarity": "item_a,item_b,similarity\na,b,0.5\n",
    }
    command = ["add", "--experiment", "Films"]
    for name, text in files.items():
        (tmp_path / f"{name}.csv").write_text(text)
        command += [f"--{name}", f"als={tmp_path}/run.csv" if name == "run" else f"{tmp_path}/{name}.csv"]
    assert main(command, standalone_mode=False) is None, capsys.readouterr().err
    (films,) = open_at(tmp_path).experiments.all()
    assert set(films.tables) == {"users", "vectors", "similarity"}
    assert open_at(tmp_path).slices.of(films.id) == ["user:plan"]


# ── the slices ───────────────────────────────────────────────────────────────────────────────


def test_what_can_be_asked_is_said(space: Workspace, films: Experiment) -> None:
    derived = ["user_warmth", "item_warmth", "history", "popularity"]
    assert space.slices.of(films.id) == [*derived, "user:plan", "item:genre"]


def test_a_slice_of_users_has_the_mean_over_them(space: Workspace, ease: str) -> None:
    """Reciprocal ranks: u 1/1, v 1/1, w 1/2; only w has no train rows."""
    found = space.slices.sliced([ease], "user_warmth", ["mrr"], K)
    assert scores(found) == {"warm": ((1 + 1) / 2, 2), "cold": (1 / 2, 1)}
    assert found["title"].tolist()[1] == "Users new to the service (no train rows)"
    assert scores(space.slices.sliced([ease], "user:plan", ["mrr"], K)) == {
        "free": ((1 + 1 / 2) / 2, 2),
        "paid": (1.0, 1),
    }


def test_a_slice_of_items_counts_the_users_who_have_one(space: Workspace, ease: str) -> None:
    """a is Crime and Drama (u: rank 2, v: rank 1), b is Drama (u: rank 1), c has no genre (w: rank 2)."""
    assert scores(space.slices.sliced([ease], "item:genre", ["mrr"], K)) == {
        "Drama": ((1 + 1) / 2, 2),
        "Crime": ((1 / 2 + 1) / 2, 2),
        "(none)": (1 / 2, 1),
    }


def test_what_is_shown_to_some_users_comes_from_one_more_look_at_the_lists(
    space: Workspace, ease: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Free users are shown b, a, x and c, paid ones a and x; of a catalogue of four."""
    looks: list[str] = []
    look = space._data.lists_of
    monkeypatch.setattr(space._data, "lists_of", lambda run: looks.append(run.id) or look(run))
    found = space.slices.sliced([ease], "user:plan", ["coverage", "gini"], K)
    assert scores(found[found["metric"] == "coverage"]) == {"free": (4 / 4, 2), "paid": (2 / 4, 1)}
    assert looks == [ease]
    personal = space.slices.sliced([ease], "user:plan", ["personalization"], K)
    assert scores(personal)["free"] == (pytest.approx(1.0), 2)
    assert personal["reason"].tolist() == ["", "needs the lists of at least two users"]


def test_a_slice_of_items_has_no_lists_and_says_so(space: Workspace, ease: str) -> None:
    found = space.slices.sliced([ease], "item:genre", ["coverage"], K)
    assert found["value"].isna().all()
    assert set(found["reason"]) == {"a slice of items has no lists of its own; choose a slice of users"}


def test_rating_predictions_are_not_told_apart_by_slice(space: Workspace, films: Experiment) -> None:
    rated = pd.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [3.0], "prediction": [4.0]})
    (added,) = space.runs.add(films.id, EASE, name="rated", predictions=rated)
    found = space.slices.sliced([added.run.id], "user_warmth", ["rmse"], K)
    assert set(found["reason"]) == {"rating predictions are scored as a whole, not in slices"}


def test_rows_come_by_run_metric_and_slice(space: Workspace, films: Experiment, ease: str) -> None:
    (als,) = space.runs.add(films.id, {"u": ["a"]}, name="als")
    found = space.slices.sliced([als.run.id, ease], "user_warmth", ["ndcg", "novelty"], 1)
    assert list(found.columns) == [
        "run_id", "run", "slice", "title", "metric", "value", "std_error", "n_users", "reason",
    ]  # fmt: skip
    assert found["run"].tolist() == ["als"] * 4 + ["ease"] * 4
    assert found["metric"].tolist() == (["ndcg"] * 2 + ["novelty"] * 2) * 2
    cold = found[(found["run"] == "als") & (found["metric"] == "novelty")].iloc[1]
    assert (np.isnan(cold["value"]), cold["reason"]) == (True, "no user who counts has a list")


@pytest.mark.parametrize("by", ["user_warmth", "history", "user:plan", "item_warmth", "item:genre"])
def test_stored_slices_score_as_those_of_evaluate(space: Workspace, ease: str, by: str) -> None:
    metrics = ["ndcg", "recall", "coverage", "novelty", "novelty(unseen=drop)", "gini"]
    found = space.slices.sliced([ease], by, metrics, K)
    at_k = [f"{metric}@{K}" for metric in metrics]
    other = recdash.evaluate({"ease": EASE}, TRUTH, metrics=at_k, slices=[by], **TABLES).table()
    expected = {
        (row["slice"], row["metric"]): row["value"]
        for row in other[other["slice_by"] == by].to_dict("records")
    }
    stored = {
        (row["slice"], row["metric"]): row["value"] for row in found[found["reason"] == ""].to_dict("records")
    }
    assert stored == expected


def test_slices_are_cut_as_the_population_of_the_experiment_counts(space: Workspace) -> None:
    both = space.experiments.create("Both", TRUTH, depth=5, users="both", **TABLES)
    (added,) = space.runs.add(both.id, {"u": ["a"]}, name="als")
    found = space.slices.sliced([added.run.id], "user_warmth", ["recall"], K)
    assert scores(found)["warm"] == (1 / 2, 1)
    assert found["reason"].tolist()[1].startswith("no user has both a list and a relevant item")


def test_an_unknown_slice_or_one_without_its_table_is_refused(space: Workspace, ease: str) -> None:
    with pytest.raises(UnknownName, match="Did you mean 'user_warmth'"):
        space.slices.sliced([ease], "user_warm", ["mrr"], K)
    plain = space.experiments.create("Plain", TRUTH)
    (added,) = space.runs.add(plain.id, EASE, name="ease")
    with pytest.raises(InputError, match="needs training data"):
        space.slices.sliced([added.run.id], "history", ["mrr"], K)


def test_a_cutoff_beyond_the_depth_is_refused_in_slices_too(space: Workspace, ease: str) -> None:
    with pytest.raises(InputError, match="the depth is 5"):
        space.slices.sliced([ease], "user_warmth", ["mrr"], 6)


def test_an_unreadable_further_table_names_its_file(space: Workspace) -> None:
    with pytest.raises(InputError, match="vectors"):
        space.experiments.create("Films", TRUTH, item_vectors=b"item_id,vector\na,red\n")
    assert issubclass(UploadError, InputError)


# ── what is read ─────────────────────────────────────────────────────────────────────────────


def tables_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns a list to which each table that is read from a store is added, by its sha256."""
    read: list[str] = []
    table = Artifacts.table

    def noted(artifacts: Artifacts, sha256: str) -> pa.Table:
        read.append(sha256)
        return table(artifacts, sha256)

    monkeypatch.setattr(Artifacts, "table", noted)
    return read


def test_the_choices_of_an_experiment_without_further_tables_read_no_test_set(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A test set can have millions of rows."""
    alone = space.experiments.create("Alone", TRUTH, depth=5)
    read = tables_read(monkeypatch)
    assert space.scopes.of(alone.id) == {}
    assert space.scopes.thresholds(alone.id) == ()
    lacks = {choice.name: choice.lacks for choice in space.runs.reference_choices(alone.id)}
    assert (lacks["oracle"], lacks["popular"]) == ("", "the training data")
    assert read == []


def test_reference_candidates_are_offered_by_the_tables_they_need(
    space: Workspace, films: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = tables_read(monkeypatch)
    lacks = {choice.name: choice.lacks for choice in space.runs.reference_choices(films.id)}
    assert lacks == {
        "popular": "",
        "weighted_rating": "ratings in the training data",
        "random": "",
        "content": "",
        "oracle": "",
    }
    assert sorted(read) == sorted(filter(None, (films.train, films.catalogue)))
