"""Every test of every pair: over the users of that pair, and nothing where there are too few."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from recdash.comparison.result import FURTHER
from recdash.evaluation import Evaluation, evaluate

USERS = [f"u{n}" for n in range(60)]
TRUTH = {user: [f"i{user}", f"j{user}", f"k{user}"] for user in USERS}


def lists(seed: int, users: list[str]) -> dict[str, list[str]]:
    """Of each user some of the three items, at random, and a stranger."""
    rng = np.random.default_rng(seed)
    return {user: [*(one for one in TRUTH[user] if rng.random() < 0.3 + 0.1 * seed), "x"] for user in users}


def scored(runs: dict[str, Any]) -> Evaluation:
    return evaluate(runs, TRUTH, metrics=["recall@4"], depth=4, users="both")


ALL = {"a": lists(1, USERS), "b": lists(2, USERS), "c": lists(3, USERS[:40]), "d": lists(4, USERS[:40])}
ALL["e"] = lists(5, USERS[20:])


def test_pairs_of_many_runs_are_tested_as_if_each_stood_alone() -> None:
    """Runs that count three sets of users, so that pairs share five: only a rounding may differ."""
    rows = {(row["baseline"], row["candidate"]): row for row in scored(ALL).compare("recall@4", "a").rows()}
    assert len(rows) == 5 * 4 / 2
    for pair, row in rows.items():
        (alone,) = scored({name: ALL[name] for name in pair}).compare("recall@4", pair[0]).rows()
        assert [row[one] for one in FURTHER] == pytest.approx([alone[one] for one in FURTHER], abs=1e-12)


def test_the_users_of_a_pair_are_those_who_count_for_both() -> None:
    result = scored(ALL)
    values = {
        name: of.set_index("user_id")["value"] for name, of in result.per_user("recall@4").groupby("run")
    }
    rows = {(row["baseline"], row["candidate"]): row for row in result.compare("recall@4", "a").rows()}
    for pair in combinations("abcde", 2):
        row = rows[pair]
        base, mine = values[pair[0]].align(values[pair[1]], join="inner")
        assert row["n_users"] == len(base)
        assert row["wilcoxon_p"] == pytest.approx(scipy_stats.wilcoxon(mine, base).pvalue)
        assert row["bootstrap_low"] < row["mean_diff"] < row["bootstrap_high"]


def test_one_shared_user_tests_nothing() -> None:
    one = {"a": lists(1, USERS[:5]), "b": lists(2, USERS[4:])}
    (row,) = scored(one).compare("recall@4", "a").rows()
    assert row["n_users"] == 1
    tests = (*FURTHER, "t_p", "t_p_holm", "ci_low", "ci_high", "equivalence_p")
    assert [row[name] for name in tests] == [None] * len(tests)


def test_few_users_who_all_differ_by_the_same_have_no_t_test_and_the_other_tests() -> None:
    hit = {user: TRUTH[user] for user in USERS[:3]}
    (row,) = scored({"a": {user: ["x"] for user in hit}, "b": hit}).compare("recall@4", "a").rows()
    assert (row["t_p"], row["t_p_holm"], row["t_p_bh"]) == (None, None, None)
    assert (row["bootstrap_low"], row["bootstrap_high"]) == (None, None)
    assert row["wilcoxon_p"] == pytest.approx(2 / 2**3)
    assert row["permutation_p"] == pytest.approx(2 / 2**3, abs=0.01)
    assert (row["method"], row["finding"]) == ("McNemar's exact test", "not settled")
    assert row["p"] == row["p_corrected"] == pytest.approx(2 / 2**3)
    share = 0.025 ** (1 / 3)  # at least so many of all users differ, and of these win
    assert (row["ci_low"], row["ci_high"]) == (pytest.approx(2 * share - 1), 1)
