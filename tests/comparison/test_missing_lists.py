"""How much of a loss comes from users without recommendations, with the shares worked out by hand.

Popular has 0.2 for each of 400 users. ALS serves the first 250 of them; a user that it does not serve has 0,
which is a loss of 0.2.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from verdict_table import BASE, LOSS, Table, run

from recdash.comparison import ComparisonQuery, compare
from recdash.comparison.completion import completion, completion_question
from recdash.comparison.missing_lists import missing_lists
from recdash.comparison.recommendation import recommend
from recdash.comparison.wording import plain
from recdash.domain.results import Slice

SERVED = 250
QUERY = ComparisonQuery(("ALS",), "Popular", "ndcg", 10)
SMALL = run(-0.004, wins=20, losses=30, n=SERVED)
"""A loss of 0.004 × 250 = 1.0 in all: 2 %, and not significant."""
LARGE = run(-0.05, wins=0, losses=100, n=SERVED)
"""A loss of 0.05 × 250 = 12.5 in all: 25 %, significant."""
GAIN = run(0.02, wins=90, losses=20, n=SERVED)
"""A gain of 0.02 × 250 = 5.0 in all: 10 %, significant."""


def table(of_served: np.ndarray, n_without: int = 150) -> Table:
    values = BASE[: SERVED + n_without].copy()
    values[:SERVED] += of_served
    values[SERVED:] = 0
    return Table({"Popular": BASE[: len(values)], "ALS": values}, served={"ALS": SERVED})


@pytest.mark.parametrize(
    ("of_served", "loss", "share", "word"),
    [
        (SMALL, 1.0, "97 %", "there is no significant difference"),  # 30 of 31
        (LARGE, 12.5, "71 %", "its nDCG@10 is 25 % below Popular"),  # 30 of 42.5
        (GAIN, -5.0, "All", "its nDCG@10 is 10 % above Popular"),  # 30 of 25
        (np.zeros(SERVED), 0.0, "All", "it equals Popular"),
    ],
)
def test_the_reason_of_a_loss_is_said_with_what_remains(
    of_served: np.ndarray, loss: float, share: str, word: str
) -> None:
    source = table(of_served)
    comparison = compare(source, QUERY)
    part = missing_lists(source, QUERY, comparison.against[0])
    assert part is not None
    assert (part.n_users, part.served.paired.n) == (150, SERVED)
    assert part.share == pytest.approx(30 / (30 + loss))
    # with Popular's 0.2 for the 150 users, only the difference of the others is left
    assert part.completed(comparison.against[0]) == pytest.approx(0.2 - loss / 400)
    result = recommend(source, comparison)
    assert result.action == "keep"
    (why,) = map(plain, result.why)
    assert why.startswith("ALS is worse: its nDCG@10 is ")
    without = "150 users without recommendations from it"
    assert why.endswith(f". {share} of this loss comes from {without}; for the other 250, {word}.")
    (former,) = map(plain, recommend(source, comparison, missing=False).why)
    assert former == why.partition(f" {share} of")[0]


def test_a_segment_without_any_list_is_told_as_that() -> None:
    """New users are the last 50, of whom ALS serves none; of the other segment it serves some."""
    users = np.arange(300)
    cuts = [
        Slice("users", "new", "users new to the service", users >= 250),
        Slice("country", "FR", "FR", users >= 220),
    ]
    source = replace(table(5 * GAIN, n_without=50), cuts=cuts, bound=1.0)
    comparison = compare(source, QUERY)
    told = {plain(risk) for risk in recommend(source, comparison).cases[0].risks}
    assert "is worse for users new to the service (no recommendations for any of these 50)" in told
    former = {plain(risk) for risk in recommend(source, comparison, former=True).cases[0].risks}
    assert "is worse for users new to the service" in former
    assert not any("recommendations" in risk for risk in told if "FR" in risk)


def test_a_small_part_of_a_loss_is_not_its_reason() -> None:
    source = table(LARGE, n_without=50)  # 10 of 22.5
    comparison = compare(source, QUERY)
    part = missing_lists(source, QUERY, comparison.against[0])
    assert part is not None
    assert part.share == pytest.approx(10 / 22.5)
    assert "of this loss" not in recommend(source, comparison).text


def test_without_missing_lists_there_is_nothing_to_say() -> None:
    source = Table({"Popular": BASE, "ALS": LOSS})
    comparison = compare(source, QUERY)
    assert missing_lists(source, QUERY, comparison.against[0]) is None
    assert "of this loss" not in recommend(source, comparison).text


@pytest.mark.parametrize(
    ("of_served", "own", "sentence"),
    [
        (SMALL, "0.196", "about 0.198: not significantly different from Popular (0.200)"),
        (LARGE, "0.150", "about 0.169: still 16 % below Popular (0.200)"),
        (1.2 * GAIN, "0.224", "about 0.215: 7.5 % above Popular (0.200)"),
        (np.zeros(SERVED), "0.200", "about 0.200: as good as Popular (0.200)"),
    ],
)
def test_a_completed_run_is_told_with_how_it_stands_to_popular_items(
    of_served: np.ndarray, own: str, sentence: str
) -> None:
    expected = completion(table(of_served), QUERY, "ALS", "Popular")
    assert expected is not None
    assert expected.sentences == (
        f"Over the 250 users it serves, its nDCG@10 is {own} (Popular: 0.200).",
        f"With popular items for the others it would be {sentence}.",
    )


def test_without_a_run_of_popular_items_only_the_users_served_are_compared() -> None:
    source = table(LARGE)
    renamed = Table({"EASE": source.of["Popular"], "ALS": source.of["ALS"]}, served=source.served)
    expected = completion(renamed, QUERY, "ALS", "EASE")
    assert expected is not None
    assert expected.sentences == ("Over the 250 users it serves, its nDCG@10 is 0.150 (EASE: 0.200).",)
    assert completion(Table({"Popular": BASE, "ALS": LOSS}), QUERY, "ALS", "Popular") is None


@pytest.mark.parametrize(
    ("of_served", "matters", "answer"),
    [
        (SMALL, False, "Same result: not significantly different (about 0.198 vs 0.200)"),
        (LARGE, False, "Same result: worse (about 0.169 vs 0.200)"),
        (GAIN, True, "Changes: ALS would be better (about 0.213 vs 0.200)"),
        (np.zeros(SERVED), False, "Same result: equal for every user (about 0.200 vs 0.200)"),
    ],
)
def test_popular_items_for_users_without_a_list_are_a_question(
    of_served: np.ndarray, matters: bool, answer: str
) -> None:
    source = table(of_served)
    today = recommend(source, compare(source, QUERY))
    expected = completion(source, QUERY, "ALS", "Popular")
    assert expected is not None
    question = completion_question(expected, today)
    assert question is not None
    assert question.question == "With popular items for users without a list"
    assert (question.matters, question.answer) == (matters, answer)
