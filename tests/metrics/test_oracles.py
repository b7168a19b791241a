"""Other people's implementations agree, user by user and on average, on drawn and on real data.

ranx runs as plain Python here: compiling it would take a minute, and the small data does not need it.
"""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import pytrec_eval
import scipy.spatial
import scipy.stats
from ir_measures import AP, RR, Bpref, Judged, P, R, Rprec, Success, nDCG
from sklearn.metrics import roc_auc_score

import recdash
from recdash.metrics import METRICS, parse

os.environ["NUMBA_DISABLE_JIT"] = "1"
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ranx

CLOSE = {"rtol": 1e-9, "atol": 1e-12}
Qrels = Mapping[str, Mapping[str, int]]
Lists = Mapping[str, Mapping[str, float]]

ORACLES = {
    "precision": "ir-measures, ranx, RecTools",
    "recall": "ir-measures, ranx, RecTools",
    "f1": "ranx, RecTools, beta too; other pairs and f1(average=means) by hand: no library names them",
    "hit_rate": "ir-measures, ranx, RecTools",
    "success": "ir-measures; more hits by counting in plain Python",
    "hits": "ranx",
    "mrr": "ir-measures, ranx, RecTools",
    "map": "ir-measures, ranx, RecTools, RecBole",
    "ndcg": "ir-measures, ranx, RecTools",
    "dcg": "ranx",
    "value": "pandas",
    "snips": "a weighted mean in plain Python; recall of ir-measures with power=0",
    "ncrr": "a sum over the ranks in plain Python, and Cornac in docs/presets.md",
    "auc": "scikit-learn over the places of each list and over judged items, and RePlay in docs/presets.md",
    "r_precision": "ir-measures, ranx",
    "rbp": "a reader who walks down the list, in plain Python",
    "err": "a reader who walks down the list, in plain Python",
    "bpref": "ir-measures",
    "judged": "ir-measures",
    "serendipity": "RecTools",
    "user_coverage": "RecTools",
    "mar": "none: the formula is lost, so that its three readings are worked out by hand",
    "coverage": "RecTools",
    "novelty": "RecTools; unseen=zero and unseen=drop by hand",
    "popularity": "RecTools",
    "personalization": "the dense cosine matrix of numpy, and its dense overlaps",
    "gini": "the mean absolute difference of all pairs, in numpy",
    "entropy": "SciPy",
    "tail_share": "pandas, list by list",
    "coverage_by": "pandas",
    "exposure_fairness": "SciPy's Jensen-Shannon distance of shares that pandas counts",
    "diversity": "the dense cosine and difference of numpy, and scikit-learn, in test_metrics_diversity.py",
    "rmse": "scikit-learn",
    "mae": "scikit-learn",
    "r2": "scikit-learn",
}


def test_every_metric_names_its_oracle_or_the_reason_why_it_has_none() -> None:
    assert set(ORACLES) == set(METRICS)
    assert all(ORACLES.values())


# ── drawn data ───────────────────────────────────────────────────────────────────────────────


def drawn(seed: int, grades: int) -> tuple[Qrels, Lists]:
    """30 users with 1–12 relevant items of 40, graded 1..grades; lists of 1–25, for most of them."""
    rng = np.random.default_rng(seed)
    items = [f"i{number}" for number in range(40)]
    truth, lists = {}, {}
    for user in (f"u{number}" for number in range(30)):
        wanted = rng.choice(items, rng.integers(1, 13), replace=False)
        truth[user] = {str(item): int(rng.integers(1, grades + 1)) for item in wanted}
        shown = rng.choice(items, rng.integers(1, 26), replace=False)
        lists[user] = {str(item): float(len(items) - rank) for rank, item in enumerate(shown)}
    return truth, {user: shown for user, shown in lists.items() if user not in {"u3", "u17"}}


BY_IR_MEASURES = {
    "precision": lambda k: P @ k,
    "recall": lambda k: R @ k,
    "hit_rate": lambda k: Success @ k,
    "map": lambda k: AP @ k,
    "ndcg": lambda k: nDCG @ k,
    "r_precision": lambda _: Rprec,
    "ndcg(gain=exp)": lambda k: nDCG(gains={grade: 2**grade - 1 for grade in range(1, 5)}) @ k,
}
BY_RANX = {
    "precision": "precision@{k}",
    "recall": "recall@{k}",
    "f1": "f1@{k}",
    "hit_rate": "hit_rate@{k}",
    "hits": "hits@{k}",
    "mrr": "mrr@{k}",
    "map": "map@{k}",
    "ndcg": "ndcg@{k}",
    "ndcg(gain=exp)": "ndcg_burges@{k}",
    "dcg": "dcg@{k}",
    "dcg(gain=exp)": "dcg_burges@{k}",
    "r_precision": "r-precision",
}


def spec_at(metric: str, k: int) -> str:
    return f"{metric}@{k}" if METRICS[parse(metric).name].has_cutoff else metric


def ours(truth: Qrels, lists: Lists, spec: str, **more: Any) -> tuple[float, dict[str, float]]:
    """Mean and value per user."""
    found = recdash.evaluate({"run": lists}, truth, metrics=[spec], **more)
    (mean,) = found.table()["value"]
    return float(mean), found.per_user(spec).set_index("user_id")["value"].to_dict()


def by_ir_measures(truth: Qrels, lists: Lists, measure: Any) -> dict[str, float]:
    return {found.query_id: found.value for found in ir_measures.iter_calc([measure], truth, lists)}


def by_ranx(truth: Qrels, lists: Lists, measure: str) -> dict[str, float]:
    run = ranx.Run({user: dict(shown) for user, shown in lists.items()})
    qrels = ranx.Qrels({user: dict(wanted) for user, wanted in truth.items()})
    ranx.evaluate(qrels, run, [measure], make_comparable=True)
    return {user: float(value) for user, value in run.scores[measure].items()}


def assert_users_agree(found: Mapping[str, float], expected: Mapping[str, float]) -> None:
    assert set(found) == set(expected)
    users = sorted(expected)
    np.testing.assert_allclose([found[user] for user in users], [expected[user] for user in users], **CLOSE)


@pytest.mark.parametrize("grades", [1, 4])
@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("metric", BY_IR_MEASURES)
def test_trec_eval_gives_each_user_the_same_value(metric: str, k: int, grades: int) -> None:
    truth, lists = drawn(seed=k, grades=grades)
    mean, values = ours(truth, lists, spec_at(metric, k))
    expected = by_ir_measures(truth, lists, BY_IR_MEASURES[metric](k))
    assert_users_agree(values, expected)
    assert mean == pytest.approx(sum(expected.values()) / len(truth), rel=1e-12)


def test_trec_eval_gives_each_user_the_same_reciprocal_rank() -> None:
    truth, lists = drawn(seed=1, grades=1)
    _, values = ours(truth, lists, "mrr@40")
    assert_users_agree(values, by_ir_measures(truth, lists, RR))


@pytest.mark.parametrize("grades", [1, 4])
@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("metric", BY_RANX)
def test_ranx_gives_each_user_the_same_value(metric: str, k: int, grades: int) -> None:
    truth, lists = drawn(seed=10 + k, grades=grades)
    mean, values = ours(truth, lists, spec_at(metric, k))
    expected = by_ranx(truth, lists, BY_RANX[metric].format(k=k))
    assert_users_agree(values, expected)
    assert mean == pytest.approx(sum(expected.values()) / len(truth), rel=1e-12)


@pytest.mark.parametrize("metric", ["precision", "map", "ndcg"])
def test_the_trec_eval_preset_breaks_ties_and_counts_users_as_trec_eval_does(metric: str) -> None:
    truth, lists = drawn(seed=2, grades=3)
    coarse = {user: {item: score // 4 for item, score in shown.items()} for user, shown in lists.items()}
    mean, values = ours(truth, coarse, f"{metric}@10", preset="trec_eval")
    of_listed = {user: wanted for user, wanted in truth.items() if user in lists}
    expected = by_ir_measures(of_listed, coarse, BY_IR_MEASURES[metric](10))
    assert_users_agree(values, expected)
    assert mean == pytest.approx(sum(expected.values()) / len(lists), rel=1e-12)


def test_ties_do_matter_in_that_data() -> None:
    truth, lists = drawn(seed=2, grades=3)
    coarse = {user: {item: score // 4 for item, score in shown.items()} for user, shown in lists.items()}
    as_given, _ = ours(truth, coarse, "ndcg@10", users="both")
    by_item, _ = ours(truth, coarse, "ndcg@10", preset="trec_eval")
    assert as_given != pytest.approx(by_item, rel=1e-6)


def with_negatives(truth: Qrels, seed: int) -> Qrels:
    """About a third of the items that a user did not want are judged, and found not relevant."""
    rng = np.random.default_rng(seed)
    items = [f"i{number}" for number in range(40)]
    return {
        user: {**{item: 0 for item in items if item not in wanted and rng.random() < 1 / 3}, **wanted}
        for user, wanted in truth.items()
    }


@pytest.mark.parametrize("grades", [1, 4])
@pytest.mark.parametrize("seed", [3, 4])
def test_trec_eval_gives_each_user_the_same_bpref(seed: int, grades: int) -> None:
    truth, lists = drawn(seed, grades)
    judged = with_negatives(truth, seed)
    _, values = ours(judged, lists, "bpref@40")
    assert_users_agree(values, by_ir_measures(judged, lists, Bpref))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_ir_measures_finds_as_many_judged_items(k: int) -> None:
    truth, lists = drawn(seed=k, grades=2)
    judged = with_negatives(truth, k)
    _, values = ours(judged, lists, f"judged(over=list)@{k}")
    assert_users_agree(values, by_ir_measures(judged, lists, Judged @ k))


def walked_down(wanted: Mapping[str, int], shown: Mapping[str, float], k: int) -> dict[str, float]:
    """What a reader gains who goes on with p = 0.8, and one who stops when satisfied (grades up to 4)."""
    rbp, err, still_reading = 0.0, 0.0, 1.0
    for rank, item in enumerate(sorted(shown, key=shown.__getitem__, reverse=True)[:k], start=1):
        grade = wanted.get(item, 0)
        rbp += 0.2 * 0.8 ** (rank - 1) * (grade > 0)
        satisfied = (2**grade - 1) / 16
        err += still_reading * satisfied / rank
        still_reading *= 1 - satisfied
    return {"rbp": rbp, "err(max_grade=4)": err}


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("metric", ["rbp", "err(max_grade=4)"])
def test_a_reader_who_walks_down_the_list_gains_the_same(metric: str, k: int) -> None:
    truth, lists = drawn(seed=20 + k, grades=4)
    _, values = ours(truth, lists, f"{metric}@{k}")
    expected = {user: walked_down(wanted, lists.get(user, {}), k)[metric] for user, wanted in truth.items()}
    assert_users_agree(values, expected)


def in_order(shown: Mapping[str, float], k: int) -> list[str]:
    return sorted(shown, key=shown.__getitem__, reverse=True)[:k]


@pytest.mark.parametrize("k", [2, 5, 20])
def test_scikit_learn_gives_each_list_the_same_auc(k: int) -> None:
    truth, lists = drawn(seed=30 + k, grades=1)
    _, values = ours(truth, lists, f"auc@{k}")
    checked = 0
    for user, shown in lists.items():
        places = in_order(shown, k)
        hits = [item in truth[user] for item in places]
        if len(set(hits)) == 2:  # scikit-learn has no answer of one class alone
            expected = roc_auc_score(hits, [-rank for rank in range(len(hits))])
            assert values[user] == pytest.approx(expected, rel=1e-12)
            checked += 1
        else:
            assert values[user] == float(all(hits) and bool(hits))
    assert checked > 5


@pytest.mark.parametrize("seed", [50, 51])
def test_scikit_learn_gives_the_same_auc_over_judged_items(seed: int) -> None:
    """Each list has all items, so that every pair of a relevant item and a negative is ordered by it."""
    truth, _ = drawn(seed, grades=1)
    judged = with_negatives(truth, seed)
    rng = np.random.default_rng(seed)
    items = [f"i{number}" for number in range(40)]
    lists = {
        user: {str(item): float(rng.permutation(40)[0]) + rng.random() for item in items} for user in truth
    }
    found = recdash.evaluate({"run": lists}, judged, metrics=["auc(pairs=judged)@40"])
    expected = [
        roc_auc_score([*judged[user].values()], [lists[user][item] for item in judged[user]])
        for user in judged
        if len(set(judged[user].values())) == 2
    ]
    assert len(expected) > 20
    (row,) = found.rows()
    assert row["value"] == pytest.approx(np.mean(expected), rel=1e-12)
    # all users have a pair here, so that the error is that of a mean
    if len(expected) == len(judged):
        assert row["std_error"] == pytest.approx(np.std(expected, ddof=1) / len(expected) ** 0.5, rel=1e-9)


@pytest.mark.parametrize("k", [1, 5, 20])
def test_pairs_of_judged_items_counted_one_by_one_give_the_same_auc(k: int) -> None:
    truth, lists = drawn(seed=52 + k, grades=1)
    judged = {user: wanted if n % 4 else truth[user] for n, (user, wanted) in enumerate(
        with_negatives(truth, k).items()
    )}  # fmt: skip
    shares = []
    for user, rows in judged.items():
        place = {item: rank for rank, item in enumerate(in_order(lists.get(user, {}), k))}
        pairs = [(a, b) for a in rows for b in rows if rows[a] and not rows[b]]
        won = [a in place and place[a] < place.get(b, k) for a, b in pairs]
        shares += [sum(won) / len(won)] if won else []
    assert 0 < len(shares) < len(judged), "some users have no negative"
    (row,) = recdash.evaluate({"run": lists}, judged, metrics=[f"auc(pairs=judged)@{k}"]).rows()
    assert row["value"] == pytest.approx(np.mean(shares), rel=1e-12)


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("min_hits", [1, 2, 4])
def test_success_counts_lists_with_enough_hits(k: int, min_hits: int) -> None:
    truth, lists = drawn(seed=60 + k, grades=1)
    _, values = ours(truth, lists, f"success(min_hits={min_hits})@{k}")
    hits = {user: len(set(in_order(lists.get(user, {}), k)) & set(truth[user])) for user in truth}
    assert values == {user: float(n >= min_hits) for user, n in hits.items()}
    if min_hits == 1:
        assert_users_agree(values, by_ir_measures(truth, lists, Success @ k))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_pandas_adds_up_the_same_value(k: int) -> None:
    truth, lists = drawn(seed=70 + k, grades=4)
    shown = pd.DataFrame(
        [(user, item) for user in lists for item in in_order(lists[user], k)], columns=["user", "item"]
    )
    wanted = pd.DataFrame(
        [(user, item, worth) for user in truth for item, worth in truth[user].items()],
        columns=["user", "item", "worth"],
    )
    total = wanted.groupby("user")["worth"].sum()
    found = shown.merge(wanted).groupby("user")["worth"].sum().reindex(total.index, fill_value=0)
    assert_users_agree(ours(truth, lists, f"value@{k}")[1], found.to_dict())
    assert_users_agree(ours(truth, lists, f"value(norm=relevant)@{k}")[1], (found / total).to_dict())


@pytest.mark.parametrize("k", [1, 5, 20])
@pytest.mark.parametrize("power", [0.0, 0.5, 1.5])
@pytest.mark.parametrize("of", ["recall", "dcg", "mrr"])
def test_a_weighted_mean_over_relevant_items_is_snips(of: str, power: float, k: int) -> None:
    truth, lists = drawn(seed=80 + k, grades=1)
    users_with = {f"i{n}": n % 7 for n in range(40)}  # of some items the training data has none
    train = pd.DataFrame(
        [(f"t{user}", item) for item, n in users_with.items() for user in range(n)],
        columns=["user_id", "item_id"],
    )
    worth = {"recall": lambda _: 1.0, "dcg": lambda r: 1 / math.log2(r + 1), "mrr": lambda r: 1 / r}[of]
    expected = {}
    for user, wanted in truth.items():
        rank = {item: place for place, item in enumerate(in_order(lists.get(user, {}), k), start=1)}
        weight = [max(users_with[item], 1) ** -power for item in wanted]
        gained = [worth(rank[item]) if item in rank else 0.0 for item in wanted]
        expected[user] = float(np.average(gained, weights=weight))
    _, values = ours(truth, lists, f"snips(of={of},power={power})@{k}", train=train)
    assert_users_agree(values, expected)
    if of == "recall" and not power:
        assert_users_agree(values, by_ir_measures(truth, lists, R @ k))


@pytest.mark.parametrize("k", [1, 5, 20])
def test_reciprocal_ranks_add_up_to_ncrr(k: int) -> None:
    truth, lists = drawn(seed=40 + k, grades=1)
    _, values = ours(truth, lists, f"ncrr@{k}")
    for user, wanted in truth.items():
        found = sum(
            1 / rank for rank, item in enumerate(in_order(lists.get(user, {}), k), start=1) if item in wanted
        )
        best = sum(1 / rank for rank in range(1, min(len(wanted), k) + 1))
        assert values[user] == pytest.approx(found / best, rel=1e-12)


# ── what is shown, done densely ──────────────────────────────────────────────────────────────


@cache
def dense(seed: int) -> tuple[Qrels, Lists, Any]:
    """And [users, items] 1 where the item is in the user's first ten."""
    truth, lists = drawn(seed, grades=1)
    items = [f"i{number}" for number in range(40)]
    first_ten = {
        user: sorted(shown, key=shown.__getitem__, reverse=True)[:10] for user, shown in lists.items()
    }
    shown = np.array([[float(item in first_ten[user]) for item in items] for user in lists])
    return truth, lists, shown


def only_value(truth: Qrels, lists: Lists, spec: str) -> float:
    catalogue = pd.DataFrame({"item_id": [f"i{number}" for number in range(40)]})
    (value,) = recdash.evaluate({"run": lists}, truth, metrics=[spec], catalogue=catalogue).table()["value"]
    return float(value)


def test_personalization_is_one_minus_the_mean_of_the_cosine_matrix() -> None:
    truth, lists, shown = dense(5)
    unit = shown / np.linalg.norm(shown, axis=1, keepdims=True)
    cosine = (unit @ unit.T)[np.triu_indices(len(shown), k=1)]
    assert only_value(truth, lists, "personalization@10") == pytest.approx(1 - cosine.mean(), rel=1e-12)


def test_hamming_diversity_is_one_minus_the_mean_of_the_overlaps_over_k() -> None:
    truth, lists, shown = dense(5)
    overlap = (shown @ shown.T)[np.triu_indices(len(shown), k=1)]
    found = only_value(truth, lists, "personalization(distance=hamming)@10")
    assert found == pytest.approx(1 - overlap.mean() / 10, rel=1e-12)


def test_gini_is_half_the_relative_mean_absolute_difference() -> None:
    truth, lists, shown = dense(6)
    counts = shown.sum(axis=0)
    difference = np.abs(counts[:, None] - counts[None, :]).mean()
    assert only_value(truth, lists, "gini@10") == pytest.approx(difference / (2 * counts.mean()), rel=1e-12)


def test_entropy_is_that_of_the_counts() -> None:
    truth, lists, shown = dense(7)
    expected = scipy.stats.entropy(shown.sum(axis=0), base=2)
    assert only_value(truth, lists, "entropy@10") == pytest.approx(expected, rel=1e-12)
    share = expected / np.log2(40)
    assert only_value(truth, lists, "entropy(norm=max)@10") == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("discount", ["log2", "none"])
@pytest.mark.parametrize("target", ["catalogue", "train", "equal"])
def test_exposure_fairness_is_one_minus_scipys_squared_distance(target: str, discount: str) -> None:
    truth, lists, _ = dense(9)
    maker = {f"i{number}": "ABCD"[min(number // 7, 3)] for number in range(40)}
    catalogue = pd.DataFrame({"item_id": [*maker], "maker": [*maker.values()]})
    train = pd.DataFrame(
        [(user, item) for user in truth for item in truth[user]], columns=["user_id", "item_id"]
    )
    rows = [
        (maker[item], 1 / np.log2(rank + 1) if discount == "log2" else 1.0)
        for shown in lists.values()
        for rank, item in enumerate(in_order(shown, 10), start=1)
    ]
    exposure = pd.DataFrame(rows, columns=["maker", "exposure"]).groupby("maker")["exposure"].sum()
    targets = {
        "catalogue": catalogue["maker"].value_counts(),
        "train": train["item_id"].map(maker).value_counts(),
        "equal": pd.Series(1, index=list("ABCD")),
    }
    both = pd.concat([exposure, targets[target]], axis=1).fillna(0).to_numpy()
    distance = scipy.spatial.distance.jensenshannon(both[:, 0], both[:, 1], base=2)
    spec = f"exposure_fairness(maker,target={target},discount={discount})@10"
    (row,) = recdash.evaluate({"run": lists}, truth, metrics=[spec], catalogue=catalogue, train=train).rows()
    assert 0 < distance < 1
    assert row["value"] == pytest.approx(1 - distance**2, rel=1e-12)


# ── real data ────────────────────────────────────────────────────────────────────────────────

CANDIDATES = ("als", "bpr", "ease", "itemknn", "lightfm", "popular", "random", "surprise_svd", "tfidf")
CUTOFFS = (1, 5, 10, 20, 50, 100)
ACCURACY = {
    "precision": {"ranx": "precision@{k}", "rectools": "Precision(k={k})", "recbole": "precision@{k}"},
    "recall": {"ranx": "recall@{k}", "rectools": "Recall(k={k})"},
    "f1": {"ranx": "f1@{k}", "rectools": "F1Beta(k={k})"},
    "hit_rate": {"ranx": "hit_rate@{k}", "rectools": "HitRate(k={k})"},
    "mrr": {"ranx": "mrr@{k}", "rectools": "MRR(k={k})"},
    "map": {"ranx": "map@{k}", "rectools": "MAP(k={k})"},
    "map(norm=k)": {"rectools": "MAP(k={k},divide_by_k=True)"},
    "map(norm=min)": {"recbole": "map@{k}"},
    "ndcg": {"ranx": "ndcg@{k}", "rectools": "NDCG(k={k},divide_by_achievable=True)", "recbole": "ndcg@{k}"},
    "ndcg(ideal=full)": {"rectools": "NDCG(k={k})"},
}
BEYOND = {
    "coverage": "CatalogCoverage(k={k},normalize=True)",
    "novelty": "MeanInvUserFreq(k={k})",
    "popularity": "AvgRecPopularity(k={k})",
}


@pytest.fixture(scope="module")
def films(shared_data: Path) -> Path:
    return shared_data / "movietweetings"


def peer(films: Path, name: str) -> dict[str, Any]:
    return json.loads((films / "reference" / f"{name}.json").read_text())["values"]


def peer_means(found: dict[str, Any]) -> dict[str, float]:
    """ranx' file tells two populations apart; the others count every truth user."""
    return found.get("mean_over_truth_users", found)


def curves_of(found: recdash.Evaluation) -> dict[tuple[str, str, int], float]:
    return {(row["run"], row["metric"], row["k"]): row["value"] for row in found.rows()}


@pytest.fixture(scope="module")
def scored(films: Path) -> dict[tuple[str, str, int], float]:
    """All nine runs with every truth row relevant, at every k."""
    runs = {name: films / "runs" / f"{name}.parquet" for name in CANDIDATES}
    return curves_of(
        recdash.evaluate(
            runs,
            films / "truth.csv",
            relevance="none",
            metrics=[*ACCURACY, *BEYOND],
            train=films / "train.csv.gz",
            catalogue=films / "catalogue.csv",
        )
    )


@pytest.mark.parametrize("metric", ACCURACY)
def test_nine_real_runs_score_as_in_other_libraries(
    films: Path, scored: dict[tuple[str, str, int], float], metric: str
) -> None:
    for library, name in ACCURACY[metric].items():
        values = peer(films, library)
        for run in CANDIDATES:
            expected = peer_means(values[run]["all"])
            for k in CUTOFFS:
                found = scored[run, metric, k]
                assert found == pytest.approx(expected[name.format(k=k)], abs=1e-12), (library, run, k)


@pytest.mark.parametrize("metric", BEYOND)
def test_nine_real_runs_show_the_catalogue_as_rectools_sees_it(
    films: Path, scored: dict[tuple[str, str, int], float], metric: str
) -> None:
    values = peer(films, "rectools")
    for run in CANDIDATES:
        for k in CUTOFFS[1:]:
            expected = values[run]["beyond"][BEYOND[metric].format(k=k)]
            assert scored[run, metric, k] == pytest.approx(expected, rel=1e-12), (run, k)


@pytest.mark.parametrize("preset", ["default", "rectools"])
def test_what_real_runs_show_does_not_depend_on_whom_the_truth_knows(
    films: Path, preset: str, tmp_path: Path
) -> None:
    """RecTools counts all lists: its values hold for every truth, here a third of the users' rows."""
    few = pd.read_csv(films / "truth.csv")
    few[few["user_id"] % 3 == 0].to_csv(tmp_path / "few.csv", index=False)
    found = recdash.evaluate(
        {name: films / "runs" / f"{name}.parquet" for name in ("als", "random")},
        tmp_path / "few.csv",
        metrics=[f"{spec}@10" for metric in BEYOND for spec in (metric, with_users_of_truth(metric))],
        train=films / "train.csv.gz",
        catalogue=films / "catalogue.csv",
        preset=preset,
    )
    table = found.table().set_index(["run", "metric"])["value"]
    values = peer(films, "rectools")
    for run in ("als", "random"):
        for metric, name in BEYOND.items():
            expected = values[run]["beyond"][name.format(k=10)]
            assert table[run, metric] == pytest.approx(expected, rel=1e-12), (run, metric)
            assert table[run, with_users_of_truth(metric)] != pytest.approx(expected, rel=1e-9)


def with_users_of_truth(metric: str) -> str:
    return f"{metric[:-1]},users=truth)" if metric.endswith(")") else f"{metric}(users=truth)"


def test_nine_real_runs_cover_users_and_surprise_them_as_in_rectools(films: Path) -> None:
    found = recdash.evaluate(
        {name: films / "runs" / f"{name}.parquet" for name in CANDIDATES},
        films / "truth.csv",
        metrics="serendipity@10,user_coverage",
        preset="rectools",
        train=films / "train.csv.gz",
        catalogue=films / "catalogue.csv",
    )
    table = found.table().set_index(["run", "metric"])["value"]
    for run in CANDIDATES:
        values = peer(films, "rectools")[run]
        covered = values["all"]["CoveredUsers(k=10)"]
        assert table[run, "user_coverage"] == pytest.approx(covered, abs=1e-12)
        surprise = values["beyond"]["Serendipity(k=10)"]
        assert table[run, "serendipity"] == pytest.approx(surprise, abs=1e-12), run


@pytest.fixture(scope="module")
def als_shown(films: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The first ten places of a real run with the films' years and genres, and the catalogue."""
    catalogue = pd.read_csv(films / "catalogue.csv", dtype={"item_id": str})
    shown = pq.read_table(films / "runs" / "als.parquet", filters=[("rank", "<=", 10)]).to_pandas()
    shown["item_id"] = shown["item_id"].astype(str).str.zfill(7)
    return shown.merge(catalogue, on="item_id", how="left"), catalogue


def test_coverage_by_attribute_is_the_share_of_its_values_in_pandas(
    films: Path, als_shown: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    shown, catalogue = als_shown
    found = recdash.evaluate(
        {"als": films / "runs" / "als.parquet"},
        films / "truth.csv",
        metrics="coverage_by(year)@10,coverage_by(genres)@10",
        catalogue=films / "catalogue.csv",
    )
    years = shown["year"].nunique() / catalogue["year"].nunique()
    genres = [set(table["genres"].dropna().str.split("|").explode()) for table in als_shown]
    assert found.table()["value"].tolist() == [years, len(genres[0]) / len(genres[1])]


def test_tail_share_is_the_mean_share_of_unpopular_items_in_pandas(
    films: Path, als_shown: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    train = pd.read_csv(films / "train.csv.gz", dtype=str)
    users = train.groupby("item_id")["user_id"].nunique().sort_values(ascending=False)
    least = users.iloc[math.ceil(0.2 * len(users)) - 1]
    in_tail = als_shown[0]["item_id"].map(users).fillna(0) < least
    expected = in_tail.groupby(als_shown[0]["user_id"]).mean().mean()
    found = recdash.evaluate(
        {"als": films / "runs" / "als.parquet"},
        films / "truth.csv",
        relevance="none",
        metrics="tail_share@10",
        train=films / "train.csv.gz",
    )
    assert found.table()["value"].tolist() == [pytest.approx(expected, rel=1e-12)]


@pytest.mark.parametrize("run", ["als", "popular"])
def test_graded_gains_and_thresholds_score_as_in_ranx(films: Path, run: str) -> None:
    source, truth, values = (
        {run: films / "runs" / f"{run}.parquet"},
        films / "truth.csv",
        peer(films, "ranx")[run],
    )
    graded = curves_of(recdash.evaluate(source, truth, metrics="ndcg,ndcg(gain=exp)"))
    liked = curves_of(
        recdash.evaluate(source, truth, metrics="map,recall,ndcg(gain=binary)", relevance_threshold=8)
    )
    for k in CUTOFFS:
        for metric, name in {"ndcg": f"ndcg@{k}", "ndcg(gain=exp)": f"ndcg_burges@{k}"}.items():
            assert graded[run, metric, k] == pytest.approx(peer_means(values["graded"])[name], abs=1e-12), (
                metric,
                k,
            )
        for metric, name in {
            "map": f"map@{k}",
            "recall": f"recall@{k}",
            "ndcg(gain=binary)": f"ndcg@{k}",
        }.items():
            assert liked[run, metric, k] == pytest.approx(peer_means(values["ge8"])[name], abs=1e-12), (
                metric,
                k,
            )


def test_only_users_with_lists_count_where_both_are_asked_for(films: Path) -> None:
    runs = {name: films / "runs" / f"{name}.parquet" for name in ("als", "ease")}
    specs = "ndcg@10,map@10,recall@10"
    found = recdash.evaluate(runs, films / "truth.csv", relevance="none", metrics=specs, users="both")
    for row in found.rows():
        of_run = peer(films, "ranx")[row["run"]]["all"]
        assert row["n_users"] == of_run["n_users_in_run_and_truth"]
        expected = of_run["mean_over_users_in_run@10"][f"{row['metric']}@10"]
        assert row["value"] == pytest.approx(expected, abs=1e-12)


NATIVE = {
    "als": "als.top20.jsonl.gz",
    "bpr": "bpr.top20.nested_lists.parquet",
    "itemknn": "itemknn.top20.trec.run.gz",
    "tfidf": "tfidf.top20.csv.gz",
}


@pytest.mark.parametrize("truth", ["truth.csv", "native/truth.trec.qrels.gz"])
def test_files_as_libraries_write_them_score_as_their_parquet(films: Path, truth: str) -> None:
    metrics = ["precision", "recall", "map", "mrr", "hit_rate", "ndcg"]
    runs = {run: films / "native" / file for run, file in NATIVE.items()}
    found = curves_of(recdash.evaluate(runs, films / truth, relevance="none", metrics=metrics))
    for run in NATIVE:
        expected = peer_means(peer(films, "ranx")[run]["all"])
        for metric in metrics:
            for k in (1, 5, 10, 20):
                assert found[run, metric, k] == pytest.approx(expected[f"{metric}@{k}"], abs=1e-12), (
                    run,
                    metric,
                    k,
                )


def test_each_of_some_thousand_real_users_has_the_value_of_trec_eval(films: Path) -> None:
    truth = pd.read_csv(films / "truth.csv", dtype=str).astype({"rating": int})
    run = pq.read_table(films / "runs" / "als.parquet", filters=[("rank", "<=", 10)]).to_pandas()
    known = sorted(truth.user_id.unique())[:2_000]
    truth, run = truth[truth.user_id.isin(known)], run[run.user_id.astype(str).isin(known)]
    qrels = {
        user: dict(zip(rows.item_id, rows.rating, strict=True)) for user, rows in truth.groupby("user_id")
    }
    lists = {
        str(user): dict(zip(rows.item_id, 101.0 - rows["rank"], strict=True))
        for user, rows in run.groupby("user_id")
    }
    found = recdash.evaluate({"als": run}, truth, metrics="ndcg@10,map@10")
    for spec, measure in {"ndcg@10": nDCG @ 10, "map@10": AP @ 10}.items():
        values = found.per_user(spec).set_index("user_id")["value"].to_dict()
        expected = by_ir_measures(qrels, lists, measure)
        wanted = {user for user, grades in qrels.items() if max(grades.values()) > 0}
        assert_users_agree(values, {user: value for user, value in expected.items() if user in wanted})


def test_predicted_ratings_score_as_in_scikit_learn(films: Path) -> None:
    expected = peer(films, "ratings")["surprise_svd"]["sklearn"]
    for file in ("surprise_svd.csv.gz", "surprise_svd.native.csv.gz"):
        table = films / "predictions" / file
        found = recdash.evaluate({}, films / "truth.csv", metrics="rmse,mae,r2", predictions={"svd": table})
        for row in found.rows():
            assert row["value"] == pytest.approx(expected[row["metric"]], rel=1e-12)
            assert math.isfinite(row["std_error"])


# ── trec_eval with a relevance level ─────────────────────────────────────────────────────────

BY_TREC_EVAL = {
    "ndcg@10": "ndcg_cut_10", "ndcg@100": "ndcg", "precision@10": "P_10", "recall@10": "recall_10",
    "map@100": "map", "mrr@100": "recip_rank", "r_precision": "Rprec", "bpref@100": "bpref",
    "hit_rate@10": "success_10",
}  # fmt: skip


@pytest.mark.parametrize("level", [1, 2, 3])
def test_under_a_relevance_level_all_users_of_trec_eval_count_and_lower_grades_are_gains(level: int) -> None:
    """Some users have no list, some no row of the level, some are not in the truth, some have ties."""
    rng = np.random.default_rng(5)
    truth = {
        f"u{user}": {f"i{item}": int(rng.integers(0, 4)) for item in rng.choice(30, 6, replace=False)}
        for user in range(40)
    } | {"u40": {"i1": 0, "i2": 0}, "u41": {"i1": 1, "i2": 0}}
    lists = {
        f"u{user}": {f"i{item}": float(rng.integers(0, 9)) for item in rng.choice(30, 12, replace=False)}
        for user in range(5, 47)
    }
    judged = pytrec_eval.RelevanceEvaluator(truth, set(BY_TREC_EVAL.values()), relevance_level=level)
    by_user = judged.evaluate(lists).values()
    found = recdash.evaluate(
        {"run": lists}, truth, metrics=list(BY_TREC_EVAL), preset="trec_eval", relevance_threshold=level
    )
    for name, row in zip(BY_TREC_EVAL.values(), found.rows(), strict=True):
        values = [user[name] for user in by_user]
        assert (row["value"], row["n_users"]) == (pytest.approx(np.mean(values), abs=1e-12), 37), name


@pytest.mark.parametrize("run", ["als", "tfidf"])
def test_real_runs_under_the_preset_of_replay_score_as_in_replay(films: Path, run: str) -> None:
    values = peer(films, "replay")[run]
    expected = {
        "ndcg": values["all"]["NDCG@10"], "map": values["all"]["MAP@10"],
        "novelty": values["beyond"]["Surprisal@10"], "coverage": values["beyond"]["Coverage@10"],
    }  # fmt: skip
    found = recdash.evaluate(
        {run: films / "runs" / f"{run}.parquet"},
        films / "truth.csv",
        metrics=[f"{name}@10" for name in expected],
        preset="replay",
        train=films / "train.csv.gz",
    )
    assert found.table().set_index("metric")["value"].to_dict() == pytest.approx(expected, rel=1e-12)
