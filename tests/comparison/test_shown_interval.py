"""Intervals as they are shown: they end where the candidate's value would leave the metric's range."""

from __future__ import annotations

from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path

import numpy as np
import pytest
from report_tables import lists, opened, with_runs

from recdash.comparison.pairs import Pair, judge_family, pair_of
from recdash.comparison.query import Margin, Terms
from recdash.domain.results import UserValues

N = 40


def of_users(values: np.ndarray, bound: float | None = 1.0) -> UserValues:
    return UserValues(np.arange(N), values, values, bound=bound)


def judged(base: np.ndarray, own: np.ndarray, bound: float | None = 1.0, terms: Terms | None = None) -> Pair:
    pair = pair_of("base", "run", of_users(base, bound), of_users(own, bound))
    assert pair is not None
    return judge_family({"run": pair}, terms or Terms())["run"]


FEW_HITS = np.where(np.arange(N) < 4, 1.0, 0.0)
"""A mean of 0.1."""


def test_a_loss_ends_at_the_value_of_the_baseline() -> None:
    pair = judged(FEW_HITS, np.zeros(N))
    raw = pair.judged.corrected
    assert pair.paired.mean == pytest.approx(-0.1)
    assert raw.low < -0.1  # the test does not know that no value is below 0
    assert pair.interval == (pytest.approx(-0.1), raw.high)


def test_a_gain_ends_where_the_candidate_has_the_largest_value() -> None:
    # 36 of 40 users have 1 and the candidate gives it to all: from 0.9 no more than 0.1 can be gained
    pair = judged(1 - FEW_HITS, np.ones(N))
    raw = pair.judged.corrected
    assert raw.high > 0.1
    assert pair.interval == (raw.low, pytest.approx(0.1))


def test_without_a_known_bound_or_an_interval_nothing_is_cut() -> None:
    pair = judged(FEW_HITS, np.zeros(N), bound=None)
    assert pair.possible == (-inf, inf)
    missing = replace(judged(FEW_HITS, np.zeros(N)), possible=(-0.1, 0.9))
    unknown = replace(
        missing, judged=replace(missing.judged, corrected=replace(missing.paired, low=nan, high=nan))
    )
    assert all(map(isnan, unknown.interval))


def test_the_finding_is_that_of_the_whole_interval() -> None:
    # a margin of 0.12 is wider than any possible loss, but not than the interval: no tie
    pair = judged(FEW_HITS, np.zeros(N), terms=Terms(margin=Margin(0.12, relative=False)))
    assert pair.judged.corrected.low < -0.12 < pair.interval[0]
    assert pair.judged.word != "tie"


def test_tables_and_charts_show_the_same_ends(tmp_path: Path) -> None:
    space = opened(tmp_path)
    made = with_runs(space, {"popular": lists(lambda number: 2 + number % 2), "ease": lists(lambda _: 0)})
    query = space.queries.of(made, metric="ndcg", k=3)
    (pair,) = space.comparisons.recommendation(query).evidence.comparison.against
    (raw,) = space.comparisons.pairs(query).to_dict("records")
    (shown,) = space.comparisons.shown_pairs(query).to_dict("records")
    assert raw["ci_low"] < -raw["base_value"]  # an nDCG below 0
    assert (shown["ci_low"], shown["ci_high"]) == pair.interval == (-raw["base_value"], raw["ci_high"])
    assert {name: shown[name] for name in shown if name != "ci_low"} == {
        name: raw[name] for name in raw if name != "ci_low"
    }
