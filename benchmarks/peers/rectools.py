"""RecTools: all cutoffs in one call over pandas frames; ranks come from the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "RecTools"
REQUIREMENTS = ("rectools>=0.19", "pyarrow<22")  # its NumPy 1 is too old for a newer pyarrow
NOTE = ""


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import pandas as pd
    from rectools import metrics as m

    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "rank"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id"])
    kinds = {
        "recall": m.Recall, "precision": m.Precision, "map": m.MAP, "mrr": m.MRR, "hit_rate": m.HitRate,
    }  # fmt: skip
    wanted = {f"{name}@{k}": kind(k=k) for name, kind in kinds.items() for k in cutoffs}
    wanted |= {f"ndcg@{k}": m.NDCG(k=k, divide_by_achievable=True) for k in cutoffs}
    return m.calc_metrics(wanted, shown, taken)
