"""The generator of interleaving tests: fair teams, lists without repeats, and the planted preference."""

from __future__ import annotations

import numpy as np
import pytest

import recdash
from recdash.demo.film_service import make
from recdash.demo.interleaving import Clicks, drawn_teams, team_draft


def test_each_round_has_one_pick_of_either_team_and_a_fair_coin_says_who_is_first() -> None:
    teams = drawn_teams(np.random.default_rng(1), 10_000, 5)
    assert teams.shape == (10_000, 5)
    assert (teams[:, 0] + teams[:, 1] == 1).all()
    assert (teams[:, 2] + teams[:, 3] == 1).all()
    for slot in (0, 2, 4):  # 4 standard errors of a fair coin: 2 / √10,000
        assert teams[:, slot].mean() == pytest.approx(0.5, abs=0.02)


def test_a_team_takes_its_best_item_that_is_not_listed_yet() -> None:
    first, second = [0, 1, 2, 3], [1, 0, 4, 5]
    items = team_draft(np.array([[first] * 2, [second] * 2]), np.array([[0, 1, 0, 1], [1, 0, 1, 0]]), 6)
    assert items.tolist() == [[0, 1, 2, 4], [1, 0, 4, 2]]


def test_a_planted_preference_is_found_and_an_absent_one_is_not_called() -> None:
    rng = np.random.default_rng(2)
    planted = recdash.interleaving(Clicks(lean=0.5).draw(rng, 400, 20).table())
    absent = recdash.interleaving(Clicks().draw(rng, 400, 20).table())
    assert planted.finding == "better"
    assert (planted.preference.low or 0) > 0.5
    assert absent.finding == "not settled"


def test_the_demo_interleaves_a_pair_of_its_ab_test() -> None:
    service = make()
    assert set(service.teams.values()) <= set(service.links.values())
    results = recdash.interleaving(service.interleaved)
    assert not results.split.blocked
    assert (results.control, results.finding) == ("control", "better")
