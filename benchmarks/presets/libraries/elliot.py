"""Elliot: not on PyPI; its formulas as its source states them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "Elliot"
REQUIREMENTS: tuple[str, ...] = ()
NOT_RUN = "Elliot is not on PyPI (it is installed from its repository), so that nothing was run"
WORLDS: tuple[str, ...] = ()
TOLERANCE = 0.0
PRINTED = {
    "precision": "Precision", "recall": "Recall", "f1": "F1", "hit_rate": "HR", "mrr": "MRR", "ndcg": "nDCG",
    "mar": "MAR", "map": "MAP", "entropy": "SEntropy", "gini": "Gini", "coverage": "ItemCoverage",
    "popularity": "ARP", "tail_share": "APLT", "user_coverage": "UserCoverage", "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip
DIFFERENT = {
    "ndcg": "Elliot's gain is 2^(grade − threshold + 1) − 1; with one grade, which is the threshold, "
    "it is 1, as here",
    "map": "Elliot's MAP is the mean of precision@1 … precision@k, not of the precisions at the hits",
    "entropy": "Elliot weighs each position by 1 over the length of its list, and divides by the users",
    "gini": "Elliot prints 1 minus this number",
    "coverage": "Elliot's ItemCoverage is the number of shown items; here it is their share",
    "tail_share": "Elliot's short head holds 80 % of train's rows; here the head is a fifth of the items",
    "user_coverage": "Elliot's UserCoverage is a number of users; here it is their share",
}
NOT_REPRODUCED = {
    "AUC, GAUC, LAUC": "need the rank of every relevant item among all items, or negatives",
    "EFD, EPC": "novelty of the hits, weighed by rank",
    "ACLT, PopREO, PopRSP, REO, RSP, BiasDisparity, MAD": "fairness between groups of users or items",
    "SRecall, DSC, NumRetrieved": "subtopics of a list; the length of lists",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    raise NotImplementedError(NOT_RUN)
