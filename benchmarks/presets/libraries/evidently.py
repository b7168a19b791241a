"""Evidently: one table of rows (user, item, rank, target), recommended or missed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "Evidently"
REQUIREMENTS = ("evidently>=0.7", "pandas<3")
NOT_RUN = ""
WORLDS = ("full", "graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "PrecisionTopK", "recall": "RecallTopK", "f1": "FBetaTopK(beta=1)",
    "f1(beta=2)": "FBetaTopK(beta=2)", "map": "MAP", "mar": "MAR", "ndcg": "NDCG", "mrr": "MRR",
    "hit_rate": "HitRate", "novelty": "Novelty", "personalization": "Personalization",
    "coverage": "PopularityBias: coverage", "popularity": "PopularityBias: ARP",
    "gini": "PopularityBias: Gini",
}  # fmt: skip
_SHORT = "equal where all lists have k positions; "
_MISSED = f"{_SHORT}of a shorter list Evidently also counts the positions of the missed items, up to k"
_REPEATED = f"{_SHORT}a shorter list that ends with a hit has that hit counted again at each further position"
DIFFERENT = {
    "precision": _MISSED,
    "f1": _MISSED,
    "f1(beta=2)": _MISSED,
    "map": _REPEATED,
    "mar": _REPEATED,
    "personalization": f"{_SHORT}Evidently takes every list to have k items, so that shorter ones count as "
    "less alike",
}
NOT_REPRODUCED = {
    "Diversity, Serendipity": "the correlation or cosine distance of item features; see "
    "`diversity(by=vectors)`",
    "ScoreDistribution, ItemBias, UserBias": "of the scores or attributes themselves",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    from evidently.legacy.metrics.recsys.f_beta_top_k import FBetaTopKMetric
    from evidently.legacy.metrics.recsys.hit_rate_k import HitRateKMetric
    from evidently.legacy.metrics.recsys.mrr import MRRKMetric
    from evidently.legacy.metrics.recsys.ndcg_k import NDCGKMetric
    from evidently.legacy.metrics.recsys.novelty import NoveltyMetric
    from evidently.legacy.metrics.recsys.personalisation import PersonalizationMetric
    from evidently.legacy.metrics.recsys.popularity_bias import PopularityBias
    from evidently.legacy.metrics.recsys.precision_recall_k import PrecisionRecallCalculation
    from evidently.legacy.pipeline.column_mapping import RecomType

    from benchmarks.presets.tables import LENGTH

    rows = tables.lists.merge(tables.relevant, how="outer", on=["user_id", "item_id"])
    rows["target"] = (rows["relevance"] > 0).astype(int)
    rows = rows.sort_values(["user_id", "rank"], na_position="last")
    missed = rows["rank"].isna()  # what a list lacks stands below every list, however short
    rows["preds"] = rows["rank"].fillna(LENGTH + rows.groupby(["user_id", missed]).cumcount() + 1).astype(int)
    frame = rows.rename(columns={"user_id": "users"})[["users", "target", "preds"]]
    relevant = frame.groupby("users")["target"].transform("sum") > 0
    frame = frame[relevant]  # as the library does unless no_feedback_users is set
    graded = frame.assign(target=rows["relevance"].fillna(0.0))
    depth = int(tables.lists["rank"].max())
    shares = PrecisionRecallCalculation(depth).get_precision_and_recall_dict(frame, depth)
    placed = rows[rows["rank"].notna()]
    users_of = tables.train.groupby("item_id")["user_id"].nunique()
    n_users = tables.train["user_id"].nunique()
    popularity, rank = PopularityBias(k), RecomType.RANK
    precision, recall = ([shares[name][k - 1]] for name in ("precision", "recall"))
    return {
        "precision": precision[0], "recall": recall[0], "map": shares["map"][k - 1],
        "mar": shares["mar"][k - 1],
        "f1": _fbeta(FBetaTopKMetric(k, beta=1), precision, recall),
        "f1(beta=2)": _fbeta(FBetaTopKMetric(k, beta=2), precision, recall),
        "ndcg": NDCGKMetric(k).calculate_ndcg(graded, k)[k],
        "mrr": MRRKMetric(k).get_values(frame, depth)[k],
        "hit_rate": HitRateKMetric(k).get_values(frame, depth)[k - 1],
        "novelty": NoveltyMetric(k).get_miuf(placed, k, rank, "user_id", "item_id",
        "rank", users_of / n_users)[1],
        "personalization": PersonalizationMetric(k).get_diversity(placed, "user_id", "item_id",
        "rank", k, rank)[0],
        "coverage": popularity.get_coverage(k, placed, users_of, "rank", "item_id"),
        "popularity": popularity.get_apr(k, placed, users_of, False, "rank", "user_id", "item_id")[0],
        "gini": popularity.get_gini(k, placed, "rank", "item_id"),
    }  # fmt: skip


def _fbeta(metric: Any, precision: list[float], recall: list[float]) -> float:
    return metric.fbeta(precision, recall)[0]
