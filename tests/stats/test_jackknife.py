"""What users pull catalogue metrics by, against leaving each out; how often the interval is right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log, log2, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recdash
from recdash.comparison import ComparisonQuery
from recdash.domain.hits import Exposure, RankCounts
from recdash.domain.inputs import Recommendations
from recdash.domain.results import Curve
from recdash.engines import list_pulls
from recdash.engines.blocks import Block
from recdash.engines.list_pulls import CodedLists, ListSource, _Totals
from recdash.engines.lookup import TruthLookup
from recdash.engines.matcher import Pass, read_lists
from recdash.errors import InputError
from recdash.evaluation.in_memory_source import EvaluationSource
from recdash.metrics import MetricInputs, define, score
from recdash.metrics.catalogue import CatalogueInputs, gini_of, levels_of
from recdash.metrics.list_pulls import _lost_with_a_place, list_worth
from recdash.service import Workspace
from recdash.stats.jackknife import Pulls, change_interval, difference_interval
from recdash.store import open_store

K, N_ITEMS = 4, 40
METRICS = ("coverage", "novelty", "diversity", "personalization", "gini")
Lists = dict[str, list[str]]


def world(seed: int, tilt: float, users: int = 25) -> Lists:
    """Lists of 2 to 6 items, of which some items are liked more; x… is in no table."""
    rng = np.random.default_rng(seed)
    liked = 1.0 / np.arange(1, N_ITEMS + 1) ** tilt
    items = [*(f"i{item}" for item in range(N_ITEMS - 2)), "x1", "x2"]
    return {
        f"u{user}": rng.choice(items, rng.integers(2, 7), replace=False, p=liked / liked.sum()).tolist()
        for user in range(users)
    }


TRUTH = {f"u{user}": ["i0"] for user in range(25)}
TRAIN = [(f"t{user}", f"i{item}") for item in range(N_ITEMS) for user in range(1 + 60 // (item + 1))]
GENRES = {f"i{item}": f"g{item % 5}|h{item % 3}" for item in range(N_ITEMS)}
TABLES: dict[str, Any] = {
    "train": pd.DataFrame(TRAIN, columns=["user_id", "item_id"]),
    "catalogue": pd.DataFrame({"item_id": list(GENRES), "genres": list(GENRES.values())}),
}


def coverage(lists: Lists) -> float:
    return len({item for shown in lists.values() for item in shown[:K]} & GENRES.keys()) / N_ITEMS


def novelty(lists: Lists) -> float:
    has = Counter(item for _, item in TRAIN)
    n = len({user for user, _ in TRAIN})
    bits = [[-log2(max(has[item], 1) / n) for item in shown[:K]] for shown in lists.values()]
    return float(np.mean([np.mean(one) for one in bits]))


def diversity(lists: Lists) -> float:
    """1 − the mean cosine of the sets of genres; lists with fewer than two known items are left out."""
    means = []
    for shown in lists.values():
        known = [set(GENRES[item].split("|")) for item in shown[:K] if item in GENRES]
        pairs = [len(a & b) / sqrt(len(a) * len(b)) for a, b in combinations(known, 2)]
        means += [1 - float(np.mean(pairs))] if pairs else []
    return float(np.mean(means))


def personalization(lists: Lists) -> float:
    cut = [shown[:K] for shown in lists.values()]
    pairs = [len(set(a) & set(b)) / sqrt(len(a) * len(b)) for a, b in combinations(cut, 2)]
    return 1 - float(np.mean(pairs))


def gini(lists: Lists) -> float:
    has = Counter(item for shown in lists.values() for item in shown[:K])
    counts = sorted(has[item] for item in GENRES)
    ranked = sum((2 * place - N_ITEMS - 1) * count for place, count in enumerate(counts, start=1))
    return ranked / (N_ITEMS * sum(counts))


BY_HAND = {one.__name__: one for one in (coverage, novelty, diversity, personalization, gini)}


def pulls_by_deletion(metric: str, lists: Lists) -> dict[str, float]:
    """(n − 1) / n times the mean over the values without one user, less the value without this user."""
    take_part = [
        user
        for user, shown in lists.items()
        if metric != "diversity" or sum(item in GENRES for item in shown[:K]) > 1
    ]
    without = {
        user: BY_HAND[metric]({one: shown for one, shown in lists.items() if one != user})
        for user in take_part
    }
    n, mean = len(without), float(np.mean(list(without.values())))
    return {user: (n - 1) / n * (mean - value) for user, value in without.items()}


def source_of(**runs: Any) -> EvaluationSource:
    return EvaluationSource(recdash.evaluate(runs, TRUTH, metrics=list(METRICS), depth=6, **TABLES))


def found_pulls(pulls: Pulls) -> dict[str, float]:
    """By user: with fewer users than groups, the group is the user's place in the truth."""
    return {user: float(pulls.pull[place]) for place, user in enumerate(TRUTH) if pulls.lists[place]}


@pytest.mark.parametrize("metric", ["coverage", "novelty", "diversity", "personalization"])
def test_a_users_pull_is_what_the_metric_loses_without_the_user(metric: str) -> None:
    lists = world(1, 0.8)
    source = source_of(a=lists, b=world(2, 1.2))
    assert source.value("a", metric, K) == pytest.approx(BY_HAND[metric](lists), rel=1e-12)
    pulls, _ = source.list_pulls(("a", "b"), [metric], K)
    expected = pulls_by_deletion(metric, lists)
    assert found_pulls(pulls[metric]) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_a_users_pull_on_gini_is_what_it_loses_without_one_place_after_the_other() -> None:
    lists = world(1, 0.8)
    source = source_of(a=lists, b=world(2, 1.2))
    assert source.value("a", "gini", K) == pytest.approx(gini(lists), rel=1e-12)
    (pulls, _) = source.list_pulls(("a", "b"), ["gini"], K)
    found, expected = found_pulls(pulls["gini"]), pulls_by_deletion("gini", lists)
    spread = np.std(list(expected.values()))
    # to first order: items of one list are taken away one by one, not together
    assert np.corrcoef(list(found.values()), list(expected.values()))[0, 1] > 0.98
    assert np.std(list(found.values())) == pytest.approx(spread, rel=0.15)


def test_what_gini_loses_with_a_place_is_its_derivative_from_below() -> None:
    counts = np.array([0, 0, 1, 1, 1, 3, 7])
    levels, step = levels_of(counts), 1e-7
    lost = _lost_with_a_place(levels, len(counts), int(counts.sum()))

    def gini_at(values: np.ndarray) -> float:
        ordered, n = np.sort(values), len(values)
        return float((2 * np.arange(1, n + 1) - n - 1) @ ordered / (n * ordered.sum()))

    assert gini_of(levels) == pytest.approx(gini_at(counts), rel=1e-12)
    for level, item in ((1, 2), (3, 5), (7, 6)):
        less = counts.astype(float)
        less[item] -= step
        slope = (gini_at(counts) - gini_at(less)) / step
        assert lost[np.searchsorted(levels.level, level)] == pytest.approx(slope, rel=1e-4)


def test_the_interval_is_that_of_the_logarithm_of_the_ratio() -> None:
    mine, base = world(1, 0.8), world(2, 1.2)
    source = source_of(a=mine, b=base)
    pulls, base_pulls = source.list_pulls(("a", "b"), ["personalization"], K)
    values = personalization(mine), personalization(base)
    one, two = pulls_by_deletion("personalization", mine), pulls_by_deletion("personalization", base)
    n = len(one)
    error = sqrt(n / (n - 1) * sum((one[u] / values[0] - two[u] / values[1]) ** 2 for u in one))
    half, middle = stats.t.ppf(0.975, n - 1) * error, log(values[0] / values[1])
    expected = np.exp([middle - half, middle + half]) - 1
    found = change_interval(*values, pulls["personalization"], base_pulls["personalization"])
    assert found == pytest.approx(expected.tolist(), rel=1e-9)


def test_runs_that_serve_other_users_are_paired_over_those_of_both() -> None:
    """Users with a list in one run only pull that run alone."""
    mine = {user: shown for user, shown in world(1, 0.8).items() if user not in ("u3", "u4")}
    base = {user: shown for user, shown in world(2, 1.2).items() if user != "u8"}
    pulls, base_pulls = source_of(a=mine, b=base).list_pulls(("a", "b"), ["novelty"], K)
    places = list(TRUTH)
    assert {places[at] for at in np.flatnonzero(pulls["novelty"].lists)} == set(mine)
    assert {places[at] for at in np.flatnonzero(base_pulls["novelty"].lists)} == set(base)


def test_users_whom_the_truth_does_not_know_pull_too_and_are_paired() -> None:
    """The metrics count all lists of a run; the runs list these users in another order."""
    further = {user.replace("u", "stranger"): shown for user, shown in world(3, 0.5, users=6).items()}
    others = {user.replace("u", "stranger"): shown for user, shown in world(4, 0.5, users=6).items()}
    mine = world(1, 0.8) | further
    base = world(2, 1.2) | dict(reversed(others.items()))
    source = source_of(a=mine, b=base)
    assert source.value("a", "personalization", K) == pytest.approx(personalization(mine), rel=1e-12)
    pulls, base_pulls = source.list_pulls(("a", "b"), ["personalization"], K)
    one, two = pulls_by_deletion("personalization", mine), pulls_by_deletion("personalization", base)
    for user in further:
        here = np.isclose(pulls["personalization"].pull, one[user], rtol=1e-9, atol=0)
        there = np.isclose(base_pulls["personalization"].pull, two[user], rtol=1e-9, atol=0)
        assert (here & there).any(), user


def test_lists_with_repeated_items_have_no_interval() -> None:
    evaluation = recdash.evaluate(
        {"a": world(1, 0.8), "b": world(2, 1.2)}, TRUTH, metrics=["novelty"], duplicates="keep", **TABLES
    )
    with pytest.raises(InputError, match="repeated items were kept"):
        EvaluationSource(evaluation).list_pulls(("a", "b"), ["novelty"], K)


# ── how often the interval is right ──────────────────────────────────────────────────────────


def shelf_of_lists(shown: np.ndarray, n_items: int) -> CatalogueInputs:
    """Of whole lists [users, k]; every item is in the catalogue, the first ones are known best."""
    k = shown.shape[1]
    counts = [np.bincount(shown[:, rank], minlength=n_items) for rank in range(k)]
    items = [np.flatnonzero(of_rank) for of_rank in counts]
    start = np.concatenate(([0], np.cumsum([len(of_rank) for of_rank in items])))
    held = RankCounts(
        start,
        np.concatenate(items),
        np.concatenate([of_rank[at] for of_rank, at in zip(counts, items, strict=True)]),
    )
    none = RankCounts(
        np.zeros(k + 1, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    )
    exposure = Exposure([str(item) for item in range(n_items)], held, none, len(shown))
    everything = np.ones(n_items, dtype=bool)
    train = (1000 / np.arange(1, n_items + 1) ** 0.8).astype(np.int64) + 1
    return CatalogueInputs(exposure, k, everything, everything, train, 1200)


def value_and_pulls(metric: str, shelf: CatalogueInputs, shown: np.ndarray) -> tuple[float, Pulls]:
    definition, k = define(metric), shown.shape[1]
    (curve,) = score([definition], MetricInputs(catalogue=shelf))
    worth = list_worth(definition, shelf, k)
    assert isinstance(curve, Curve)
    assert worth is not None
    added = worth.worth[shown].sum(axis=1) / k**worth.power
    return float(curve.value[-1]), Pulls((added - added.mean()) * worth.scale, np.ones(len(shown)))


@pytest.mark.parametrize("users", [10, 40])
def test_the_interval_holds_the_change_in_95_of_100_samples(users: int) -> None:
    """Each user's taste is in both lists; the change of the means over all samples is the true one.

    400 tries tell 95 % from 91 %. The jackknife's variance is too large for coverage, so that its interval
    holds the change more often.
    """
    rng, tries, n_items = np.random.default_rng(users), 400, 200
    found: dict[str, list[tuple[float, float, float, float]]] = {
        one: [] for one in METRICS if one != "diversity"
    }
    for _ in range(tries):
        taste = rng.gumbel(size=(users, n_items))
        runs = []
        for tilt in (0.6, 1.2):
            liked = taste - tilt * np.log(np.arange(1, n_items + 1)) + 0.3 * rng.gumbel(size=taste.shape)
            shown = np.argpartition(-liked, 8, axis=1)[:, :8]
            runs.append((shelf_of_lists(shown, n_items), shown))
        for metric, rows in found.items():
            (value, mine), (base_value, theirs) = (value_and_pulls(metric, *one) for one in runs)
            rows.append((value, base_value, *change_interval(value, base_value, mine, theirs)))
    for metric, rows in found.items():
        values, base_values, lows, highs = np.array(rows).T
        true = values.mean() / base_values.mean() - 1
        share = float(np.mean((lows <= true) & (true <= highs)))
        assert 0.91 < share <= (1.0 if metric == "coverage" else 0.99), (metric, share)


def test_seeds_pull_by_the_mean_of_their_pulls() -> None:
    first, second, base = world(1, 0.8), world(5, 0.8), world(2, 1.2)
    source = source_of(a=[first, second], b=base)
    pulls, _ = source.list_pulls(("a", "b"), ["novelty"], K)
    one, two = pulls_by_deletion("novelty", first), pulls_by_deletion("novelty", second)
    assert found_pulls(pulls["novelty"]) == pytest.approx(
        {user: (one[user] + two[user]) / 2 for user in one}, rel=1e-9
    )


def test_stored_lists_pull_as_those_of_files(tmp_path: Path) -> None:
    lists, base = world(1, 0.8), world(2, 1.2)
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    films = space.experiments.create("Films", TRUTH, depth=6, **TABLES)
    ids = [space.runs.add(films.id, of, name=name)[0].run.id for name, of in (("a", lists), ("b", base))]
    stored = space.comparisons.source(films.id).list_pulls(ids, METRICS, K)
    files = source_of(a=lists, b=base).list_pulls(("a", "b"), METRICS, K)
    for mine, theirs in zip(stored, files, strict=True):
        assert mine.keys() == theirs.keys() == set(METRICS)
        for metric in METRICS:
            np.testing.assert_allclose(mine[metric].pull, theirs[metric].pull, rtol=1e-9, atol=1e-15)


def test_a_lost_upload_takes_the_interval_and_not_the_verdict(tmp_path: Path) -> None:
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    films = space.experiments.create("Films", TRUTH, depth=6, **TABLES)
    runs = (("a", world(1, 0.8)), ("b", world(2, 1.2)))
    ids = [space.runs.add(films.id, of, name=name)[0].run.id for name, of in runs]
    kept = space.comparisons.verdict(ComparisonQuery(tuple(ids), ids[1], "ndcg", K)).evidence.guardrails
    assert {rail.metric for rail in kept if rail.has_interval} == set(METRICS)
    space.store.artifacts.path(space.store.runs.get(ids[0]).upload or "").unlink()
    lost = (
        Workspace(space.store)
        .comparisons.verdict(ComparisonQuery(tuple(ids), ids[1], "ndcg", K))
        .evidence.guardrails
    )
    assert [(rail.metric, rail.change) for rail in lost] == [(rail.metric, rail.change) for rail in kept]
    assert all(not rail.has_interval and rail.why_no_interval for rail in lost)


def test_files_that_are_gone_or_changed_take_the_interval_and_not_the_verdict(tmp_path: Path) -> None:
    files = {}
    for name, lists in (("a", world(1, 0.8)), ("b", world(2, 1.2))):
        rows = [(user, item, rank) for user, of in lists.items() for rank, item in enumerate(of, start=1)]
        files[name] = tmp_path / f"{name}.csv"
        pd.DataFrame(rows, columns=["user_id", "item_id", "rank"]).to_csv(files[name], index=False)
    scored = recdash.evaluate(files, TRUTH, metrics=["ndcg@4"], depth=6, **TABLES)

    def reasons() -> set[str]:
        return {rail.why_no_interval for rail in scored.compare("ndcg@4", "b").verdict.evidence.guardrails}

    assert reasons() == {""}
    files["a"].write_text(files["a"].read_text().replace("i1,", "new,"))
    assert reasons() == {"the lists have changed since they were scored"}
    files["a"].unlink()
    assert reasons() == {"a file of lists can no longer be read"}


def test_there_is_no_interval_for_fewer_than_ten_lists() -> None:
    pulls = Pulls(np.array([0.1, -0.1] * 4), np.ones(8))
    assert np.isnan(change_interval(1.0, 2.0, pulls, pulls)).all()
    more = Pulls(np.array([0.1, -0.1] * 5), np.ones(10))
    assert np.isfinite(change_interval(1.0, 2.0, more, more)).all()


def test_a_baseline_of_zero_has_no_change() -> None:
    pulls = Pulls(np.zeros(12), np.ones(12))
    assert np.isnan(change_interval(1.0, 0.0, pulls, pulls)).all()


def test_values_that_are_zero_but_for_rounding_have_no_endless_interval() -> None:
    pulls = Pulls(np.tile([0.01, -0.01], 10), np.ones(20))
    assert np.isnan(change_interval(0.5, 4e-16, pulls, pulls)).all()
    assert np.isnan(change_interval(1e-6, 0.5, pulls, pulls)).all()
    low, high = change_interval(4e-16, 0.5, pulls, pulls)
    assert low == -1
    assert -1 < high < 0


def test_the_interval_of_a_difference_of_means_is_that_of_the_paired_t_test() -> None:
    """A user's pull on a mean over n users is the distance from the mean over n."""
    rng = np.random.default_rng(4)
    base = rng.gamma(2, 1, 80)
    own = base + rng.normal(0.1, 0.5, 80)
    pulls = [Pulls((values - values.mean()) / 80, np.ones(80)) for values in (own, base)]
    ends = difference_interval(own.mean(), base.mean(), *pulls, 0.9)
    interval = stats.ttest_rel(own, base).confidence_interval(0.9)
    assert ends == pytest.approx((interval.low, interval.high))


def test_a_difference_without_spread_has_no_interval() -> None:
    flat = Pulls(np.zeros(50), np.ones(50))
    assert np.isnan(difference_interval(0.5, 0.4, flat, flat)).all()


def test_lists_are_read_again_without_a_search_for_hits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    films = space.experiments.create("Films", TRUTH, depth=6, **TABLES)
    run = space.runs.add(films.id, world(1, 0.8), name="a")[0].run
    searched: list[object] = []
    monkeypatch.setattr(TruthLookup, "rows", lambda _, block: searched.append(block))
    (pulls,) = space.comparisons.list_pulls([run.id], METRICS, K)
    assert pulls.keys() == set(METRICS)
    assert searched == []


def pulls_of_uploads(
    space: Workspace, ids: Sequence[str], metrics: Sequence[str], k: int
) -> Sequence[Mapping[str, Pulls]]:
    """Returns the pulls with the stored lists read again."""
    data, values = space.comparisons._data, space.comparisons._values
    sources = (
        [ListSource("", data.lists_of(run), catalogue, data.hits(run.id).order)]
        for run in map(space.store.runs.get, ids)
        if (catalogue := values.inputs(run.id).catalogue)
    )
    return list_pulls.pulls_of_runs(sources, data.reference_of(ids[0]), [*map(define, metrics)], k)


@pytest.mark.parametrize("user", ["u0", "outside the test set"])
def test_lists_are_read_once_for_all_cutoffs_if_all_users_are_in_the_test_set(
    user: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    films = space.experiments.create("Films", TRUTH, depth=6, **TABLES)
    lists = [world(seed, 0.8) | {user: ["i1", "i0", "x2", "i3", "i2", "i9"]} for seed in (1, 2)]
    ids = [space.runs.add(films.id, of, name=f"{place}")[0].run.id for place, of in enumerate(lists)]
    n_read = Counter[str]()

    def counted(run: Recommendations, *how: Any) -> Pass:
        n_read[run.name] += 1
        return read_lists(run, *how)

    monkeypatch.setattr(list_pulls, "read_lists", counted)
    for k in (3, K, 6):
        pulls = space.comparisons.list_pulls(ids, METRICS, k)
        anew = pulls_of_uploads(space, ids, METRICS, k)
        for mine, theirs in zip(pulls, anew, strict=True):
            assert mine.keys() == theirs.keys() == set(METRICS)
            for metric in METRICS:
                np.testing.assert_array_equal(mine[metric].pull, theirs[metric].pull)
                np.testing.assert_array_equal(mine[metric].lists, theirs[metric].lists)
    n_anew = 3
    assert set(n_read.values()) == {n_anew + (1 if user == "u0" else 3)}


def test_kept_lists_know_items_whatever_the_order_in_which_they_were_met(tmp_path: Path) -> None:
    """Text has further items in order of appearance; numbers, as they are stored, in ascending order."""
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    truth = {user: [f"{place % 9}"] for place, user in enumerate(TRUTH)}
    films = space.experiments.create("Films", truth, depth=6)
    rng = np.random.default_rng(3)
    rows = [
        (user, item + (100 if place < 12 else 0), rank)
        for place, user in enumerate(TRUTH)
        for rank, item in enumerate(rng.permutation(place + 5)[:4], start=1)
    ]
    path = tmp_path / "numbers.csv"
    pd.DataFrame(rows, columns=["user_id", "item_id", "rank"]).to_csv(path, index=False)
    run_id = space.runs.add(films.id, path, name="numbers")[0].run.id
    catalogue = space.comparisons._values.inputs(run_id).catalogue
    assert catalogue is not None
    items = list(map(int, catalogue.exposure.items))
    assert items != sorted(items)
    (kept,) = space.comparisons.list_pulls([run_id], ["personalization"], K)
    anew = pulls_of_uploads(space, [run_id], ["personalization"], K)[0]
    assert np.ptp(anew["personalization"].pull) > 0
    np.testing.assert_array_equal(kept["personalization"].pull, anew["personalization"].pull)


def test_kept_lists_keep_nothing_that_a_cut_computes() -> None:
    block = Block(np.arange(2), np.array([0, 1, 4]), np.arange(4))
    known = set(vars(block))
    CodedLists((block,)).feed(2, _Totals([]))
    assert set(vars(block)) == known


def test_a_metric_that_a_run_lacks_has_no_pulls(tmp_path: Path) -> None:
    """Without a catalogue and training data, only lists can be compared. Warnings are errors."""
    space = Workspace(open_store(f"sqlite:///{tmp_path}/recdash.db", tmp_path / "artifacts"))
    films = space.experiments.create("Films", TRUTH, depth=6)
    run = space.runs.add(films.id, world(1, 0.8), name="a")[0].run
    (pulls,) = space.comparisons.list_pulls([run.id], METRICS, K)
    assert pulls.keys() == {"personalization"}
    absent = {metric: space.scores.absences([run.id], metric) for metric in METRICS}
    assert {metric for metric, reasons in absent.items() if reasons} == set(METRICS) - {"personalization"}
