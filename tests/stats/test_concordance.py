"""Kendall's τ-b and its permutation p, of one measure and of the best of many."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import kendalltau

from recdash.stats.concordance import DRAWN, best, orders, tau


def counted(n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.arange(n, dtype=np.float64)


@pytest.mark.parametrize(("n", "least"), [(3, 0.333), (4, 0.083), (5, 0.017), (6, 0.0028)])
def test_the_smallest_possible_p_of_a_few_things(n: int, least: float) -> None:
    """Only the same and the opposite order are as extreme: 2 of n! orders."""
    found = tau(counted(n), counted(n))
    assert found is not None
    assert found.value == pytest.approx(1)
    assert found.p == found.least_p == pytest.approx(2 / math.factorial(n))
    assert found.p == pytest.approx(least, abs=0.0005)


def test_tau_and_p_are_those_of_scipy() -> None:
    chance = np.random.default_rng(7)
    for n in (4, 5, 6, 7, 8):
        x, y = chance.random(n), chance.random(n)
        found, oracle = tau(x, y), kendalltau(x, y, method="exact")
        assert found is not None
        assert found.value == pytest.approx(oracle.statistic)
        assert found.p == pytest.approx(oracle.pvalue)


def test_ties_count_for_nothing_as_in_tau_b() -> None:
    x, y = np.array([1.0, 1, 2, 3, 3, 4]), np.array([2.0, 1, 2, 2, 5, 4])
    found = tau(x, y)
    assert found is not None
    assert found.value == pytest.approx(kendalltau(x, y).statistic)
    values = [abs(kendalltau(x, y[list(order)]).statistic) for order in permutations(range(6))]
    assert found.p == pytest.approx(np.mean(np.array(values) >= abs(found.value) - 1e-9))


def test_the_opposite_order_is_as_extreme_as_the_same() -> None:
    found = tau(counted(5), -counted(5))
    assert found is not None
    assert (found.value, found.p) == (pytest.approx(-1), pytest.approx(2 / 120))


def test_there_is_no_tau_where_all_are_alike() -> None:
    assert tau(np.ones(4), counted(4)) is None
    assert tau(counted(4), np.ones(4)) is None


def test_of_more_than_eight_things_orders_are_drawn_and_always_the_same() -> None:
    assert len(orders(8)) == math.factorial(8)
    assert len(orders(9)) == DRAWN
    assert (orders(9) == orders(9)).all()
    assert (np.sort(orders(9), axis=1) == np.arange(9)).all()


def test_the_p_of_drawn_orders_is_close_to_the_exact_one() -> None:
    chance = np.random.default_rng(3)
    x, y = chance.random(10), chance.random(10)
    found = tau(x, y)
    assert found is not None
    assert not found.exact
    assert found.p == pytest.approx(kendalltau(x, y, method="exact").pvalue, abs=0.01)


def test_drawn_orders_never_give_a_p_of_zero() -> None:
    found = tau(counted(20), counted(20))
    assert found is not None
    assert found.p == found.least_p == pytest.approx(1 / (DRAWN + 1))


@pytest.mark.parametrize(("n", "by_chance"), [(3, 0.97), (4, 0.57), (6, 0.028)])
def test_the_best_of_twenty_useless_metrics_is_perfect_by_chance(n: int, by_chance: float) -> None:
    """1 − (1 − 1/n!)²⁰: .974, .573, .0274."""
    chance = np.random.default_rng(11)
    found = [best(chance.random((20, n)), chance.random(n)) for _ in range(200)]
    assert np.mean([one.perfect for one in found if one]) == pytest.approx(by_chance, abs=0.02)
    reached = np.mean([one.value > 1 - 1e-9 for one in found if one])
    assert reached == pytest.approx(by_chance, abs=0.06)


def test_the_p_of_the_best_is_uniform_when_no_metric_is_worth_anything() -> None:
    """That is what a p is for: it is at most .05 about one time in twenty, however many metrics are asked."""
    chance = np.random.default_rng(5)
    p = [best(chance.random((20, 6)), chance.random(6)) for _ in range(300)]
    low = np.mean([one.p <= 0.05 for one in p if one])
    assert low <= 0.08


def test_one_metric_alone_has_the_one_sided_p() -> None:
    found = best(counted(4)[None, :], counted(4))
    assert found is not None
    assert (found.p, found.perfect) == (pytest.approx(1 / 24), pytest.approx(1 / 24))


def test_a_metric_that_is_the_same_for_all_runs_has_no_tau_and_does_not_disturb() -> None:
    found = best(np.array([[1.0, 1, 1, 1], [1, 2, 3, 4]]), counted(4))
    assert found is not None
    assert np.isnan(found.tau[0])
    assert found.places == [1]


def test_metrics_of_one_order_share_the_first_place() -> None:
    found = best(np.array([[1.0, 2, 3, 4], [4, 3, 2, 1], [10, 20, 30, 40]]), counted(4))
    assert found is not None
    assert found.places == [0, 2]
    assert found.p == pytest.approx(2 / 24)
