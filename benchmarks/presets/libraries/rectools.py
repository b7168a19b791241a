"""RecTools: metric objects over pandas frames, with a value for each user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.rectools import REQUIREMENTS, TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS", "TITLE"]

NOT_RUN = ""
WORLDS = ("full", "graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "Precision", "recall": "Recall", "f1": "F1Beta(beta=1)", "f1(beta=2)": "F1Beta(beta=2)",
    "hit_rate": "HitRate", "mrr": "MRR", "map": "MAP", "map(norm=k)": "MAP(divide_by_k=True)",
    "ndcg": "NDCG", "ndcg(ideal=cut)": "NDCG(divide_by_achievable=True)",
    "recall(norm=min)": "Precision(r_precision=True)",
    "coverage": "CatalogCoverage(normalize=True)", "novelty": "MeanInvUserFreq",
    "popularity": "AvgRecPopularity", "popularity(norm=rows)": "AvgRecPopularity(normalize=True)",
    "serendipity": "Serendipity", "user_coverage": "CoveredUsers",
    "diversity(by=hamming,attribute=kind)": "IntraListDiversity(PairwiseHammingDistanceCalculator)",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED = {
    "Accuracy": "the share of all items of the catalogue that are rightly listed or left out; nearly 1 "
    "always",
    "MCC": "needs the number of all items as true negatives",
    "PartialAUC, PAP": "look below position k of the list, as far as the k-th miss",
    "Intersection": "compares with the lists of another model",
    "SufficientReco, UnrepeatedReco": "checks of a list's length and of repeated items; see the run's "
    "notices",
    "debiased metrics": "draw a random part of the interactions",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import numpy as np
    from rectools import metrics as m

    lists, truth = tables.lists, tables.truth[["user_id", "item_id"]]
    kinds = {
        "precision": m.Precision(k), "recall": m.Recall(k), "f1": m.F1Beta(k),
        "f1(beta=2)": m.F1Beta(k, beta=2),
        "hit_rate": m.HitRate(k), "mrr": m.MRR(k), "map": m.MAP(k), "map(norm=k)": m.MAP(k, divide_by_k=True),
        "ndcg": m.NDCG(k), "ndcg(ideal=cut)": m.NDCG(k, divide_by_achievable=True),
        "recall(norm=min)": m.Precision(k, r_precision=True),
    }  # fmt: skip
    items = tables.catalogue["item_id"].to_numpy()
    features = tables.catalogue.set_index("item_id")["kind"].str.get_dummies("|").astype(float)
    distance = m.PairwiseHammingDistanceCalculator(features)
    serendipity = m.Serendipity(k).calc(lists, truth, tables.train, items)
    beyond = {
        "coverage": m.CatalogCoverage(k, normalize=True).calc(lists, items),
        "popularity": m.AvgRecPopularity(k).calc(lists, tables.train),
        "popularity(norm=rows)": m.AvgRecPopularity(k, normalize=True).calc(lists, tables.train),
        "novelty": m.MeanInvUserFreq(k).calc(lists, tables.train),
        "serendipity": serendipity,
        "user_coverage": m.CoveredUsers(k).calc(lists, truth),
    }
    if k > 1:
        diversity = m.IntraListDiversity(k, distance).calc_per_user(lists)
        several = lists[lists["rank"] <= k].groupby("user_id").size() > 1
        beyond["diversity(by=hamming,attribute=kind)"] = np.mean(diversity[several[several].index])
    return {name: kind.calc_per_user(lists, truth).to_dict() for name, kind in kinds.items()} | beyond
