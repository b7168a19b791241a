"""Cornac: metric objects for one user at a time; its evaluation leaves out users without a relevant item."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.cornac import REQUIREMENTS, TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS", "TITLE"]

NOT_RUN = ""
WORLDS = ("full", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "Precision", "recall": "Recall", "f1": "FMeasure", "hit_rate": "HitRatio", "ndcg": "NDCG",
    "ncrr": "NCRR", "mrr": "MRR", "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip
DIFFERENT = {"mrr": "Cornac has no cutoff for MRR: it reads the whole list; take k = the depth"}
NOT_REPRODUCED = {
    "MAP": "Cornac's takes the scores of all items of the catalogue, and has no cutoff",
    "AUC": "compares the scores of the relevant items with those of all others of the catalogue",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import numpy as np
    from cornac import metrics as m

    wanted, ranked = tables.wanted(), tables.ranked()
    kinds = {
        "precision": m.Precision(k), "recall": m.Recall(k), "f1": m.FMeasure(k), "hit_rate": m.HitRatio(k),
        "ndcg": m.NDCG(k), "ncrr": m.NCRR(k),
    }  # fmt: skip
    results: dict[str, Any] = {
        name: {
            user: float(
                kind.compute(gt_pos=np.array(items), pd_rank=np.array(ranked.get(user, []), dtype=int))
            )
            for user, items in wanted.items()
        }
        for name, kind in kinds.items()
    }
    results["mrr"] = {
        user: _reciprocal_rank(m.MRR(), np.array(items), np.array(ranked.get(user, []), dtype=int))
        for user, items in wanted.items()
    }
    rated = [tables.ratings[name].to_numpy() for name in ("rating", "prediction")]
    return results | {"rmse": m.RMSE().compute(*rated), "mae": m.MAE().compute(*rated)}


def _reciprocal_rank(metric: Any, wanted: Any, ranked: Any) -> float:
    """Cornac raises an error for a list without a hit, since it ranks all items."""
    return float(metric.compute(gt_pos=wanted, pd_rank=ranked)) if set(wanted) & set(ranked) else 0.0
