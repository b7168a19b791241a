"""LensKit: item lists, measured list by list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.lenskit import REQUIREMENTS, TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS", "TITLE"]

NOT_RUN = ""
WORLDS = ("full", "ragged")
TOLERANCE = 1e-7
PRINTED = {
    "precision": "Precision", "recall": "Recall", "hit_rate": "Hit", "mrr": "RecipRank",
    "map": "AveragePrecision", "ndcg": "NDCG", "dcg": "DCG",
    "rbp": "RBP", "gini": "ListGini", "rmse": "RMSE", "mae": "MAE",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED = {
    "NDCG(gain=…), DCG(gain=…)": "under the preset every held-out row counts alike; without it "
    "`ndcg(discount=lenskit)` and `dcg(discount=lenskit)` take the grades",
    "ExposureGini": "weighs each position by its rank; `gini` weighs all positions alike",
    "MeanPopRank": "the percentile of an item's popularity; `popularity` is its number of users",
    "entropy, rank_biased_entropy": "of an attribute inside each list; `entropy` is of the items over all "
    "lists",
    "least_item_promoted, rank_biased_overlap": "compare two lists of one user",
    "RBP(normalize=True)": "RBP over the most that the user's relevant items allow; marked experimental "
    "there",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    from lenskit import metrics as m
    from lenskit.data import ItemList, ItemListCollection, UserIDKey
    from lenskit.metrics.predict import MAE, RMSE
    from lenskit.metrics.ranking import DCG, AveragePrecision, ListGini

    kinds = {
        "precision": m.Precision(k), "recall": m.Recall(k), "hit_rate": m.Hit(k), "mrr": m.RecipRank(k),
        "ndcg": m.NDCG(k), "rbp": m.RBP(k), "dcg": DCG(k),
        "gini": ListGini(k, items=len(tables.catalogue)),
    }  # fmt: skip
    analysis = m.RunAnalysis()
    for name, kind in kinds.items():
        analysis.add_metric(kind, label=name)
    truth = tables.truth[["user_id", "item_id"]]
    measured = analysis.measure(
        *(ItemListCollection.from_df(table, UserIDKey) for table in (tables.lists, truth))
    )
    by_user = measured.list_metrics().reset_index().set_index("user_id")
    per_user = {name: by_user[name].dropna().to_dict() for name in kinds if name in by_user}
    summary = measured.global_metrics()
    ratings = tables.ratings
    predicted = ItemList(item_ids=range(len(ratings)), scores=ratings["prediction"].to_numpy())
    rated = ItemList(item_ids=range(len(ratings)), rating=ratings["rating"].to_numpy())
    ranked = tables.ranked()
    wanted = {user: rows["item_id"].tolist() for user, rows in truth.groupby("user_id")}
    return per_user | {
        # divides by zero where a user has no list or no relevant item
        "map": {
            user: AveragePrecision(k).measure_list(
                ItemList(item_ids=ranked[user], ordered=True), ItemList(item_ids=wanted[user])
            )
            for user in sorted(set(ranked) & set(wanted))
        },
        "gini": summary["gini"],
        "rmse": RMSE().measure_list(predicted, rated),
        "mae": MAE().measure_list(predicted, rated),
    }
