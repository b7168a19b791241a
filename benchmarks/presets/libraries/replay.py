"""RePlay: dictionaries of lists, a value for each user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.replay import REQUIREMENTS as PEER
from benchmarks.peers.replay import TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["TITLE"]

REQUIREMENTS = (*PEER, "pandas")
NOT_RUN = ""
WORLDS = ("full", "graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "Precision", "recall": "Recall", "hit_rate": "HitRate", "mrr": "MRR", "map": "MAP",
    "ndcg": "NDCG", "auc": "RocAuc", "novelty": "Surprisal", "coverage": "Coverage",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED = {
    "Novelty": "the share of a list that its user has not in train; recdash's `novelty` is RePlay's "
    "Surprisal",
    "Unexpectedness": "the share of a list that is not in the list of another model",
    "CategoricalDiversity": "the share of different categories in a list",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    from replay import metrics as m

    ranked = {
        user: list(zip(rows["item_id"], rows["score"], strict=True))
        for user, rows in tables.lists.groupby("user_id")
    }
    truth = {user: rows["item_id"].tolist() for user, rows in tables.truth.groupby("user_id")}
    train = {user: rows["item_id"].tolist() for user, rows in tables.train.groupby("user_id")}
    kinds = {
        "precision": m.Precision, "recall": m.Recall, "hit_rate": m.HitRate, "mrr": m.MRR, "map": m.MAP,
        "ndcg": m.NDCG, "auc": m.RocAuc,
    }  # fmt: skip
    results = {}
    for name, kind in kinds.items():
        (results[name],) = kind(k, mode=m.PerUser())(ranked, truth).values()
    (results["novelty"],) = m.Surprisal(k)(ranked, train).values()
    (results["coverage"],) = m.Coverage(k)(ranked, train).values()
    return results
