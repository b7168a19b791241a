"""A workspace refuses an argument of a wrong type in a sentence that names it, and stores nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.errors import InputError
from recdash.online.rules import OnlineRules
from recdash.service import Workspace

TRUTH = {f"u{user}": [f"i{user % 5}", "b"] for user in range(40)}
LISTS = {user: [*items, "x"] for user, items in TRUTH.items()}


class Films:
    """An experiment with a run, and calls about it of which one argument is changed."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.id = workspace.experiments.create("films", TRUTH, depth=5).id
        (added,) = workspace.runs.add(self.id, LISTS, name="als")
        self.run = added.run.id

    def create(self, **changed: Any) -> Any:
        return self.workspace.experiments.create("other", TRUTH, **changed)

    def add(self, **changed: Any) -> Any:
        return self.workspace.runs.add(self.id, {"u1": ["b"]}, name="ease", **changed)

    def set_tags(self, **changed: Any) -> Any:
        return self.workspace.runs.set_tags(self.run, **changed)

    def set_params(self, **changed: Any) -> Any:
        return self.workspace.runs.set_params(self.run, **changed)

    def set_note(self, **changed: Any) -> Any:
        return self.workspace.experiments.set_note(self.id, **changed)

    def query(self, **changed: Any) -> Any:
        return self.workspace.queries.of(self.id, **changed)

    def curves(self, **changed: Any) -> Any:
        return self.workspace.scores.curves(**{"run_ids": [self.run], "metrics": ["ndcg"], **changed})

    def scoreboard(self, **changed: Any) -> Any:
        given = {"run_ids": [self.run], "metrics": ["ndcg"], "k": 2}
        return self.workspace.scores.scoreboard(**{**given, **changed})

    def compare(self, **changed: Any) -> Any:
        return self.workspace.comparisons.compare(**changed)

    def verdict(self, **changed: Any) -> Any:
        return self.workspace.comparisons.verdict(**changed)

    def agreement(self, **changed: Any) -> Any:
        return self.workspace.agreement.of(self.add_test().id, k=2, online_metric="orders", **changed)

    def add_test(self, **changed: Any) -> Any:
        users = [str(user) for user in range(40)]
        table = pd.DataFrame({"user_id": users, "variant": ["old", "new"] * 20, "orders": [0, 1, 1, 0] * 10})
        return self.workspace.online_tests.add(
            self.id, "shop", **{"tables": {"sessions": table}, "links": {"new": self.run}, **changed}
        )

    def share(self, **changed: Any) -> Any:
        return self.workspace.sharing.share(self.id, **changed)


@pytest.fixture
def films(workspace: Workspace) -> Films:
    return Films(workspace)


@pytest.mark.parametrize(
    ("call", "name", "value"),
    [
        (Films.create, "note", None),
        (Films.create, "relevance", 5),
        (Films.create, "relevance_threshold", "4"),
        (Films.create, "relevance_threshold", True),
        (Films.create, "mappings", [("truth", {})]),
        (Films.create, "mappings", {"truth": {"user_id": 5}}),
        (Films.add, "tags", None),
        (Films.add, "tags", [5]),
        (Films.add, "note", 5),
        (Films.add, "params", "factors=64"),
        (Films.add, "params", {"factors": [64]}),
        (Films.add, "accept_unknown_ids", "yes"),
        (Films.set_tags, "tags", 5),
        (Films.set_params, "params", None),
        (Films.set_params, "params", {5: "x"}),
        (Films.set_note, "note", 5),
        (Films.query, "runs", 5),
        (Films.query, "baseline", ["als"]),
        (Films.query, "metric", 5),
        (Films.curves, "run_ids", None),
        (Films.curves, "metrics", [5]),
        (Films.scoreboard, "metrics", None),
        (Films.agreement, "metric", 5),
        (Films.add_test, "tables", 5),
        (Films.compare, "query", "films"),
        (Films.verdict, "query", None),
        (Films.share, "days", "7"),
        (Films.share, "days", True),
        (Films.share, "label", 5),
    ],
)
def test_a_wrong_type_is_refused_by_name(
    films: Films, call: Callable[..., Any], name: str, value: Any
) -> None:
    with pytest.raises(InputError) as refused:
        call(films, **{name: value})
    (problem,) = refused.value.problems
    assert problem.place.split(",")[0] == name
    assert problem.fix


@pytest.mark.parametrize("correction", [None, "none", ["holm"]])
def test_an_unknown_correction_of_a_stored_test_is_refused(films: Films, correction: Any) -> None:
    test = films.add_test()
    with pytest.raises(InputError, match=r"No correction is called .*Known: holm, bh, off"):
        films.workspace.online_analysis.results(test.id, correction)


def test_one_text_is_one_tag_and_one_metric(films: Films) -> None:
    assert films.set_tags(tags="nightly").tags == ("nightly",)
    assert films.curves(metrics="ndcg", run_ids=films.run).equals(films.curves())
    assert films.scoreboard(metrics="ndcg").equals(films.scoreboard())


def test_numbers_and_flags_are_parameters_of_a_run_as_texts(films: Films) -> None:
    params = {"factors": 64, "alpha": np.float64(0.1), "warm": np.bool_(True), "seed": None, "loss": "bpr"}
    texts = {"factors": "64", "alpha": "0.1", "warm": "True", "seed": "None", "loss": "bpr"}
    (added,) = films.add(params=params)
    assert added.run.params == texts
    assert films.set_params(params=params).params == texts


def test_numbers_and_flags_of_numpy_are_those_of_python(films: Films) -> None:
    (added,) = films.add(accept_unknown_ids=np.bool_(True))
    assert added.run.name == "ease"
    assert films.share(days=np.int64(7)).link.expires > films.share(days=6).link.expires
    rules = OnlineRules(split={"old": np.int64(1), "new": np.float32(1)}, winsorise=np.float32(0.5))
    test = films.add_test(rules=rules)
    assert (test.rules["split"], test.rules["winsorise"]) == ({"old": 1, "new": 1}, 0.5)


def test_mappings_name_tables_by_argument_or_kind(films: Films) -> None:
    people = pd.DataFrame({"who": list(TRUTH), "country": ["de", "at"] * 20})
    for number, table in enumerate(("user_attributes", "users")):
        made = films.workspace.experiments.create(
            f"other {number}", TRUTH, user_attributes=people, mappings={table: {"user_id": "who"}}
        )
        assert any("country" in scope for scope in films.workspace.scopes.of(made.id))


@pytest.mark.parametrize("given", [{"columns": {"train": {"user_id": "uid"}}},
                                   {"mappings": {"train": {"user_id": "uid"}}}])  # fmt: skip
def test_columns_of_a_table_that_was_not_given_are_refused(films: Films, given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"train: this table was not given"):
        films.create(**given)


def test_columns_of_predictions_that_were_not_given_are_refused(films: Films) -> None:
    with pytest.raises(InputError, match=r"columns, predictions: this table was not given"):
        films.add(columns={"predictions": {"prediction": "stars"}})


@pytest.mark.parametrize("folder", [5, True, b"artifacts"])
def test_a_folder_of_artifacts_is_a_path(tmp_path: Path, folder: Any) -> None:
    with pytest.raises(InputError, match=r"artifacts: .* Give the path of a folder"):
        recdash.open(f"sqlite:///{tmp_path}/recdash.db", folder)
