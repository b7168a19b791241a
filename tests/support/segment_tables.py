"""Eighty users, half of them known, and runs that serve the two halves differently."""

from __future__ import annotations

import pandas as pd

USERS = [f"u{n}" for n in range(80)]
TRUTH = pd.DataFrame(
    [(user, f"{kind}{user[1:]}") for user in USERS for kind in "ab"], columns=["user_id", "item_id"]
)
TRAIN = pd.DataFrame([(user, "a0") for user in USERS[:40]], columns=["user_id", "item_id"])
CATALOGUE = pd.DataFrame(
    {"item_id": [*TRUTH["item_id"], "x1", "x2"], "kind": [*("ab" * len(USERS)), "x", "x"]}
)
"""Of 80 users, 40 are known; each has an item a and an item b in the truth."""


def lists(known: list[str], new: list[str]) -> pd.DataFrame:
    """Lists of what known and new users get: ``a`` and ``b`` their own, others as they are called."""
    rows = [
        (user, f"{item}{user[1:]}" if item in "ab" else item, rank)
        for place, user in enumerate(USERS)
        for rank, item in enumerate(known if place < 40 else new, start=1)
    ]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])


RUNS = {
    "base": lists(["x1", "a"], ["x1", "a"]),
    "known": lists(["a", "b"], ["x1", "x2"]),
    "same": lists(["x2", "a"], ["x2", "a"]),
}
