"""What A/B tests found of the runs, on pages of offline numbers."""

from __future__ import annotations

import pytest
from app_pages import Open, at_once, said

open_page = at_once


@pytest.mark.usefixtures("with_demo", "workspace")
def test_the_card_of_a_rate_says_its_values_beside_the_lift(open_page: Open) -> None:
    assert "64.7 %, control 61.7 %" in said(open_page("overview"))


@pytest.mark.usefixtures("with_demo", "workspace")
@pytest.mark.parametrize("page", ["leaderboard", "tradeoffs"])
def test_pages_of_offline_numbers_say_who_lost_its_ab_test(open_page: Open, page: str) -> None:
    text = said(open_page(page))
    assert "In the A/B test against Popular: Two-tower 2026-10 lost (session watch time −12 %)" in text
    assert "ALS v3 won (" in text
    assert "ItemKNN 100 inconclusive" in text
