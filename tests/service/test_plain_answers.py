"""Rows of scores for JSON: the metrics that were asked for, whatever they are called, with whole cutoffs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from decision_worlds import films

from recdash.domain.access import Person
from recdash.domain.results import Scope
from recdash.service import Workspace
from recdash.service.plain_answers import score_rows
from recdash.store import open_store


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    store = open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts")
    yield Workspace(store, person=Person("ann", "editor"))
    store.close()


def test_a_metric_with_a_parameter_written_out_has_its_rows(workspace: Workspace) -> None:
    home = workspace.experiments.get(films(workspace)["films"])
    (row,) = score_rows(workspace, home, ["als"], ["ndcg(gain=linear)@1"], Scope())
    assert (row["metric"], row["value"]) == ("ndcg", pytest.approx(7 / 8))


def test_cutoffs_are_whole_numbers_also_beside_metrics_without_one(workspace: Workspace) -> None:
    home = workspace.experiments.get(films(workspace)["films"])
    rows = score_rows(workspace, home, ["als"], ["ndcg@3", "r_precision"], Scope())
    assert {(row["metric"], row["k"]) for row in rows} == {("ndcg", 3), ("r_precision", None)}
    assert {type(row["k"]) for row in rows} == {int, type(None)}
