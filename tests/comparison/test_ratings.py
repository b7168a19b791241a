"""Predicted ratings compared: the same rows of both candidates, users as the unit, less is better."""

from __future__ import annotations

from collections import defaultdict
from math import isnan, sqrt
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from terminal import Recdash, answer

import recdash
from recdash.comparison import ComparisonQuery
from recdash.comparison.result import Compared
from recdash.domain.results import RatedRows, Scope
from recdash.metrics.ratings import RATINGS, values_of_rows
from recdash.service import Workspace
from recdash.stats import paired_difference
from recdash.store import open_store

RMSE = next(metric for metric in RATINGS if metric.name == "rmse")
TRUTH = {f"u{user}": ["i0"] for user in range(40)}


def rated(error: float, seed: int, *, users: int = 40, items: int = 12) -> pd.DataFrame:
    """Predictions that are off by about ``error``; who rates much differs from user to user."""
    rng, known = np.random.default_rng(seed), np.random.default_rng(7)
    rows = [
        (f"u{user}", f"i{item}", float(known.integers(1, 6)))
        for user in range(users)
        for item in range(2 + user % items)
    ]
    frame = pd.DataFrame(rows, columns=["user_id", "item_id", "rating"])
    frame["prediction"] = frame["rating"] + rng.normal(0.0, error, len(frame))
    return frame


def without(frame: pd.DataFrame, every: int) -> pd.DataFrame:
    """The same predictions without some of the rows."""
    return frame[np.arange(len(frame)) % every != 0].reset_index(drop=True)


def compare(metric: str, **predictions: pd.DataFrame) -> Compared:
    return recdash.evaluate({}, TRUTH, metrics=metric, predictions=predictions).compare(metric, "base")


def losses(frame: pd.DataFrame, metric: str) -> dict[tuple[str, str], float]:
    errors = (frame["prediction"] - frame["rating"]).tolist()
    keys = zip(frame["user_id"], frame["item_id"], strict=True)
    return {key: abs(e) if metric == "mae" else e * e for key, e in zip(keys, errors, strict=True)}


def of_shared_rows(base: pd.DataFrame, other: pd.DataFrame, metric: str) -> tuple[float, float, list[float]]:
    """Both values over the rows of both, and each user's pull on their difference, by the definition."""
    one, two = losses(base, metric), losses(other, metric)
    rows = one.keys() & two.keys()
    counts: dict[str, int] = defaultdict(int)
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key in rows:
        counts[key[0]] += 1
        sums[key[0]][0] += one[key]
        sums[key[0]][1] += two[key]
    means = [sum(sums[user][at] for user in counts) / len(rows) for at in (0, 1)]
    values = [sqrt(mean) if metric == "rmse" else mean for mean in means]
    slopes = [1 / (2 * value) if metric == "rmse" else 1.0 for value in values]
    rows_of_user = len(rows) / len(counts)
    pulls = [
        values[1] - values[0]
        + slopes[1] * (sums[user][1] - means[1] * counts[user]) / rows_of_user
        - slopes[0] * (sums[user][0] - means[0] * counts[user]) / rows_of_user
        for user in counts
    ]  # fmt: skip
    return values[0], values[1], pulls


@pytest.mark.parametrize("metric", ["mae", "rmse"])
def test_the_difference_is_over_the_rows_of_both_and_its_interval_over_users(metric: str) -> None:
    base, other = without(rated(1.0, 1), 5), without(rated(0.6, 2), 7)
    (pair,) = compare(metric, base=base, other=other).comparison.pairs
    base_value, value, pulls = of_shared_rows(base, other, metric)
    assert pair.base_value == pytest.approx(base_value, rel=1e-12)
    assert pair.value == pytest.approx(value, rel=1e-12)
    assert pair.paired.mean == pytest.approx(value - base_value, rel=1e-9)
    interval = stats.t.interval(0.95, len(pulls) - 1, np.mean(pulls), stats.sem(pulls))
    assert (pair.paired.low, pair.paired.high) == pytest.approx(interval, rel=1e-9)
    assert pair.paired.n == len(pulls)


def test_the_interval_of_rmse_covers_the_true_difference_in_95_of_100_samples() -> None:
    """Of the samples in which no single user carries the spread: else there is no interval."""
    rng, hits, known, tries = np.random.default_rng(3), 0, 0, 1000
    user = np.repeat(np.arange(60), 1 + np.arange(60) % 9)
    key, rating = np.arange(len(user)), np.full(len(user), 3.0)
    for _ in range(tries):
        hard = np.exp(0.4 * rng.normal(0, 1, 60))[user]  # a user's rows are hard to predict together
        base, other = (
            values_of_rows(RMSE, RatedRows(key, user, rating, rating + error * hard * noise))
            for error, noise in zip((1.0, 0.9), rng.normal(0, 1, (2, len(user))), strict=True)
        )
        result = paired_difference(other.values, base.values)
        known += not isnan(result.low)
        hits += result.low < (0.9 - 1.0) * sqrt(np.exp(2 * 0.4**2)) < result.high  # √E[hard²]
    assert known > 0.9 * tries
    assert 0.925 < hits / known < 0.972  # 95 % ± 3.2 standard errors of 1,000 tries


def test_the_candidate_with_the_lower_rmse_is_the_better_one() -> None:
    compared = compare("rmse", base=rated(1.0, 1), near=rated(0.5, 2), far=rated(2.0, 3))
    comparison, verdict = compared.comparison, compared.verdict
    assert [(pair.candidate, pair.judged.word) for pair in comparison.against] == [
        ("near", "better"), ("far", "worse"),
    ]  # fmt: skip
    assert (verdict.state, verdict.run) == ("ship", "near")
    pair = comparison.against[0]
    assert pair.paired.mean < 0
    share = pair.percent(-pair.paired.mean)
    assert verdict.text.startswith(f"Ship near. RMSE is {share:.0f} % below base")


def test_a_higher_rmse_keeps_the_baseline() -> None:
    verdict = compare("rmse", base=rated(0.5, 1), far=rated(2.0, 3)).verdict
    assert (verdict.state, verdict.run) == ("keep", "base")
    assert "its RMSE is 4.3 times that of base" in verdict.text


def test_the_users_who_are_better_off_are_those_with_the_smaller_error() -> None:
    base, other = rated(1.0, 1), rated(0.6, 2)
    one, two = losses(base, "mae"), losses(other, "mae")
    mean: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for key in one:
        mean[key[0]][0] += one[key]
        mean[key[0]][1] += two[key]
    better = sum(b < a for a, b in mean.values())
    (pair,) = compare("mae", base=base, other=other).comparison.pairs
    assert (pair.paired.wins, pair.paired.losses) == (better, len(mean) - better)


def test_rows_of_no_user_in_common_are_no_difference() -> None:
    base, other = rated(1.0, 1), rated(0.5, 2).assign(item_id=lambda table: "x" + table["item_id"])
    result = compare("rmse", base=base, other=other).comparison
    assert not result.pairs
    assert result.apart == {"other": "other shares no rated row with base"}


def test_rows_with_other_ratings_are_another_truth() -> None:
    base, other = rated(1.0, 1), rated(0.5, 2)
    other.loc[[3, 4], "rating"] += 1
    compared = compare("rmse", base=base, other=other)
    assert compared.verdict.state == "not comparable"
    assert compared.comparison.apart == {
        "other": "the ratings of 2 rows that other shares with base differ: they have different test sets"
    }


def test_a_row_without_a_prediction_is_not_shared() -> None:
    base, other = rated(1.0, 1), rated(0.6, 2)
    holes = base.assign(prediction=base["prediction"].where(np.arange(len(base)) % 4 > 0))
    kept = base[np.arange(len(base)) % 4 > 0]
    (pair,) = compare("mae", base=holes, other=other).comparison.pairs
    base_value, value, _ = of_shared_rows(kept, other, "mae")
    assert (pair.base_value, pair.value) == pytest.approx((base_value, value), rel=1e-12)


def test_the_other_error_is_weighed_beside_the_first() -> None:
    evidence = compare("rmse", base=rated(1.0, 1), near=rated(0.5, 2)).verdict.evidence
    assert [(metric, pair.judged.word) for metric, pair in evidence.metrics] == [("mae", "better")]


def test_every_test_that_a_pair_is_given_says_the_same() -> None:
    (row,) = compare("rmse", base=rated(1.0, 1), near=rated(0.5, 2)).rows()
    assert row["finding"] == "better"
    assert row["bootstrap_low"] < row["mean_diff"] < row["bootstrap_high"] < 0
    assert max(row["wilcoxon_p"], row["permutation_p"]) < 0.01


FILES = {
    "truth.csv": "user_id,item_id\n" + "".join(f"{user},i0\n" for user in TRUTH),
    "base.csv": rated(1.0, 1).to_csv(index=False),
    "near.csv": rated(0.5, 2).to_csv(index=False),
}


def test_the_command_compares_files_of_predictions(run: Recdash) -> None:
    files = ("--predictions", "base=base.csv", "--predictions", "near=near.csv")
    asked = ("compare", "--truth", "truth.csv", *files, "--baseline", "base")
    result = answer(run(*asked, "--format", "json"))
    assert result["metric"] == "rmse"  # predictions alone have no nDCG
    assert (result["verdict"]["state"], result["verdict"]["run"]) == ("ship", "near")
    assert result["lower_is_better"] is True
    assert "better" in run(*asked, "--metric", "mae").output


# ── stored runs ──────────────────────────────────────────────────────────────────────────────


LISTS = {f"u{user}": ["i0", "i1"] for user in range(40)}


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))


@pytest.fixture
def stored(space: Workspace) -> dict[str, str]:
    """Run ids by name: equal lists, other predictions."""
    films = space.experiments.create("Films", TRUTH, depth=2)
    frames = {"base": without(rated(1.0, 1), 5), "near": rated(0.5, 2), "far": rated(2.0, 3)}
    result = {}
    for place, (name, frame) in enumerate(frames.items()):
        lists = LISTS | {"u0": [f"i{place}", "i9"]}  # the same upload twice would be the same run
        (added,) = space.runs.add(films.id, lists, name=name, predictions=frame)
        result[name] = added.run.id
    return result


def test_stored_runs_are_compared_as_files_are(space: Workspace, stored: dict[str, str]) -> None:
    compared = space.comparisons.compare(ComparisonQuery(tuple(stored.values()), stored["base"], "rmse", 2))
    files = compare("rmse", base=without(rated(1.0, 1), 5), near=rated(0.5, 2), far=rated(2.0, 3))
    pairs = [pair.paired for pair in compared.comparison.pairs]
    assert pairs == [pair.paired for pair in files.comparison.pairs]
    assert compared.verdict.headline == files.verdict.headline == "Ship near"


def test_the_pages_rank_and_pair_by_the_lower_error(space: Workspace, stored: dict[str, str]) -> None:
    ids = list(stored.values())
    ranks = (
        space.comparisons.ranks(ComparisonQuery(tuple(ids), stored["base"], "rmse", 2))
        .set_index("run")["rank"]
        .to_dict()
    )
    assert ranks == {"near": 1, "base": 2, "far": 3}
    pairs = (
        space.comparisons.pairs(ComparisonQuery(tuple(ids), stored["base"], "rmse", 2))
        .set_index("run")["word"]
        .to_dict()
    )
    assert pairs == {"near": "better", "far": "worse"}
    assert {
        change.question
        for change in space.comparisons.changes(ComparisonQuery(tuple(ids), stored["base"], "rmse", 2))
    } == {"MAE instead of RMSE"}


def test_predictions_are_not_cut_into_slices(space: Workspace, stored: dict[str, str]) -> None:
    compared = space.comparisons.compare(
        ComparisonQuery(
            tuple(stored.values()), stored["base"], "rmse", 2, scope=Scope(slice="history=1 item")
        )
    )
    assert not compared.comparison.pairs
    assert all("not in slices" in why for why in compared.comparison.apart.values())
