"""Ratios over all users where two runs count different ones: the ratio is that over the users of both."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from recdash.comparison import ComparisonQuery
from recdash.comparison.pairs import shared
from recdash.comparison.segments import EVERYBODY
from recdash.domain.records import Experiment
from recdash.evaluation import evaluate
from recdash.metrics import define
from recdash.service import Workspace
from recdash.store import open_store

TRUTH = {f"u{n}": [f"i{n}"] for n in range(4)} | {
    "many": [f"m{n}" for n in range(20)],
    "some": [f"s{n}" for n in range(8)],
}
"""Four users with one item; each run has a list for one of the others too."""
A = {"u0": ["i0"], "u1": ["i1"], "u2": ["i2"], "u3": ["x"], "many": ["x"]}
B = {"u0": ["i0"], "u1": ["i1"], "u2": ["i2"], "u3": ["i3"], "some": [f"s{n}" for n in range(8)]}
MICRO = "recall(average=micro)"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))


@pytest.fixture
def both(space: Workspace) -> Experiment:
    return space.experiments.create("Films", TRUTH, depth=8, users="both", train={"u0": ["z"], "u3": ["z"]})


def add(space: Workspace, made: Experiment, name: str, lists: object) -> str:
    return space.runs.add(made.id, lists, name=name)[0].run.id


def test_a_pooled_ratio_is_paired_over_the_users_of_both(space: Workspace, both: Experiment) -> None:
    a, b = add(space, both, "A", A), add(space, both, "B", B)
    row = space.comparisons.pairs(ComparisonQuery((b,), a, MICRO, 8)).iloc[0]
    assert row["n_users"] == 4
    assert (row["base_value"], row["value"]) == (pytest.approx(3 / 4), pytest.approx(4 / 4))
    assert row["mean_diff"] == pytest.approx(1 / 4)
    # the one user who gains pulls by (1 − 3/4) + 3/4·1 … in all: 1, 0, 0, 0, with sd 1/2
    assert row["effect_size"] == pytest.approx((1 / 4) / (1 / 2))
    assert np.isnan([row["ci_low"], row["ci_high"]]).all()  # four users, and no bound to their pulls


def test_files_and_store_say_the_same_of_a_pooled_ratio(space: Workspace, both: Experiment) -> None:
    a, b = add(space, both, "A", A), add(space, both, "B", B)
    stored = space.comparisons.compare(ComparisonQuery((b,), a, MICRO, 8))
    scored = evaluate({"A": A, "B": B}, TRUTH, depth=8, metrics=[MICRO], users="both")
    (one,), (other,) = stored.rows(), scored.compare(f"{MICRO}@8", "A").rows()
    assert one == pytest.approx(other, nan_ok=True)


def test_the_means_of_two_metrics_are_those_of_the_users_of_both(space: Workspace, both: Experiment) -> None:
    """F1@1 of the means: A has precision and recall 3/4, B has 1; with the users of one run it is less."""
    a, b = add(space, both, "A", A), add(space, both, "B", B)
    row = space.comparisons.pairs(ComparisonQuery((b,), a, "f1(average=means)", 1)).iloc[0]
    assert (row["base_value"], row["value"]) == (pytest.approx(3 / 4), pytest.approx(1.0))


def test_a_pooled_ratio_at_every_cutoff_is_that_of_the_shared_users(
    space: Workspace, both: Experiment
) -> None:
    a, b = add(space, both, "A", A), add(space, both, "B", B)
    curves = space.cutoffs.delta_curves(ComparisonQuery((b,), a, MICRO, 1))
    assert curves["mean_diff"].tolist() == pytest.approx([1 / 4] * len(curves))


def test_equal_lists_share_a_rank_whoever_else_counts_for_one_of_them(space: Workspace) -> None:
    wanted = {f"u{n}": [f"i{n}"] for n in range(60)} | {"many": [f"m{n}" for n in range(50)]}
    made = space.experiments.create("Films", wanted, depth=8, users="both")
    lists = {user: items if user > "u2" else ["x"] for user, items in wanted.items() if user != "many"}
    add(space, made, "A", lists)
    add(space, made, "B", {**lists, "many": ["x"]})
    first, *others = (run.id for run in space.runs.all(made.id))
    ranks = space.comparisons.ranks(ComparisonQuery(tuple(others), first, MICRO, 8))
    assert ranks["rank"].tolist() == [1, 1]
    assert ranks["n_users"].tolist() == [60, 60]


def test_a_pooled_ratio_of_a_segment_is_that_of_its_users_in_both(space: Workspace, both: Experiment) -> None:
    a, b = add(space, both, "A", A), add(space, both, "B", B)
    found = space.segments.segmented(ComparisonQuery((b,), a, MICRO, 8), "user_warmth", least=2)
    # with history: u0, u3; without: u1, u2 and whom only one run counts
    assert found.cells["warm", b].difference == pytest.approx(2 / 2 - 1 / 2)
    assert found.cells["cold", b].difference == pytest.approx(0.0)
    assert found.cells["cold", b].n == 3
    assert found.cells["cold", b].value == pytest.approx((1 + 1 + 8) / (1 + 1 + 8))
    assert found.cells[EVERYBODY, b].difference == pytest.approx(1 / 4)


def test_the_same_lists_once_and_in_two_folds_do_not_differ(space: Workspace) -> None:
    rng = np.random.default_rng(2)
    wanted = {f"u{n}": [f"i{n}_{j}" for j in range(int(rng.choice([1, 2, 20])))] for n in range(40)}
    lists = {user: [one for one in items if rng.random() < 0.5] or ["x"] for user, items in wanted.items()}
    made = space.experiments.create("Folds", wanted, depth=8)
    once = add(space, made, "once", lists)
    halves = ({u: lists[u] for at, u in enumerate(lists) if at % 3 == rest} for rest in (0, 1))
    folds = add(space, made, "folds", dict(zip("12", halves, strict=True)))
    for metric in (MICRO, "f1(average=means)"):
        found = space.comparisons.replicate_differences(ComparisonQuery((folds,), once, metric, 8))[folds]
        assert found.n == 2
        assert found.mean == pytest.approx(0.0, abs=1e-12)


def test_a_ratio_of_seeds_over_some_users_is_the_mean_of_the_seeds_ratios(
    space: Workspace, both: Experiment
) -> None:
    """Of u0 … u3 the seeds find 3 and 1; who has no list of a seed does not count in it."""
    other = {"u0": ["i0"], "u1": ["x"], "u2": ["x"], "u3": ["x"], "some": ["x"]}
    seeds = space.runs.add(both.id, {"1": A, "2": other}, name="seeds", replicates="seeds")[0].run.id
    b = add(space, both, "B", {user: lists for user, lists in B.items() if user != "some"})
    row = space.comparisons.pairs(ComparisonQuery((seeds,), b, MICRO, 8)).iloc[0]
    assert row["n_users"] == 4
    assert row["value"] == pytest.approx((3 / 4 + 1 / 4) / 2)


def test_cut_twice_is_cut_once(space: Workspace, both: Experiment) -> None:
    values = space.comparisons.values(add(space, both, "A", A), MICRO, 8)
    assert values is not None
    once, twice = values.of(np.array([0, 3])), values.of(np.array([0, 1, 3])).of(np.array([0, 2]))
    assert once.values.tolist() == pytest.approx(twice.values.tolist())
    assert once.values.mean() == pytest.approx(1 / 2)
    assert values.of(np.zeros(5, dtype=bool)).values.tolist() == []
    alike, _ = shared(values, values)
    assert alike is values
    assert define(MICRO).formula().pooled
