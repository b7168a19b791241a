"""How the differences of single users are made up, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from recdash.stats.user_changes import Changes, bars, changes, largest_changes, users_with_half


def test_users_are_better_the_same_or_worse() -> None:
    found = changes(np.array([0.5, 0.0, -0.2, 0.3, 0.0]))
    assert found == Changes(
        n_users=5, better=2, same=2, worse=1, gain=pytest.approx(0.8), loss=pytest.approx(0.2), half_gain=1,
        typical=pytest.approx(0.3),
    )  # fmt: skip


def test_where_nobody_changes_nothing_is_said_of_the_size() -> None:
    found = changes(np.zeros(3))
    assert (found.same, found.gain, found.loss, found.half_gain) == (3, 0.0, 0.0, 0)
    assert math.isnan(found.typical)


@pytest.mark.parametrize(
    ("gains", "fewest"),
    [
        ([4.0, 1.0, 1.0, 1.0, 1.0], 1),  # 4 of 8
        ([1.0, 1.0, 1.0, 1.0], 2),  # 2 of 4
        ([0.1, 0.2, 0.3], 1),  # 0.3 of 0.6, though 0.1 + 0.2 + 0.3 is a little more than 0.6
        ([1.0, 1.0, 1.0], 2),  # 1 of 3 is less than half
        ([], 0),
    ],
)
def test_the_fewest_users_with_half_of_the_gain(gains: list[float], fewest: int) -> None:
    assert users_with_half(np.array(gains)) == fewest


def test_bars_have_a_round_width_and_begin_at_zero() -> None:
    found = bars(np.array([-0.15, 0.05, 0.12, 0.31, 0.0]), wanted=5)
    assert found.edge.tolist() == pytest.approx([-0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4])
    assert found.count.tolist() == [1, 0, 1, 1, 0, 1]


def test_a_gain_and_an_equal_loss_stand_equally_far_from_zero() -> None:
    found = bars(np.array([-0.1, 0.1, -0.3, 0.3]), wanted=6)
    assert found.count.tolist() == found.count.tolist()[::-1]
    assert found.edge.tolist() == pytest.approx((-found.edge[::-1]).tolist())


def test_nobody_is_in_no_bar_and_everybody_who_changed_in_one() -> None:
    assert len(bars(np.zeros(4)).count) == 0
    values = np.random.default_rng(0).normal(size=500)
    assert int(bars(values).count.sum()) == 500
    assert bars(np.full(7, 0.25)).count.sum() == 7


def test_largest_gains_and_losses_alternate() -> None:
    difference = np.array([0.1, -0.9, 0.5, 0.0, -0.2, 0.7])
    assert largest_changes(difference, np.zeros(6), 4).tolist() == [5, 1, 2, 4]


def test_when_one_side_is_used_up_the_other_goes_on_and_who_did_not_change_is_never_named() -> None:
    difference = np.array([0.1, 0.2, 0.3, 0.0])
    assert largest_changes(difference, np.zeros(4), 10).tolist() == [2, 1, 0]


def test_among_equal_gains_those_come_first_where_candidates_are_further_apart() -> None:
    difference, apart = np.array([1.0, 1.0, 1.0]), np.array([0.2, 0.9, 0.5])
    assert largest_changes(difference, apart, 2).tolist() == [1, 2]
