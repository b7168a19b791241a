"""pytrec_eval: trec_eval in C over dictionaries; all cutoffs in one call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

TITLE = "pytrec_eval"
REQUIREMENTS = ("pytrec-eval-terrier>=0.5.7", "pandas", "pyarrow")
NOTE = "5 of 6 per cutoff: reciprocal rank has none"


def evaluate(lists: Path, truth: Path, cutoffs: Sequence[int]) -> dict[str, float]:
    import pytrec_eval

    measures = {
        "ndcg": "ndcg_cut", "recall": "recall", "precision": "P", "map": "map_cut", "hit_rate": "success",
    }  # fmt: skip
    at = ",".join(str(k) for k in cutoffs)
    wanted = {f"{measure}.{at}" for measure in measures.values()} | {"recip_rank"}
    qrels = _nested(truth, "relevance", int)
    found = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(_nested(lists, "score", float)).values()
    ours = {f"{measure}_{k}": f"{name}@{k}" for name, measure in measures.items() for k in cutoffs}
    ours["recip_rank"] = "mrr"
    return {ours[name]: sum(user[name] for user in found) / len(found) for name in ours}


def _nested(file: Path, column: str, kind: type) -> dict[str, dict[str, Any]]:
    import pandas as pd

    table = pd.read_parquet(file, columns=["user_id", "item_id", column])
    nested: dict[str, dict[str, Any]] = {}
    columns = (table["user_id"].astype(str), table["item_id"].astype(str), table[column].astype(kind))
    for user, item, value in zip(*(one.tolist() for one in columns), strict=True):
        nested.setdefault(user, {})[item] = value
    return nested
