"""Five users with a history, a catalogue with titles, and lists by the letters of their items."""

from __future__ import annotations

import pandas as pd

TRUTH = pd.DataFrame(
    [("01", "a", 2), ("01", "b", 1), ("02", "c", 1), ("03", "d", 1), ("04", "e", 1), ("05", "f", 0)],
    columns=["user_id", "item_id", "relevance"],
)
"""User 05 holds out only what is not relevant."""
TRAIN = pd.DataFrame(
    [("01", "old", 10), ("01", "new", 30), ("01", "middle", 20), ("01", "new", 5), ("02", "old", 7)],
    columns=["user_id", "item_id", "timestamp"],
)
CATALOGUE = pd.DataFrame(
    {
        "item_id": [*"abcdef", "x", "old", "new", "middle"],
        "title": ["Alpha", None, "Gamma", "Delta", "Epsilon", "Zeta", "Xi", "Old", "New", "Middle"],
        "genres": ["Crime|Drama", "Crime", *["Drama"] * 8],
        "year": [1999, 2000, *[2001] * 8],
    }
)


def ranked(lists: dict[str, str]) -> pd.DataFrame:
    """``{"01": "ab"}``: one item for each letter, best first."""
    rows = [(user, item, at) for user, items in lists.items() for at, item in enumerate(items, start=1)]
    return pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
