"""How often verdicts are wrong: when a count is enough, what is beyond the limit, and the page."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import calibration
from benchmarks.calibration import (
    ENOUGH,
    LIMIT,
    PAGE,
    STAGES,
    Situation,
    Tally,
    error,
    main,
    row,
    situations,
    tally,
)

ONE = next(situations())


def counted(tries: int, ship: int, situation: Situation = ONE) -> Tally:
    return Tally(situation, tries, Counter({"ship": ship, "not enough evidence": tries - ship}))


def test_a_count_is_enough_where_the_limit_is_out_of_its_reach() -> None:
    """At 1,000 tries the error is 1.96 · √(0.025 · 0.975 / 1,000) = 0.968 points: 2.5 − 0.968 = 1.532 %."""
    assert error(1_000) == pytest.approx(0.00968, abs=5e-6)
    assert counted(1_000, 15).settled
    assert not counted(1_000, 16).settled


def test_a_share_above_the_limit_is_beyond_it_only_past_the_error_of_the_counting() -> None:
    """At 20,000 tries 2.5 + 0.216 = 2.716 %, which is 543 of them."""
    within, beyond = counted(ENOUGH, 543), counted(ENOUGH, 544)
    assert (within.settled, within.beyond) == (True, False)
    assert (beyond.settled, beyond.beyond) == (False, True)
    assert not counted(ENOUGH, 544, replace(ONE, kept=False)).beyond
    assert not counted(20, 20).beyond


def test_what_is_beyond_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training moves the runs, and each was trained once: three of ten are shipped."""
    *_, hopeless = situations()
    assert not hopeless.kept
    monkeypatch.setattr(calibration, "situations", lambda: iter([ONE, replace(hopeless, kept=True)]))
    (named,) = main(STAGES[0], tmp_path / "page.md")
    assert hopeless.title in named
    lines = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    assert lines[-1] == named
    assert lines[-2].startswith(f"| {ONE.title} |")


def test_the_part_that_another_command_writes_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("old rows\n\n## Other\n\nof others\n", encoding="utf-8")
    monkeypatch.setattr(calibration, "situations", lambda: iter([ONE]))
    main(20, page)
    rows, _, others = page.read_text(encoding="utf-8").partition("## Other")
    assert "old rows" not in rows
    assert ONE.title in rows
    assert others == "\n\nof others\n"


def test_numbers_of_candidates_share_a_row_and_what_is_the_same_is_said_once() -> None:
    eight = replace(ONE, candidates=8)
    assert row([counted(1_000, 5), counted(1_000, 12, eight)]).endswith(
        "| 2 | 1 · 8 | 0.50 · 1.20 | 0.00 | – | 1,000 |"
    )
    assert row([counted(1_000, 16)]).endswith("| 1.60 | 0.00 | – | 1,000 open |")


def test_the_page_has_every_situation_and_none_is_beyond_the_limit() -> None:
    lines = PAGE.read_text(encoding="utf-8").partition("\n## ")[0].splitlines()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")][1:]
    told = {(title, users, one) for title, users, many, *_ in rows for one in many.split(" · ")}
    kept = {situation.title: situation.kept for situation in situations()}
    assert told == {
        (situation.title, f"{situation.n:,}", str(situation.candidates)) for situation in situations()
    }
    for title, _, _, *shares, tries in rows:
        fewest = min(int(one.split()[0].replace(",", "")) for one in tries.split(" · "))
        known = [float(one) for cell in shares for one in cell.split(" · ") if one != "–"]
        assert not kept[title] or max(known) <= 100 * (LIMIT + error(fewest)) + 0.005, title


def test_the_page_is_what_is_counted_today() -> None:
    """A row with some wrong answers, counted again."""
    again = [
        tally(situation)
        for situation in situations()
        if (situation.title, situation.n) == ("equal runs, hit rate 1 %", 300)
    ]
    assert row(again) in PAGE.read_text(encoding="utf-8").splitlines()
    assert again[0].most > 0
