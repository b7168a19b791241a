"""TorchMetrics: tensors of scores and targets, grouped by user.

Relevant items that a list lacks are given with the score 0, which counts as not retrieved. Scores lie between
0 and 1, since RetrievalAUROC takes the sigmoid of others, which makes large ones equal in single precision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "TorchMetrics"
REQUIREMENTS = ("torchmetrics>=1.9", "torch==2.13.0", "pandas")
NOT_RUN = ""
WORLDS = ("full", "graded")
TOLERANCE = 1e-6
PRINTED = {
    "precision": "RetrievalPrecision", "recall": "RetrievalRecall", "hit_rate": "RetrievalHitRate",
    "mrr": "RetrievalMRR", "map": "RetrievalMAP", "ndcg": "RetrievalNormalizedDCG",
    "r_precision": "RetrievalRPrecision", "auc": "RetrievalAUROC", "rmse": "MeanSquaredError(squared=False)",
    "mae": "MeanAbsoluteError", "r2": "R2Score",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED = {
    "RetrievalFallOut": "the share of the irrelevant items that are shown; needs the number of all items",
    "RetrievalPrecisionRecallCurve, RetrievalRecallAtFixedPrecision": "a curve; see the page's curves",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import torch
    import torchmetrics
    from torchmetrics import retrieval as m

    rows = tables.lists.merge(tables.truth, how="outer", on=["user_id", "item_id"]).fillna(0)
    rows = rows.sort_values(["user_id", "score"], ascending=[True, False])
    users, scores = (
        torch.tensor(rows["user_id"].to_numpy()),
        torch.tensor(rows["score"].to_numpy() / 100).float(),
    )
    grades = torch.tensor(rows["relevance"].to_numpy()).long()
    kinds = {
        "precision": m.RetrievalPrecision(top_k=k), "recall": m.RetrievalRecall(top_k=k),
        "hit_rate": m.RetrievalHitRate(top_k=k), "mrr": m.RetrievalMRR(top_k=k),
        "map": m.RetrievalMAP(top_k=k),
        "ndcg": m.RetrievalNormalizedDCG(top_k=k), "r_precision": m.RetrievalRPrecision(),
        "auc": m.RetrievalAUROC(top_k=k),
    }  # fmt: skip
    rated = [torch.tensor(tables.ratings[name].to_numpy()) for name in ("prediction", "rating")]
    results = {
        name: kind(scores, grades if name == "ndcg" else (grades > 0).long(), indexes=users)
        for name, kind in kinds.items()
    }
    return results | {
        "rmse": torchmetrics.MeanSquaredError(squared=False)(*rated),
        "mae": torchmetrics.MeanAbsoluteError()(*rated),
        "r2": torchmetrics.R2Score()(*rated),
    }
