"""What a person can do with a workspace, over a real SQLite store in a folder of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.comparison import ComparisonQuery
from recdash.domain.access import AccessRole, Person
from recdash.domain.hits import Hits
from recdash.domain.records import Experiment
from recdash.engines import hits_to_tables
from recdash.errors import Forbidden, InputError, NameTaken, NotFound, StoreError
from recdash.metrics import naming
from recdash.service import Workspace
from recdash.store import open_store
from recdash.store.audit_key import NAME as AUDIT_KEY
from recdash.store.ownership import DATABASES_FILE

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TRUTH = {"u": ["a", "b"], "v": ["a"], "w": ["c"]}
ALS = {"u": ["a", "x", "b"], "v": ["x", "a"]}
EASE = {"u": ["b", "a"], "v": ["a"], "w": ["x", "c"]}


def open_at(folder: Path, role: AccessRole = "editor") -> Workspace:
    times = (NOON + timedelta(seconds=second) for second in range(10_000))
    store = open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts")
    return Workspace(store, person=Person("ann", role), clock=lambda: next(times))


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return open_at(tmp_path)


@pytest.fixture
def films(space: Workspace) -> Experiment:
    return space.experiments.create("Films", TRUTH, depth=5)


def add(space: Workspace, films: Experiment, name: str, lists: Any, **more: Any) -> str:
    (added,) = space.runs.add(films.id, lists, name=name, **more)
    return added.run.id


def stored_files(folder: Path) -> list[Path]:
    """What was stored; a store's folder also holds the key of its log and says which databases use it."""
    files = (path for path in (folder / "artifacts").rglob("*") if path.is_file())
    return sorted(path for path in files if path.name not in (AUDIT_KEY, DATABASES_FILE))


# ── experiments ──────────────────────────────────────────────────────────────────────────────


def test_an_experiment_is_kept_with_its_set_up(space: Workspace, tmp_path: Path) -> None:
    made = space.experiments.create("  Films ", {"u": {"a": 3, "b": 1}}, depth=7, users="both", note="first")
    (found,) = open_at(tmp_path).experiments.all()
    assert found == made
    assert (found.name, found.note, found.created, found.demo) == ("Films", "first", NOON, False)
    facts = ("depth", "users", "truth_users", "graded", "relevance", "relevance_threshold")
    assert [found.settings[fact] for fact in facts] == [7, "both", 1, True, None, None]


def test_the_same_set_up_under_the_same_name_is_recognised(space: Workspace, films: Experiment) -> None:
    assert space.experiments.create("Films", TRUTH, depth=5).id == films.id
    assert len(space.experiments.all()) == 1


@pytest.mark.parametrize("other", [{"truth": {"u": ["z"]}}, {"depth": 6}, {"users": "both"}])
def test_another_set_up_cannot_take_the_name(space: Workspace, films: Experiment, other: Any) -> None:
    with pytest.raises(NameTaken):
        space.experiments.create("Films", **{"truth": TRUTH, "depth": 5, **other})
    assert [one.id for one in space.experiments.all()] == [films.id]


@pytest.mark.parametrize(("depth", "is_same"), [(5, True), (6, False)])
def test_of_two_who_make_an_experiment_at_once_both_get_it_where_it_is_the_same(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, depth: int, is_same: bool
) -> None:
    other, store = open_at(tmp_path), space.store.experiments.add

    def later(experiment: Experiment) -> Experiment:
        other.experiments.create("Films", TRUTH, depth=depth)  # between the look and the write
        return store(experiment)

    monkeypatch.setattr(space.store.experiments, "add", later)
    with contextlib.nullcontext() if is_same else pytest.raises(NameTaken):
        created = space.experiments.create("Films", TRUTH, depth=5)
        assert [experiment.id for experiment in other.experiments.all()] == [created.id]


@pytest.mark.usefixtures("films")
def test_experiments_over_the_same_truth_know_each_other(space: Workspace) -> None:
    twin = space.experiments.create("Films again", TRUTH, depth=9)
    space.experiments.create("Books", {"u": ["z"]})
    assert [one.name for one in space.experiments.same_truth(twin.id)] == ["Films"]


@pytest.mark.parametrize("name", ["", "   "])
def test_an_experiment_needs_a_name(space: Workspace, name: str) -> None:
    with pytest.raises(InputError, match="Give it a name"):
        space.experiments.create(name, TRUTH)
    assert space.experiments.all() == []


def test_problems_of_all_tables_are_said_at_once_and_nothing_is_stored(
    space: Workspace, tmp_path: Path
) -> None:
    no_item = pd.DataFrame({"user_id": ["u"], "when": ["today"]})
    empty = tmp_path / "train.csv"
    empty.write_text("")
    with pytest.raises(InputError) as caught:
        space.experiments.create("Films", no_item, train=empty, catalogue=pd.DataFrame({"genre": ["A"]}))
    places = " ".join(problem.place for problem in caught.value.problems)
    assert all(kind in places for kind in ("truth", "train", "catalogue"))
    assert all(problem.found and problem.fix for problem in caught.value.problems)
    assert space.experiments.all() == []
    assert stored_files(tmp_path) == []


def test_an_unknown_experiment_is_answered_with_those_there_are(space: Workspace, films: Experiment) -> None:
    assert space.experiments.named("Films") == films
    with pytest.raises(NotFound, match=r"No experiment is called 'Filns'\. Experiments: 'Films'\."):
        space.experiments.named("Filns")


def test_an_archived_experiment_is_out_of_sight_and_comes_back(space: Workspace, films: Experiment) -> None:
    space.experiments.archive(films.id)
    assert space.experiments.all() == []
    assert [one.id for one in space.experiments.all(archived=True)] == [films.id]
    space.experiments.unarchive(films.id)
    assert [one.id for one in space.experiments.all()] == [films.id]


# ── runs ─────────────────────────────────────────────────────────────────────────────────────


def test_a_run_is_scored_and_kept_for_the_next_process(
    space: Workspace, films: Experiment, tmp_path: Path
) -> None:
    run_id = add(space, films, "als", ALS, tags=("matrix",), note="v3", params={"factors": "64"})
    later = open_at(tmp_path)
    (run,) = later.runs.all(films.id)
    assert (run.id, run.name, run.tags, run.note, run.params) == (
        run_id,
        "als",
        ("matrix",),
        "v3",
        {"factors": "64"},
    )
    assert (run.ledger["counted"], run.ledger["without_list"], run.slot) == (3, 1, 0)
    board = later.scores.scoreboard([run_id], ["recall"], 2)
    assert board["value"].tolist() == [pytest.approx((1 / 2 + 1 + 0) / 3)]


def test_stored_scores_are_those_of_evaluate(space: Workspace, films: Experiment) -> None:
    run_id = add(space, films, "als", ALS)
    metrics = space.scores.metrics_of([run_id])
    assert {"ndcg", "recall", "precision(average=micro)", "r_precision", "personalization"} <= set(metrics)
    stored = space.scores.curves([run_id], metrics)
    fresh = recdash.evaluate({"als": ALS}, TRUTH, metrics=metrics, depth=5).table()
    assert len(stored) == len(fresh)
    for metric in metrics:
        of_store, of_evaluate = (frame[frame["metric"] == metric] for frame in (stored, fresh))
        for column in ("value", "std_error"):
            expected = of_evaluate[column].to_numpy()
            assert of_store[column].to_numpy() == pytest.approx(expected, nan_ok=True), metric


def test_the_same_upload_is_recognised_and_not_doubled(space: Workspace, films: Experiment) -> None:
    first = add(space, films, "als", ALS)
    (again,) = space.runs.add(films.id, ALS, name="als")
    assert (again.run.id, again.already_there) == (first, True)
    assert len(space.runs.all(films.id)) == 1


def test_another_upload_cannot_take_the_name(space: Workspace, films: Experiment) -> None:
    add(space, films, "als", ALS)
    with pytest.raises(NameTaken, match="has the name 'als'"):
        space.runs.add(films.id, EASE, name="als")
    assert len(space.runs.all(films.id)) == 1


SEVERAL = pd.DataFrame(
    {
        "model": ["als", "als", "ease"],
        "user_id": ["u", "v", "u"],
        "item_id": ["a", "a", "b"],
        "rank": [1, 1, 1],
    }
)


def test_one_file_may_bring_several_candidates(space: Workspace, films: Experiment) -> None:
    added = space.runs.add(films.id, SEVERAL)
    assert [one.run.name for one in added] == ["als", "ease"]
    assert [one.run.slot for one in added] == [0, 1]


def test_of_several_candidates_none_is_stored_if_one_cannot_be(space: Workspace, films: Experiment) -> None:
    add(space, films, "ease", EASE)
    with pytest.raises(NameTaken):
        space.runs.add(films.id, SEVERAL)
    assert [run.name for run in space.runs.all(films.id)] == ["ease"]


@pytest.mark.parametrize(
    ("content", "place", "found"),
    [
        ("item_id,rank\na,1\n", "user", "column"),
        ("", "file", "empty"),
        (
            "user_id,item_id,rank\nstranger,a,1\n",
            "run 'als', column 'user_id'",
            "no user of this run is in the truth",
        ),
        ("user_id,item_id,rank\nu,a,first\n", "column 'rank', line 2", "'first' is not a rank"),
    ],
)
def test_a_run_that_cannot_be_used_says_why_and_stores_nothing(
    space: Workspace, films: Experiment, tmp_path: Path, content: str, place: str, found: str
) -> None:
    before = stored_files(tmp_path)
    file = tmp_path / "als.csv"
    file.write_text(content)
    with pytest.raises(InputError) as caught:
        space.runs.add(films.id, file)
    (problem,) = caught.value.problems
    assert place in problem.place + problem.found
    assert found in str(problem)
    assert problem.fix
    assert space.runs.all(films.id) == []
    assert stored_files(tmp_path) == before


def test_rating_predictions_are_scored_beside_the_lists(space: Workspace, films: Experiment) -> None:
    predictions = pd.DataFrame(
        {"user_id": ["u", "v"], "item_id": ["a", "a"], "rating": [3, 2], "prediction": [4, 5]}
    )
    run_id = add(space, films, "als", ALS, predictions=predictions)
    assert space.scores.scoreboard([run_id], ["mae"], 1)["value"].tolist() == [(1 + 3) / 2]
    other = add(space, films, "ease", EASE)
    assert "rating predictions" in space.scores.absences([run_id, other], "mae")[other]
    assert set(space.scores.absences([run_id, other], "mae")) == {other}


def test_progress_is_told_from_nothing_to_all(space: Workspace, films: Experiment) -> None:
    told: list[tuple[float, str]] = []
    space.runs.add(films.id, SEVERAL, progress=lambda part, text: told.append((part, text)))
    assert told[0] == (0.0, "Reading the file")
    assert told[-1] == (1.0, "Storing ease")
    assert {text for _, text in told} >= {"Scoring als", "Scoring ease", "Storing als"}


def test_what_is_said_of_a_run_can_be_changed(space: Workspace, films: Experiment) -> None:
    run_id = add(space, films, "als", ALS)
    space.runs.rename(run_id, " ALS v3 ")
    space.runs.set_tags(run_id, ["new", " new ", "", "matrix"])
    space.runs.set_note(run_id, "64 factors")
    space.runs.set_params(run_id, {"factors": "64"})
    (run,) = space.runs.all(films.id)
    assert (run.name, run.tags, run.note, run.params) == (
        "ALS v3",
        ("new", "matrix"),
        "64 factors",
        {"factors": "64"},
    )


def test_an_archived_run_is_out_of_sight_and_comes_back(space: Workspace, films: Experiment) -> None:
    run_id = add(space, films, "als", ALS)
    space.runs.archive(run_id)
    assert space.runs.all(films.id) == []
    space.runs.unarchive(run_id)
    assert [run.id for run in space.runs.all(films.id)] == [run_id]


def test_deleting_for_good_wants_the_name_typed(space: Workspace, films: Experiment) -> None:
    run_id = add(space, films, "als", ALS)
    with pytest.raises(InputError, match="Type 'als' exactly"):
        space.runs.delete(run_id, "Als")
    space.runs.delete(run_id, "als")
    assert space.runs.all(films.id, archived=True) == []
    with pytest.raises(InputError, match="Type 'Films' exactly"):
        space.experiments.delete(films.id, "")
    space.experiments.delete(films.id, "Films")
    assert space.experiments.all(archived=True) == []


# ── comparing ────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def two(space: Workspace, films: Experiment) -> tuple[str, str]:
    return add(space, films, "als", ALS), add(space, films, "ease", EASE)


def test_the_best_run_by_the_first_metric_comes_first(space: Workspace, two: tuple[str, str]) -> None:
    board = space.scores.scoreboard(list(two), ["recall", "precision"], 2)
    assert board["run"].tolist() == ["ease", "ease", "als", "als"]
    assert board["metric"].tolist() == ["recall", "precision"] * 2
    recall = board[board["metric"] == "recall"]["value"]
    assert recall.tolist() == pytest.approx([(1 + 1 + 1) / 3, (1 / 2 + 1 + 0) / 3])


def test_where_lower_is_better_the_lowest_comes_first(space: Workspace, films: Experiment) -> None:
    def rated(guess: float) -> pd.DataFrame:
        return pd.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [3.0], "prediction": [guess]})

    ids = [
        add(space, films, "als", ALS, predictions=rated(1.0)),
        add(space, films, "ease", EASE, predictions=rated(2.5)),
    ]
    assert space.scores.scoreboard(ids, ["rmse"], 1)["run"].tolist() == ["ease", "als"]


def test_ties_that_an_older_version_did_not_store_are_found_in_the_upload(
    space: Workspace, films: Experiment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of u's three equal scores one is relevant: first, second or third by chance."""
    rows = [("u", "x", 1.0), ("u", "a", 1.0), ("u", "y", 1.0)]
    tied = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])

    def without_ties(hits: Hits) -> dict[str, Any]:
        return {kind: table for kind, table in hits_to_tables(hits).items() if kind != "ties"}

    monkeypatch.setattr("recdash.service.catalog.runs.hits_to_tables", without_ties)
    band = space.scores.tie_band(add(space, films, "als", tied), "mrr", 3)
    assert band is not None
    assert (band.worst, band.best) == (pytest.approx(1 / 3 / 3), pytest.approx(1 / 3))


def test_metrics_that_an_older_version_did_not_store_are_offered_and_computed(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """a shares one of its two genres with b, at an angle of 45°; serendipity needs training data."""
    catalogue = {"a": {"genre": "Crime|Drama"}, "b": {"genre": "Drama"}, "c": {"genre": "Crime"}}
    made = space.experiments.create("Old", TRUTH, catalogue=catalogue, depth=5)
    with monkeypatch.context() as older:
        older.setattr(naming, "SCORED", ("precision", "coverage"))
        run_id = add(space, made, "ease", {"u": ["b", "a"]})
        assert space.scores.metrics_of([run_id]) == ["precision", "coverage"]
    newer = open_at(tmp_path)
    offered = newer.scores.metrics_of([run_id])
    assert {"rbp", "err", "entropy", "diversity"} < set(offered)
    assert not {"rmse", "serendipity"} & set(offered)
    (row,) = newer.scores.scoreboard([run_id], ["diversity"], 2).to_dict("records")
    assert (
        row["value"]
        == newer.definitions.under_presets(run_id, "diversity", 2)["value"][0]
        == pytest.approx(1 - 0.5**0.5)
    )
    assert newer.scores.absences([run_id], "diversity") == {}
    of_presets = newer.definitions.under_presets(run_id, "serendipity", 2)["reason"][0]
    assert newer.scores.absences([run_id], "serendipity") == {run_id: of_presets}


def test_a_definition_that_was_not_stored_is_computed_from_the_hits(
    space: Workspace, two: tuple[str, str]
) -> None:
    als, _ = two
    curve = space.scores.curves([als], ["ndcg(discount=lenskit)"])
    # of u, v, w: a first of a, b; a second; nothing
    of_u_v_w = [(1 + 0) / (1 + 1), 1 / 1, 0]
    assert curve.loc[curve["k"] == 2, "value"].tolist() == [pytest.approx(sum(of_u_v_w) / 3)]


def test_a_metric_without_cutoff_has_a_row_without_k(space: Workspace, two: tuple[str, str]) -> None:
    curve = space.scores.curves([two[0]], ["r_precision"])
    assert curve["k"].isna().tolist() == [True]
    assert curve["value"].tolist() == [pytest.approx((1 / 2 + 0 + 0) / 3)]


def test_differences_are_paired_over_the_users(space: Workspace, two: tuple[str, str]) -> None:
    als, ease = two
    (row,) = space.comparisons.pairs(ComparisonQuery((ease,), als, "recall", 2)).to_dict("records")
    # recall@2 of ease and als: u 1 and 1/2, v 1 and 1, w 1 and 0
    assert row["mean_diff"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert (row["n_users"], row["wins"], row["ties"], row["losses"]) == (3, 2, 1, 0)
    assert row["ci_low"] < row["mean_diff"] < row["ci_high"]
    assert 0 < row["p"] <= 1


def test_a_run_is_not_compared_with_itself(space: Workspace, two: tuple[str, str]) -> None:
    assert space.comparisons.pairs(ComparisonQuery((two[0],), two[0], "ndcg", 3)).empty


def test_a_twin_differs_by_nothing(space: Workspace, films: Experiment) -> None:
    one = add(space, films, "one", ALS)
    twin = add(space, films, "twin", {user: [*items, "z"] for user, items in ALS.items()})
    (row,) = space.comparisons.pairs(ComparisonQuery((twin,), one, "ndcg", 3)).to_dict("records")
    assert (row["mean_diff"], row["ties"], row["p"]) == (0, 3, 1)


def test_runs_with_other_users_are_paired_over_those_in_both(space: Workspace) -> None:
    both = space.experiments.create("Both", TRUTH, depth=5, users="both")
    als, ease = add(space, both, "als", ALS), add(space, both, "ease", EASE)
    (row,) = space.comparisons.pairs(ComparisonQuery((ease,), als, "recall", 2)).to_dict("records")
    assert (row["n_users"], row["mean_diff"]) == (2, pytest.approx((1 / 2 + 0) / 2))
    assert space.scores.scoreboard([als, ease], ["recall"], 2)["n_users"].tolist() == [3, 2]


def test_a_metric_without_a_value_per_user_has_no_differences(space: Workspace, two: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="no value per user"):
        space.comparisons.pairs(ComparisonQuery((two[1],), two[0], "personalization", 2))


@pytest.mark.parametrize(
    "ask",
    [
        lambda space, run, k: space.scores.scoreboard([run], ["recall"], k),
        lambda space, run, k: space.comparisons.pairs(ComparisonQuery((run,), run, "recall", k)),
        lambda space, run, k: space.scores.population_effect([run], "recall", k),
        lambda space, run, k: space.scores.standing([run], "recall", k),
        lambda space, run, k: space.scores.tie_band(run, "recall", k),
        lambda space, run, k: space.slices.sliced([run], "popularity", ["recall"], k),
        lambda space, run, k: space.slices.shown_by([run], "genre", k),
        lambda space, run, k: space.definitions.under_presets(run, "recall", k),
        lambda space, run, k: space.definitions.preset_causes(run, "recall", k),
        lambda space, run, k: space.definitions.worked_example(run, "recall", k),
    ],
)
def test_a_cutoff_is_a_whole_number_from_1(
    space: Workspace, two: tuple[str, str], ask: Callable[..., Any]
) -> None:
    for k in (0, -1, 2.5, True, "2"):
        with pytest.raises(InputError, match="a whole number from 1"):
            ask(space, two[0], k)


def test_lists_that_have_ended_are_said_by_k(space: Workspace, two: tuple[str, str]) -> None:
    # lists of 3 and 2 items; lists of 2, 1 and 2 items
    ends = space.scores.list_ends(list(two))
    assert ends == {two[0]: 4, two[1]: 3}


def test_missing_lists_are_a_warning_above_a_comparison(space: Workspace, two: tuple[str, str]) -> None:
    (warning,) = space.scores.comparability(list(two))
    assert "33 % of users get no recommendations from als and count as 0" in str(warning)
    assert space.scores.comparability([two[1]]) == []


def test_the_population_decides_who_leads(space: Workspace, films: Experiment) -> None:
    # als is right for the one user it serves; ease serves all and is right for two of three
    ids = [
        add(space, films, "als", {"u": ["a", "b"]}),
        add(space, films, "ease", {"u": ["x"], "v": ["a"], "w": ["c"]}),
    ]
    effect = space.scores.population_effect(ids, "recall", 2)
    assert effect is not None
    assert (effect.leaders_truth, effect.leaders_both, effect.changes) == ((ids[1],), (ids[0],), True)
    assert effect.values["truth"] == {ids[0]: pytest.approx(1 / 3), ids[1]: pytest.approx(2 / 3)}
    # u is the only user whom both serve: als is right there and ease is not
    assert effect.values["both"] == {ids[0]: 1.0, ids[1]: 0.0}
    assert effect.n_users["both"] == {ids[0]: 1, ids[1]: 1}
    assert effect.sentence == (
        "Among the 1 user with recommendations from every run, als leads by Recall@2 (1.00; ease has 0.000, "
        "not a significant difference). If users without recommendations count as 0, ease leads (0.667, "
        "n = 3)."
    )


def test_populations_are_compared_over_the_same_users(space: Workspace, films: Experiment) -> None:
    # over its own user als has 1 and ease over its three 2/3, but for als' user ease is as good
    ids = [
        add(space, films, "als", {"u": ["a", "b"]}),
        add(space, films, "ease", {"u": ["a", "b"], "v": ["a"], "w": ["x"]}),
    ]
    own = {run: space.comparisons.values(run, "recall", 2, "both") for run in ids}
    assert [values.values.mean() for values in own.values() if values] == pytest.approx([1, 2 / 3])
    effect = space.scores.population_effect(ids, "recall", 2)
    assert effect is not None
    assert effect.leaders_both == tuple(ids)  # both have 1 there
    nobody = add(space, films, "nobody", {"v": ["x"]})
    assert space.scores.population_effect([ids[0], nobody], "recall", 2) is None  # no user has both lists


def test_a_leader_under_both_populations_is_said_to_lead_in_any_case(
    space: Workspace, two: tuple[str, str]
) -> None:
    effect = space.scores.population_effect(list(two), "recall", 2)
    assert effect is not None
    assert not effect.changes
    assert effect.sentence == "ease leads by Recall@2 whether or not users without recommendations count."
    assert space.scores.population_effect([two[0]], "recall", 2) is None


def test_a_metric_that_names_its_users_is_compared_over_both_populations(
    space: Workspace, films: Experiment
) -> None:
    ids = [
        add(space, films, "als", {"u": ["a", "b"]}),
        add(space, films, "ease", {"u": ["x"], "v": ["a"], "w": ["c"]}),
    ]
    effect = space.scores.population_effect(ids, "ndcg", 2)
    named = space.scores.population_effect(ids, "ndcg(users=both)", 2)
    assert effect is not None
    assert named is not None
    assert (named.values, named.n_users) == (effect.values, effect.n_users)


# ── rights ───────────────────────────────────────────────────────────────────────────────────

WRITES: dict[str, Callable[[Workspace, str, str], object]] = {
    "experiments.create": lambda space, _e, _r: space.experiments.create("Mine", TRUTH),
    "experiments.rename": lambda space, e, _r: space.experiments.rename(e, "Mine"),
    "experiments.set_note": lambda space, e, _r: space.experiments.set_note(e, "x"),
    "experiments.set_baseline": lambda space, e, r: space.experiments.set_baseline(e, r),
    "experiments.archive": lambda space, e, _r: space.experiments.archive(e),
    "experiments.unarchive": lambda space, e, _r: space.experiments.unarchive(e),
    "experiments.delete": lambda space, e, _r: space.experiments.delete(e, "Films"),
    "runs.add": lambda space, e, _r: space.runs.add(e, EASE, name="ease"),
    "runs.rename": lambda space, _e, r: space.runs.rename(r, "mine"),
    "runs.set_tags": lambda space, _e, r: space.runs.set_tags(r, ["x"]),
    "runs.set_note": lambda space, _e, r: space.runs.set_note(r, "x"),
    "runs.set_params": lambda space, _e, r: space.runs.set_params(r, {}),
    "runs.archive": lambda space, _e, r: space.runs.archive(r),
    "runs.unarchive": lambda space, _e, r: space.runs.unarchive(r),
    "runs.delete": lambda space, _e, r: space.runs.delete(r, "als"),
    "online_tests.add": lambda space, e, _r: space.online_tests.add(e, "AB", {"sessions": SESSIONS}),
    "demo.load": lambda space, _e, _r: space.demo.load(),
}


@pytest.mark.parametrize("action", WRITES)
def test_a_viewer_reads_and_changes_nothing(
    space: Workspace, films: Experiment, tmp_path: Path, action: str
) -> None:
    run_id = add(space, films, "als", ALS)
    viewer = open_at(tmp_path, role="viewer")
    assert viewer.scores.scoreboard([run_id], ["recall"], 2)["run"].tolist() == ["als"]
    before = (space.experiments.all(archived=True), space.runs.all(films.id, archived=True))
    with pytest.raises(Forbidden, match="Ask an admin for the role editor"):
        WRITES[action](viewer, films.id, run_id)
    assert (space.experiments.all(archived=True), space.runs.all(films.id, archived=True)) == before


# ── online tests ─────────────────────────────────────────────────────────────────────────────

WATCHED = [60.0 + place % 5 for place in range(20)] + [90.0 + place % 5 for place in range(20)]
SESSIONS = pd.DataFrame(
    {
        "unit_id": [f"p{place}" for place in range(40)],
        "session_id": [f"s{place}" for place in range(40)],
        "start_ts": ["2026-03-01T10:00:00Z"] * 40,
        "variant": ["control"] * 20 + ["new"] * 20,
        "clicks": [place % 2 for place in range(40)],
        "watch_s": WATCHED,
    }
)


def test_an_online_test_is_kept_with_its_results_and_links(
    space: Workspace, films: Experiment, two: tuple[str, str]
) -> None:
    als, ease = two
    links = {"control": als, "new": ease}
    test = space.online_tests.add(films.id, "Spring", {"sessions": SESSIONS}, control="control", links=links)
    assert [one.id for one in space.online_tests.all(films.id)] == [test.id]
    frame = space.online_tests.result_frame(test.id)
    watch = frame[frame["metric"] == "session_watch_time"].set_index("variant")
    assert watch["run_id"].to_dict() == links
    assert watch["is_control"].to_dict() == {"control": True, "new": False}
    assert watch["value"].to_dict() == {
        "control": pytest.approx(62 / 60),
        "new": pytest.approx(92 / 60),
    }


def test_a_variant_is_compared_with_what_control_served_on_both_sides(
    space: Workspace, films: Experiment, two: tuple[str, str]
) -> None:
    als, ease = two
    test = space.online_tests.add(
        films.id, "Spring", {"sessions": SESSIONS}, control="control", links={"control": als, "new": ease}
    )
    frame = space.online_tests.offline_online(test.id, "recall", 2, "session_watch_time").set_index("variant")
    assert frame.loc["new", "run"] == "ease"
    assert frame.loc["new", "offline_delta"] == pytest.approx((1 / 2 + 0 + 1) / 3)
    assert frame.loc["new", "online_lift"] == pytest.approx(92 / 62 - 1)
    assert frame.loc["new", "offline_value"] == pytest.approx(1.0)


def test_a_variant_cannot_serve_a_run_of_another_experiment(space: Workspace, films: Experiment) -> None:
    other = space.experiments.create("Books", TRUTH, depth=5)
    elsewhere = add(space, other, "als", ALS)
    with pytest.raises(NotFound, match="not in this experiment"):
        space.online_tests.add(films.id, "Spring", {"sessions": SESSIONS}, links={"new": elsewhere})
    assert space.online_tests.all(films.id) == []


def test_an_online_table_that_cannot_be_used_stores_nothing(space: Workspace, films: Experiment) -> None:
    with pytest.raises(InputError):
        space.online_tests.add(
            films.id, "Spring", {"sessions": pd.DataFrame({"unit_id": ["p"], "watch_s": [1.0]})}
        )
    assert space.online_tests.all(films.id) == []


# ── the demo ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def demo(demo_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Experiment]:
    space = open_at(shutil.copytree(demo_folder, tmp_path_factory.mktemp("demo"), dirs_exist_ok=True))
    return space, space.experiments.all()[0]


def test_the_demos_season_candidate_won_offline_and_lost_online(demo: tuple[Workspace, Experiment]) -> None:
    space, made = demo
    (test,) = space.online_tests.all(made.id)
    frame = space.online_tests.offline_online(test.id, "ndcg", 10, "session_watch_time").set_index("variant")
    assert frame.loc["two-tower", "quadrant"] == "won offline, lost online"
    assert frame.loc["two-tower", "offline_low"] > 0 > frame.loc["two-tower", "online_high"]
    assert [run.name for run in space.runs.all(made.id) if run.id == made.baseline] == ["Popular"]


def test_loading_the_demo_again_changes_nothing(demo: tuple[Workspace, Experiment]) -> None:
    space, made = demo
    ids = [run.id for run in space.runs.all(made.id)]
    assert space.demo.load().id == made.id
    assert [run.id for run in space.runs.all(made.id)] == ids
    assert len(ids) == 5
    assert len(space.online_tests.all(made.id)) == 1


def test_the_demo_goes_without_what_people_added(with_demo: Path) -> None:
    space = open_at(with_demo)
    mine = space.experiments.create("Films", TRUTH, depth=5)
    assert space.demo.exists()
    space.demo.remove()
    assert not space.demo.exists()
    assert [one.id for one in space.experiments.all(archived=True)] == [mine.id]


# ── real data ────────────────────────────────────────────────────────────────────────────────


def with_real_runs(
    space: Workspace, folder: Path, names: tuple[str, ...], **relevance: Any
) -> dict[str, str]:
    made = space.experiments.create("MovieTweetings", folder / "truth.csv", **relevance)
    return {name: add(space, made, name, folder / "runs" / f"{name}.parquet") for name in names}


def test_popular_leads_until_only_users_with_lists_count(space: Workspace, shared_data: Path) -> None:
    ids = with_real_runs(space, shared_data / "movietweetings", ("ease", "popular", "als"), relevance="none")
    board = space.scores.scoreboard(list(ids.values()), ["ndcg"], 10)
    assert board["run"].tolist() == ["popular", "ease", "als"]
    effect = space.scores.population_effect(list(ids.values()), "ndcg", 10)
    assert effect is not None
    assert (effect.leaders_truth, effect.leaders_both) == ((ids["popular"],), (ids["ease"],))
    assert effect.sentence.startswith("Among the 3,887 users with recommendations from every run, ease leads")
    assert "popular leads" in effect.sentence


def test_a_run_does_not_lead_because_it_serves_easy_users_only(space: Workspace, shared_data: Path) -> None:
    # with ratings of 8 and more as relevant, ease has more over its own users than popular over all, but less
    # than popular over the same users
    ids = with_real_runs(space, shared_data / "movietweetings", ("ease", "popular"), relevance_threshold=8)
    ease, popular = (space.comparisons.values(run, "ndcg", 10, "both") for run in ids.values())
    assert ease is not None
    assert popular is not None
    assert (len(ease.users), len(popular.users)) == (2871, 4556)
    same = popular.values[np.isin(popular.users, ease.users)].mean()
    assert popular.values.mean() < ease.values.mean() < same
    effect = space.scores.population_effect(list(ids.values()), "ndcg", 10)
    assert effect is not None
    assert effect.values["both"] == {ids["ease"]: ease.values.mean(), ids["popular"]: pytest.approx(same)}
    assert (effect.leaders_truth, effect.leaders_both) == ((ids["popular"],), (ids["popular"],))
    assert not effect.changes


def test_the_guide_explains_every_metric_and_preset(space: Workspace) -> None:
    from recdash.metrics import METRICS, PRESETS

    assert [entry.name for entry in space.definitions.guide()] == list(METRICS)
    assert [entry.name for entry in space.definitions.presets()] == list(PRESETS)
    assert all(
        entry.title and entry.formula and entry.source and entry.example
        for entry in space.definitions.guide()
    )


# ── what must not mislead ────────────────────────────────────────────────────────────────────


def test_paired_intervals_of_a_pooled_ratio_follow_its_delta_method(space: Workspace) -> None:
    # very unequal numbers of relevant items: the spread of the denominators matters
    rng = np.random.default_rng(4)
    wanted = {f"u{n}": [f"i{n}_{j}" for j in range(int(rng.choice([1, 2, 30])))] for n in range(300)}
    lists = {
        name: {u: [i for i in items if rng.random() < chance] or ["x"] for u, items in wanted.items()}
        for name, chance in (("A", 0.5), ("B", 0.4))
    }
    made = space.experiments.create("Pooled", wanted, depth=40)
    a, b = (add(space, made, name, table) for name, table in lists.items())
    row = space.comparisons.pairs(ComparisonQuery((a,), b, "recall(average=micro)", 40)).iloc[0]
    m = np.array([len(items) for items in wanted.values()])
    hits = {
        name: np.array([len(set(table[u]) & set(wanted[u])) for u in wanted]) for name, table in lists.items()
    }
    pull = {name: (c - c.sum() / m.sum() * m) / m.mean() for name, c in hits.items()}
    error = np.std(pull["A"] - pull["B"], ddof=1) / np.sqrt(len(m))
    assert row["mean_diff"] == pytest.approx((hits["A"].sum() - hits["B"].sum()) / m.sum())
    assert (row["ci_high"] - row["ci_low"]) / 2 == pytest.approx(1.968 * error, rel=1e-3)
    assert row["wins"] == ((hits["A"] - hits["B"]) > 0).sum()
    assert row["losses"] == ((hits["A"] - hits["B"]) < 0).sum()


def test_equal_leaders_lead_together(space: Workspace, films: Experiment) -> None:
    first = add(space, films, "first", {"u": ["a"], "v": ["a"]})
    twin = add(space, films, "twin", {"v": ["a"], "u": ["b"]})
    effect = space.scores.population_effect([first, twin], "recall", 1)
    assert effect is not None
    assert set(effect.leaders_truth) == set(effect.leaders_both) == {first, twin}
    assert "first and twin lead" in effect.sentence


def test_a_cutoff_beyond_the_depth_is_refused(space: Workspace, films: Experiment) -> None:
    ids = [add(space, films, "als", ALS), add(space, films, "ease", EASE)]
    for ask in (
        lambda: space.scores.scoreboard(ids, ["recall"], 6),
        lambda: space.comparisons.pairs(ComparisonQuery(tuple(ids[:1]), ids[1], "recall", 6)),
    ):
        with pytest.raises(InputError, match="the depth is 5"):
            ask()


def test_predictions_for_a_run_that_is_there_are_not_lost_in_silence(
    space: Workspace, films: Experiment
) -> None:
    add(space, films, "als", ALS)
    rated = pd.DataFrame({"user_id": ["u"], "item_id": ["a"], "rating": [4.0], "prediction": [3.0]})
    with pytest.raises(InputError, match="Delete it, then add it again together with its predictions"):
        add(space, films, "als", ALS, predictions=rated)


def sessions(control: int, new: int) -> pd.DataFrame:
    rows = [("control", f"c{n}", n % 3 == 0) for n in range(control)] + [
        ("new", f"n{n}", n % 2 == 0) for n in range(new)
    ]
    return pd.DataFrame(
        [(unit, f"s-{unit}", variant, 1.0 * clicked, 60.0 + 9 * clicked) for variant, unit, clicked in rows],
        columns=["unit_id", "session_id", "variant", "clicks", "watch_s"],
    ).assign(start_ts="2026-01-01T00:00:00Z")


def linked(space: Workspace, films: Experiment, table: pd.DataFrame) -> str:
    links = {"control": add(space, films, "als", ALS), "new": add(space, films, "ease", EASE)}
    return space.online_tests.add(films.id, "Row", {"sessions": table}, control="control", links=links).id


def test_a_broken_split_judges_nobody(space: Workspace, films: Experiment) -> None:
    (row,) = (
        row
        for row in space.online_tests.offline_online(
            linked(space, films, sessions(900, 500)), "recall", 2, "engagement_rate"
        ).to_dict("records")
        if row["variant"] == "new"
    )
    assert row["quadrant"] == "blocked"
    assert (
        row["sentence"]
        == "ease is not judged: the split of users between the variants is broken (sample ratio "
        "mismatch)."
    )


def test_a_metric_without_user_values_stands_beside_the_online_result_undecided(
    space: Workspace, films: Experiment
) -> None:
    frame = space.online_tests.offline_online(
        linked(space, films, sessions(400, 400)), "personalization", 2, "engagement_rate"
    )
    row = frame.set_index("variant").loc["new"]
    assert (row["quadrant"], row["offline_delta"]) == ("undecided", None)
    assert row["offline_value"] == pytest.approx(1.0 - (2 / 6) * (1 / 2**0.5))


def test_the_same_online_test_twice_is_one(space: Workspace, films: Experiment) -> None:
    first = linked(space, films, sessions(40, 40))
    runs = {run.name: run.id for run in space.runs.all(films.id)}
    links = {"control": runs["als"], "new": runs["ease"]}
    again = space.online_tests.add(
        films.id, "Row", {"sessions": sessions(40, 40)}, control="control", links=links
    )
    assert again.id == first


def test_a_link_of_an_unknown_variant_names_the_known_ones(space: Workspace, films: Experiment) -> None:
    run = add(space, films, "als", ALS)
    with pytest.raises(InputError, match="Did you mean 'control'"):
        space.online_tests.add(films.id, "Row", {"sessions": sessions(40, 40)}, links={"kontrol": run})
    assert space.online_tests.all(films.id) == []


def test_an_archived_demo_comes_back_when_it_is_loaded(demo: tuple[Workspace, Experiment]) -> None:
    space, made = demo
    space.experiments.archive(made.id)
    assert space.demo.load().id == made.id
    assert made.id in [one.id for one in space.experiments.all()]


def test_uploading_again_mends_what_was_damaged(space: Workspace, films: Experiment, tmp_path: Path) -> None:
    ids = [add(space, films, "als", ALS), add(space, films, "ease", EASE)]
    before = space.comparisons.pairs(ComparisonQuery(tuple(ids[:1]), ids[1], "recall", 2))
    for path in (tmp_path / "artifacts").rglob("*.parquet"):
        path.chmod(0o644)
        path.write_bytes(b"damaged")
    fresh = open_at(tmp_path)
    with pytest.raises(StoreError):
        fresh.comparisons.pairs(ComparisonQuery(tuple(ids[:1]), ids[1], "recall", 2))
    fresh.experiments.create("Films", TRUTH, depth=5)
    for name, lists in (("als", ALS), ("ease", EASE)):
        assert fresh.runs.add(films.id, lists, name=name)[0].already_there
    pd.testing.assert_frame_equal(
        fresh.comparisons.pairs(ComparisonQuery(tuple(ids[:1]), ids[1], "recall", 2)), before
    )


def test_old_files_that_nothing_refers_to_go_with_the_next_deletion(
    space: Workspace, films: Experiment, tmp_path: Path
) -> None:
    ids = {name: add(space, films, name, lists) for name, lists in (("als", ALS), ("ease", EASE))}
    before = stored_files(tmp_path)
    for path in before:
        os.utime(path, (0, 0))
    space.runs.delete(ids["als"], "als")
    left = stored_files(tmp_path)
    assert set(left) < set(before)
    assert space.comparisons.values(ids["ease"], "recall", 2) is not None


# ── lists of users outside the truth ─────────────────────────────────────────────────────────

FOREIGN = {"als": {"u1": ["a", "b"], "u2": ["c", "d"], "w": ["d", "e"]}}
FOREIGN_TRUTH = {"u1": {"a": 1}, "u2": {"c": 0}}
SHOWN_AT_2 = {
    "coverage": 5 / 6,
    "coverage(users=truth)": 2 / 6,
    "diversity": 2 / 3,
    "diversity(users=truth)": 1.0,
}
"""Kinds of a to f: p, q, p, q, q, q. The lists have the pairs p q, p q and q q."""


def foreign_run(space: Workspace, **rules: Any) -> str:
    items = pd.DataFrame({"item_id": list("abcdef"), "kind": list("pqpqqq")})
    made = space.experiments.create("Foreign", FOREIGN_TRUTH, depth=5, catalogue=items, **rules)
    return space.runs.add(made.id, FOREIGN["als"], name="als")[0].run.id


def values_at_2(space: Workspace, run_id: str) -> dict[str, float]:
    board = space.scores.scoreboard([run_id], list(SHOWN_AT_2), 2)
    return dict(zip(board["metric"], board["value"], strict=True))


def test_a_stored_run_shows_what_all_its_lists_show(space: Workspace) -> None:
    assert values_at_2(space, foreign_run(space)) == pytest.approx(SHOWN_AT_2)


def test_a_run_stored_before_is_read_again_for_the_lists_that_were_not_counted(space: Workspace) -> None:
    run_id = foreign_run(space)
    as_it_was = {
        kind: sha for kind, sha in space.store.runs.get(run_id).hits.items() if kind not in LATER_TABLES
    }
    assert len(as_it_was) + len(LATER_TABLES) == len(space.store.runs.get(run_id).hits)
    before = space.store.runs.add(
        replace(
            space.store.runs.get(run_id), id="before", name="before", slot=-1, hits=as_it_was, upload=None
        ),
        [],
    )
    kept = space.store.runs.update(run_id, hits=as_it_was)
    again = Workspace(space.store, person=space.person)
    assert values_at_2(again, kept.id) == pytest.approx(SHOWN_AT_2)
    of_truth = {metric: value for metric, value in SHOWN_AT_2.items() if "users=truth" in metric}
    assert values_at_2(again, before.id) == pytest.approx(of_truth)  # its upload was not kept


LATER_TABLES = ("other_exposure", "unknown_lists")


@pytest.mark.parametrize(("users", "recall"), [("truth", 1.0), ("judged", 1 / 2), ("run", 1 / 3)])
def test_an_experiment_keeps_its_population(space: Workspace, users: Any, recall: float) -> None:
    run_id = foreign_run(space, users=users)
    board = space.scores.scoreboard(
        [run_id], ["recall", "recall(norm=min)"], 2
    )  # stored, and computed from hits
    assert board["value"].tolist() == pytest.approx([recall, recall])


def test_an_experiment_may_count_repeated_items_at_each_place(space: Workspace) -> None:
    lists = {"u1": ["a", "a"]}
    for rule, expected in (("first", 1 / 2), ("keep", 1.0)):
        made = space.experiments.create(rule, {"u1": {"a": 1}}, depth=5, duplicates=rule)
        run = space.runs.add(made.id, lists, name="als")[0].run
        found = space.scores.scoreboard([run.id], ["precision"], 2)["value"].item()
        assert (found, run.provenance["duplicates"]) == (expected, rule)


def test_an_experiment_refuses_a_rule_that_there_is_not(space: Workspace) -> None:
    with pytest.raises(InputError, match=r"users: 'all'\. Choose truth, both, judged"):
        space.experiments.read_setup("x", {"u1": {"a": 1}}, users="all")  # type: ignore[arg-type]


def test_an_experiment_made_in_python_says_that_every_rating_counts(workspace: Workspace) -> None:
    truth = pd.DataFrame({"user_id": list("abcde"), "item_id": list("vwxyz"), "rating": [5.0, 4, 4.5, 3, 1]})

    def codes(made: Experiment) -> list[str]:
        return [notice["code"] for notice in made.settings["notices"]]

    assert "every-row-relevant" in codes(workspace.experiments.create("all", truth))
    assert "every-row-relevant" not in codes(
        workspace.experiments.create("high", truth, relevance_threshold=4)
    )
