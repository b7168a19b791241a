"""Types that several layers share: arrays, and literals for orders, populations and tables."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.number[Any]]
"""An array of integers or floats of any width."""
DateOrder = Literal["day", "month"]
"""What comes first in a date such as 1/2/2024."""
Order = Literal["rank", "score", "file"]
Ties = Literal["file", "item_desc"]
Users = Literal["truth", "both", "judged", "judged_both", "run"]
"""Which users count for accuracy.

*truth*: users with a relevant item; *both*: those of them who have a list. *judged*: users with any row in
the truth; *judged_both*: those of them who have a list. *run*: all users with a list. In the last three, a
user without a relevant item counts as 0.
"""
Duplicates = Literal["first", "keep"]
"""How an item counts that a list repeats: only at its best position (*first*), or at every position
(*keep*).
"""
OnlineKind = Literal["sessions", "events", "aggregates", "interleaving"]
"""The form of a test's data: sessions, the events from which sessions are built, or aggregates of an A/B
test; or the requests of an interleaving test.
"""
Correction = Literal["holm", "holm in order", "bh", "off"]
"""``holm in order`` is Holm's correction with another level for each interval, also where p-values are equal,
as in older reports.
"""
CORRECTIONS: tuple[Correction, ...] = ("holm", "bh", "off")
"""The corrections for multiple tests to choose from."""
Replication = Literal["seeds", "folds"]
"""How several uploads of a candidate relate: *seeds* recommend to the same users, *folds* to different
ones.
"""
TableKind = Literal[
    "run", "truth", "train", "catalogue", "users", "vectors", "similarity", "predictions", "sessions",
    "aggregates", "exposures", "events", "served", "interleaving", "bandit", "policy",
]  # fmt: skip
DEFAULT_DEPTH = 100
MISSING = ("", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT", "\\N", "#N/A")
"""Texts that libraries write for missing values."""
