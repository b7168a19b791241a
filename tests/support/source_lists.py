"""Lists whose mean reciprocal rank is known, to be read from tables that are elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

import recdash

ROWS = [("001", "a", 0.9), ("001", "b", 0.8), ("2", "c", 0.7), ("2", "a", 0.1)]
LISTS = pa.table(dict(zip(("user_id", "item_id", "score"), map(list, zip(*ROWS, strict=True)), strict=True)))
TRUTH = {"001": ["b"], "2": ["a"]}
# b is second for 001, a is second for 2: the mean of 1/2 and 1/2.
MRR = 0.5


def mrr(source: Any) -> float:
    """The mean reciprocal rank at 2 of the lists in a source."""
    (value,) = recdash.evaluate({"als": source}, TRUTH, metrics=["mrr@2"]).table()["value"]
    return float(value)


def by_user() -> Iterator[tuple[str, pa.Table]]:
    """Each user, and their list without the column of users, as it is in the folder of a partition."""
    for user in TRUTH:
        yield user, LISTS.filter(pa.compute.equal(LISTS["user_id"], user)).drop_columns("user_id")
