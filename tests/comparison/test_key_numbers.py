"""The three numbers behind a recommendation, and whose they are."""

from __future__ import annotations

import numpy as np
import pytest
from verdict_table import BASE, CLEAR, LOSS, Table

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.key_numbers import _sign_test_decides, key_numbers, whose_numbers
from recdash.comparison.recommendation import recommend
from recdash.comparison.wording import user_split


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


def test_shares_of_users_add_up_and_a_small_majority_is_inconclusive() -> None:
    _, parts = user_split(1_060, 446, 493)
    assert [part.share for part in parts] == ["53", "22", "25"]
    _, parts = user_split(495, 4_300, 714)
    assert [part.share for part in parts] == ["9", "78", "13"]
    _, parts = user_split(103, 2, 95)  # 2 users are not nobody
    assert [part.share for part in parts] == ["51", "1", "48"]
    _, parts = user_split(100, 100, 100)
    assert [part.share for part in parts] == ["33", "34", "33"]
    assert not _sign_test_decides(490, 455)
    assert _sign_test_decides(1_060, 480)
    assert not _sign_test_decides(0, 0)
