"""How often gates fail equal runs, and pass worse ones, in simulated pairs."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.calibration_gates import (
    BEYOND,
    CAUGHT,
    FAILED,
    LARGEST,
    PASSED,
    POWER,
    TITLE,
    Situation,
    judged,
    margin_of,
    power_of,
    rows_of,
    situations,
)
from benchmarks.calibration_page import PAGE, section
from recdash.decisions.gate.result import RuleResult
from recdash.decisions.gate.rules import read_rule


def check(rows: list[str]) -> None:
    """No share is beyond its limit, but by the error of the tries where the limit is that of a method."""
    assert len(rows) == len(list(situations()))
    for line in rows:
        cells = [cell.strip() for cell in line.strip("| ").split("|")]
        failed, passed, caught, named, stated = (float(cell.removesuffix(" %")) / 100 for cell in cells[3:8])
        tries = int(cells[8].replace(",", ""))

        def error(share: float, tries: int = tries) -> float:
            return 2 * math.sqrt(max(share * (1 - share), 1e-4) / tries)

        assert failed <= FAILED, line
        assert passed <= PASSED + error(PASSED), line
        assert caught >= CAUGHT, line
        # 200 pairs know the spread to 5 %, by which the power is at most 0.05 · max(z φ(z)) = 1.2 points off
        assert abs(named - stated) <= 2 * 0.012 + error(stated), line
        if cells[1] == f"{LARGEST:,}":
            assert stated >= CAUGHT, line
            assert named >= CAUGHT, line


def test_the_page_has_shares_within_their_limits() -> None:
    lines = section(PAGE.read_text(encoding="utf-8"), TITLE).splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    check(rows)
    assert {line.rsplit("|", 2)[1].strip() for line in rows} == {"1,000"}


def test_a_gate_is_repeatable() -> None:
    situation = Situation(("hit_rate", "online.conversion"), 200)
    first, second = (judged(np.random.default_rng(1), situation, [0, 0], [-0.2, -0.3]) for _ in range(2))
    assert first.as_dict() == second.as_dict()
    assert first.level == pytest.approx(0.975)


def results(*differences: float, length: float = 0.01) -> list[RuleResult]:
    """Results with intervals from ``length`` below the difference to ``length`` above it."""
    empty = RuleResult(read_rule("mrr@10 >= -5%"), "MRR@10", 1.0, 1.0)
    return [replace(empty, difference=d, low=d - length, high=d + length) for d in differences]


def test_the_margin_is_what_an_equal_candidate_keeps_to() -> None:
    """Differences of ±0.01 have the standard deviation 0.01 · √2, and intervals extend 0.01 below."""
    assert margin_of(results(-0.01, 0.01)) == pytest.approx(
        -math.ceil(1000 * (0.01 + POWER * 0.01 * 2**0.5)) / 1000
    )


def test_the_power_is_the_share_of_upper_ends_below_the_margin() -> None:
    """The upper end is normal with the mean −BEYOND + 0.01 from the margin, and the deviation 0.01 · √2."""
    power = power_of(results(-0.08, -0.06))
    assert power == pytest.approx(stats.norm(0.01 - BEYOND, 0.01 * 2**0.5).cdf(0))
    assert power == pytest.approx(0.7602, abs=1e-4)


@pytest.mark.long
def test_the_shares_are_within_their_limits() -> None:
    check(rows_of(1_000))
