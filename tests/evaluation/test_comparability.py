"""A banner stands above numbers that do not belong side by side, and above no others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from small_tables import run, upload

from recdash.domain.inputs import Recommendations
from recdash.evaluation import evaluate
from recdash.evaluation.comparability import Basis, DefinitionChange, comparability_problems
from recdash.service import Workspace

TABLES = {"truth": "t1", "train": "r1", "catalogue": "c1"}
ALS = Basis("als", "truth", 100, "rank", "file", "0.1.0", 100, 0, served="all", tables=TABLES)
EASE = replace(ALS, run="ease")


def codes(*bases: Basis) -> list[str]:
    return [problem.code for problem in comparability_problems(bases)]


def told(*bases: Basis) -> str:
    (problem,) = comparability_problems(bases)
    return str(problem)


def test_runs_scored_alike_raise_nothing() -> None:
    assert codes(ALS, EASE, replace(ALS, run="bpr")) == []
    assert codes(ALS) == []
    assert codes() == []


@pytest.mark.parametrize(
    ("other", "code"),
    [
        (replace(EASE, tables={**TABLES, "truth": "t2"}), "different-truth"),
        (replace(EASE, tables={**TABLES, "train": None}), "different-train"),
        (replace(EASE, tables={**TABLES, "catalogue": "c2"}), "different-catalogue"),
        (replace(EASE, tables={**TABLES, "vectors": "v1"}), "different-vectors"),
        (replace(EASE, users="both"), "different-users"),
        (replace(EASE, depth=50), "different-depth"),
        (replace(EASE, threshold=4.0), "different-threshold"),
        (replace(EASE, order="score", tied_rows=7), "different-order"),
        (replace(EASE, counted=98, without_list=3), "lists-missing"),
    ],
)
def test_each_difference_is_told(other: Basis, code: str) -> None:
    assert codes(ALS, other) == [code]
    assert codes(other, ALS) == [code]


def test_users_whom_no_run_serves_are_told_if_asked() -> None:
    poor = replace(ALS, counted=100, without_list=37)
    assert codes(poor) == codes(poor, replace(poor, run="bpr")) == []
    (problem,) = comparability_problems([poor], alike=True)
    assert (problem.code, problem.found) == (
        "lists-missing",
        "37 % of users get no recommendations from als and count as 0",
    )


def test_the_words_name_the_sides() -> None:
    other = replace(EASE, users="both", depth=50)
    assert [problem.found for problem in comparability_problems([ALS, other, replace(ALS, run="bpr")])] == [
        "the runs were scored with different users: truth for als and bpr; both for ease",
        "the runs were scored with different depth: 100 for als and bpr; 50 for ease",
    ]
    without_train = replace(EASE, tables={**TABLES, "train": None})
    assert "different training data: als against ease (none)" in told(ALS, without_train)
    assert "relevance above 0 for als; relevance from 4 for ease" in told(ALS, replace(EASE, threshold=4.0))


def test_an_order_by_score_is_as_good_as_one_by_rank_until_scores_are_tied() -> None:
    scored = replace(EASE, order="score")
    assert codes(ALS, scored) == []
    assert told(ALS, replace(scored, tied_rows=1200, rows=10_000)) == (
        "comparison: some scores are tied: 12 % of the rows of ease keep the order of the file. The order of "
        "tied scores is arbitrary; see its effect on the value on Definitions."
    )
    (problem,) = comparability_problems([ALS, replace(scored, tied_rows=1200)], former=True)
    assert problem.found == (
        "the lists are ordered by different rules: als by rank; ease with tied scores in file order; "
        "1,200 rows of ease are tied"
    )


def test_few_ties_and_lists_without_scores_raise_nothing_but_in_older_reports() -> None:
    in_file_order, tied = replace(ALS, order="file"), replace(EASE, order="score", tied_rows=4, rows=60_000)
    assert codes(in_file_order, ALS, tied) == []
    many = told(in_file_order, ALS, replace(tied, tied_rows=600))
    assert "als" not in many
    (problem,) = comparability_problems([ALS, tied], former=True)
    assert problem.code == "different-order"


def test_ties_broken_alike_raise_nothing() -> None:
    tied = replace(ALS, order="score", tied_rows=5)
    assert codes(tied, replace(tied, run="ease")) == []
    assert codes(tied, replace(tied, run="ease", ties="item_desc")) == ["different-order"]


def test_a_reference_candidate_has_no_score_order_to_disagree_with() -> None:
    oracle = replace(ALS, run="oracle", computed=True)
    tied = replace(EASE, order="score", tied_rows=5)
    assert codes(oracle, tied) == []
    assert "oracle" not in told(oracle, tied, ALS)


def test_missing_lists_below_one_percent_are_not_worth_a_banner() -> None:
    assert codes(ALS, replace(EASE, without_list=1)) == []
    assert "2 % of users get no recommendations from ease" in told(ALS, replace(EASE, without_list=2))


def test_where_only_users_with_lists_count_any_other_user_is_told() -> None:
    als, ease = replace(ALS, users="both"), replace(EASE, users="both")
    assert codes(als, ease) == []
    assert "these differ between the runs: als 100, ease 99" in told(
        als, replace(ease, counted=99, without_list=1)
    )
    as_many_but_others = replace(ease, served="others")
    assert codes(als, as_many_but_others) == ["different-users-counted"]


def test_a_run_of_before_a_definition_changed_is_told_and_others_are_not() -> None:
    changes = [DefinitionChange("0.2.0", "novelty", "items that nobody has in train count as one user's")]
    old, new = ALS, replace(EASE, version="0.10.0")
    (problem,) = comparability_problems([old, new], changes)
    assert problem.code == "different-version"
    assert "novelty has another meaning since version 0.2.0" in problem.found
    assert "als was scored before" in problem.found
    assert comparability_problems([old, replace(EASE, version="0.1.9")], changes) == []
    assert comparability_problems([replace(old, version="0.2.0"), new], changes) == []


# ── where the numbers come from ──────────────────────────────────────────────────────────────

TRUTH = upload("truth", "user_id item_id", [("u", "a"), ("v", "b"), ("w", "c")])
FULL = [("u", "a", 2.0), ("v", "x", 1.0), ("w", "c", 1.0)]


def scored(rows: list[tuple[str, str, float]], name: str) -> Recommendations:
    return run("user_id item_id score", rows, name=name)


def test_an_evaluation_warns_of_lists_that_others_serve() -> None:
    evaluation = evaluate({"full": scored(FULL, "full"), "half": scored(FULL[:1], "half")}, TRUTH)
    assert evaluation.as_dict()["warnings"][0] == (
        "comparison: 67 % of users get no recommendations from half and count as 0. "
        "Compare without these users, too, before you decide."
    )
    assert evaluate({"a": scored(FULL, "a"), "b": scored(FULL, "b")}, TRUTH).comparability() == []


def test_an_evaluation_of_users_with_lists_warns_of_other_users() -> None:
    runs = {"first": scored(FULL[:2], "first"), "last": scored(FULL[1:], "last")}
    (problem,) = evaluate(runs, TRUTH, users="both").comparability()
    assert problem.code == "different-users-counted"


TIED = pd.DataFrame(
    [(u, i, 1.0) for u, i in ("ua", "ux", "vb", "wc")], columns=["user_id", "item_id", "score"]
)


def test_tied_scores_beside_references_raise_nothing(space: Workspace) -> None:
    assert evaluate({"tied": TIED}, TRUTH, references="oracle").comparability() == []
    films = space.experiments.create("films", TRUTH)
    (tied,) = space.runs.add(films.id, TIED, name="tied")
    (oracle,) = space.runs.add_references(films.id, "oracle")
    assert space.runs.all(films.id)[0].ledger["tied_rows"] == 2
    assert space.scores.comparability([tied.run.id, oracle.run.id]) == []


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace.open(f"sqlite:///{tmp_path / 'recdash.db'}", tmp_path / "artifacts")


LISTS = pd.DataFrame(FULL, columns=["user_id", "item_id", "score"])


@pytest.fixture
def stored(space: Workspace) -> Callable[..., str]:
    def store(experiment: str, name: str, **setup: Any) -> str:
        made = space.experiments.create(experiment, TRUTH, **{"depth": 5, **setup})
        return space.runs.add(made.id, LISTS, name=name)[0].run.id

    return store


def test_stored_runs_of_one_experiment_are_comparable(space: Workspace, stored: Callable[..., str]) -> None:
    als = stored("films", "als")
    (ease,) = space.runs.add(space.experiments.all()[0].id, LISTS.assign(score=[2, 1, 3]), name="ease")
    assert space.scores.comparability([als, ease.run.id]) == []


@pytest.mark.parametrize(
    ("setup", "code"),
    [
        ({"depth": 3}, "different-depth"),
        ({"users": "both"}, "different-users"),
        ({"relevance_threshold": 1.0}, "different-threshold"),
        ({"train": upload("train", "user_id item_id", [("z", "a")])}, "different-train"),
        ({"catalogue": upload("catalogue", "item_id", [("a",)])}, "different-catalogue"),
    ],
)
def test_runs_of_two_experiments_say_what_sets_them_apart(
    space: Workspace, stored: Callable[..., str], setup: dict[str, Any], code: str
) -> None:
    ids = [stored("films", "als"), stored("others", "ease", **setup)]
    assert [problem.code for problem in space.scores.comparability(ids)] == [code]


def test_runs_against_two_truths_are_never_comparable(space: Workspace, stored: Callable[..., str]) -> None:
    other = upload("truth", "user_id item_id", [("u", "x"), ("v", "b"), ("w", "c")])
    made = space.experiments.create("others", other, depth=5)
    added = space.runs.add(made.id, LISTS, name="ease")[0].run.id
    assert [problem.code for problem in space.scores.comparability([stored("films", "als"), added])] == [
        "different-truth"
    ]
