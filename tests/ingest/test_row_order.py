"""Whether the order of a file's rows can be the order of the lists."""

from __future__ import annotations

import random

import numpy as np
import pytest

from recdash.ingest.row_order import may_rank

Rows = list[tuple[int, int]]
"""User and item of each row, in file order."""


def judged(rows: Rows) -> bool:
    user, item = np.array(rows, dtype=np.int64).T
    return may_rank(user, item)


def lists(n_users: int, n_items: int, seed: int = 1) -> dict[int, list[int]]:
    draw = random.Random(seed)
    return {user: draw.sample(range(100), n_items) for user in range(n_users)}


def by_position(given: dict[int, list[int]]) -> Rows:
    longest = max(map(len, given.values()))
    return [
        (user, items[place])
        for place in range(longest)
        for user, items in given.items()
        if place < len(items)
    ]


def test_rows_of_a_list_together_may_rank() -> None:
    together = [(user, item) for user, items in lists(20, 10).items() for item in items]
    assert judged(together)
    assert judged([*together, (3, 101), (5, 102)])
    assert judged([*together, *((user, 100 + item) for user, item in together)])


def test_rows_position_by_position_may_rank_also_for_lists_of_different_lengths() -> None:
    assert judged(by_position(lists(20, 10)))
    uneven = {user: items[: 1 + user % 10] for user, items in lists(20, 10).items()}
    assert judged(by_position(uneven))


def test_rows_position_by_position_may_rank_in_any_order_of_users_and_with_gaps() -> None:
    draw, given, rows = random.Random(4), lists(50, 10), []
    for place in range(10):
        users = [user for user in given if draw.random() < 0.9]
        draw.shuffle(users)
        rows += [(user, given[user][place]) for user in users]
    assert judged(rows)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_users", "n_items"), [(6, 8), (60, 2), (60, 10), (1000, 5)])
def test_rows_in_random_order_rank_nothing(n_users: int, n_items: int, seed: int) -> None:
    rows = [(user, item) for user, items in lists(n_users, n_items).items() for item in items]
    random.Random(seed).shuffle(rows)
    assert not judged(rows)


def test_the_first_rows_of_a_large_file_are_judged_alike() -> None:
    given = lists(20_000, 5)
    rows = [(user, item) for user, items in given.items() for item in items]
    random.Random(3).shuffle(rows)
    assert not judged(rows[:5000])
    assert judged(by_position(given)[:5000])


def test_rows_sorted_by_item_rank_nothing() -> None:
    assert not judged([(user, item) for item in range(30) for user in range(20)])


def test_one_row_per_list_and_no_rows_may_rank() -> None:
    assert judged([(user, 7) for user in range(20)])
    assert may_rank(np.zeros(0, np.int64), np.zeros(0, np.int64))
