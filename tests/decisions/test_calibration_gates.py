"""How often gates fail equal runs, and pass worse ones, in simulated pairs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.calibration_gates import CAUGHT, FAILED, PASSED, Situation, judged, rows_of, situations


def check(rows: list[str]) -> None:
    """No share is beyond its limit by more than two standard errors of the tries; *named* is as stated."""
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
        # the pilot of 200 gates knows the standard error to 5 %, and the beyond runs vary a little less
        assert named >= stated - 0.1 - error(stated), line


def test_a_gate_is_repeatable() -> None:
    situation = Situation(("hit_rate", "online.conversion"), 200)
    first, second = (judged(np.random.default_rng(1), situation, [0, 0], [-0.2, -0.3]) for _ in range(2))
    assert first.as_dict() == second.as_dict()
    assert first.level == pytest.approx(0.975)


@pytest.mark.long
def test_the_shares_are_within_their_limits() -> None:
    check(rows_of(1_000))
