"""The three numbers behind a recommendation, and whose they are."""

from __future__ import annotations

import numpy as np
import pytest
from verdict_table import BASE, CLEAR, LOSS, Table

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.key_numbers import _sign_test_decides, key_numbers, whose_numbers
from recdash.comparison.query import Terms
from recdash.comparison.recommendation import recommend
from recdash.comparison.wording import tiles_note, user_split
from recdash.domain.results import OnlineLift


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


@pytest.mark.parametrize(("is_corrected", "corrected"), [(True, ", Holm-corrected"), (False, "")])
def test_each_interval_says_its_level_and_correction(is_corrected: bool, corrected: str) -> None:
    """Those of A/B tests have 95 % and Holm, whatever the rules of the offline ones."""
    lift = OnlineLift("March", "Watch time", 0.05, 0.02, 0.08, is_corrected=is_corrected)
    source = Table({"Popular": BASE, "ALS": CLEAR, "BPR": LOSS}, tests=[lift])
    terms = Terms(correction="bh", level=0.9)
    query = ComparisonQuery(("ALS", "BPR"), "Popular", "ndcg", 10, terms=terms)
    offline, online, _ = key_numbers(recommend(source, compare(source, query)).evidence)
    assert offline.note.startswith("90 % CI +")
    assert offline.note.endswith(" %, Benjamini–Hochberg-corrected")
    assert online.note == f"95 % CI +2.00 to +8.00 %{corrected}"


@pytest.mark.parametrize(
    ("runs", "others", "terms", "note"),
    [
        (("ALS",), 1, Terms(), "Change vs Popular, 95 % CI"),
        (("ALS", "BPR"), 1, Terms(), "Change vs Popular, 95 % CI, Holm-corrected among 2 candidates"),
        (
            ("ALS", "BPR"),
            2,
            Terms(correction="bh", level=0.9),
            "Change vs Popular, 90 % CI, Benjamini–Hochberg-corrected among 2 candidates and 2 other metrics",
        ),
        (("ALS", "BPR"), 2, Terms(correction="off"), "Change vs Popular, 95 % CI"),
    ],
)
def test_the_caption_says_level_and_corrections(
    runs: tuple[str, ...], others: int, terms: Terms, note: str
) -> None:
    values = {"Popular": BASE, "ALS": CLEAR, "BPR": LOSS}
    metrics = ("recall", "precision")[:others]
    source = Table(values, others={(run, metric): values[run] for run in values for metric in metrics})
    query = ComparisonQuery(runs, "Popular", "ndcg", 10, terms=terms)
    assert tiles_note(recommend(source, compare(source, query)).evidence) == note


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
