"""Files and a store say the same: one candidate, uploaded in every way, against one uploaded in every way."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recdash import evaluate
from recdash.comparison import ComparisonQuery
from recdash.domain.kinds import Replication
from recdash.service import Workspace
from recdash.store import open_store

USERS = [f"u{number}" for number in range(120)]
TRUTH = {user: ["wanted", "other"] for user in USERS}
METRIC, K = "recall", 2


def lists(seed: int, share: float) -> pd.DataFrame:
    """A list for each user; the wanted item is in so many of them."""
    rng = np.random.default_rng(seed)
    items = np.where(rng.random(len(USERS)) < share, "wanted", "miss")
    return pd.DataFrame({"user_id": USERS, "item_id": items, "rank": 1})


def uploaded(how: str, share: float, first_seed: int) -> pd.DataFrame:
    if how == "once":
        return lists(first_seed, share)
    if how == "folds":
        fold = np.arange(len(USERS)) % 5 + 1
        return lists(first_seed, share).assign(fold=fold)
    of_seeds = (lists(first_seed + number, share).assign(seed=number) for number in (1, 2, 3))
    return pd.concat(of_seeds, ignore_index=True)


KINDS: dict[str, Replication | None] = {"once": None, "folds": "folds", "seeds": "seeds"}


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder: Path = tmp_path_factory.mktemp("store")
    return Workspace(open_store(f"sqlite:///{folder}/recdash.db", folder / "artifacts"))


QUICK = {("once", "once"), ("folds", "once"), ("seeds", "folds"), ("once", "seeds")}
PAIRS = [
    pytest.param(*pair, marks=() if pair in QUICK else pytest.mark.long) for pair in product(KINDS, repeat=2)
]


@pytest.mark.parametrize(("candidate", "baseline"), PAIRS)
def test_both_sources_agree_on_everything_that_a_verdict_reads(
    space: Workspace, candidate: str, baseline: str
) -> None:
    tables = {"als": uploaded(candidate, 0.6, 10), "popular": uploaded(baseline, 0.4, 20)}
    films = space.experiments.create(f"{candidate} against {baseline}", TRUTH, depth=5)
    ids = {
        name: space.runs.add(films.id, table, name=name, replicates=KINDS[how])[0].run.id
        for (name, table), how in zip(tables.items(), (candidate, baseline), strict=True)
    }
    stored = space.comparisons.compare(ComparisonQuery((ids["als"],), ids["popular"], METRIC, K))
    scored = evaluate(tables, TRUTH, depth=5, metrics=[f"{METRIC}@{K}", f"personalization@{K}"]).compare(
        f"{METRIC}@{K}", "popular"
    )
    assert stored.verdict.text == scored.verdict.text
    assert same(stored.as_dict()) == same(scored.as_dict())
    of_store, of_files = (found.verdict.evidence.over_replicates for found in (stored, scored))
    assert of_store.get(ids["als"]) == of_files.get("als")
    assert bool(of_files) == ({candidate, baseline} != {"once"})


def same(found: dict[str, Any]) -> dict[str, Any]:
    """Without what names where the runs came from."""
    return {key: value for key, value in found.items() if key != "warnings"}


def test_replicates_are_compared_over_the_users_that_the_runs_share() -> None:
    """The baseline serves 120 users, the last 40 badly; the seeds serve the first 80 only."""
    few = [f"u{number}" for number in range(80)]
    seeds = uploaded("seeds", 0.5, 30).query("user_id in @few")
    baseline = lists(40, 0.5)
    baseline.loc[~baseline["user_id"].isin(few), "item_id"] = "miss"
    cut = baseline.query("user_id in @few")
    asked: dict[str, Any] = {"depth": 5, "metrics": [f"{METRIC}@{K}"], "users": "both"}
    over = [
        evaluate({"als": seeds, "popular": table}, TRUTH, **asked)
        .compare(f"{METRIC}@{K}", "popular")
        .verdict.evidence.over_replicates["als"]
        for table in (baseline, cut)
    ]
    assert over[0] == over[1]


def test_another_rule_of_who_counts_is_asked_of_every_run() -> None:
    """Counting users with lists only, a run of half of the users doubles; so must a baseline's value."""
    half = lists(50, 0.5)[::2]
    source = (
        evaluate(
            {"seeds": uploaded("seeds", 0.5, 30), "half": half}, TRUTH, depth=5, metrics=[f"{METRIC}@{K}"]
        )
        .compare(f"{METRIC}@{K}", "half")
        .source
    )
    as_asked, with_lists = source.value("half", METRIC, K), source.under("both").value("half", METRIC, K)
    assert with_lists == pytest.approx(2 * as_asked)


def test_seeds_against_folds_keep_the_noise_of_both() -> None:
    compared = evaluate(
        {"als": uploaded("seeds", 0.6, 10), "popular": uploaded("folds", 0.4, 20)},
        TRUTH, depth=5, metrics=[f"{METRIC}@{K}"],
    ).compare(f"{METRIC}@{K}", "popular")  # fmt: skip
    over = compared.verdict.evidence.over_replicates["als"]
    assert (over.n, over.n_baseline) == (3, 5)
    assert over.method.startswith("Welch's t-test, 3 seeds against 5 folds")
