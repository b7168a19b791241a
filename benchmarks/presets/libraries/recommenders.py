"""Microsoft Recommenders: a function for each metric over pandas frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.recommenders import REQUIREMENTS

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS"]

TITLE = "Microsoft Recommenders"
NOT_RUN = ""
WORLDS = ("full", "graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "precision_at_k", "recall": "recall_at_k", "map": "map_at_k", "map(norm=relevant)": "map",
    "ndcg": "ndcg_at_k", "r_precision": "r_precision_at_k", "novelty": "novelty",
    "coverage": "catalog_coverage", "entropy": "distributional_coverage", "diversity": "diversity",
    "serendipity": "serendipity", "rmse": "rmse", "mae": "mae", "r2": "rsquared",
}  # fmt: skip
DIFFERENT = {
    "r_precision": "the library leaves users without a hit out of the mean, so that a user who is served "
    "worse can raise it, and looks at no more than k positions",
    "diversity": "the library compares items by how often train's users have both, and the pair of an item "
    "with "
    "itself counts; recdash by attributes, vectors or an uploaded table",
    "serendipity": "another formula: unlikeness to the user's train items times relevance",
}
NOT_REPRODUCED = {
    "auc, logloss, exp_var": "of predicted ratings or clicks as a classification; recdash has rmse, mae, r2",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    from recommenders.evaluation import python_evaluation as m

    lists = tables.lists[["user_id", "item_id", "score"]]
    truth = tables.truth.rename(columns={"relevance": "rating"})
    names = {"col_user": "user_id", "col_item": "item_id"}
    how = {**names, "col_rating": "rating", "col_prediction": "score", "relevancy_method": "top_k", "k": k}
    kinds = {
        "precision": m.precision_at_k, "recall": m.recall_at_k, "map": m.map_at_k,
        "map(norm=relevant)": m.map,
        "ndcg": m.ndcg_at_k, "r_precision": m.r_precision_at_k,
    }  # fmt: skip
    first_k = tables.lists[tables.lists["rank"] <= k]
    train, reco = tables.train, first_k[["user_id", "item_id"]]
    rated_rows = tables.ratings[["user_id", "item_id", "rating"]]
    predicted = tables.ratings[["user_id", "item_id", "prediction"]]
    rated = {**names, "col_rating": "rating", "col_prediction": "prediction"}
    return {name: float(kind(truth, lists, **how)) for name, kind in kinds.items()} | {
        "novelty": m.novelty(train, reco, **names),
        "coverage": m.catalog_coverage(train, reco, **names),
        "entropy": m.distributional_coverage(train, reco, **names),
        "rmse": m.rmse(rated_rows, predicted, **rated),
        "mae": m.mae(rated_rows, predicted, **rated),
        "r2": m.rsquared(rated_rows, predicted, **rated),
    }
