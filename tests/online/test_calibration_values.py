"""The table of the intervals of values of one variant, in docs/calibration.md."""

from __future__ import annotations

import math

from page_tables import rows_of

from benchmarks.calibration_values import COLUMNS, TITLE, TRUE, Situation, simulate, situations


def rows() -> list[dict[str, str]]:
    return rows_of(TITLE, COLUMNS)


def number(row: dict[str, str], name: str) -> int:
    return int(row[name].replace(",", ""))


def test_the_page_has_each_metric_of_each_situation() -> None:
    assert len(rows()) == len(list(situations())) * len(TRUE)


def test_no_interval_that_is_shown_misses_more_often_than_its_limit() -> None:
    """.04 to .06, and two standard errors of the intervals shown; that of few successes may miss less.

    Rows of which fewer than 1 % are shown are not judged: of sums, that is a single test of few users whose
    moments are by chance those of zeros and ones.
    """
    shown = [row for row in rows() if number(row, "withheld") < 0.99 * number(row, "tries")]
    assert {row["metric"] for row in shown} == set(TRUE)
    for row in shown:
        error = 2 * math.sqrt(0.05 * 0.95 / (number(row, "tries") - number(row, "withheld")))
        assert float(row["misses"]) <= 0.06 + error, row
        if not row["metric"].startswith("rate"):
            assert float(row["misses"]) >= 0.04 - error, row


def test_intervals_are_withheld_where_they_would_miss_too_often() -> None:
    for row in rows():
        error = 2 * math.sqrt(0.05 * 0.95 / number(row, "tries"))
        if row["corrected"] != "–" and float(row["corrected"]) > 0.06 + error:
            assert row["misses"] == "–" or number(row, "withheld") > 0.9 * number(row, "tries"), row


def test_a_simulation_is_repeatable_and_counts_each_try() -> None:
    situation = Situation(2_000, "90/10", control=True)
    counts = simulate(situation, 5)
    assert counts == simulate(situation, 5)
    assert counts["mean, by t"].shown == 5
    assert situation.n == 1_800
