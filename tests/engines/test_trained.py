"""Recommended items that their user has in the training data: counted, and said from one in a hundred on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import recdash
from recdash.engines.trained import USERS_LOOKED_AT, trained_pairs

TRUTH = pd.DataFrame({"user_id": ["u", "v"], "item_id": ["a", "b"]})
TRAIN = pd.DataFrame({"user_id": ["u", "u", "v", "w"], "item_id": ["x", "y", "x", "b"]})


def notices(run: Any, **tables: Any) -> dict[str, Any]:
    found = recdash.evaluate({"als": run}, TRUTH, metrics="ndcg@3", depth=3, **tables)
    return {notice.code: notice for notice in found.notices()}


def test_items_of_the_users_own_training_data_are_counted() -> None:
    # u is shown x (trained), a, new; v is shown y (u's own, not v's), x (trained), b: 2 of 6
    lists = {"u": ["x", "a", "new"], "v": ["y", "x", "b"]}
    told = notices(lists, train=TRAIN)["seen-in-training"]
    assert told.count == 2
    assert "column 'item_id': 33% of the items are in their user's training data" in told.found


def test_lists_without_such_items_and_tables_without_train_say_nothing() -> None:
    lists = {"u": ["a", "new", "b"], "v": ["y", "b", "a"]}
    assert "seen-in-training" not in notices(lists, train=TRAIN)
    assert "seen-in-training" not in notices({"u": ["x", "a"]})


def test_what_is_cut_off_is_not_counted() -> None:
    assert "seen-in-training" not in notices({"u": ["a", "b", "new", "x", "y"]}, train=TRAIN)


@pytest.mark.parametrize("n_users", [10, 25 * USERS_LOOKED_AT])
def test_of_many_users_some_are_looked_at(n_users: int) -> None:
    users = np.arange(n_users)
    trained = trained_pairs(users, np.zeros(n_users, dtype=int), n_users, 5)
    assert trained is not None
    assert len(trained.pair) == min(n_users, USERS_LOOKED_AT)
