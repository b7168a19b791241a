"""ir-measures: trec_eval and others behind one language of measures, over pandas frames."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "ir-measures"
REQUIREMENTS = ("ir-measures>=0.4.3", "pandas", "pyarrow")
NOTE = ""


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import ir_measures as im
    import pandas as pd

    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "score"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id", "relevance"])
    text = {"user_id": str, "item_id": str}
    names = {"user_id": "query_id", "item_id": "doc_id"}
    shown = shown.astype(text).rename(columns=names)
    taken = taken.astype({**text, "relevance": int}).rename(columns=names)
    kinds = {
        "ndcg": im.nDCG, "recall": im.R, "precision": im.P, "map": im.AP, "mrr": im.RR,
        "hit_rate": im.Success,
    }  # fmt: skip
    ours = {kind @ k: f"{name}@{k}" for name, kind in kinds.items() for k in cutoffs}
    return {ours[measure]: value for measure, value in im.calc_aggregate(list(ours), taken, shown).items()}
