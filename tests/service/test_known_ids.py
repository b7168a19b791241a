"""What a workspace keeps, tells and refuses of the ids of stored runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from recdash.comparison import ComparisonQuery
from recdash.domain.records import Run
from recdash.errors import InputError
from recdash.service import Workspace

USERS = [f"u{number:02}" for number in range(40)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [str(number) for number in range(100, 140)]})


def lists(hit_at: int, spell: str = "{}") -> pd.DataFrame:
    """Three items for each user: the own one at rank ``hit_at``, the next users' ones elsewhere."""
    rows = [
        (user, spell.format(100 + (number + rank - hit_at) % 40), rank)
        for number, user in enumerate(USERS)
        for rank in (1, 2, 3)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


GOOD, PREFIXED = lists(2), lists(1, "movie_{}")


def opened(folder: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{folder}/recdash.db", folder / "artifacts")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return opened(tmp_path)


@pytest.fixture
def films(space: Workspace) -> str:
    return space.experiments.create("films", TRUTH, depth=3).id


def add(space: Workspace, films: str, name: str, table: Any, **how: Any) -> Run:
    return space.runs.add(films, table, name=name, **how)[0].run


def scored_before(folder: Path, run: Run, patch: pytest.MonkeyPatch) -> Workspace:
    """Returns the store as if a release that did not count ids had left the run: no shares, no notices."""
    old = {name: value for name, value in run.provenance.items() if name != "known_ids"}
    runs = type(opened(folder).store.runs)
    get, of_experiment = runs.get, runs.of_experiment

    def older(stored: Run) -> Run:
        return replace(stored, provenance=old, notices=()) if stored.id == run.id else stored

    patch.setattr(runs, "get", lambda self, run_id: older(get(self, run_id)))
    patch.setattr(
        runs,
        "of_experiment",
        lambda self, *which, **how: list(map(older, of_experiment(self, *which, **how))),
    )
    return opened(folder)


def test_a_run_with_other_ids_is_refused_and_nothing_is_stored(space: Workspace, films: str) -> None:
    with pytest.raises(InputError, match="Remove the prefix 'movie_' from item_id"):
        add(space, films, "als", PREFIXED)
    assert space.runs.all(films) == []


def test_an_accepted_run_keeps_its_shares_and_is_told_beside_others(space: Workspace, films: str) -> None:
    base, als = add(space, films, "base", GOOD), add(space, films, "als", PREFIXED, accept_unknown_ids=True)
    overlap = space.scores.id_overlap(als.id)
    assert overlap is not None
    assert (overlap.items.known, overlap.items.rows, overlap.items.unknown_ids) == (0, 120, 40)
    assert (space.scores.id_overlap(base.id) or overlap).items.share == 1
    (told,) = space.scores.comparability([base.id, als.id])
    assert (told.code, "run 'als'" in told.found) == ("ids-spelled-otherwise", True)
    assert space.comparisons.verdict(ComparisonQuery((als.id,), base.id, "ndcg", 3)).action == "keep"


def test_a_run_that_was_stored_before_is_looked_at_and_not_compared(
    space: Workspace, films: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, als = add(space, films, "base", GOOD), add(space, films, "als", PREFIXED, accept_unknown_ids=True)
    space = scored_before(tmp_path, als, monkeypatch)
    overlap = space.scores.id_overlap(als.id)
    assert overlap is not None
    assert (overlap.items.known, overlap.items.rows, overlap.users) == (0, 120, None)
    verdict = space.comparisons.verdict(ComparisonQuery((als.id,), base.id, "ndcg", 3))
    assert verdict.state == "not comparable"
    assert "Remove the prefix 'movie_' from item_id" in verdict.text
    assert "worse" not in verdict.text


def test_a_good_run_that_was_stored_before_is_compared_as_ever(
    space: Workspace, films: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, als = add(space, films, "base", GOOD), add(space, films, "als", lists(1))
    space = scored_before(tmp_path, als, monkeypatch)
    assert [one.code for one in space.scores.comparability([base.id, als.id])] == []
    assert space.comparisons.verdict(ComparisonQuery((als.id,), base.id, "ndcg", 3)).run == als.id


def test_a_comparison_says_what_is_known_of_each_run(space: Workspace, films: str) -> None:
    base, als = add(space, films, "base", GOOD), add(space, films, "als", lists(1))
    facts = space.comparisons.compare(ComparisonQuery((als.id,), base.id, "ndcg", 3)).as_dict()["known_ids"]
    assert {name: sides["items"]["share"] for name, sides in facts.items()} == {"base": 1, "als": 1}
    assert facts["als"]["users"]["by_table"] == {"truth": 40}


def test_seeds_are_known_as_their_least_known_one(space: Workspace, films: str) -> None:
    some = GOOD.assign(item_id=GOOD["item_id"].where(GOOD["rank"] < 3, "x" + GOOD["item_id"].str[::-1]))
    run = add(space, films, "als", {"1": GOOD, "2": some}, replicates="seeds")
    overlap = space.scores.id_overlap(run.id)
    assert overlap is not None
    assert (overlap.items.known, overlap.items.rows) == (80, 120)


def test_the_first_rows_tell_before_anything_is_scored(space: Workspace, films: str) -> None:
    wrong = space.runs.first_ids(films, PREFIXED.to_csv(index=False).encode(), name="als.csv")
    assert [problem.code for problem in wrong.problems] == ["ids-spelled-otherwise"]
    right = space.runs.first_ids(films, GOOD.to_csv(index=False).encode(), name="als.csv")
    assert (right.rows, right.problems) == (120, ())
    assert right.overlap is not None
    assert right.overlap.items.share == 1
    nobody = space.runs.first_ids(films, b"user_id,item_id\nx,1\n", name="als.csv")
    assert [problem.code for problem in nobody.problems] == ["no-common-user"]
    assert space.runs.all(films) == []
