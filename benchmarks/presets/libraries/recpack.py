"""RecPack: sparse matrices of users × items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.recpack import REQUIREMENTS, TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS", "TITLE"]

NOT_RUN = ""
WORLDS = ("full", "graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "PrecisionK", "recall": "RecallK", "recall(norm=min)": "CalibratedRecallK",
    "hits": "HitK", "mrr": "ReciprocalRankK", "ndcg": "NDCGK", "dcg": "DCGK", "coverage": "CoverageK",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED = {
    "IPSHitRateK, WeightedByInteractionTimeK": "weigh hits by train's popularity or time",
    "IntraListDiversityK": "of a matrix of item features; see `diversity(by=vectors)`",
    "PercentileRanking": "needs the rank of every relevant item among all items",
    "DiscountedGainK": "DCG item by item",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import numpy as np
    from recpack import metrics as m
    from scipy.sparse import csr_matrix

    shape = (int(tables.lists["user_id"].max()) + 1, int(tables.catalogue["item_id"].max()) + 1)
    wanted, placed = tables.relevant, tables.lists
    truth = csr_matrix((np.ones(len(wanted)), (wanted["user_id"], wanted["item_id"])), shape=shape)
    lists = csr_matrix((1 / placed["rank"].to_numpy(), (placed["user_id"], placed["item_id"])), shape=shape)
    kinds = {
        "precision": m.PrecisionK, "recall": m.RecallK, "recall(norm=min)": m.CalibratedRecallK,
        "hits": m.HitK, "mrr": m.ReciprocalRankK, "ndcg": m.NDCGK, "dcg": m.DCGK, "coverage": m.CoverageK,
    }  # fmt: skip
    results = {}
    for name, kind in kinds.items():
        metric = kind(k)
        metric.calculate(truth, lists)
        results[name] = metric.value
    results["coverage"] = (
        results["coverage"] * shape[1] / (shape[1] - 1)
    )  # it counts an item 0, which no table has
    return results
