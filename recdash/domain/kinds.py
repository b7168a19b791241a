"""Types shared by several layers: arrays, and the words for orders, populations and tables."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.number[Any]]
"""Integer or float, of any width."""
Order = Literal["rank", "score", "file"]
Ties = Literal["file", "item_desc"]
Users = Literal["truth", "both", "judged", "judged_both", "run"]
"""Which users count for accuracy.

Users with a relevant item (truth), of these only those with a list (both); users with any row in the truth
(judged), of these only those with a list (judged_both); all with a list (run). In the last three a user
without a relevant item counts as 0.
"""
Duplicates = Literal["first", "keep"]
"""Of an item that a list repeats the best position counts (first), or every position (keep)."""
OnlineKind = Literal["sessions", "events", "aggregates"]
"""The data of an A/B test: its sessions, the events that form them, or aggregates."""
Replication = Literal["seeds", "folds"]
"""How a candidate's several uploads relate: seeds recommend to the same users again, folds to different ones.
"""
TableKind = Literal[
    "run", "truth", "train", "catalogue", "users", "vectors", "similarity", "predictions", "sessions",
    "aggregates", "exposures", "events", "served", "bandit", "policy",
]  # fmt: skip
DEFAULT_DEPTH = 100
MISSING = ("", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT")
"""Words that libraries write for missing values."""
