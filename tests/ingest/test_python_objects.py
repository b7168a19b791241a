"""What people have in Python is scored like a data frame, or refused with what to give instead."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import recdash
from recdash.errors import InputError
from recdash.ingest.formats.relation import DuckRelation

N_USERS, LENGTH, N_ITEMS = 6, 5, 9
# The relevant item of each user is at rank 3 in its list of five.
LISTS = {f"u{user}": [f"i{(user + place) % N_ITEMS}" for place in range(LENGTH)] for user in range(N_USERS)}
TRUTH = {f"u{user}": [f"i{(user + 2) % N_ITEMS}"] for user in range(N_USERS)}
ROWS = [(user, item, 5.5 - place) for user, items in LISTS.items() for place, item in enumerate(items)]
FRAME = pd.DataFrame(ROWS, columns=["user_id", "item_id", "score"])
LISTED = pd.DataFrame({"user_id": list(LISTS), "item_id": list(LISTS.values())})
USERS, ITEMS, SCORES = (np.array(values) for values in zip(*ROWS, strict=True))
Prediction = namedtuple("Prediction", "uid iid r_ui est details")  # noqa: PYI024 - as Surprise has it
MATRIX = np.zeros((N_USERS, N_ITEMS))
for user in range(N_USERS):
    for place in range(LENGTH):
        MATRIX[user, (user + place) % N_ITEMS] = LENGTH - place
BY_NUMBER = {user: [(user + 2) % N_ITEMS] for user in range(N_USERS)}


class ItemLists:
    """Stands for LensKit's ItemListCollection: it has a method that returns a data frame."""

    def to_df(self) -> pd.DataFrame:
        return FRAME


ItemLists.__module__ = "lenskit.data"


class Elsewhere:
    """Stands for a data frame of Spark."""

    def toPandas(self) -> pd.DataFrame:  # noqa: N802
        return FRAME


Elsewhere.__module__ = "pyspark.sql"

READ: dict[str, Callable[[], Any]] = {
    "Series of lists": lambda: pd.Series(LISTS),
    "Series of lists with names": lambda: pd.Series(LISTS, name="recommended").rename_axis("uid"),
    "grouped": lambda: FRAME.groupby("user_id")["item_id"].agg(list),
    "Series by user and item": lambda: FRAME.set_index(["user_id", "item_id"])["score"],
    "Series by user and item without names": lambda: pd.Series(
        SCORES, index=pd.MultiIndex.from_arrays([USERS, ITEMS])
    ),
    "MultiIndex": lambda: FRAME.set_index(["user_id", "item_id"]),
    "polars": lambda: pl.from_pandas(FRAME),
    "polars with lists": lambda: pl.DataFrame({"user_id": list(LISTS), "item_id": list(LISTS.values())}),
    "polars, lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "Arrow": lambda: pa.Table.from_pandas(FRAME),
    "Arrow batch": lambda: pa.RecordBatch.from_pandas(FRAME),
    "DuckDB": lambda: duckdb.connect().from_df(FRAME).filter("score > 0"),
    "DuckDB with lists": lambda: duckdb.connect().from_arrow(pa.Table.from_pandas(LISTED)),
    "arrays": lambda: (USERS, ITEMS, SCORES),
    "arrays without scores": lambda: (USERS, ITEMS),
    "named arrays": lambda: {"user_id": USERS, "item_id": ITEMS, "score": SCORES},
    "named Series": lambda: {
        "user_id": FRAME["user_id"],
        "item_id": FRAME["item_id"],
        "score": FRAME["score"],
    },
    "structured array": lambda: FRAME.to_records(index=False),
    "array of objects": lambda: np.array(ROWS, dtype=object),
    "rows": lambda: ROWS,
    "rows as dicts": lambda: FRAME.to_dict("records"),
    "arrays by user": lambda: {user: np.array(items) for user, items in LISTS.items()},
    "Surprise": lambda: [Prediction(user, item, None, score, {}) for user, item, score in ROWS],
    "LensKit": ItemLists,
}
NUMBERED: dict[str, Callable[[], Any]] = {
    "csr": lambda: sparse.csr_matrix(MATRIX),
    "coordinates": lambda: sparse.coo_array(MATRIX),
}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "scores without ids": (lambda: MATRIX, r"csr_array\(scores\)"),
    "one column": (lambda: SCORES, "arrays of one length"),
    "implicit": (lambda: (np.ones((6, 5), int), np.ones((6, 5))), r"dict\(zip\(users, items\)\)"),
    "arrays of two lengths": (lambda: (USERS, ITEMS[:3]), r"different lengths \(30, 3\)"),
    "four arrays": (lambda: (USERS, ITEMS, SCORES, SCORES), "two or three"),
    "named arrays of two lengths": (
        lambda: {"user_id": USERS, "item_id": ITEMS[:3]},
        "user_id 30, item_id 3",
    ),
    "rows of one value": (lambda: [("u1",), ("u2",)], "rows of 1 values"),
    "three levels": (
        lambda: FRAME.assign(seed=1).set_index(["user_id", "item_id", "seed"])["score"],
        "reset_index",
    ),
    "iterator": (lambda: iter(ROWS), r"list\(rows\)"),
    "Spark": (Elsewhere, r"toPandas\(\)"),
    "set": (lambda: {1, 2}, "neither a path"),
    "nothing": (lambda: None, "neither a path"),
    "empty list": (list, "neither a path"),
}


def score(run: Any, truth: Any = TRUTH) -> float:
    return float(recdash.evaluate({"als": run}, truth, metrics=["mrr@5"]).table()["value"].iloc[0])


@pytest.mark.parametrize("name", READ)
def test_each_form_gives_the_number_of_a_data_frame(name: str) -> None:
    assert score(READ[name]()) == pytest.approx(1 / 3)  # each user's item is third


@pytest.mark.parametrize("name", NUMBERED)
def test_the_rows_and_columns_of_a_matrix_are_users_and_items(name: str) -> None:
    assert score(NUMBERED[name](), BY_NUMBER) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", REFUSED)
def test_other_forms_are_refused_with_what_to_give(name: str) -> None:
    make, says = REFUSED[name]
    with pytest.raises(InputError, match=says) as refused:
        score(make())
    assert len(refused.value.problems) == 1


def test_a_truth_takes_the_same_forms() -> None:
    graded = FRAME.assign(relevance=1).set_index(["user_id", "item_id"])["relevance"]
    everything = recdash.evaluate({"als": LISTS}, graded, metrics=["recall@5"]).table()["value"].iloc[0]
    assert everything == 1.0
    users, items = np.array(list(TRUTH)), np.array([items[0] for items in TRUTH.values()])
    assert score(LISTS, (users, items)) == pytest.approx(1 / 3)
    assert score(LISTS, pd.Series({user: items[0] for user, items in TRUTH.items()})) == pytest.approx(1 / 3)


def test_a_table_of_users_needs_names() -> None:
    with pytest.raises(InputError, match="columns without names"):
        recdash.evaluate({"als": LISTS}, TRUTH, metrics=["mrr@5"], user_attributes=(USERS, ITEMS))


def test_a_relation_is_read_by_blocks() -> None:
    numbers = "range // 20 AS user_id, range % 977 AS item_id, -(range % 20) AS score"
    relation = duckdb.connect().sql(f"SELECT {numbers} FROM range(2_000_000)")  # noqa: S608
    truth = pd.DataFrame({"user_id": range(100), "item_id": [(20 * user + 2) % 977 for user in range(100)]})
    evaluation = recdash.evaluate({"als": relation}, truth, metrics=["mrr@10"], accept_unknown_ids=True)
    assert evaluation.table()["value"].iloc[0] == pytest.approx(1 / 3)
    sizes = [len(batch) for batch in DuckRelation(relation).batches(["score"], 1 << 18)]
    assert sum(sizes) == 2_000_000
    assert max(sizes) <= 1 << 18
