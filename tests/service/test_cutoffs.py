"""From k to k: differences to the baseline, who leads where, and the parts that can be looked at."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from recdash.comparison import ComparisonQuery, Terms
from recdash.domain.results import Scope
from recdash.errors import InputError
from recdash.service import Workspace
from recdash.service.offline.cutoffs import cutoffs_within
from recdash.stats import paired_difference
from recdash.stats.all_pairs import AllPairs, compare_all_pairs, leaders
from recdash.store import open_store

USERS = [f"u{number}" for number in range(40)]
TRUTH = pd.DataFrame({"user_id": USERS, "item_id": [f"i{number}" for number in range(40)]})


def lists(hit_at: int, users: list[str] = USERS, length: int = 12) -> pd.DataFrame:
    """Lists whose only hit is the user's own item at ``hit_at``."""
    rows = [
        (user, f"i{user[1:]}" if rank == hit_at else f"x{rank}", rank)
        for user in users
        for rank in range(1, length + 1)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))


@pytest.fixture
def runs(space: Workspace) -> dict[str, str]:
    """early hits everybody at 1, late at 4; half hits every second user at 1."""
    made = space.experiments.create("films", TRUTH, depth=12)
    tables = {"early": lists(1), "late": lists(4), "half": lists(1, USERS[::2])}
    return {name: space.runs.add(made.id, table, name=name)[0].run.id for name, table in tables.items()}


# ── every pair at once ───────────────────────────────────────────────────────────────────────


def test_all_pairs_are_the_paired_differences_of_two_by_two() -> None:
    values = np.random.default_rng(3).random((50, 3))
    found = compare_all_pairs(values)
    for base, run in permutations(range(3), 2):
        pair = paired_difference(values[:, run], values[:, base])
        assert found.mean[base, run] == pytest.approx(pair.mean)
        assert found.error[base, run] == pytest.approx(pair.error, abs=1e-12)
        assert found.interval(base, run) == pytest.approx((pair.low, pair.high))
        assert found.p()[base, run] == pytest.approx(pair.p)


def test_pairs_do_not_depend_on_how_values_lie_in_memory() -> None:
    values = np.random.default_rng(4).integers(0, 5, (200, 4)) / 4 * (np.arange(200) < 12)[:, None]
    by_user, by_run = (
        compare_all_pairs(order(values), 1.0) for order in (np.ascontiguousarray, np.asfortranarray)
    )
    assert set(by_user.sparse) == set(by_run.sparse) != set()
    for name in ("mean", "error", "skewness"):
        np.testing.assert_allclose(getattr(by_run, name), getattr(by_user, name), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(by_run.p(), by_user.p(), rtol=1e-12)


def test_runs_alike_but_for_rounding_do_not_differ() -> None:
    values = np.random.default_rng(3).random(50)
    found = compare_all_pairs(np.column_stack([values, values + 1e-14]), bound=1.0)
    assert (found.mean[0, 1], found.error[0, 1], found.p()[0, 1]) == (0, 0, 1)


@pytest.mark.parametrize(("n", "first"), [(2, [True, True]), (40, [False, True])])
def test_few_users_who_all_differ_by_the_same_leave_it_open_who_leads(n: int, first: list[bool]) -> None:
    found = compare_all_pairs(np.column_stack([np.full(n, 0.25), np.full(n, 0.5)]), bound=1.0)
    assert leaders([found])[0].tolist() == first
    assert (found.interval(0, 1)[0] > 0) == (found.p()[0, 1] < 0.05) == (first == [False, True])
    assert found.interval(1, 0) == (-found.interval(0, 1)[1], -found.interval(0, 1)[0])


def one_cutoff(ahead: float, p_below_5_percent: bool) -> AllPairs:
    """Two runs; the second is ``ahead`` of the first."""
    error = abs(ahead) / (5 if p_below_5_percent else 1)
    mean = np.array([[0, ahead], [-ahead, 0]])
    return AllPairs(mean, np.full((2, 2), error), np.full((2, 2), 100))


def test_a_run_leads_where_no_other_is_left_that_it_is_not_better_than() -> None:
    found = leaders([one_cutoff(0.1, p_below_5_percent=True), one_cutoff(0.1, p_below_5_percent=False)])
    assert [one.tolist() for one in found] == [[False, True], [True, True]]


def test_more_cutoffs_make_a_single_finding_harder() -> None:
    """t = 2.1 of 99 degrees of freedom: p = 0.038, which is no finding among two."""
    mean, error = np.array([[0, 0.21], [-0.21, 0]]), np.full((2, 2), 0.1)
    just = AllPairs(mean, error, np.full((2, 2), 100))
    nothing = AllPairs(np.zeros((2, 2)), error, np.full((2, 2), 100))
    assert leaders([just])[0].tolist() == [False, True]
    assert leaders([just, nothing])[0].tolist() == [True, True]


def test_one_shared_user_separates_nobody() -> None:
    found = leaders([compare_all_pairs(np.array([[0.0, 1.0]]))])
    assert found[0].tolist() == [True, True]


# ── stored runs ──────────────────────────────────────────────────────────────────────────────


def test_cutoffs_are_dense_where_lists_begin_and_end_at_the_depth() -> None:
    assert cutoffs_within(12) == (1, 2, 3, 5, 7, 10, 12)
    assert cutoffs_within(10) == (1, 2, 3, 5, 7, 10)
    assert cutoffs_within(1) == (1,)


def test_differences_to_the_baseline_are_those_of_each_k_by_itself(
    space: Workspace, runs: dict[str, str]
) -> None:
    found = space.cutoffs.delta_curves(
        ComparisonQuery((runs["late"], runs["half"]), runs["early"], "recall", 1)
    )
    late = found[found["run"] == "late"].set_index("k")["mean_diff"]
    assert late.to_dict() == {1: -1, 2: -1, 3: -1, 5: 0, 7: 0, 10: 0, 12: 0}
    for k in (1, 5):
        alone = space.comparisons.pairs(
            ComparisonQuery((runs["half"],), runs["early"], "recall", k, terms=Terms(correction="off"))
        ).iloc[0]
        here = found[(found["run"] == "half") & (found["k"] == k)].iloc[0]
        for name in ("mean_diff", "ci_low", "ci_high", "n_users"):
            assert here[name] == pytest.approx(alone[name])


def test_runs_of_other_users_are_paired_over_those_that_they_share(space: Workspace) -> None:
    made = space.experiments.create("served", TRUTH, depth=3, users="both")
    early, half = (
        space.runs.add(made.id, table, name=name)[0].run.id
        for name, table in (("early", lists(1, length=3)), ("half", lists(2, USERS[::2], length=3)))
    )
    found = space.cutoffs.delta_curves(ComparisonQuery((half,), early, "recall", 1)).set_index("k")
    assert found["n_users"].tolist() == [20, 20, 20]
    assert found["mean_diff"].to_dict() == {1: -1, 2: 0, 3: 0}


def test_who_leads_changes_where_the_lists_have_caught_up(space: Workspace, runs: dict[str, str]) -> None:
    early, late, half = runs["early"], runs["late"], runs["half"]
    found = space.cutoffs.leaders_by_k(ComparisonQuery((early, half), late, "recall", 1))
    assert found[1] == (early,)
    assert found[3] == (early,)
    assert found[5] == (late, early)  # in the order asked for; half never hits every second user


def test_a_metric_without_a_value_per_user_leads_nobody(space: Workspace, runs: dict[str, str]) -> None:
    with pytest.raises(InputError, match="no value per user"):
        space.cutoffs.leaders_by_k(ComparisonQuery((), runs["half"], "personalization", 1))


def test_a_part_is_compared_by_itself(space: Workspace) -> None:
    train = pd.DataFrame({"user_id": USERS[:30], "item_id": "old"})
    made = space.experiments.create("trained", TRUTH, depth=3, train=train)
    known, new = USERS[:30], USERS[30:]
    good_for_new = pd.concat([lists(9, known, 3), lists(1, new, 3)])
    base = space.runs.add(made.id, lists(9, length=3), name="base", accept_unknown_ids=True)[0].run.id
    good = space.runs.add(made.id, good_for_new, name="good", accept_unknown_ids=True)[0].run.id
    of_new = space.cutoffs.delta_curves(
        ComparisonQuery((good,), base, "recall", 1, scope=Scope("user_warmth=cold"))
    )
    assert of_new["mean_diff"].tolist() == [1, 1, 1]
    assert of_new["n_users"].tolist() == [10, 10, 10]
    assert space.cutoffs.delta_curves(ComparisonQuery((good,), base, "recall", 1))["mean_diff"].iloc[
        0
    ] == pytest.approx(10 / 40)


# ── what a part can be ───────────────────────────────────────────────────────────────────────


def test_parts_are_offered_by_name_and_empty_ones_are_not(space: Workspace) -> None:
    everybody = pd.DataFrame({"user_id": USERS, "item_id": "old"})
    made = space.experiments.create("trained", TRUTH, depth=3, train=everybody)
    found = space.scopes.of(made.id)
    assert found["user_warmth=warm"] == "Known users (with train rows)"
    assert "user_warmth=cold" not in found


def test_thresholds_are_the_grades_of_the_truth(space: Workspace) -> None:
    graded = TRUTH.assign(relevance=[0, 1, 2, 4] * 10)
    assert space.scopes.thresholds(space.experiments.create("graded", graded).id) == (1, 2, 4)
    assert space.scopes.thresholds(space.experiments.create("plain", TRUTH).id) == ()


def test_of_many_grades_some_are_offered(space: Workspace) -> None:
    graded = TRUTH.assign(relevance=np.linspace(0.5, 5, 40))
    found = space.scopes.thresholds(space.experiments.create("graded", graded).id)
    assert len(found) == 12
    assert (found[0], found[-1]) == (0.5, 5)
