"""Folds and seeds in a workspace: one run for the candidate, its replicates below it, what both answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recdash.comparison import ComparisonQuery
from recdash.domain.records import Experiment
from recdash.domain.results import WHOLE, Scope
from recdash.errors import InputError, NameTaken
from recdash.service import Workspace
from recdash.stats.replicates import ReplicateDifference, ReplicateValues, replicate_difference
from recdash.store import open_store

TRUTH = {"u1": ["a"], "u2": ["b"], "u3": ["c"], "u4": ["d"]}
SEED_1 = {"u1": ["a"], "u2": ["x"], "u3": ["c"], "u4": ["x"]}
SEED_2 = {"u1": ["x"], "u2": ["b"], "u3": ["c"], "u4": ["x"]}
SEED_3 = {"u1": ["a"], "u2": ["b"], "u3": ["c"], "u4": ["x"]}
FOLD_1 = {"u1": ["a"], "u2": ["x"]}
FOLD_2 = {"u3": ["c"]}
POP = {user: ["a"] for user in TRUTH}
CATALOGUE = pd.DataFrame({"item_id": list("abcdx"), "genre": ["one", "two", "one", "two", "one"]})
USERS = pd.DataFrame({"user_id": list(TRUTH), "age": ["old", "old", "new", "new"]})


def open_at(folder: Path) -> Workspace:
    return Workspace(open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts"))


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return open_at(tmp_path)


@pytest.fixture
def films(space: Workspace) -> Experiment:
    return space.experiments.create(
        "Films", TRUTH, depth=3, catalogue=CATALOGUE, train={"t": list("abcdx")}, user_attributes=USERS
    )


def add(space: Workspace, films: Experiment, source: Any, name: str = "als", **how: Any) -> str:
    (added,) = space.runs.add(films.id, source, name=name, **how)
    return added.run.id


def value(space: Workspace, run: str, metric: str = "recall", k: int = 1) -> float:
    return float(space.scores.scoreboard([run], [metric], k)["value"].item())


@pytest.fixture
def seeds(space: Workspace, films: Experiment) -> str:
    return add(space, films, {"7": SEED_1, "42": SEED_2})


@pytest.fixture
def folds(space: Workspace, films: Experiment) -> str:
    return add(space, films, {"1": FOLD_1, "2": FOLD_2}, "knn")


# ── stored ───────────────────────────────────────────────────────────────────────────────────


def test_seeds_are_one_run_with_its_replicates_below_it(
    films: Experiment, seeds: str, tmp_path: Path
) -> None:
    again = open_at(tmp_path)
    (run,) = again.runs.all(films.id)
    assert (run.id, str(run.replicated), run.is_mean) == (seeds, "2 seeds", True)
    assert [one.name for one in again.replicates.of(seeds)] == ["7", "42"]
    assert value(again, seeds) == pytest.approx((0.5 + 0.5 + 1 + 0) / 4)
    assert (run.ledger["counted"], run.ledger["without_list"], run.ledger["rows"]) == (4, 0, 8)


def test_folds_are_one_run_too(space: Workspace, films: Experiment, folds: str) -> None:
    (run,) = space.runs.all(films.id)
    assert (str(run.replicated), run.is_mean) == ("2 folds", False)
    assert (run.ledger["counted"], run.ledger["without_list"]) == (4, 1)
    assert value(space, folds) == 2 / 4
    assert [one.ledger["counted"] for one in space.replicates.of(folds)] == [2, 1]


def test_the_same_seeds_again_are_recognised(space: Workspace, films: Experiment, seeds: str) -> None:
    (again,) = space.runs.add(films.id, {"7": SEED_1, "42": SEED_2}, name="als")
    assert (again.already_there, again.run.id) == (True, seeds)
    with pytest.raises(NameTaken):
        add(space, films, {"7": SEED_1, "42": SEED_3})


def test_the_lists_of_folds_in_one_file_are_another_upload(
    space: Workspace, films: Experiment, folds: str
) -> None:
    assert add(space, films, {**FOLD_1, **FOLD_2}, "plain") != folds


def test_a_deleted_candidate_takes_its_replicates_along(
    space: Workspace, films: Experiment, seeds: str
) -> None:
    below = [one.id for one in space.replicates.of(seeds)]
    space.runs.delete(seeds, "als")
    assert space.runs.all(films.id, archived=True) == []
    assert space.store.curves.metrics(below) == dict.fromkeys(below, ())


def test_an_archived_candidate_keeps_its_replicates(space: Workspace, films: Experiment, seeds: str) -> None:
    space.runs.archive(seeds)
    assert space.runs.all(films.id) == []
    space.runs.unarchive(seeds)
    assert len(space.replicates.of(seeds)) == 2


def test_a_file_with_models_and_seeds_makes_candidates_with_replicates(
    space: Workspace, films: Experiment
) -> None:
    rows = [
        {"user_id": user, "item_id": items[0], "model": model, "seed": seed}
        for model, last in (("als", SEED_2), ("bpr", SEED_3))
        for seed, lists in ((7, SEED_1), (42, last))
        for user, items in lists.items()
    ]
    added = space.runs.add(films.id, pd.DataFrame(rows), name="mine")
    assert [(one.run.name, str(one.run.replicated)) for one in added] == [
        ("mine: als", "2 seeds"), ("mine: bpr", "2 seeds"),
    ]  # fmt: skip


def test_several_tables_need_a_name(space: Workspace, films: Experiment) -> None:
    with pytest.raises(InputError, match="2 tables and no name"):
        space.runs.add(films.id, [SEED_1, SEED_2])


# ── answers of seeds ─────────────────────────────────────────────────────────────────────────


def test_differences_of_seeds_are_paired_over_the_users_means(
    space: Workspace, films: Experiment, seeds: str
) -> None:
    pop = add(space, films, POP, "pop")
    row = space.comparisons.pairs(ComparisonQuery((seeds,), pop, "recall", 1)).iloc[0]
    # users' means 0.5, 0.5, 1, 0 against 1, 0, 0, 0
    assert (row["mean_diff"], row["wins"], row["losses"], row["ties"]) == (1 / 4, 2, 1, 1)


def test_other_definitions_of_seeds_are_computed_from_their_hits(space: Workspace, seeds: str) -> None:
    alone = [value(space, one.id, "ndcg(gain=exp)", 3) for one in space.replicates.of(seeds)]
    assert value(space, seeds, "ndcg(gain=exp)", 3) == pytest.approx(np.mean(alone))


def test_every_metric_of_the_usual_ones_is_there_or_has_a_reason(
    space: Workspace, films: Experiment, seeds: str
) -> None:
    plain = add(space, films, SEED_1, "plain")
    assert space.scores.metrics_of([seeds]) == space.scores.metrics_of([plain])
    assert set(space.scores.absences([seeds, plain], "rmse").values()) == {
        "needs a table of rating predictions"
    }
    assert value(space, seeds, "coverage") == pytest.approx(
        np.mean([value(space, one.id, "coverage") for one in space.replicates.of(seeds)])
    )


def test_slices_of_seeds_are_means(space: Workspace, seeds: str) -> None:
    found = space.slices.sliced([seeds], "user:age", ["recall", "coverage"], 1)
    recall = found[found["metric"] == "recall"].set_index("slice")["value"]
    assert dict(recall) == {"old": (0.5 + 0.5) / 2, "new": (1 + 0) / 2}
    assert not found["value"].isna().any()


def test_what_seeds_show_is_their_mean(space: Workspace, seeds: str) -> None:
    found = space.slices.shown_by([seeds], "genre", 1).set_index("value")
    # of 4 places: genre two 0 (seed 7) and 1 (seed 42)
    assert found.loc["two", "share"] == pytest.approx((0 + 1 / 4) / 2)


def test_the_definitions_of_seeds_are_counted_under_every_preset(
    space: Workspace, films: Experiment, seeds: str
) -> None:
    plain = add(space, films, SEED_1, "plain")
    mean, one = (space.definitions.under_presets(run, "recall", 1) for run in (seeds, plain))
    assert list(mean["preset"]) == list(one["preset"])
    assert list(mean["value"].isna()) == list(one["value"].isna())
    assert list(mean["reason"]) == list(one["reason"])
    assert (
        not space.definitions.preset_causes(seeds, "recall", 1).empty
        or space.definitions.preset_causes(plain, "recall", 1).empty
    )


def test_there_is_no_worked_example_of_a_mean(space: Workspace, seeds: str) -> None:
    assert space.definitions.worked_example(seeds, "recall", 1) is None
    assert space.definitions.worked_example(space.replicates.of(seeds)[0].id, "recall", 1) is not None


def test_the_tie_band_of_seeds_is_the_mean_of_theirs(space: Workspace, films: Experiment) -> None:
    tied = {"u1": {"a": 1.0, "x": 1.0}, "u2": {"b": 2.0, "x": 1.0}, "u3": {"c": 1.0}, "u4": {"d": 1.0}}
    settled = {**tied, "u1": {"a": 2.0, "x": 1.0}}
    run = add(space, films, {"7": tied, "42": settled})
    band = space.scores.tie_band(run, "recall", 1)
    assert band is not None
    assert (band.worst, band.best) == ((3 / 4 + 1) / 2, 1.0)


def test_the_population_may_decide_among_seeds_too(space: Workspace, films: Experiment, seeds: str) -> None:
    pop = add(space, films, POP, "pop")
    effect = space.scores.population_effect([seeds, pop], "recall", 1)
    assert effect is not None
    assert effect.values["truth"][seeds] == pytest.approx(0.5)


def test_the_lists_of_seeds_are_those_of_each_and_not_of_the_candidate(space: Workspace, seeds: str) -> None:
    with pytest.raises(InputError, match="mean of 2 seeds, so each user has several lists"):
        space._data.match_again(seeds)
    second = space.replicates.of(seeds)[1]
    assert space._data.match_again(second.id).ledger.rows == 4


def test_seeds_compare_with_others_as_any_run(space: Workspace, films: Experiment, seeds: str) -> None:
    plain = add(space, films, SEED_1, "plain")
    assert space.scores.comparability([seeds, plain]) == []
    (row,) = space.comparisons.pairs(ComparisonQuery((seeds,), plain, "recall", 1)).to_dict("records")
    assert row["mean_diff"] == pytest.approx(0.0)
    assert space.overlap.list_overlap([seeds], plain, 1).empty


# ── answers of folds ─────────────────────────────────────────────────────────────────────────


def test_folds_answer_as_the_same_lists_in_one_file(space: Workspace, films: Experiment, folds: str) -> None:
    plain = add(space, films, {**FOLD_1, **FOLD_2}, "plain")
    for metric in ("recall", "coverage", "ndcg(gain=exp)", "novelty"):
        assert value(space, folds, metric) == pytest.approx(value(space, plain, metric))
    assert space.definitions.worked_example(folds, "recall", 1) is not None
    assert space.users.lists([folds], "u3", 1).lists[0].places[0].item.id == "c"


# ── spread ───────────────────────────────────────────────────────────────────────────────────


def test_the_spread_has_a_row_for_each_replicate(
    space: Workspace, films: Experiment, seeds: str, folds: str
) -> None:
    plain = add(space, films, SEED_1, "plain")
    found = space.replicates.spread([seeds, plain, folds], "recall", 1)
    rows = list(found[["run", "replicate", "value", "n_users"]].itertuples(index=False, name=None))
    assert rows == [("als", "7", 0.5, 4), ("als", "42", 0.5, 4), ("knn", "1", 0.5, 2), ("knn", "2", 1.0, 1)]


def test_a_metric_that_replicates_lack_has_no_spread(space: Workspace, seeds: str) -> None:
    assert space.replicates.spread([seeds], "rmse", 1).empty


# ── across replicates ────────────────────────────────────────────────────────────────────────────────


def difference(
    space: Workspace, run: str, baseline: str, metric: str, k: int, scope: Scope = WHOLE
) -> ReplicateDifference | None:
    return space.comparisons.replicate_differences(ComparisonQuery((run,), baseline, metric, k, scope)).get(
        run
    )


def test_seeds_of_the_same_labels_are_paired(space: Workspace, films: Experiment) -> None:
    als = add(space, films, {"1": SEED_1, "2": SEED_3, "3": SEED_3}, "als")
    pop = add(space, films, {"1": POP, "2": POP, "3": POP}, "pop")
    found = difference(space, als, pop, "recall", 1)
    expected = replicate_difference(
        ReplicateValues({"1": 2 / 4, "2": 3 / 4, "3": 3 / 4}), ReplicateValues(dict.fromkeys("123", 1 / 4))
    )
    assert found == expected
    assert found is not None
    assert found.method == "paired t-test over 3 seeds"
    assert found.significant is True


def test_seeds_against_a_run_uploaded_once(space: Workspace, films: Experiment, seeds: str) -> None:
    pop = add(space, films, POP, "pop")
    found = difference(space, seeds, pop, "recall", 1)
    assert found is not None
    assert (found.mean, found.n, found.n_baseline) == (1 / 4, 2, 1)


def test_a_run_uploaded_once_is_cut_to_the_users_of_folds(
    space: Workspace, films: Experiment, folds: str
) -> None:
    pop = add(space, films, POP, "pop")
    found = difference(space, folds, pop, "recall", 1)
    # fold 1: u1, u2: 1/2 against 1/2; fold 2: u3: 1 against 0
    assert found == replicate_difference(
        ReplicateValues({"1": 1 / 2, "2": 1.0}, "fold", overlap=True),
        ReplicateValues({"1": 1 / 2, "2": 0.0}, "fold", overlap=True, trained_once=True),
    )
    assert found is not None
    assert found.method.startswith("corrected resampled t-test over 2 folds")
    turned = difference(space, pop, folds, "recall", 1)
    assert turned is not None
    assert turned.mean == -found.mean


def test_folds_of_the_same_users_are_paired_and_others_are_not(
    space: Workspace, films: Experiment, folds: str
) -> None:
    same = add(space, films, {"1": {"u1": ["x"], "u2": ["b"]}, "2": {"u3": ["x"]}}, "same")
    other = add(space, films, {"1": {"u1": ["x"], "u3": ["c"]}, "2": {"u2": ["x"]}}, "other")
    paired, apart = (difference(space, folds, one, "recall", 1) for one in (same, other))
    assert paired is not None
    assert apart is not None
    assert paired.method.startswith("corrected resampled t-test over 2 folds")
    assert apart.method.startswith("Welch's t-test, 2 folds against 2 folds")


def test_runs_uploaded_once_leave_it_open(space: Workspace, films: Experiment) -> None:
    als, pop = add(space, films, SEED_1, "als"), add(space, films, POP, "pop")
    assert difference(space, als, pop, "recall", 1) is None


def test_folds_and_a_metric_that_is_no_mean_over_users_are_not_compared(
    space: Workspace, films: Experiment, folds: str
) -> None:
    assert difference(space, folds, add(space, films, POP, "pop"), "coverage", 1) is None


def test_spread_and_difference_may_be_those_of_a_part(
    space: Workspace, films: Experiment, seeds: str, folds: str
) -> None:
    old = Scope(slice="user:age=old")
    found = space.replicates.spread([seeds, folds], "recall", 1, old)
    assert [(row.replicate, row.value, row.n_users) for row in found.itertuples()] == [
        ("7", 1 / 2, 2), ("42", 1 / 2, 2), ("1", 1 / 2, 2),
    ]  # fmt: skip
    pop = add(space, films, POP, "pop")
    over_seeds = difference(space, seeds, pop, "recall", 1, old)
    assert over_seeds is not None
    assert over_seeds.mean == 0.0
