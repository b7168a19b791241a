"""RecPack: sparse matrices of users × items, a pass for each metric and cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

TITLE = "RecPack"
REQUIREMENTS = ("recpack>=0.3.6", "torch==2.13.0", "pyarrow<22")  # its NumPy 1 is too old for a newer pyarrow
NOTE = "5 of 6: no MAP"


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    from recpack import metrics as m

    shown, taken = _matrices(lists, truth)
    kinds = {
        "ndcg": m.NDCGK, "recall": m.RecallK, "precision": m.PrecisionK, "mrr": m.ReciprocalRankK,
        "hit_rate": m.HitK,
    }  # fmt: skip
    scores = {}
    for name, kind in kinds.items():
        for k in cutoffs:
            metric = kind(k)
            metric.calculate(taken, shown)
            scores[f"{name}@{k}"] = metric.value
    return scores


def _matrices(lists: Path, truth: Path) -> list[Any]:
    """[users of the truth × all items]: 1/rank where shown, 1 where taken."""
    import numpy as np
    import pandas as pd
    from scipy.sparse import csr_matrix

    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "rank"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id"])
    users = pd.Index(taken["user_id"].unique())
    shown = shown[shown["user_id"].isin(users)]
    items = pd.Index(pd.concat([shown["item_id"], taken["item_id"]]).unique())
    shape = (len(users), len(items))
    return [
        csr_matrix(
            (weight, (users.get_indexer(table["user_id"]), items.get_indexer(table["item_id"]))), shape=shape
        )
        for table, weight in ((shown, 1 / shown["rank"].to_numpy()), (taken, np.ones(len(taken))))
    ]
