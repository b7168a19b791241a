"""ranx: compiled by numba when first used; ids become text and scores decide the order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

TITLE = "ranx"
REQUIREMENTS = ("ranx>=0.3.21", "pyarrow")
NOTE = ""


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import pandas as pd
    from ranx import Qrels, Run
    from ranx import evaluate as score

    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "score"])
    taken = pd.read_parquet(truth, columns=["user_id", "item_id", "relevance"])
    for table in (shown, taken):  # it refuses pandas' own text
        for column in ("user_id", "item_id"):
            table[column] = table[column].astype(str).astype(object)
    qrels = Qrels.from_df(taken.astype({"relevance": int}), "user_id", "item_id", "relevance")
    run = Run.from_df(shown.astype({"score": float}), "user_id", "item_id", "score")
    names = ("ndcg", "recall", "precision", "map", "mrr", "hit_rate")
    return score(qrels, run, [f"{name}@{k}" for k in cutoffs for name in names], make_comparable=True)
