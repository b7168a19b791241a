"""Types that several layers share: arrays, and the words for orders, populations and tables."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.integer[Any]]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.number[Any]]
"""Whole or broken, of any width."""
Order = Literal["rank", "score", "file"]
Ties = Literal["file", "item_desc"]
Users = Literal["truth", "both", "judged", "judged_both", "run"]
"""Who counts for accuracy.

Users with a relevant item (truth), of these only who has a list (both); users with any row in the truth
(judged), of these only who has a list (judged_both); all who have a list (run). In the last three a user
without a relevant item counts as 0.
"""
Duplicates = Literal["first", "keep"]
"""Of an item that a list repeats the better place counts (first), or every place (keep)."""
OnlineKind = Literal["sessions", "events", "aggregates"]
"""What an A/B test is known by: its sessions, the events that make them, or a summary."""
Replication = Literal["seeds", "folds"]
"""How a candidate's several uploads relate: seeds serve the same users again, folds divide the users."""
TableKind = Literal[
    "run", "truth", "train", "catalogue", "users", "vectors", "similarity", "predictions", "sessions",
    "aggregates", "exposures", "events", "served", "bandit", "policy",
]  # fmt: skip
DEFAULT_DEPTH = 100
MISSING = ("", "nan", "NaN", "NAN", "null", "NULL", "None", "<NA>", "NaT")
"""What libraries write where there is no value; whoever reads text takes these words for nothing written."""
