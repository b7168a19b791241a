"""Intervals as they are shown: they end where no difference of the metric can be."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan
from pathlib import Path

import numpy as np
import pytest
from report_tables import lists, opened, with_runs

from recdash.comparison.pairs import Pair, judge_family, pair_of
from recdash.comparison.query import Terms
from recdash.comparison.relative import percent_interval
from recdash.domain.results import UserValues
from recdash.stats.sparse import StudentT, Unknown

N = 40


def of_users(values: np.ndarray, bound: float | None = 1.0) -> UserValues:
    return UserValues(np.arange(N), values, values, bound=bound)


def judged(base: np.ndarray, own: np.ndarray, bound: float | None = 1.0, terms: Terms | None = None) -> Pair:
    pair = pair_of("base", "run", of_users(base, bound), of_users(own, bound))
    assert pair is not None
    return judge_family({"run": pair}, terms or Terms())["run"]


FEW_HITS = np.where(np.arange(N) < 4, 1.0, 0.0)
"""A mean of 0.1."""


def test_a_loss_of_everything_may_be_larger_as_the_baseline_is_uncertain() -> None:
    """The candidate has 0: the true difference is minus the baseline's true value, which may be above 0.1."""
    pair = judged(FEW_HITS, np.zeros(N))
    raw = pair.judged.corrected
    assert pair.paired.mean == pytest.approx(-0.1)
    assert raw.low < -0.1
    assert pair.interval == (raw.low, raw.high)
    assert pair.bounded_interval == pytest.approx((-0.1, raw.high))  # as in older reports


def test_in_percent_no_loss_is_larger_than_all_of_it() -> None:
    pair = judged(FEW_HITS, np.zeros(N))
    assert percent_interval(pair, "ndcg") == (-100.0, pair.percent(pair.interval[1]))
    assert percent_interval(pair, "r2")[0] == pair.percent(pair.interval[0]) < -100


def test_the_interval_of_a_loss_of_everything_covers_the_true_loss() -> None:
    """A candidate without hits against a baseline that hits with 0.3: the truth is −0.3."""
    draw = np.random.default_rng(7)
    samples = (np.where(draw.random(N) < 0.3, 1.0, 0.0) for _ in range(400))
    pairs = [judged(sample, np.zeros(N)) for sample in samples]
    covered = [pair.interval[0] <= -0.3 <= pair.interval[1] for pair in pairs]
    assert np.mean(covered) > 0.9
    cut = [pair.bounded_interval[0] <= -0.3 <= pair.bounded_interval[1] for pair in pairs]
    assert np.mean(cut) < 0.7  # half of the baselines are measured below their true value


def test_a_difference_is_never_larger_than_the_metric() -> None:
    pair = judged(FEW_HITS, np.zeros(N))
    # ± 1.25 around 0.05: 97.5 % of Student's t with 39 degrees of freedom is 2.0227
    beyond = replace(pair.paired, method=StudentT(N, 0.05, 1.25 / 2.0227))
    assert (beyond.low, beyond.high) == pytest.approx((-1.2, 1.3), abs=1e-4)
    wide = replace(pair, judged=replace(pair.judged, corrected=beyond))
    assert wide.interval == (-1.0, 1.0)


def test_without_a_known_bound_or_an_interval_nothing_is_cut() -> None:
    pair = judged(FEW_HITS, np.zeros(N), bound=None)
    assert pair.bound == inf
    missing = judged(FEW_HITS, np.zeros(N))
    without = replace(missing.paired, method=Unknown())
    unknown = replace(missing, judged=replace(missing.judged, corrected=without))
    assert all(map(isnan, unknown.interval))


def test_tables_and_charts_show_the_same_ends(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = with_runs(space, {"popular": lists(lambda number: 2 + number % 2), "ease": lists(lambda _: 0)})
    query = space.queries.of(made, metric="ndcg", k=3)
    (pair,) = space.comparisons.recommendation(query).evidence.comparison.against
    (raw,) = space.comparisons.pairs(query).to_dict("records")
    (shown,) = space.comparisons.shown_pairs(query).to_dict("records")
    assert raw["ci_low"] < -raw["base_value"]  # an nDCG below 0
    assert (shown["ci_low"], shown["ci_high"]) == pair.interval == (raw["ci_low"], raw["ci_high"])
    assert shown == raw
