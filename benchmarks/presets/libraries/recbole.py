"""RecBole: metrics of one matrix [users × k] of hits, without a dataset or a model.

It scores all items for every user of the test data, so that no list is short and every user has a truth:
its matrices have no place for either.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "RecBole"
REQUIREMENTS = ("recbole>=1.2", "torch==2.13.0", "pandas")
NOT_RUN = ""
WORLDS = ("full", "graded")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "precision", "recall": "recall", "hit_rate": "hit", "mrr": "mrr", "map": "map",
    "ndcg": "ndcg", "coverage": "itemcoverage", "popularity": "averagepopularity",
    "entropy": "shannonentropy", "gini": "giniindex", "tail_share": "tailpercentage", "rmse": "rmse",
    "mae": "mae",
}  # fmt: skip
DIFFERENT = {
    "coverage": "RecBole counts its padding item among all n items: its number is this one times n/(n + 1)",
    "gini": "RecBole counts its padding item as one that is never shown: its number is this one times n, "
    "plus 1, over n + 1",
    "tail_share": "RecBole's tail is exactly a tenth of train's items, the rarest ones; which of equally "
    "rare ones are in it is decided by its inner numbers, which stand in no file. Here the tail is all but "
    "the head, and equally popular items are kept together",
}
NOT_REPRODUCED = {
    "gauc": "needs the rank of every relevant item among all items, and weighs users by their relevant items",
    "auc, logloss": "of predicted clicks as a classification",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import numpy as np
    import torch

    for name, kind in {"float": float, "bool": bool, "int": int, "object": object}.items():
        if name not in np.__dict__:  # the library is older than NumPy 1.24
            setattr(np, name, kind)
    from recbole.evaluator import metrics as m

    wanted = replace(tables, truth=tables.truth.assign(relevance=1)).wanted()  # every held-out row counts
    ranked = tables.ranked()
    depth = max(len(items) for items in ranked.values())
    users = sorted(wanted)
    hits = [[item in wanted[user] for item in ranked[user]] + [len(wanted[user])] for user in users]
    rating = [torch.tensor(tables.ratings[name].to_numpy()) for name in ("prediction", "rating")]
    known = {
        "rec.topk": torch.tensor(np.array(hits, dtype=int)),
        "rec.items": torch.tensor([ranked[user] for user in users]),
        "data.num_items": len(tables.catalogue) + 1,  # its items begin with a padding item
        "data.count_items": tables.train["item_id"].value_counts().to_dict(),
        "rec.score": rating[0], "data.label": rating[1],
    }  # fmt: skip
    config = {"topk": [k, depth], "metric_decimal_place": 15, "tail_ratio": 0.1}
    kinds = {
        "precision": m.Precision, "recall": m.Recall, "hit_rate": m.Hit, "mrr": m.MRR, "map": m.MAP,
        "ndcg": m.NDCG, "popularity": m.AveragePopularity, "entropy": m.ShannonEntropy,
        "tail_share": m.TailPercentage, "coverage": m.ItemCoverage, "gini": m.GiniIndex, "rmse": m.RMSE,
        "mae": m.MAE,
    }  # fmt: skip
    results = {}
    for name, kind in kinds.items():
        answer = kind(_Config(config)).calculate_metric(known)
        results[name] = answer.get(f"{PRINTED[name]}@{k}", answer.get(PRINTED[name]))
    return results


class _Config(dict):  # type: ignore[type-arg]
    """RecBole asks its configuration for what it does not hold."""

    def __missing__(self, name: str) -> None:
        return None
