"""The table of quantiles in segments of A/B tests without any effect, in docs/calibration.md."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.calibration_page import PAGE, section
from benchmarks.calibration_quantile_segments import (
    COLUMNS,
    PART,
    SEGMENTS,
    TITLE,
    USERS,
    metric_of,
    p_values,
    users_of,
)
from benchmarks.calibration_quantiles import Situation, situations
from recdash.online.analysis.segments import by_segment


def number(text: str) -> float:
    return float(text.replace(",", ""))


def test_no_row_of_the_page_is_outside_its_limits() -> None:
    """From .04 to .06 of the answers are called, give or take two standard errors of those not withheld, and
    the correction calls a segment in at most .06 of the tests.
    """
    text = section(PAGE.read_text(encoding="utf-8"), TITLE)
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    rows = [dict(zip(COLUMNS, line, strict=True)) for line in lines]
    assert len(rows) == len(SEGMENTS) * len(list(situations(sizes=USERS)))
    answered = [row for row in rows if row["called"] != "–"]
    assert {(row["users"], row["split"], row["segment"]) for row in answered} == {
        (users, split, segment)
        for users in ("2,000", "10,000")
        for split in ("50/50", "90/10")
        for segment in SEGMENTS
    }
    for row in answered:
        n_answered = number(row["tries"]) - number(row["withheld"])
        error = 2 * math.sqrt(0.05 * 0.95 / n_answered)
        assert 0.04 - error <= float(row["called"]) <= 0.06 + error, row
    for row in rows:
        assert float(row["any"]) <= 0.06 + 2 * math.sqrt(0.05 * 0.95 / number(row["tries"])), row


@pytest.mark.parametrize(("quantile", "is_answered"), [(0.5, [True, True]), (0.95, [True, False])])
def test_a_segment_with_few_rows_beyond_the_quantile_is_withheld(
    quantile: float, is_answered: list[bool]
) -> None:
    """Of 2,000 users, 700 of each variant are in the large segment and 300 in the other: 35 and 15 of them
    lie beyond .95. An answer needs 30.
    """
    situation = Situation(2_000, "50/50", False, quantile)
    users, metric = users_of(np.random.default_rng(1), situation), metric_of(situation)
    lifts = by_segment(users, metric, "control", PART)
    assert [lift.p for lift in lifts] == p_values(users, metric)
    assert [lift.p is not None for lift in lifts] == is_answered
    withheld = [lift.note for lift in lifts if lift.p is None]
    assert all("a valid interval needs 30 in each variant" in note for note in withheld)
