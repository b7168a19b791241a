"""Tests without any effect: how often they are called one, and the page that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.calibration_online import FEW, SITUATIONS, SPLITS, many_looks, one_look

PAGE = Path(__file__).parents[2] / "docs" / "calibration-online.md"
BY_NAME = {situation.name: situation for situation in SITUATIONS}


@pytest.mark.parametrize("name", ["rate of users, 95 %", "watch time per session", "one visit, of 1 % two"])
def test_without_a_bound_looking_again_and_again_finds_what_is_not_there_and_as_shown_it_does_not(
    name: str,
) -> None:
    """At 90 to 10 with 1,000 planned users 30 to 37 % of tests at some time; shown, at most 5 % may be."""
    result = many_looks(BY_NAME[name], "90/10", tries=150, longest=4_000)
    assert result.ever[1] / 150 > 0.15
    assert result.shown[1] / 150 < 0.05


def test_where_both_variants_have_users_enough_the_interval_for_many_looks_is_shown() -> None:
    assert many_looks(BY_NAME["watch time per session"], "50/50", tries=20, longest=4_000).reached > 15


@pytest.mark.parametrize("n_small", [2, 10, 50])
def test_of_one_look_at_a_small_variant_few_claims_are_made(n_small: int) -> None:
    """2.5 % in each direction, and three standard errors of 400 tries: 2.5 + 3 * 0.8 = 4.9 %."""
    for name in ("rate of users, 5 %", "rate of sessions, 40 %", "heavy tail (lognormal, σ 1.5)"):
        assert max(one_look(BY_NAME[name], "90/10", n_small, tries=400)) < 0.049, name


@pytest.mark.long
def test_no_situation_claims_more_than_it_may() -> None:
    for situation in SITUATIONS:
        for split in SPLITS:
            shown = many_looks(situation, split, tries=200, longest=10_000).shown
            assert max(shown) / 200 < 0.09, (situation.name, split)
            for n_small in FEW:
                assert max(one_look(situation, split, n_small, tries=1_000)) < 0.04, (situation.name, split)


# ── the page ─────────────────────────────────────────────────────────────────────────────────


def rows(heading: str) -> list[list[str]]:
    table = PAGE.read_text(encoding="utf-8").partition(f"## {heading}")[2].partition("\n## ")[0]
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    return lines[2:]


def test_the_page_has_a_row_for_each_situation_and_split() -> None:
    expected = [[situation.name, split] for situation in SITUATIONS for split in SPLITS]
    for heading in ("Checking after every user", "One look"):
        assert [row[:2] for row in rows(heading)] == expected


def test_on_the_page_nothing_is_claimed_more_often_than_it_may_be() -> None:
    """Two standard errors of chance: of 400 tries 5 ± 2.2 %, of 3,000 tries 2.5 ± 0.6 %."""
    for row in rows("Checking after every user"):
        assert max(float(cell.rstrip(" %")) for cell in row[5:7]) <= 7.2, row
    for row in rows("One look"):
        assert max(float(number) for cell in row[2:-1] for number in re.findall(r"[\d.]+", cell)) <= 3.1, row
