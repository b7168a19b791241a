"""RePlay: all cutoffs in one call over polars frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "RePlay"
REQUIREMENTS = ("replay-rec>=0.20", "pyarrow")
NOTE = ""


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import polars as pl
    from replay import metrics as m

    shown = pl.read_parquet(lists, columns=["user_id", "item_id", "score"])
    taken = pl.read_parquet(truth, columns=["user_id", "item_id"])
    kinds = {
        "ndcg": m.NDCG, "recall": m.Recall, "precision": m.Precision, "map": m.MAP, "mrr": m.MRR,
        "hit_rate": m.HitRate,
    }  # fmt: skip
    columns = {"query_column": "user_id", "item_column": "item_id", "rating_column": "score"}
    score = m.OfflineMetrics([kind(list(cutoffs)) for kind in kinds.values()], **columns)
    ours = {f"{kind.__name__}@{k}": f"{name}@{k}" for name, kind in kinds.items() for k in cutoffs}
    return {ours[metric]: value for metric, value in score(shown, taken).items()}
