"""Interleaving tests without and with a preference: how often they are wrong, and the page that says so."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.calibration_interleaving import (
    LEANS,
    LIMITS,
    POWER_LIMITS,
    SPLIT_LIMIT,
    TITLE,
    USERS,
    WORLDS,
    errors,
    power,
)
from benchmarks.calibration_page import PAGE, section, sections_of, write_section

MIXED = WORLDS[1]


@pytest.mark.long
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.title)
def test_tests_without_a_preference_are_seldom_called_one(world: object) -> None:
    """5 % of 300 tries and four standard errors: 0.05 + 4 · 0.0126 = 0.10."""
    result = errors(world, 60, tries=300)["requests"]  # type: ignore[arg-type]
    assert 0.01 < result.called < 0.1
    assert (result.apart, result.withheld) == (0, 0)


def test_errors_by_request_would_be_too_small() -> None:
    """Without users, each request counts as one: users who lean either way make it wrong too often."""
    from dataclasses import replace

    from benchmarks.calibration_interleaving import team_draft
    from recdash.demo.interleaving import Clicks
    from recdash.online.interleaving.preference import preference, user_sums

    draw, rng, called = team_draft(Clicks(taste=1.5, rarity=2.0)), np.random.default_rng(3), np.zeros(2)
    for _ in range(200):
        requests = draw(rng, 60)
        by_request = replace(requests, user=np.arange(len(requests)))
        rows = [preference(user_sums(either)) for either in (requests, by_request)]
        called += [row.p is not None and row.p < 0.05 for row in rows]
    assert called[0] / 200 < 0.1
    assert called[1] / 200 > 0.2


@pytest.mark.long
def test_a_planted_preference_is_found_with_the_stated_power() -> None:
    """80 % of 150 tries and three standard errors: 0.8 ± 3 · 0.033."""
    result = power(*LEANS[0], tries=150)
    assert result.share == pytest.approx(result.stated, abs=0.002)
    assert 0.7 < result.found < 0.9


# ── the page ─────────────────────────────────────────────────────────────────────────────────


def rows(n_table: int) -> list[list[str]]:
    text = section(PAGE.read_text(encoding="utf-8"), TITLE)
    tables = [part for part in text.split("\n\n") if part.startswith("| ")]
    lines = [line.strip("| ").split(" | ") for line in tables[n_table].splitlines()]
    return lines[2:]


def test_the_page_has_a_row_for_each_situation_number_of_users_and_measure() -> None:
    expected = [
        [world.title, measure, f"{n_users:,}"]
        for world in WORLDS
        for n_users in USERS
        for measure in ("requests", "credits")
    ]
    assert [row[:3] for row in rows(0)] == expected
    assert [row[0] for row in rows(1)] == [f"{n_users:,}" for n_users, _ in LEANS]


def test_on_the_page_every_row_is_within_its_limits() -> None:
    for row in rows(0):
        called, missed, apart, uneven, withheld = map(float, row[3:8])
        if withheld < 0.9:  # else hardly any test has a verdict
            assert LIMITS[0] <= called <= LIMITS[1], row
            assert LIMITS[0] <= missed <= LIMITS[1], row
        assert apart < 0.002, row
        assert uneven <= SPLIT_LIMIT, row
    for row in rows(1):
        stated, true, found, missed = map(float, row[1:5])
        assert true == pytest.approx(stated, abs=0.001), row
        assert POWER_LIMITS[0] <= found <= POWER_LIMITS[1], row
        assert LIMITS[0] <= missed <= LIMITS[1], row


def test_a_section_is_written_in_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\ntext\n\n## One\n\nold\n\n## Two\n\nkept\n")
    write_section("One", "new", page)
    write_section("Three", "added", page)
    expected = "## One\n\nnew\n\n## Two\n\nkept\n\n## Three\n\nadded\n"
    assert page.read_text() == f"# Page\n\ntext\n\n{expected}"
    assert sections_of(page.read_text()) == expected
    write_section("Three", "again", page)
    assert page.read_text().endswith("kept\n\n## Three\n\nagain\n")
