"""Another relevance threshold: which one is tried, and whether the recommendation would change with it."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import pytest
from decision_worlds import RUNS, TRUTH, films, home_page

from recdash.comparison import ComparisonQuery
from recdash.comparison.sensitivity import WhatIf
from recdash.domain.results import Curve, Scope
from recdash.metrics import scoring
from recdash.metrics.formulas import MetricFormula, Moments, curves
from recdash.metrics.sample import RelevantHits
from recdash.service import Workspace


def graded(*grades: float) -> pd.DataFrame:
    """The test set with these grades in turn."""
    return TRUTH.assign(relevance=[float(grades[n % len(grades)]) for n in range(len(TRUTH))])


@pytest.mark.parametrize(
    ("grades", "threshold", "scope", "tried"),
    [
        ((1, 2, 3, 4, 5), None, None, {"Only relevance of 4 or more": 4}),
        ((1, 3, 5), None, None, {"Only relevance of 5 or more": 5}),  # no row has the suggested 4
        ((1, 2, 3), None, None, {"Only relevance of 2 or more": 2}),  # no rating scale
        ((1, 2, 3, 4, 5), 4, None, {"Any relevance above 0": 1}),
        ((1, 2, 3, 4, 5), None, 4, {"Any relevance above 0": 1}),
        ((1, 2, 3, 4, 5), 3, 1, {"Only relevance of 3 or more": 3}),  # the experiment's own
        ((1,), None, None, {}),
    ],
)
def test_the_threshold_that_is_tried(
    workspace: Workspace,
    grades: tuple[float, ...],
    threshold: float | None,
    scope: float | None,
    tried: dict[str, float],
) -> None:
    made = workspace.experiments.create("films", graded(*grades), relevance_threshold=threshold)
    assert workspace.scopes.other_thresholds(made.id, Scope(threshold=scope)) == tried


def test_older_reports_ask_for_the_suggested_threshold(workspace: Workspace) -> None:
    made = workspace.experiments.create("films", graded(1, 2, 3, 4, 5), relevance_threshold=3)
    tried = workspace.scopes.other_thresholds(made.id, Scope(threshold=1), suggested=True)
    assert tried == {"Only relevance of 4 or more": 4}


def about_relevance(workspace: Workspace, grades: pd.DataFrame) -> list[WhatIf]:
    made = workspace.experiments.create("films", grades, depth=3)
    popular, als = (
        workspace.runs.add(made.id, RUNS[name], name=name)[0].run.id for name in ("popular", "als")
    )
    answers = workspace.comparisons.changes(ComparisonQuery((als,), popular, "ndcg", 3))
    return [answer for answer in answers if "relevance" in answer.question]


def test_it_would_change_the_recommendation(workspace: Workspace) -> None:
    """*popular* has the item of every eighth user, and only these give a 5; *als* has all others."""
    (answer,) = about_relevance(workspace, graded(5, *[1] * 3, *[2] * 4))
    assert answer == WhatIf(
        "relevance",
        "Only relevance of 5 or more",
        "Changes: keep popular",
        matters=True,
        params=(("th", "5"),),
    )


def test_the_same_recommendation_says_whose_gain_is_gone(workspace: Workspace) -> None:
    """*als* is better for all 100 users, *ease* only for the 40 whose item has a grade of 1."""
    users = [f"u{number}" for number in range(100)]
    grades = [1.0] * 40 + [5.0] * 60
    made = workspace.experiments.create(
        "films", pd.DataFrame({"user_id": users, "item_id": "own", "relevance": grades}), depth=3
    )
    ids = []
    for name, at in (("popular", [3] * 100), ("als", [1] * 100), ("ease", [1] * 40 + [3] * 60)):
        rows = [
            (user, "own" if rank == own else f"x{rank}", rank)
            for user, own in zip(users, at, strict=True)
            for rank in (1, 2, 3)
        ]
        table = pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
        ids.append(workspace.runs.add(made.id, table, name=name)[0].run.id)
    query = ComparisonQuery(tuple(ids[1:]), ids[0], "ndcg", 3)
    (answer,) = [one for one in workspace.comparisons.changes(query) if "relevance" in one.question]
    assert (answer.answer, answer.matters) == (
        "Same result, but ease no longer beats popular offline",
        False,
    )
    (older,) = [
        one for one in workspace.comparisons.changes(query, former=True) if "relevance" in one.question
    ]
    assert older.answer == "Same result"


def test_without_grades_it_is_not_asked(workspace: Workspace) -> None:
    assert about_relevance(workspace, TRUTH) == []


def test_with_another_threshold_a_b_tests_still_count(workspace: Workspace) -> None:
    ids = films(workspace)
    home_page(workspace, ids)
    whole, strict, part = (
        workspace.comparisons.source(ids["films"], scope)
        for scope in (Scope(), Scope(threshold=1), Scope("user_warmth=cold"))
    )
    assert whole.online(ids["als"], ids["popular"])
    assert strict.online(ids["als"], ids["popular"]) == whole.online(ids["als"], ids["popular"])
    assert not part.online(ids["als"], ids["popular"])


def test_a_catalogue_metric_is_read_and_not_computed_for_another_threshold(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts what is shown, whichever rows of the test set are relevant."""
    made = workspace.experiments.create("films", graded(1, 2), depth=3)
    run = workspace.runs.add(made.id, RUNS["als"], name="als")[0].run.id
    stored = workspace.store.curves.of_runs([run])[run]["personalization"]
    assert isinstance(stored, Curve)

    def compute(*_: object) -> None:
        pytest.fail("computed again")

    monkeypatch.setattr(workspace.comparisons._run_curves, "of", compute)
    value = workspace.comparisons.value(run, "personalization", 3, Scope(threshold=2))
    assert value == stored.value[list(stored.k).index(3)]


def test_several_curves_of_a_run_are_computed_in_one_pass(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = workspace.experiments.create("films", graded(1, 2, 3, 4, 5), depth=3)
    ids = [workspace.runs.add(made.id, RUNS[name], name=name)[0].run.id for name in ("popular", "als")]
    metrics, scope, n_passes = ["ndcg", "recall", "map", "mrr"], Scope(threshold=3), []

    def counted(formulas: Sequence[MetricFormula], sample: RelevantHits) -> list[Moments]:
        n_passes.append(len(formulas))
        return curves(formulas, sample)

    monkeypatch.setattr(scoring, "curves", counted)
    together = workspace.scores.curves(ids, metrics, scope)
    assert n_passes == [4, 4]
    alone = pd.concat(
        [
            Workspace(workspace.store).scores.curves([run_id], [metric], scope)
            for run_id in ids
            for metric in metrics
        ],
        ignore_index=True,
    )
    pd.testing.assert_frame_equal(together, alone, check_exact=True)
