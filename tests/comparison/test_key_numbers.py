"""The three numbers behind a recommendation, and whose they are."""

from __future__ import annotations

import numpy as np
import pytest
from verdict_table import BASE, CLEAR, LOSS, Table

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.key_numbers import key_numbers, whose_numbers
from recdash.comparison.recommendation import recommend


@pytest.mark.parametrize(
    ("als", "action", "whose"),
    [
        (CLEAR, "ship", "ALS against Popular"),
        (LOSS, "keep", "Best challenger: ALS against Popular"),
    ],
)
def test_they_say_whose_they_are(als: np.ndarray, action: str, whose: str) -> None:
    source = Table({"Popular": BASE, "ALS": als, "BPR": LOSS - 0.01})
    query = ComparisonQuery(("ALS", "BPR"), "Popular", "ndcg", 10)
    result = recommend(source, compare(source, query))
    assert (result.action, whose_numbers(result)) == (action, whose)
    titles = [number.title for number in key_numbers(result.evidence)]
    assert titles == ["nDCG@10, offline", "Users who gain"]
