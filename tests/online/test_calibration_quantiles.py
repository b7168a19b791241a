"""The table of quantiles of A/B tests without any effect, in docs/calibration.md."""

from __future__ import annotations

import math

from benchmarks.calibration_page import PAGE, section
from benchmarks.calibration_quantiles import TITLE, situations


def test_no_row_of_the_page_is_outside_its_limits() -> None:
    """At most .06 of the tests are called, or miss, and two standard errors of those not withheld."""
    text = section(PAGE.read_text(encoding="utf-8"), TITLE)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == len(list(situations()))
    answered = [row for row in rows if row[4] != "–"]
    assert len(answered) >= 20
    for row in answered:
        made = int(row[8].replace(",", "")) - int(row[7].replace(",", ""))
        error = 2 * math.sqrt(0.05 * 0.95 / made)
        assert 0.04 - error <= float(row[4]) <= 0.06 + error, row
        assert float(row[5]) <= 0.06 + error, row
        assert float(row[6]) <= 0.06 + error, row
