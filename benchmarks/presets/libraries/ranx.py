"""ranx: graded truths and runs by score; users without a list count as 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.ranx import REQUIREMENTS, TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS", "TITLE"]

NOT_RUN = ""
WORLDS = ("full", "graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "precision", "recall": "recall", "f1": "f1", "hit_rate": "hit_rate", "hits": "hits",
    "mrr": "mrr", "map": "map", "ndcg": "ndcg", "ndcg(gain=exp)": "ndcg_burges", "dcg": "dcg",
    "dcg(gain=exp)": "dcg_burges", "r_precision": "r-precision", "bpref": "bpref", "rbp": "rbp.80",
}  # fmt: skip
DIFFERENT = {
    "bpref": "ranx passes over unjudged items by their position, so that its denominator takes negatives "
    "that trec_eval's does not; recdash follows trec_eval",
    "rbp": "ranx has no cutoff for RBP: it reads the whole list; take k = the depth",
}
NOT_REPRODUCED = {
    "interpolated_precision_at_recall": "a curve over recall levels; see the page's precision–recall curve",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    from ranx import Qrels, Run, evaluate

    qrels = Qrels(_nested(tables.truth, "relevance", int))
    run = Run(_nested(tables.lists, "score", float))
    names = {spec: name if name in {"r-precision", "bpref", "rbp.80"} else f"{name}@{k}"
             for spec, name in PRINTED.items()}  # fmt: skip
    evaluate(qrels, run, list(names.values()), make_comparable=True)
    return {
        spec: {user: float(value) for user, value in run.scores[name].items()} for spec, name in names.items()
    }


def _nested(table: Any, column: str, kind: type) -> dict[str, dict[str, Any]]:
    return {
        str(user): {str(item): kind(value) for item, value in zip(rows["item_id"], rows[column], strict=True)}
        for user, rows in table.groupby("user_id")
    }
