"""Two runs compared over the same users: agreement with scipy, and the cases where nothing can be said."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import recdash
from recdash.stats import LEVEL, NORMAL_95, paired_difference


def values(*numbers: float) -> np.ndarray:
    return np.array(numbers, dtype=float)


@pytest.mark.parametrize("n", [30, 40, 5_000])
@pytest.mark.parametrize("level", [0.95, 0.99])
def test_interval_and_p_are_those_of_the_paired_t_test(n: int, level: float) -> None:
    rng = np.random.default_rng(n)
    candidate, baseline = rng.random(n), rng.random(n) * 0.9
    found = paired_difference(candidate, baseline, level)
    expected = stats.ttest_rel(candidate, baseline)
    interval = expected.confidence_interval(level)
    assert found.mean == pytest.approx((candidate - baseline).mean(), rel=1e-12)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-9)
    assert found.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert found.n == n


def test_the_sign_says_that_the_candidate_is_better() -> None:
    found = paired_difference(values(0.5, 0.9), values(0.1, 0.2))
    assert found.mean == pytest.approx((0.4 + 0.7) / 2)


def test_each_user_wins_ties_or_loses() -> None:
    found = paired_difference(values(1, 0, 0.5, 0.5, 0), values(0, 1, 0.5, 0.25, 0))
    assert (found.wins, found.ties, found.losses) == (2, 2, 1)


def test_what_only_rounding_separates_is_a_tie() -> None:
    found = paired_difference(values(0.1 + 0.2, 1), values(0.3, 1), bound=1.0)
    assert (found.wins, found.ties, found.mean, found.p) == (0, 2, 0.0, 1.0)


def test_two_equal_runs_may_differ_for_users_who_were_not_seen() -> None:
    """With chance (1 − d)³ three users show nothing where a share d of all differ; 2.5 % at d = 0.708."""
    same = values(0, 1, 1)
    found = paired_difference(same, same, bound=1.0)
    assert (found.mean, found.p, found.excludes_zero) == (0, 1, False)
    assert (found.low, found.high) == pytest.approx((-(1 - 0.025 ** (1 / 3)), 1 - 0.025 ** (1 / 3)))


def test_a_difference_that_is_the_same_for_all_leaves_doubt() -> None:
    """All of 30 win: a share of at least 0.025^(1/30) differ, and as large a share of these win."""
    found = paired_difference(np.ones(30), np.zeros(30), bound=1.0)
    share = 0.025 ** (1 / 30)
    assert (found.low, found.high) == pytest.approx((share * (2 * share - 1), 1))
    assert found.p == pytest.approx(2 * 0.5**30)
    assert isnan(found.t_p)


def test_one_user_tells_a_difference_and_no_interval() -> None:
    found = paired_difference(values(1), values(0.5))
    assert (found.n, found.mean, found.wins) == (1, 0.5, 1)
    assert isnan(found.low)
    assert isnan(found.high)
    assert isnan(found.p)
    assert not found.excludes_zero


@pytest.mark.parametrize(("shift", "settled"), [(0.0, False), (1.0, True), (-1.0, True)])
def test_a_difference_is_settled_when_its_interval_excludes_zero(shift: float, settled: bool) -> None:
    noise = np.tile([0.1, -0.1, 0.2, -0.2], 10)
    assert paired_difference(noise + shift, np.zeros(40)).excludes_zero is settled


def test_exchanging_the_two_turns_the_difference_around() -> None:
    one, other = np.tile([0.3, 0.8, 0.1, 0.4], 20), np.tile([0.5, 0.2, 0.1, 0.9], 20)
    there, back = paired_difference(one, other), paired_difference(other, one)
    assert (there.mean, there.low, there.high) == (-back.mean, -back.high, -back.low)
    assert (there.p, there.wins, there.ties) == (back.p, back.losses, back.ties)


def test_the_values_given_are_not_changed() -> None:
    candidate, baseline = values(0.3, 0.3), values(0.3, 0.1)
    paired_difference(candidate, baseline)
    assert (candidate.tolist(), baseline.tolist()) == ([0.3, 0.3], [0.3, 0.1])


def test_real_runs_differ_as_scipy_found(shared_data: Path) -> None:
    films = shared_data / "movietweetings"
    pairs = json.loads((films / "reference" / "significance.json").read_text())["pairs"]
    pair = next(iter(pairs))
    names = pair.split(" vs ")
    runs = {name: films / "runs" / f"{name}.parquet" for name in names}
    found = recdash.evaluate(runs, films / "truth.csv", relevance="none", metrics=list(pairs[pair]))
    for spec, expected in pairs[pair].items():
        of_run = found.per_user(spec).set_index("user_id").groupby("run")["value"]
        candidate, baseline = (of_run.get_group(name).to_numpy() for name in names)
        paired = paired_difference(candidate, baseline)
        assert (paired.low, paired.high) == pytest.approx(expected["ttest 95% CI of diff"], rel=1e-6)
        assert paired.p == pytest.approx(expected["scipy.ttest_rel p"], rel=1e-6)
        assert (paired.n, paired.wins + paired.losses) == (expected["n_users"], expected["n_nonzero"])


def test_the_normal_interval_holds_as_much_as_its_level_says() -> None:
    assert stats.norm.cdf(NORMAL_95) - stats.norm.cdf(-NORMAL_95) == pytest.approx(LEVEL)
