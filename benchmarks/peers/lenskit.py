"""LensKit: item-list collections, a metric object for each metric and cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "LensKit"
REQUIREMENTS = ("lenskit>=2025.3", "torch==2.13.0", "pyarrow")
NOTE = "5 of 6: no MAP; recall is over min(k, m)"


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import pandas as pd
    from lenskit import metrics as m
    from lenskit.data import ItemListCollection, UserIDKey

    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "score", "rank"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id"])
    kinds = {
        "ndcg": m.NDCG, "recall": m.Recall, "precision": m.Precision, "mrr": m.RecipRank, "hit_rate": m.Hit,
    }  # fmt: skip
    analysis = m.RunAnalysis()
    for name, kind in kinds.items():
        for k in cutoffs:
            analysis.add_metric(kind(k), label=f"{name}@{k}")
    collections = [ItemListCollection.from_df(table, UserIDKey) for table in (shown, taken)]
    return analysis.measure(*collections).list_summary()["mean"].to_dict()
