"""Cornac: its metrics score one user at a time, over arrays of item codes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "Cornac"
REQUIREMENTS = ("cornac>=2.3", "pandas", "pyarrow")
NOTE = "4 of 6: no MAP and no MRR at a cutoff"


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import numpy as np
    import pandas as pd
    from cornac import metrics as m

    shown = pd.read_parquet(lists, columns=["user_id", "item_id"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id"])
    wanted = taken.groupby("user_id")["item_id"].agg(np.asarray)
    ranked = shown.groupby("user_id")["item_id"].agg(np.asarray).reindex(wanted.index)
    pairs = list(zip(wanted, ranked, strict=True))
    kinds = {"ndcg": m.NDCG, "recall": m.Recall, "precision": m.Precision, "hit_rate": m.HitRatio}
    return {
        f"{name}@{k}": np.mean([metric.compute(gt_pos=mine, pd_rank=theirs) for mine, theirs in pairs])
        for k in cutoffs
        for name, metric in ((name, kind(k)) for name, kind in kinds.items())
    }
