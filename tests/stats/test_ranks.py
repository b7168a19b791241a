"""Honest ranks: who is significantly above whom, and where each could have come."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from recdash.stats import CORRECTIONS, Correction, grouped, holm, rank_runs
from recdash.stats.bounded import WeightedMean
from recdash.stats.family import significant
from recdash.stats.groups import MOST_GROUPS
from recdash.stats.ranks import _places, _surely_different
from recdash.stats.sparse import BoundedMean, sparse_pairs

RNG = np.random.default_rng(3)
START = RNG.bit_generator.state


@pytest.fixture(autouse=True)
def _drawn_alike_in_any_order() -> None:
    RNG.bit_generator.state = START


def runs(*means: float, n: int = 2_000, noise: float = 0.5) -> list[np.ndarray]:
    """Runs with these means over the same users, whose own level they share."""
    level = RNG.standard_normal(n)
    made = [level + noise * RNG.standard_normal(n) for _ in means]
    return [run - run.mean() + mean for run, mean in zip(made, means, strict=True)]


def test_runs_that_cannot_be_told_apart_share_a_rank() -> None:
    found = rank_runs(grouped(runs(0.5, 0.5, 0.2, -0.1)))
    assert found.rank.tolist() == [1, 1, 3, 4]
    assert found.shared.tolist() == [True, True, False, False]


def test_the_range_holds_the_rank_and_the_places_of_the_draws() -> None:
    found = rank_runs(grouped(runs(0.5, 0.5, 0.2, -0.1)))
    assert found.low.tolist() == [1, 1, 3, 4]
    assert found.high.tolist() == [2, 2, 3, 4]


def of_step(step: float, n: int = 400) -> list[np.ndarray]:
    """Three runs; each stands ``step`` standard errors above the next."""
    swings = np.array([[1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2**0.5
    noise = np.repeat(swings, n // 4, axis=1)
    return [noise[run] + (2 - run) * step / n**0.5 for run in range(3)]


def test_the_correction_of_the_pairs_decides_who_shares_a_rank() -> None:
    """Neighbours differ by 2.2 errors (p = 0.028), the outer two by 4.4: 0.028 · 2 is no finding by Holm."""
    values = grouped(of_step(2.2))
    assert rank_runs(values, "holm").rank.tolist() == [1, 1, 2]
    assert rank_runs(values, "bh").rank.tolist() == [1, 2, 3]
    assert rank_runs(values, "off").rank.tolist() == [1, 2, 3]


def test_above_is_the_paired_t_test_after_holm_over_all_pairs() -> None:
    columns = runs(0.05, 0.03, 0.02, 0.0)
    pairs = [(a, b) for a in range(4) for b in range(a + 1, 4)]
    p = holm(np.array([scipy_stats.ttest_rel(columns[a], columns[b]).pvalue for a, b in pairs]))
    found = rank_runs(grouped(columns)).above
    for (a, b), corrected in zip(pairs, p, strict=True):
        assert found[b, a] == (corrected <= 0.05)  # a has the higher mean
        assert not found[a, b]


def test_equal_runs_share_everything() -> None:
    (one,) = runs(0.3)
    found = rank_runs(grouped([one, one.copy(), one - 1 + 0.1 * RNG.standard_normal(len(one))]))
    assert found.rank.tolist() == [1, 1, 3]
    assert found.high.tolist() == [1, 1, 3]


def test_many_users_are_ranked_like_few() -> None:
    found = rank_runs(grouped(runs(0.5, 0.5, 0.4, n=3 * MOST_GROUPS)))
    assert found.rank.tolist() == [1, 1, 3]


@pytest.mark.parametrize(("n", "ranks"), [(2, [1, 1]), (40, [1, 2])])
def test_few_users_who_all_differ_by_the_same_have_one_rank(n: int, ranks: list[int]) -> None:
    """Two who gain 0.25 might lose as much next time; of forty that is ruled out."""
    assert rank_runs(grouped([np.full(n, 0.5), np.full(n, 0.25)]), bound=1.0).rank.tolist() == ranks


def test_few_hits_among_many_users_make_no_rank() -> None:
    """Four hits against none: McNemar's p is 2/16, that of the t-test 0.045."""
    hits = np.zeros(400)
    hits[:4] = 1.0
    assert rank_runs(grouped([hits, np.zeros(400)]), bound=1.0).rank.tolist() == [1, 1]


@pytest.mark.parametrize("n", [400, 3 * MOST_GROUPS + 7])
def test_runs_of_yes_or_no_are_seen_as_such_among_many_users(n: int) -> None:
    """26 wins and 12 losses: McNemar's p is 0.034; of 25 and 13 it is 0.073."""
    for wins, losses in ((26, 12), (25, 13)):
        candidate, baseline = np.zeros(n), np.zeros(n)
        places = np.arange(wins + losses)
        if n > MOST_GROUPS:
            places[wins:] += MOST_GROUPS - wins  # each loss in the group of a win
        candidate[MOST_GROUPS * 2 :], baseline[MOST_GROUPS * 2 :] = 1.0, 1.0
        candidate[places[:wins]], baseline[places[wins:]] = 1.0, 1.0
        (method,) = sparse_pairs(
            (groups := grouped([baseline, candidate])).sums, groups.n, 1.0, groups.hits
        ).values()
        expected = scipy_stats.binomtest(wins, wins + losses).pvalue
        assert method.p == pytest.approx(expected)
        assert (rank_runs(groups, bound=1.0).rank.tolist() == [2, 1]) == (expected <= 0.05)


def test_one_user_ranks_nobody() -> None:
    with pytest.raises(ValueError, match="two users"):
        rank_runs(grouped([np.array([1.0]), np.array([0.0])]))


def test_a_single_run_has_the_first_rank() -> None:
    ranks = rank_runs(grouped([np.array([1.0, 0.0, 0.5])]), bound=1.0)
    assert (ranks.rank.tolist(), ranks.low.tolist(), ranks.high.tolist()) == ([1], [1], [1])


def test_places_of_many_draws_are_those_that_scipy_gives() -> None:
    numbers = np.random.default_rng(5).integers(0, 4, (50, 6)).astype(np.float64)
    expected = scipy_stats.rankdata(numbers, method="min", axis=1)
    np.testing.assert_array_equal(_places(numbers), expected)


def sparse_runs(n: int = 300) -> list[np.ndarray]:
    """Returns 12 runs with graded values of few users: four are near 0, the others rise from 2 to 16 %."""
    shares = (0.004, 0.004, 0.004, 0.004, 0.02, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16)
    return [np.where(RNG.random(n) < share, RNG.integers(1, 5, n) / 4, 0.0) for share in shares]


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("draw", range(4))
def test_bounds_decide_as_the_tests_of_all_pairs_do(correction: Correction, draw: int) -> None:
    RNG.random(draw)
    columns = sparse_runs()
    pairs = [(a, b) for a in range(12) for b in range(a + 1, 12)]
    tests = sparse_pairs(np.column_stack(columns), 300, 1.0)
    assert tests.keys() == set(pairs)  # the t-test applies to none
    findings = significant(np.array([tests[pair].p for pair in pairs]), correction)
    worse_than = np.zeros(12, dtype=int)
    for (a, b), is_finding in zip(pairs, findings.tolist(), strict=True):
        lower = a if columns[a].sum() < columns[b].sum() else b
        worse_than[lower] += is_finding
    assert rank_runs(grouped(columns), correction, bound=1.0).rank.tolist() == (1 + worse_than).tolist()


@pytest.mark.parametrize("draw", range(4))
def test_pairs_that_surely_differ_by_their_sums_do_by_gaffkes_test(draw: int) -> None:
    RNG.random(draw)
    columns = np.column_stack([*sparse_runs(2_000), RNG.random(2_000) < 0.2, RNG.random(2_000) < 0.3])
    limit, totals = 0.001, (columns.sum(axis=0), columns.T @ columns)
    surely = _surely_different(grouped(columns.T), totals, 1.0, limit)
    tests = sparse_pairs(columns, 2_000, 1.0)
    bounded = {pair: test.p for pair, test in tests.items() if isinstance(test, BoundedMean)}
    decided = set(zip(*(places.tolist() for places in np.nonzero(np.triu(surely))), strict=True))
    assert decided <= {pair for pair, p in bounded.items() if p < limit}
    assert len(decided) > sum(p < limit for p in bounded.values()) / 2
    assert not _surely_different(grouped(np.tile(columns, (9, 1)).T), totals, 1.0, limit).any()


def test_most_pairs_of_many_runs_need_no_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """60 runs in which nobody has a hit and 10 in which 60 of 300 users have one of 1/2: of 2,415 pairs,
    1,770 + 45 have equal totals, and those of 600 differ by 30. Then X is 30 − 1 on average, and its squares
    are 60/4 + 1 = 16: with t = 0.8 the bound is 4 · 1.4⁻⁶⁰ / 0.2 = 3.4e-8, below 0.05 / 2,415.
    """
    computed: list[float] = []
    probability = WeightedMean.chance_of_at_most

    def counted(mean: WeightedMean, at: float) -> float:
        computed.append(at)
        return probability(mean, at)

    monkeypatch.setattr(WeightedMean, "chance_of_at_most", counted)
    good = np.where(np.arange(300) < 60, 0.5, 0.0)
    found = rank_runs(grouped([*[np.zeros(300)] * 60, *[good] * 10]), bound=1.0)
    assert found.rank.tolist() == [11] * 60 + [1] * 10
    assert computed == []


def test_a_p_that_is_surely_below_a_limit_is_below_it() -> None:
    """Chernoff's bound is no smaller than p, and decides where p is far below the limit."""
    for share in (0.1, 0.3, 0.5, 0.9):
        gains = RNG.random(200) < share
        method = BoundedMean(300, np.where(gains, 1.0, -0.5) * RNG.random(200), 1.0)
        assert not method.is_surely_below(method.p)
    clear = BoundedMean(300, np.full(60, 0.5), 1.0)
    assert clear.p < 1e-8
    assert (clear.is_surely_below(3.5e-8), clear.is_surely_below(3.3e-8)) == (True, False)
    assert not BoundedMean(300, np.full(2, 0.5), 1.0).is_surely_below(1.0)
