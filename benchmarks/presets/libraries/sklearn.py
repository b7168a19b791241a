"""scikit-learn: a dense row of grades and scores over all items for each user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "scikit-learn"
REQUIREMENTS = ("scikit-learn>=1.6", "pandas")
NOT_RUN = ""
WORLDS = ("full", "graded")
TOLERANCE = 1e-9
PRINTED = {
    "ndcg": "ndcg_score", "dcg": "dcg_score", "rmse": "root_mean_squared_error", "mae": "mean_absolute_error",
    "r2": "r2_score",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED = {
    "average_precision_score, label_ranking_average_precision_score": "no cutoff: they rank all items",
    "roc_auc_score": "ranks all items; `auc` compares the positions of one list",
    "precision_score, recall_score, f1_score, …": "of a classification; no ranked list",
    "coverage_error, label_ranking_loss, top_k_accuracy_score": "of labels, all of them ranked",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import numpy as np
    from sklearn import metrics as m

    n = len(tables.catalogue)
    results: dict[str, Any] = {"ndcg": {}, "dcg": {}}
    for user, of_user in tables.lists.groupby("user_id"):
        wanted = tables.relevant[tables.relevant["user_id"] == user]
        if len(wanted):
            grades, scores = np.zeros((1, n)), np.zeros((1, n))
            grades[0, wanted["item_id"] - 1] = wanted["relevance"]
            scores[0, of_user["item_id"] - 1] = of_user["score"]
            results["ndcg"][user] = m.ndcg_score(grades, scores, k=k)
            results["dcg"][user] = m.dcg_score(grades, scores, k=k)
    rated = [tables.ratings[name].to_numpy() for name in ("rating", "prediction")]
    return results | {
        "rmse": m.root_mean_squared_error(*rated),
        "mae": m.mean_absolute_error(*rated),
        "r2": m.r2_score(*rated),
    }
