"""Worked values: one or two users whose lists can be checked by eye, through `recdash.evaluate`.

In the lists a dot is an item that nobody wanted. Expected values are written as the arithmetic that a
textbook would show.
"""

from __future__ import annotations

from math import log, log2, sqrt
from typing import Any

import pandas as pd
import pytest

import recdash

EXACT = {"rel": 1e-14, "abs": 1e-15}

Fixture = tuple[dict[str, Any], dict[str, Any], int]


def of_one_user(truth: Any, shown: str, k: int) -> Fixture:
    return {"u": truth}, {"u": items(shown)}, k


def items(shown: str) -> list[str]:
    """``"a.b"`` → a, an item that nobody wanted, b."""
    return [f"miss{place}" if item == "." else item for place, item in enumerate(shown)]


def score(spec: str, fixture: Fixture, **more: Any) -> float:
    truth, lists, k = fixture
    spec = spec if spec == "r_precision" else f"{spec}@{k}"
    (value,) = recdash.evaluate({"run": lists}, truth, metrics=[spec], **more).table()["value"]
    return float(value)


TEN = list("abcdefghij")
F1 = of_one_user(TEN, "ab.c.", k=5)
F2 = of_one_user(list("abcd"), "a.b", k=5)
F3 = of_one_user(TEN, "abc", k=3)
F4 = of_one_user({"a": 3, "b": 2, "c": 1}, "c.a", k=3)
SECOND_OF_ONE = of_one_user(["a"], ".a", k=2)
FIXTURES = {"F1": F1, "F2": F2, "F3": F3, "F4": F4, "second of one": SECOND_OF_ONE}


def dcg(*gains: float) -> float:
    """Gains by rank, from rank 1."""
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


ONE_LIST = {
    "precision": {"F1": 3 / 5, "F2": 2 / 5, "F3": 3 / 3},
    "precision(over=list)": {"F1": 3 / 5, "F2": 2 / 3, "F3": 3 / 3},
    "recall": {"F1": 3 / 10, "F2": 2 / 4, "F3": 3 / 10},
    # at k = 3 all three items of F4 are among the best three
    "precision(truth=best)": {"F1": 3 / 5, "F4": 2 / 3},
    "recall(truth=best)": {"F1": 3 / 10, "F4": 2 / 3},
    "recall(norm=min)": {"F1": 3 / 5, "F2": 2 / 4, "F3": 3 / 3},
    "f1": {"F1": 2 * 3 / (5 + 10), "F2": 2 * 2 / (5 + 4), "F3": 2 * 3 / (3 + 10)},
    # with P = 3/5 and R = 3/10: (1 + 2²)·P·R / (2²·P + R)
    "f1(beta=2)": {"F1": 5 * (3 / 5) * (3 / 10) / (4 * (3 / 5) + 3 / 10), "F3": 5 * 1 * 0.3 / (4 * 1 + 0.3)},
    "f1(beta=0.5)": {"F1": 1.25 * (3 / 5) * (3 / 10) / (0.25 * (3 / 5) + 3 / 10)},
    "f1(of=map,mar,beta=2)": {"F1": 5 * 0.275 * 0.22 / (4 * 0.275 + 0.22)},
    "hit_rate": {"F1": 1, "F2": 1, "second of one": 1},
    "hits": {"F1": 3, "F2": 2, "F3": 3, "second of one": 1},
    "mrr": {"F1": 1, "F2": 1, "second of one": 1 / 2},
    "value": {"F1": 3, "F4": 1 + 3},
    "value(norm=relevant)": {"F1": 3 / 10, "F4": (1 + 3) / (3 + 2 + 1)},
    "success": {"F1": 1, "F2": 1},
    "success(min_hits=3)": {"F1": 1, "F2": 0},
    "mrr(sum=all)": {"F1": 1 + 1 / 2 + 1 / 4, "F2": 1 + 1 / 3, "second of one": 1 / 2},
    "map": {"F1": (1 / 1 + 2 / 2 + 3 / 4) / 10, "F2": (1 + 2 / 3) / 4, "F3": (1 + 1 + 1) / 10},
    "map(norm=min)": {"F1": (1 + 1 + 3 / 4) / 5, "F2": (1 + 2 / 3) / 4, "F3": (1 + 1 + 1) / 3},
    "map(norm=list)": {"F1": (1 + 1 + 3 / 4) / 5, "F2": (1 + 2 / 3) / 3, "F3": (1 + 1 + 1) / 3},
    "map(norm=hits)": {"F1": (1 + 1 + 3 / 4) / 3, "F2": (1 + 2 / 3) / 2, "F3": (1 + 1 + 1) / 3},
    "map(norm=k)": {"F1": (1 + 1 + 3 / 4) / 5, "F2": (1 + 2 / 3) / 5, "F3": (1 + 1 + 1) / 3},
    "map(norm=none)": {"F1": 1 + 1 + 3 / 4, "F2": 1 + 2 / 3, "F3": 1 + 1 + 1},
    "mar": {"F1": (0.1 + 0.2 + 0.2 + 0.3 + 0.3) / 5},
    "mar(form=hits)": {"F1": (0.1 + 0.2 + 0.3) / 3, "F2": (1 / 4 + 2 / 4) / 2, "second of one": 1},
    "mar(form=relevant)": {"F1": (0.1 + 0.2 + 0.3) / 10},
    "f1(of=map,mar)": {"F1": 2 * 0.275 * 0.22 / (0.275 + 0.22)},
    "f1(of=map,mar(form=hits))": {"F1": 2 * 0.275 * 0.20 / (0.275 + 0.20)},
    "f1(of=map,mar(form=relevant))": {"F1": 2 * 0.275 * 0.06 / (0.275 + 0.06)},
    "f1(of=map(norm=min),recall)": {"F1": 2 * 0.55 * 0.3 / (0.55 + 0.3)},
    "ndcg(gain=binary)": {
        "F1": dcg(1, 1, 0, 1) / dcg(1, 1, 1, 1, 1),
        "F2": dcg(1, 0, 1) / dcg(1, 1, 1, 1),
        "F3": 1,
        "F4": dcg(1, 0, 1) / dcg(1, 1, 1),
    },
    "ndcg": {
        "F1": dcg(1, 1, 0, 1) / dcg(1, 1, 1, 1, 1),
        "F2": dcg(1, 0, 1) / dcg(1, 1, 1, 1),
        "F3": 1,
        "F4": dcg(1, 0, 3) / dcg(3, 2, 1),
        "second of one": dcg(0, 1) / dcg(1),
    },
    "ndcg(gain=exp)": {
        "F1": dcg(1, 1, 0, 1) / dcg(1, 1, 1, 1, 1),
        "F2": dcg(1, 0, 1) / dcg(1, 1, 1, 1),
        "F3": 1,
        "F4": dcg(2**1 - 1, 0, 2**3 - 1) / dcg(2**3 - 1, 2**2 - 1, 2**1 - 1),
    },
    "ndcg(gain=binary,ideal=full)": {
        "F1": dcg(1, 1, 0, 1) / dcg(*[1] * 5),
        "F2": dcg(1, 0, 1) / dcg(*[1] * 5),
        "F3": 1,
        "F4": dcg(1, 0, 1) / dcg(1, 1, 1),
    },
    "ndcg(gain=exp,ideal=all)": {
        "F1": dcg(1, 1, 0, 1) / dcg(*[1] * 10),
        "F2": dcg(1, 0, 1) / dcg(1, 1, 1, 1),
        "F3": dcg(1, 1, 1) / dcg(*[1] * 10),
        "F4": dcg(1, 0, 7) / dcg(7, 3, 1),
    },
    "ndcg(discount=lenskit)": {
        "second of one": 1,
        "F1": (1 + 1 + 1 / 2) / (1 + 1 + 1 / log2(3) + 1 / 2 + 1 / log2(5)),
    },
    "ndcg(discount=ln)": {"F4": dcg(1, 0, 3) / dcg(3, 2, 1)},
    "dcg": {"F1": dcg(1, 1, 0, 1), "F4": dcg(1, 0, 3), "second of one": 1 / log2(3)},
    "dcg(gain=exp)": {"F4": dcg(2**1 - 1, 0, 2**3 - 1)},
    "dcg(gain=binary)": {"F4": dcg(1, 0, 1)},
    "dcg(discount=ln)": {"F4": 1 / log(2) + 3 / log(4)},
    "dcg(discount=lenskit)": {"F4": 1 + 3 / log2(3), "second of one": 1},
    "ncrr": {
        "F1": (1 + 1 / 2 + 1 / 4) / (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5),
        "F2": (1 + 1 / 3) / (1 + 1 / 2 + 1 / 3 + 1 / 4),
        "second of one": (1 / 2) / 1,
    },
    "ncrr(ideal=list)": {"F2": (1 + 1 / 3) / (1 + 1 / 2 + 1 / 3), "second of one": (1 / 2) / 1},
    "auc(without_miss=0)": {"F1": 1 - 1 / (3 * 2), "F3": 0},
    "ncrr(ideal=all)": {"F1": (1 + 1 / 2 + 1 / 4) / sum(1 / rank for rank in range(1, 11))},
    # of the 3·2 pairs of a hit and a miss the hit at rank 4 loses one
    "auc": {"F1": 1 - 1 / (3 * 2), "F2": 1 - 1 / (2 * 1), "F3": 1, "second of one": 0},
    "rbp(gain=linear)": {"F4": 0.2 * (1 + 3 * 0.8**2)},
    "rbp(gain=exp)": {"F4": 0.2 * (1 + (2**3 - 1) * 0.8**2)},
    "rbp": {"F1": 0.2 * (1 + 0.8 + 0.8**3), "F4": 0.2 * (1 + 0.8**2), "second of one": 0.2 * 0.8},
    "rbp(p=0.5)": {"F1": 0.5 * (1 + 0.5 + 0.5**3)},
    # grades 3, 2, 1 satisfy with 7/8, 3/8, 1/8; where all grades are 1, with 1/2
    "err": {
        "F1": 1 / 2 + 1 / 2 * (1 / 2) / 2 + 1 / 2 * 1 / 2 * (1 / 2) / 4,
        "F4": 1 / 8 + (1 - 1 / 8) * (7 / 8) / 3,
        "second of one": 1 / 2 / 2,
    },
    "err(max_grade=4)": {"F4": 1 / 16 + (1 - 1 / 16) * (7 / 16) / 3},
    "r_precision": {"F1": 3 / 10, "F2": 2 / 4, "F3": 3 / 10, "F4": 2 / 3, "second of one": 0},
}


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [(spec, name, value) for spec, values in ONE_LIST.items() for name, value in values.items()],
)
def test_one_users_list_has_the_value_worked_out_by_hand(spec: str, name: str, expected: float) -> None:
    assert score(spec, FIXTURES[name]) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ndcg@1", 1 / 3),
        ("ndcg@2", dcg(1, 0) / dcg(3, 2)),
        ("ndcg(ideal=all)@1", 1 / dcg(3, 2, 1)),
        ("ndcg(ideal=full)@4", dcg(1, 0, 3) / dcg(3, 2, 1, 1)),
        ("ndcg(ideal=full,gain=exp)@5", dcg(1, 0, 7) / dcg(7, 3, 1, 1, 1)),
        ("ndcg(discount=lenskit)@3", (1 + 3 / log2(3)) / (3 + 2 + 1 / log2(3))),
    ],
)
def test_graded_ndcg_takes_the_ideal_that_was_asked_for(spec: str, expected: float) -> None:
    truth, lists, _ = F4
    (value,) = recdash.evaluate({"run": lists}, truth, metrics=[spec]).table()["value"]
    assert value == pytest.approx(expected, **EXACT)


# ── judged negatives ─────────────────────────────────────────────────────────────────────────

THREE_NEGATIVES = {"a": 1, "b": 1, "x": 0, "y": 0, "z": 0}
ONE_NEGATIVE = {"a": 1, "b": 1, "c": 1, "x": 0}


@pytest.mark.parametrize(
    ("truth", "shown", "expected"),
    [
        (THREE_NEGATIVES, "axb", (1 + (1 - 1 / 2)) / 2),
        (THREE_NEGATIVES, "a.b", (1 + 1) / 2),
        (THREE_NEGATIVES, "xyzab", (0 + 0) / 2),
        (THREE_NEGATIVES, "xya", (1 - 2 / 2) / 2),
        (ONE_NEGATIVE, "a.xb", (1 + (1 - 1 / 1)) / 3),
    ],
)
def test_bpref_counts_the_judged_negatives_above_each_hit(
    truth: dict[str, int], shown: str, expected: float
) -> None:
    assert score("bpref", ({"u": truth}, {"u": items(shown)}, 6)) == pytest.approx(expected, **EXACT)


def test_bpref_counts_each_users_negatives_alone() -> None:
    lists = {"u": items("xyz"), "v": items("axb"), "w": items("x.a")}
    truth = dict.fromkeys(lists, THREE_NEGATIVES)
    expected = (0 + (1 + (1 - 1 / 2)) / 2 + (1 - 1 / 2) / 2) / 3
    assert score("bpref", (truth, lists, 6)) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [("judged@2", 2 / 2), ("judged@4", 2 / 4), ("judged@8", 2 / 8), ("judged(over=list)@8", 2 / 5)],
)
def test_judged_is_the_share_of_places_that_somebody_looked_at(spec: str, expected: float) -> None:
    found = recdash.evaluate({"run": {"u": items("xa...")}}, {"u": THREE_NEGATIVES}, metrics=spec)
    assert found.table()["value"].tolist() == [expected]


def test_a_negative_relevance_says_that_nobody_looked() -> None:
    found = recdash.evaluate(
        {"run": {"u": items("xa")}}, {"u": {"a": 1, "x": -1}}, metrics="judged@2,bpref@2"
    )
    assert [row["reason"] for row in found.as_dict()["absent"]] == [
        "needs test rows that were judged not relevant (relevance 0), and there are none"
    ] * 2


def test_below_the_threshold_a_row_is_a_judged_negative() -> None:
    truth = {"u": {"a": 5, "b": 2, "c": 4}}
    fixture = (truth, {"u": items("bac")}, 3)
    # b stands above both relevant items; only one negative exists
    assert score("bpref", fixture, relevance_threshold=4) == (0 + 0) / 2
    assert score("judged", fixture, relevance_threshold=4) == 3 / 3


# ── two users ────────────────────────────────────────────────────────────────────────────────

ONE_OF_ONE_TWO_OF_FOUR: Fixture = (
    {"u": ["a"], "v": list("abcd")},
    {"u": items("a..."), "v": items("a.b.")},
    4,
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("f1", (2 * (1 / 4) * 1 / (1 / 4 + 1) + 2 * (2 / 4) * (2 / 4) / (2 / 4 + 2 / 4)) / 2),
        ("f1(average=means)", 2 * 0.375 * 0.75 / (0.375 + 0.75)),
        ("recall", (1 / 1 + 2 / 4) / 2),
        ("recall(average=micro)", (1 + 2) / (1 + 4)),
        ("precision", (1 / 4 + 2 / 4) / 2),
        ("precision(average=micro)", (1 + 2) / (4 + 4)),
    ],
)
def test_averages_over_two_users_differ_as_their_names_say(spec: str, expected: float) -> None:
    assert score(spec, ONE_OF_ONE_TWO_OF_FOUR) == pytest.approx(expected, **EXACT)


def test_the_standard_error_is_the_sample_deviation_over_root_n() -> None:
    truth, lists, _ = ONE_OF_ONE_TWO_OF_FOUR
    (row,) = recdash.evaluate({"run": lists}, truth, metrics="recall@4").rows()
    sample_variance = ((1 - 0.75) ** 2 + (0.5 - 0.75) ** 2) / (2 - 1)
    assert row["std_error"] == pytest.approx(sqrt(sample_variance / 2), **EXACT)


def test_a_user_without_a_list_counts_as_zero_unless_both_are_asked_for() -> None:
    truth, lists = {"u": ["a"], "v": ["b"]}, {"u": ["a"]}
    assert score("recall", (truth, lists, 1)) == 1 / 2
    assert score("recall", (truth, lists, 1), users="both") == 1.0


def test_a_value_per_user_comes_with_its_id() -> None:
    truth, lists, _ = ONE_OF_ONE_TWO_OF_FOUR
    found = recdash.evaluate({"run": lists}, truth, metrics="recall@4").per_user("recall@4")
    assert found.to_dict("records") == [
        {"run": "run", "user_id": "u", "value": 1.0},
        {"run": "run", "user_id": "v", "value": 0.5},
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # the list is the user's own order of preference, of which the first five are relevant: cut at 4
        ("precision(average=micro,truth=best)@4", 4 / 4),
        ("recall(average=micro,truth=best,norm=min)@4", 4 / 4),
        ("recall(average=micro,truth=best)@4", 4 / 5),
        ("recall(truth=best,norm=min)@4", 4 / 4),
    ],
)
def test_a_truth_cut_to_its_first_k_gives_the_numbers_of_the_notes(spec: str, expected: float) -> None:
    preferences = {item: 10 - place for place, item in enumerate(TEN)}
    truth, lists = {"u": preferences, "v": preferences}, {"u": TEN, "v": TEN}
    found = recdash.evaluate({"run": lists}, truth, metrics=spec, relevance_threshold=6)
    assert found.table()["value"].tolist() == [expected]


@pytest.mark.parametrize(("k", "expected"), [(1, 0 / 1), (2, 2 / 2), (3, 3 / 3)])
def test_an_item_below_the_k_most_relevant_ones_is_no_hit_at_k(k: int, expected: float) -> None:
    # b (grade 2) stands first, a (grade 3) second, c (grade 1) third
    truth, lists = {"u": {"a": 3, "b": 2, "c": 1}}, {"u": ["b", "a", "c"]}
    found = recdash.evaluate({"run": lists}, truth, metrics=f"recall(truth=best,norm=min)@{k}")
    assert found.table()["value"].tolist() == [expected]


# ── duplicates and seeds' examples ───────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("ndcg", dcg(1) / dcg(1, 1)),
        ("precision", 1 / 3),
        ("recall", 1 / 2),
        ("map", 1 / 2),
        ("mrr(sum=all)", 1),
    ],
)
def test_an_item_shown_twice_counts_once(spec: str, expected: float) -> None:
    assert score(spec, ({"u": ["a", "b"]}, {"u": ["a", "a", "x"]}, 3)) == pytest.approx(expected, **EXACT)


def test_the_gap_that_a_dropped_duplicate_leaves_is_closed() -> None:
    assert score("mrr", ({"u": ["b"]}, {"u": ["a", "a", "b"]}, 3)) == 1 / 2


def test_the_discounted_gain_of_a_six_item_list_is_that_of_the_tutorial() -> None:
    grades = dict(zip("abcdef", [3, 2, 3, 0, 1, 2], strict=True))
    found = score("ndcg", ({"u": grades}, {"u": list("abcdef")}, 6))
    tutorial = 3 / 1 + 2 / log2(3) + 3 / log2(4) + 0 / log2(5) + 1 / log2(6) + 2 / log2(7)
    assert found == pytest.approx(tutorial / dcg(3, 3, 2, 2, 1), **EXACT)
    by_name = score("dcg", ({"u": grades}, {"u": list("abcdef")}, 6))
    assert by_name == pytest.approx(tutorial, **EXACT)
    assert round(by_name, 3) == 6.861


def test_a_list_without_a_hit_has_no_pair_to_win() -> None:
    assert score("auc", of_one_user(["a"], "...", k=3)) == 0
    assert score("auc", of_one_user(["a"], "..a", k=2)) == 0


@pytest.mark.parametrize(
    ("shown", "n_relevant", "expected"),
    [
        ("..a", 3, (1 / 3) / 3),
        (".ab", 3, (1 / 2 + 2 / 3) / 3),
        ("abc", 3, (1 / 1 + 2 / 2 + 3 / 3) / 3),
        ("a..", 10, (1 / 1) / 10),
        (".a.", 10, (1 / 2) / 10),
        ("..a", 10, (1 / 3) / 10),
    ],
)
def test_average_precision_of_three_places(shown: str, n_relevant: int, expected: float) -> None:
    assert score("map", of_one_user(TEN[:n_relevant], shown, k=3)) == pytest.approx(expected, **EXACT)


# ── beyond accuracy ──────────────────────────────────────────────────────────────────────────

# Of four train users four have a, two b, one c; nobody has d.
TRAIN = pd.DataFrame({"user_id": [*"pqrs", *"pq", "p"], "item_id": [*"aaaa", *"bb", "c"]})
FOUR_LISTS = {"t": ["b", "d"], "u": ["a", "c"], "v": ["a", "b"], "w": ["a", "b"]}
CATALOGUE = pd.DataFrame({"item_id": list("abcde")})
BITS = {"a": -log2(4 / 4), "b": -log2(2 / 4), "c": -log2(1 / 4)}


def beyond(spec: str, lists: dict[str, list[str]] = FOUR_LISTS) -> float:
    truth = {user: ["a"] for user in lists}
    found = recdash.evaluate({"run": lists}, truth, metrics=[spec], train=TRAIN, catalogue=CATALOGUE)
    (value,) = found.table()["value"]
    return float(value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("novelty(unseen=zero)@2", ((1 + 0) / 2 + (0 + 2) / 2 + (0 + 1) / 2 + (0 + 1) / 2) / 4),
        ("novelty@2", ((1 + 2) / 2 + (0 + 2) / 2 + (0 + 1) / 2 + (0 + 1) / 2) / 4),
        ("novelty(unseen=bound)@1", (1 + 0 + 0 + 0) / 4),
        ("novelty(unseen=drop)@2", (1 / 1 + (0 + 2) / 2 + (0 + 1) / 2 + (0 + 1) / 2) / 4),
        # of train's seven rows a has four, b two, c one; d counts as one
        (
            "novelty(share=rows)@2",
            -(log2(2 / 7) + log2(1 / 7) + log2(4 / 7) + log2(1 / 7) + 2 * (log2(4 / 7) + log2(2 / 7))) / 8,
        ),
        (
            "novelty(share=rows,unseen=zero,over=places)@2",
            -(log2(2 / 7) + 0 + log2(4 / 7) + log2(1 / 7) + 2 * (log2(4 / 7) + log2(2 / 7))) / 8,
        ),
        ("novelty(unseen=drop,over=places)@2", (1 + (0 + 2) + (0 + 1) + (0 + 1)) / 7),
        # the most that four users allow is log2 4 = 2 bits
        ("novelty(norm=max)@2", ((1 + 2) / 2 + (0 + 2) / 2 + (0 + 1) / 2 + (0 + 1) / 2) / 4 / 2),
        ("novelty(norm=max,unseen=drop)@2", (1 / 1 + (0 + 2) / 2 + (0 + 1) / 2 + (0 + 1) / 2) / 4 / 2),
        ("popularity@2", ((2 + 0) / 2 + (4 + 1) / 2 + (4 + 2) / 2 + (4 + 2) / 2) / 4),
        ("popularity@1", (2 + 4 + 4 + 4) / 4),
        ("coverage@2", 4 / 5),
        ("coverage@1", 2 / 5),
        ("coverage(of=train)@2", 3 / 3),
        ("coverage(of=truth)@2", 1 / 1),
        # cosines of the pairs: tu 0, tv 1/2, tw 1/2, uv 1/2, uw 1/2, vw 1
        ("personalization@2", 1 - (0 + 1 / 2 + 1 / 2 + 1 / 2 + 1 / 2 + 1) / 6),
        ("personalization@1", 1 - (0 + 0 + 0 + 1 + 1 + 1) / 6),
        ("personalization(distance=hamming)@2", 1 - (0 + 1 / 2 + 1 / 2 + 1 / 2 + 1 / 2 + 2 / 2) / 6),
        # counts 0, 1, 1, 3, 3: Σ (2i − n − 1)·c = −4·0 − 2·1 + 0·1 + 2·3 + 4·3
        ("gini@2", (-4 * 0 - 2 * 1 + 0 * 1 + 2 * 3 + 4 * 3) / (5 * 8)),
        # of a, b, c only: counts 1, 3, 3
        ("gini(of=train)@2", (-2 * 1 + 0 * 3 + 2 * 3) / (3 * 7)),
        ("gini(of=truth)@2", 0.0),
    ],
)
def test_what_four_lists_show_of_the_catalogue(spec: str, expected: float) -> None:
    assert beyond(spec) == pytest.approx(expected, **EXACT)


@pytest.mark.parametrize(
    ("k", "expected"), [(1, 1 - (0 + 0 + 0 + 1 + 1 + 1) / 6), (2, 1 - (0 + 4 * (1 / 2) + 1) / 6)]
)
def test_lists_that_are_all_as_long_as_the_depth_are_compared_alike(k: int, expected: float) -> None:
    truth = {user: ["a"] for user in FOUR_LISTS}
    found = recdash.evaluate({"run": FOUR_LISTS}, truth, metrics=f"personalization@{k}", depth=2)
    assert found.table()["value"].tolist() == [pytest.approx(expected, **EXACT)]


def test_novelty_is_measured_in_bits_of_the_share_of_train_users() -> None:
    assert BITS == {"a": 0, "b": 1, "c": 2}
    one_item = {"u": ["c"], "v": ["c"]}
    assert beyond("novelty@1", one_item) == BITS["c"]


def test_the_gini_of_three_three_one_one_none_is_two_fifths() -> None:
    # a and b three times, c and d once, e never
    lists = {"s": ["a", "b", "c"], "t": ["b", "a", "d"], "u": ["a", "b"]}
    assert beyond("gini@3", lists) == pytest.approx(0.4, **EXACT)
    assert beyond("coverage@3", lists) == 4 / 5


def test_lists_that_differ_in_length_are_compared_by_their_own_lengths() -> None:
    # a, b and a: cosine 1 / √(2·1)
    assert beyond("personalization@3", {"u": ["a", "b"], "v": ["a"]}) == pytest.approx(
        1 - 1 / sqrt(2), **EXACT
    )


def test_hamming_diversity_divides_what_two_lists_share_by_k() -> None:
    lists = {"u": ["a", "b"], "v": ["a"], "w": ["a", "b"]}
    # in common: one item, two items, one item, of k = 3
    expected = 1 - (1 / 3 + 2 / 3 + 1 / 3) / 3
    assert beyond("personalization(distance=hamming)@3", lists) == pytest.approx(expected, **EXACT)


def test_novelty_over_k_counts_the_places_that_a_short_list_lacks() -> None:
    lists = {"u": ["c"], "v": ["b", "c"]}
    assert beyond("novelty@2", lists) == (2 / 1 + (1 + 2) / 2) / 2
    assert beyond("novelty(over=k)@2", lists) == (2 / 2 + (1 + 2) / 2) / 2
    assert beyond("novelty(over=places)@2", lists) == (2 + 1 + 2) / 3


def test_a_list_shorter_than_k_keeps_its_own_mean_popularity() -> None:
    assert beyond("popularity@2", {"u": ["a"], "v": ["b", "c"]}) == (4 / 1 + (2 + 1) / 2) / 2


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # eight places: a and b have three each, c and d one
        ("entropy@2", -2 * (3 / 8) * log2(3 / 8) - 2 * (1 / 8) * log2(1 / 8)),
        ("entropy(norm=max)@2", (-2 * (3 / 8) * log2(3 / 8) - 2 * (1 / 8) * log2(1 / 8)) / log2(5)),
        ("entropy(log=e)@2", -2 * (3 / 8) * log(3 / 8) - 2 * (1 / 8) * log(1 / 8)),
        # four items are shown
        ("entropy(norm=shown,log=e)@2", (-2 * (3 / 8) * log(3 / 8) - 2 * (1 / 8) * log(1 / 8)) / 4),
        ("entropy(norm=max,log=e)@2", (-2 * (3 / 8) * log2(3 / 8) - 2 * (1 / 8) * log2(1 / 8)) / log2(5)),
        ("entropy(of=train)@2", -2 * (3 / 7) * log2(3 / 7) - (1 / 7) * log2(1 / 7)),
        ("entropy(of=truth)@2", 0.0),
        # of train's three items one is the head: a
        ("tail_share@2", (2 / 2 + 1 / 2 + 1 / 2 + 1 / 2) / 4),
        ("tail_share@1", (1 + 0 + 0 + 0) / 4),
        # of three items half is two: a and b
        ("tail_share(head=0.5)@2", (1 / 2 + 1 / 2 + 0 + 0) / 4),
        ("tail_share(0.5)@2", (1 / 2 + 1 / 2 + 0 + 0) / 4),
    ],
)
def test_how_evenly_four_lists_show_the_catalogue(spec: str, expected: float) -> None:
    assert beyond(spec) == pytest.approx(expected, **EXACT)


def test_the_head_is_an_exact_share_of_the_items() -> None:
    # a hundred items, the first with a hundred users, the last with one: seven of them are the head
    train = pd.DataFrame(
        [(user, f"i{item}") for item in range(100) for user in range(100 - item)],
        columns=["user_id", "item_id"],
    )
    lists = {"u": [f"i{item}" for item in range(8)]}
    found = recdash.evaluate({"run": lists}, {"u": ["i0"]}, metrics="tail_share(0.07)", train=train, depth=8)
    assert found.table()["value"].tolist() == [0.0] * 7 + [1 / 8]


FILMS = pd.DataFrame(
    {
        "item_id": list("abcde"),
        "year": [1999, 1999, 2005, None, 2010],
        "genres": ["Crime|Drama", "Drama", "Crime", "Comedy", "Horror;War"],
        "note": [None] * 5,
    }
)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # b and d, a and c, twice a and b
        ("coverage_by(attribute=year)@2", 2 / 3),
        ("coverage_by(attribute=year)@1", 1 / 3),
        ("coverage_by(genres)@2", 3 / 5),
        ("coverage_by(genres)@1", 2 / 5),
        # a and b have one genre in common
        # only one of the two has Drama, Comedy; Drama; and twice Crime
        ("diversity(by=hamming,attribute=genres)@2", (2 + 1 + 2 * 1) / 4),
        ("diversity(attribute=genres)@2", ((1 - 0) + (1 - 1 / sqrt(2)) + 2 * (1 - 1 / sqrt(2))) / 4),
    ],
)
def test_what_four_lists_show_of_each_attribute(spec: str, expected: float) -> None:
    truth = {user: ["a"] for user in FOUR_LISTS}
    found = recdash.evaluate({"run": FOUR_LISTS}, truth, metrics=[spec], catalogue=FILMS)
    assert found.table()["value"].tolist() == [pytest.approx(expected, **EXACT)]


@pytest.mark.parametrize(
    ("attribute", "reason"),
    [
        ("author", "the catalogue has no column 'author'; it has year, genres, note"),
        ("note", "column 'note' of the catalogue is empty"),
    ],
)
def test_an_attribute_that_is_not_there_is_a_reason(attribute: str, reason: str) -> None:
    found = recdash.evaluate(
        {"run": FOUR_LISTS}, {"t": ["a"]}, metrics=f"coverage_by({attribute})", catalogue=FILMS
    )
    assert [row["reason"] for row in found.as_dict()["absent"]] == [reason]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        # p(user) − p(anybody): u finds i1 where everybody expects it, v and x find the second most popular
        ("serendipity@1", (0 + (4 / 4 - 3 / 4) + 0 + (4 / 4 - 3 / 4)) / 4),
        # v also finds i3, which train does not know, at rank 2
        ("serendipity@2", (0 + (1 / 4 + 3 / 4) / 2 + 0 + (1 / 4) / 2) / 4),
        ("serendipity(over=list)@9", (0 + (1 / 4 + 3 / 4) / 2 + 0 + (1 / 4) / 2) / 4),
    ],
)
def test_serendipity_is_relevance_that_popularity_did_not_promise(spec: str, expected: float) -> None:
    lists = {"u": ["i1", "i2"], "v": ["i2", "i3"], "w": ["i3"], "x": ["i2", "i3"]}
    truth = {"u": ["i1", "i2"], "v": ["i2", "i3"], "w": ["i2"], "x": ["i2"]}
    train = pd.DataFrame({"user_id": [*"uuvvw"], "item_id": ["i1", "i2", "i1", "i2", "i1"]})
    catalogue = pd.DataFrame({"item_id": ["i1", "i2", "i3", "i4"]})
    found = recdash.evaluate({"run": lists}, truth, metrics=[spec], train=train, catalogue=catalogue)
    assert found.table()["value"].tolist() == [pytest.approx(expected, **EXACT)]


def test_user_coverage_is_the_share_of_users_with_a_list() -> None:
    found = recdash.evaluate({"run": {"u": ["a"]}}, {"u": ["a"], "v": ["b"]}, metrics="user_coverage")
    assert found.table()["value"].tolist() == [1 / 2]


# ── rating predictions ───────────────────────────────────────────────────────────────────────


def test_rating_errors_of_two_rows() -> None:
    rows = pd.DataFrame(
        {"user_id": ["u", "v"], "item_id": ["a", "a"], "rating": [3, 2], "prediction": [4, 5]}
    )
    found = recdash.evaluate({}, {"u": ["a"]}, metrics="rmse,mae", predictions={"svd": rows}).table()
    value = found.set_index("metric")["value"]
    assert value["rmse"] == pytest.approx(sqrt((1**2 + 3**2) / 2), **EXACT)
    assert value["mae"] == (1 + 3) / 2
    # of the two users' absolute errors 1 and 3: deviation √2, over √2
    assert found.set_index("metric")["std_error"]["mae"] == pytest.approx(1.0, **EXACT)


def test_r2_is_the_share_of_the_spread_that_is_explained() -> None:
    rows = pd.DataFrame(
        {"user_id": [*"uvw"], "item_id": [*"aaa"], "rating": [1, 2, 3], "prediction": [1, 2, 2]}
    )
    found = recdash.evaluate({}, {"u": ["a"]}, metrics="r2", predictions={"svd": rows}).table()
    assert found["value"].tolist() == [1 - (0 + 0 + 1) / (1 + 0 + 1)]


def test_ratings_without_a_prediction_are_left_out_and_counted() -> None:
    rows = pd.DataFrame(
        {"user_id": [*"uv"], "item_id": [*"aa"], "rating": [3, 2], "prediction": [5, float("nan")]}
    )
    found = recdash.evaluate({}, {"u": ["a"]}, metrics="mae,r2", predictions={"svd": rows})
    assert found.table()["value"].tolist() == [2.0]
    assert any("no prediction in 1 row" in warning for warning in found.as_dict()["warnings"])
    (absent,) = found.as_dict()["absent"]
    assert absent["reason"] == "all ratings are equal: there is no variance to explain"


def test_hits_on_rare_items_weigh_more() -> None:
    """a has 4 training users, b has 1: with power 0.5 the weights are 1/2 and 1, with power 1 1/4 and 1."""
    train = pd.DataFrame({"user_id": [*"wxyzw"], "item_id": [*"aaaab"]})
    asked = ["snips@1", "snips(power=1)@1", "snips(power=0)@1", "snips(of=dcg)@2", "snips(of=mrr)@2"]
    found = recdash.evaluate({"run": {"u": ["a", "b"]}}, {"u": ["a", "b"]}, metrics=asked, train=train)
    expected = [0.5 / 1.5, 0.25 / 1.25, 1 / 2, (0.5 + 1 / log2(3)) / 1.5, (0.5 + 1 / 2) / 1.5]
    assert found.table()["value"].tolist() == pytest.approx(expected, **EXACT)


def test_the_value_of_seed_grades_is_their_sum_and_dcg_discounts_it() -> None:
    grades = dict(zip("abcdef", [3, 2, 3, 0, 1, 2], strict=True))
    asked = ["value@6", "value(norm=relevant)@3", "dcg@6"]
    found = recdash.evaluate({"run": {"u": [*grades]}}, {"u": grades}, metrics=asked)
    value, share_at_3, discounted = found.table()["value"]
    assert (value, share_at_3) == (11, 8 / 11)
    assert round(discounted, 3) == 6.861


def test_exposure_of_two_makers() -> None:
    """Ranks 1 and 2 expose by 1 and 1/log2 3. Of the catalogue's three items A has one, B two."""
    catalogue = pd.DataFrame({"item_id": [*"abc"], "maker": [*"ABB"]})
    asked = ["exposure_fairness(maker)@1", "exposure_fairness(maker,discount=none)@2"]
    found = recdash.evaluate({"run": {"u": ["a", "b"]}}, {"u": ["a"]}, metrics=asked, catalogue=catalogue)

    def fairness(a: float) -> float:
        pairs = [(a, 1 / 3), (1 - a, 2 / 3)]
        return 1 - sum(p * log2(2 * p / (p + q)) for x, y in pairs for p, q in ((x, y), (y, x)) if p) / 2

    assert found.table()["value"].tolist() == pytest.approx([fairness(1.0), fairness(0.5)], **EXACT)
    # by hand, for all exposure on A: (log2(3/2) + 1/3·log2(1/2) + 2/3·log2 2)/2
    assert fairness(1.0) == pytest.approx(1 - (log2(3 / 2) - 1 / 3 + 2 / 3) / 2, **EXACT)


def test_auc_over_judged_items_by_hand() -> None:
    """u has relevant a, b and negatives x, y; the list a, x, b wins a against both, and b against y alone.

    v has no negative, so no pair, and does not count.
    """
    rows = [("u", "a", 1), ("u", "b", 1), ("u", "x", 0), ("u", "y", 0), ("v", "a", 1)]
    truth = pd.DataFrame(rows, columns=["user_id", "item_id", "relevance"])
    lists = {"u": ["a", "x", "b"], "v": ["a"]}
    found = recdash.evaluate({"run": lists}, truth, metrics=["auc(pairs=judged)@3", "auc(pairs=judged)@2"])
    assert found.table()["value"].tolist() == [(2 + 1) / 4, 2 / 4]


# ── nothing undefined is 0 ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("spec", "missing"),
    [
        ("coverage", "catalogue"),
        ("gini", "catalogue"),
        ("coverage(of=train)", "train"),
        ("novelty", "train"),
        ("popularity", "train"),
        ("rmse", "predictions"),
        ("r2", "predictions"),
        ("serendipity", "train"),
        ("tail_share", "train"),
        ("entropy", "catalogue"),
        ("coverage_by(year)", "catalogue"),
        ("diversity", "catalogue"),
        ("diversity(by=vectors)", "vectors"),
        ("diversity(by=hamming)", "catalogue"),
        ("bpref", "judged not relevant"),
        ("judged", "judged not relevant"),
        ("auc(pairs=judged)", "judged not relevant"),
        ("exposure_fairness(maker)", "catalogue"),
        ("snips", "training data"),
        ("personalization", "two users"),
    ],
)
def test_a_metric_without_its_input_is_absent_with_the_reason(spec: str, missing: str) -> None:
    found = recdash.evaluate({"run": {"u": ["a"]}}, {"u": ["a"]}, metrics=[spec])
    assert found.table().empty
    (absent,) = found.as_dict()["absent"]
    assert (absent["run"], absent["metric"]) == ("run", spec)
    assert missing in absent["reason"]


def test_every_metric_of_the_table_has_a_worked_value() -> None:
    from recdash.metrics import METRICS, parse

    worked = {parse(spec).name for spec in ONE_LIST}
    worked |= {"novelty", "popularity", "coverage", "personalization", "gini", "rmse", "mae", "r2"}
    worked |= {"bpref", "judged", "serendipity", "user_coverage", "snips"}
    worked |= {"entropy", "tail_share", "coverage_by", "diversity", "exposure_fairness"}
    assert worked == set(METRICS)
