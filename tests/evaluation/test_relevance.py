"""The threshold that is suggested for a graded test set."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from recdash.domain.kinds import Floats
from recdash.evaluation import evaluate, relevance
from recdash.evaluation.relevance import suggest


def grades(**rows: int) -> Floats:
    return np.concatenate([np.full(n, float(name[1:].replace("_", "."))) for name, n in rows.items()])


@pytest.mark.parametrize(
    ("values", "threshold"),
    [
        (grades(g1=5, g2=5, g3=20, g4=40, g5=30), 4),  # ceil(0.7 · 5)
        (grades(g0_5=2, g3_5=20, g4_5=40, g5=30), 4),
        (grades(g1=5, g5=20, g8=40, g10=30), 7),
        (grades(g10=5, g50=20, g80=40, g100=30), 70),
    ],
)
def test_a_rating_scale_suggests_seven_tenths_of_its_end(values: Floats, threshold: float) -> None:
    found = suggest(values)
    assert found is not None
    assert found.threshold == threshold


@pytest.mark.parametrize(
    "values",
    [
        grades(g1=100, g2=40, g3=10, g7=2),  # counts: 1 is the most frequent, and they fall
        grades(g0=100, g1=20, g2=40, g3=30),  # judged documents
        grades(g1=10, g2=30, g500=3),  # no scale ends there
        grades(g8=10, g9=30, g10=3),  # nothing would change
    ],
)
def test_there_is_no_suggestion_where_all_rows_are_relevant(values: Floats) -> None:
    found = suggest(values)
    assert found is not None
    assert found.threshold is None


@pytest.mark.parametrize("values", [grades(g1=9), grades(g0=3, g1=9)])
def test_yes_and_no_leave_nothing_to_choose(values: Floats) -> None:
    assert suggest(values) is None


def test_without_a_threshold_python_says_that_every_row_counts_and_what_the_page_suggests() -> None:
    rows = "".join(f"u{n},i{n % 7},{1 + n % 5}\n" for n in range(50))
    truth = f"user_id,item_id,stars\n{rows}".encode()
    run = {"als": b"user_id,item_id,rank\nu1,i1,1\nu2,i3,1\n"}

    def notices(**settings: Any) -> list[str]:
        return [str(notice) for notice in evaluate(run, truth, metrics="ndcg@5", **settings).notices()]

    (notice,) = [text for text in notices() if text.startswith("relevance: ")]
    assert "every row counts; the page Add data suggests from 4 up" in notice
    assert "--relevance-threshold 4" in notice
    for settings in ({"relevance_threshold": 4}, {"relevance_threshold": 1}, {"relevance": "none"}):
        assert not any("every row counts" in text for text in notices(**settings))


@pytest.mark.parametrize("grades", [[3, 0, 3, 5], [2.5, 1, 2.5], [-1, 4, 4], [70_000, 1], []])
def test_grades_are_counted_as_one_by_one(grades: list[float]) -> None:
    distinct, rows = relevance._counted(np.array(grades, dtype=np.float64))
    assert dict(zip(distinct.tolist(), rows.tolist(), strict=True)) == Counter(grades)
    assert distinct.tolist() == sorted(distinct.tolist())
