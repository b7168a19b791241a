"""rs_metrics: python sets and lists, a call for each metric and cutoff."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "rs_metrics"
REQUIREMENTS = ("rs-metrics>=0.6", "pandas", "pyarrow")
NOTE = ""


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import pandas as pd
    import rs_metrics as m
    from rs_metrics.helpers import pandas_to_dict

    shown = pandas_to_dict(pd.read_parquet(lists, columns=["user_id", "item_id"]))
    taken = pandas_to_dict(pd.read_parquet(truth, columns=["user_id", "item_id"]))
    kinds = {
        "ndcg": m.ndcg, "recall": m.recall, "precision": m.precision, "map": m.mapr, "mrr": m.mrr,
        "hit_rate": m.hitrate,
    }  # fmt: skip
    return {f"{name}@{k}": kind(taken, shown, k) for k in cutoffs for name, kind in kinds.items()}
