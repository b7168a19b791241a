"""Microsoft Recommenders: pandas joins, a call for each metric and cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "Recommenders"
REQUIREMENTS = ("recommenders>=1.2.1", "pyarrow")
NOTE = "4 of 6: no MRR, no hit rate"


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import pandas as pd
    from recommenders.evaluation import python_evaluation as m

    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "score"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id", "relevance"])
    columns = {
        "col_user": "user_id", "col_item": "item_id", "col_rating": "relevance", "col_prediction": "score",
    }  # fmt: skip
    kinds = {"ndcg": m.ndcg_at_k, "recall": m.recall_at_k, "precision": m.precision_at_k, "map": m.map_at_k}
    return {
        f"{name}@{k}": kind(taken, shown, k=k, relevancy_method="top_k", **columns)
        for k in cutoffs
        for name, kind in kinds.items()
    }
