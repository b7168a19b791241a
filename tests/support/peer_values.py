"""Run by a library's own interpreter: its metrics on one run, per user where it says them, as JSON.

``python peer_values.py LIBRARY LISTS TRUTH K``
"""

from __future__ import annotations

import json
import sys
from typing import Any

import pandas as pd


def rectools(lists: pd.DataFrame, truth: pd.DataFrame, k: int) -> dict[str, Any]:
    from rectools import metrics as m

    kinds = {
        "precision": m.Precision(k), "recall": m.Recall(k), "f1": m.F1Beta(k), "hit_rate": m.HitRate(k),
        "mrr": m.MRR(k), "map": m.MAP(k), "ndcg": m.NDCG(k), "map(norm=k)": m.MAP(k, divide_by_k=True),
        "ndcg(ideal=cut)": m.NDCG(k, divide_by_achievable=True),
    }  # fmt: skip
    return {name: kind.calc_per_user(lists, truth).to_dict() for name, kind in kinds.items()}


def lenskit(lists: pd.DataFrame, truth: pd.DataFrame, k: int) -> dict[str, Any]:
    from lenskit import metrics as m
    from lenskit.data import ItemListCollection, UserIDKey
    from lenskit.metrics.ranking import AveragePrecision

    kinds = {
        "precision": m.Precision(k), "recall": m.Recall(k), "hit_rate": m.Hit(k), "mrr": m.RecipRank(k),
        "map": AveragePrecision(k), "ndcg": m.NDCG(k), "rbp": m.RBP(k),
    }  # fmt: skip
    analysis = m.RunAnalysis()
    for name, kind in kinds.items():
        analysis.add_metric(kind, label=name)
    both = set(lists.user_id) & set(truth.user_id)
    tables = (table[table.user_id.isin(both)] for table in (lists, truth))
    found = analysis.measure(*(ItemListCollection.from_df(table, UserIDKey) for table in tables))
    values = found.list_metrics().reset_index().set_index("user_id")
    return {name: values[name].to_dict() for name in kinds}


def recommenders(lists: pd.DataFrame, truth: pd.DataFrame, k: int) -> dict[str, Any]:
    from recommenders.evaluation import python_evaluation as m

    how = {
        "col_user": "user_id", "col_item": "item_id", "col_rating": "rating", "col_prediction": "score",
        "relevancy_method": "top_k", "k": k,
    }  # fmt: skip
    lists = lists.assign(score=-lists["rank"].astype(float)).drop(columns="rank")
    kinds = {"precision": m.precision_at_k, "recall": m.recall_at_k, "map": m.map_at_k, "ndcg": m.ndcg_at_k}
    return {name: float(kind(truth, lists, **how)) for name, kind in kinds.items()}


def main(library: str, lists: str, truth: str, k: str) -> None:
    shown = pd.read_parquet(lists, columns=["user_id", "item_id", "rank"])
    wanted = pd.read_csv(truth, dtype={"item_id": str})[["user_id", "item_id", "rating"]]
    shown["item_id"] = shown["item_id"].astype(str).str.zfill(7)
    shown["rank"] = shown["rank"].astype(int)
    known = {"rectools": rectools, "lenskit": lenskit, "recommenders": recommenders}
    json.dump(known[library](shown, wanted, int(k)), sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
