"""The three numbers behind a recommendation, and whose they are."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from verdict_table import BASE, CLEAR, LOSS, Table
from verdict_table import run as changes

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.key_numbers import SIGNIFICANT, _sign_test, key_numbers, whose_numbers
from recdash.comparison.query import Terms
from recdash.comparison.recommendation import recommend
from recdash.comparison.result import compared
from recdash.comparison.wording import plain, tiles_note, user_split
from recdash.domain.results import OnlineLift, Scope
from recdash.report.sections.first_lead import first_lead


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
    assert titles == ["nDCG@10, offline", "Users who gain and lose"]


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


def test_a_lift_that_cuped_adjusted_says_so_with_the_plain_one_beside() -> None:
    lift = OnlineLift("March", "Watch time", 0.1525, 0.02, 0.28, plain=0.124)
    source = Table({"Popular": BASE, "ALS": CLEAR}, tests=[lift])
    today = recommend(source, compare(source, ComparisonQuery(("ALS",), "Popular", "ndcg", 10)))
    beside = "CUPED-adjusted, +12.4 % unadjusted"
    assert key_numbers(today.evidence)[1].note == f"95 % CI +2.0 to +28.0 %; {beside}"
    told = "".join(piece.text for sentence in today.why for piece in sentence)
    assert f"watch time rose by 15 % in the A/B test ({beside})" in told


def test_a_printed_comparison_is_the_recommendation_and_a_line_for_each_difference() -> None:
    source = Table({"Popular": BASE, "ALS": CLEAR, "BPR": LOSS})
    text = str(compared(source, ComparisonQuery(("ALS", "BPR"), "Popular", "ndcg", 10)))
    head, als, bpr, more = text.splitlines()
    assert head.startswith("Ship ALS")
    assert re.fullmatch(r"ALS: nDCG@10 \+[\d.]+ vs Popular, better, n = \d+", als)
    assert re.fullmatch(r"BPR: nDCG@10 −[\d.]+ vs Popular, worse, n = \d+", bpr)
    assert more.startswith("All numbers: .table()")


def test_a_printed_comparison_of_many_candidates_fits_a_screen() -> None:
    names = [f"run {number}" for number in range(20)]
    source = Table({"Popular": BASE, **dict.fromkeys(names, CLEAR)})
    lines = str(compared(source, ComparisonQuery(tuple(names), "Popular", "ndcg", 10))).splitlines()
    assert len(lines) <= 15
    assert lines[-2] == "… and 8 more lines"


def test_the_plain_lift_is_turned_with_the_lift() -> None:
    turned = OnlineLift("March", "Watch time", 0.2, 0.1, 0.3, plain=0.25).reversed("r", "ALS")
    assert turned is not None
    assert turned.plain == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("runs", "others", "terms", "note"),
    [
        (("ALS",), 1, Terms(), "Change vs Popular, 95 % CI"),
        (("ALS", "BPR"), 1, Terms(), "Change vs Popular, 95 % CI, Holm-corrected over 2 candidates"),
        (
            ("ALS", "BPR"),
            2,
            Terms(correction="bh", level=0.9),
            (
                "Change vs Popular, 90 % CI, "
                "Benjamini–Hochberg-corrected separately over 2 candidates and 2 other metrics"
            ),
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
    assert _sign_test(490, 455) > SIGNIFICANT
    assert _sign_test(1_060, 480) < SIGNIFICANT
    assert _sign_test(0, 0) == 1.0


def test_the_tile_and_the_sentence_give_the_same_shares() -> None:
    """214 of 400 users gain (53.5 %), 116 lose (29 %), 70 stay (17.5 %): rounded each, they make 101.

    Reports of the first format rounded each.
    """
    gains = BASE + changes(0.02, wins=214, losses=116)
    source = Table({"Popular": BASE, "ALS": gains})
    query = ComparisonQuery(("ALS",), "Popular", "ndcg", 10)
    result = recommend(source, compare(source, query))
    tile = key_numbers(result.evidence)[-1]
    assert (tile.value, tile.note) == (
        "53 gain, 29 lose",
        "of 100 users, 18 unchanged, n = 400; sign test p < 0.001",
    )
    assert "; better for 53 of 100 users, worse for 29)." in plain(result.offline.sentences[0])
    part: Any = SimpleNamespace(evidence=result.evidence, query=SimpleNamespace(scope=Scope("a part")))
    assert "; better for 54 of 100 users, worse for 29)." in first_lead(part).sentences[0]
