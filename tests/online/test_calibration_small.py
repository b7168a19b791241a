"""The table of small and lopsided A/B tests without any effect, in docs/calibration.md."""

from __future__ import annotations

import math

from page_tables import rows_of

from benchmarks.calibration_small_tests import (
    COLUMNS,
    LIMITS,
    OTHER_COLUMNS,
    OTHER_TRIES,
    SRM_TRIES,
    TITLE,
    TRIES,
    Counts,
    Situation,
    beyond,
    compare_others,
    simulate,
)

SITUATION = ("users", "split", "variants", "CUPED")
SHARES = ("called", "misses (lift)", "misses (difference)")


def rows() -> list[dict[str, str]]:
    return rows_of(TITLE, COLUMNS)


def test_no_row_of_the_page_is_outside_its_limits() -> None:
    """.04 to .06, and two standard errors of the tries; a withheld answer has its reason."""
    answered = [row for row in rows() if not row["called"].startswith("withheld: ")]
    assert len(answered) >= 10
    for row in answered:
        error = 2 * math.sqrt(0.05 * 0.95 / int(row["tries"].replace(",", "")))
        for name in SHARES:
            assert 0.04 - error <= float(row[name]) <= 0.06 + error, (name, row)
        assert float(row["any called"]) <= 0.06 + error, row
        assert float(row["disagree"]) < 0.002, row
        assert row["always-valid"] == "–" or float(row["always-valid"]) <= 0.06, row


def test_rows_beyond_the_limits_are_within_them_in_12_000_other_tries() -> None:
    """Without any allowance for chance."""
    others = rows_of(TITLE, OTHER_COLUMNS)
    answered = [row for row in rows() if not row["called"].startswith("withheld: ")]
    outside = [row for row in answered if not all(0.04 <= float(row[name]) <= 0.06 for name in SHARES)]
    assert [situation_of(row) for row in others] == [situation_of(row) for row in outside]
    for row in others:
        assert row["tries"] == f"{OTHER_TRIES:,}"
        assert all(LIMITS[0] <= float(row[name]) <= LIMITS[1] for name in SHARES), row
        assert float(row["disagree"]) < 0.002, row


def situation_of(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in SITUATION)


def test_false_alarms_are_within_their_limits() -> None:
    """.015 for a novelty effect and .002 for the split, and two standard errors of the tries."""
    warned = [row for row in rows() if row["novelty"] != "–"]
    assert len(warned) >= 10
    for row in warned:
        error = 2 * math.sqrt(0.01 * 0.99 / int(row["tries"].replace(",", "")))
        assert float(row["novelty"]) <= 0.015 + error, row
    for row in rows():
        assert float(row["SRM"]) <= 0.002 + 2 * math.sqrt(0.001 / 4_000), row


def test_no_row_has_more_tries_than_others() -> None:
    assert {row["tries"] for row in rows()} == {f"{TRIES:,}"}
    assert {row["SRM tries"] for row in rows()} == {f"{SRM_TRIES:,}"}


def test_tests_of_300_users_have_no_always_valid_interval() -> None:
    assert [row["shown"] for row in rows() if row["users"] == "300"] == ["0.000"] * 4


def test_withheld_answers_are_those_of_too_few_users() -> None:
    for row in rows():
        if row["called"].startswith("withheld: "):
            assert row["users"] == "30"
            assert "a valid interval needs about 10 users" in row["called"]


def test_a_simulation_is_repeatable_and_its_p_agrees_with_its_intervals() -> None:
    situation = Situation(200, "90/10", 2, earlier=True)
    counts = simulate(situation, 10)
    assert counts == simulate(situation, 10)
    assert (counts.tries, counts.compared, counts.withheld, counts.disagree) == (10, 10, 0, 0)


def test_other_tries_have_other_users_and_count_the_same_comparisons() -> None:
    """Of these 19 tests only the last is called."""
    situation = Situation(30, "50/50", 2, earlier=False)
    all_tries, first, rest = (
        simulate(situation, 19),
        simulate(situation, 18),
        compare_others(situation, 18, 1),
    )
    assert (first.called, rest.called) == (0, 1)
    for name in ("tries", "compared", "withheld", "called", "lift_misses", "difference_misses"):
        assert getattr(all_tries, name) == getattr(first, name) + getattr(rest, name), name


def test_a_share_is_beyond_the_limits_above_6_and_below_4_percent() -> None:
    for called, expected in [(61, True), (60, False), (40, False), (39, True)]:
        counts = Counts(compared=1_100, withheld=100, called=called, difference_misses=50)
        assert beyond(counts) == expected
    assert not beyond(Counts(compared=100, withheld=100))
    assert not beyond(Counts(compared=3_000, called=181, difference_misses=150))  # written as .060
