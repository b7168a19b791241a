"""trec_eval itself, through pytrec_eval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.pytrec_eval import REQUIREMENTS

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS"]

TITLE = "trec_eval"
NOT_RUN = ""
WORLDS = ("full", "graded", "ragged", "ties")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "P_k", "recall": "recall_k", "hit_rate": "success_k", "mrr": "recip_rank",
    "map": "map_cut_k",
    "ndcg": "ndcg_cut_k", "r_precision": "Rprec", "bpref": "bpref", "f1": "set_F", "hits": "num_rel_ret",
}  # fmt: skip
DIFFERENT = {
    "mrr": "trec_eval has no cutoff for recip_rank: it reads the whole list; take k = the depth",
    "bpref": "trec_eval has no cutoff for bpref: it reads the whole list; take k = the depth",
    "f1": "set_F reads the whole list, and divides by its length",
    "hits": "num_rel_ret is the sum over all users of the whole lists; `hits` is the mean over users",
}
NOT_REPRODUCED = {
    "gm_map, gm_bpref": "geometric means over users",
    "iprec_at_recall": "a curve over recall levels",
    "infAP, 11pt_avg, relstring, utility, set_*, G, Rndcg, binG, yaap": "not used for recommendations",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import pytrec_eval

    from benchmarks.presets.libraries.ranx import _nested

    qrels = _nested(tables.truth, "relevance", int)
    names = {
        "precision": f"P_{k}", "recall": f"recall_{k}", "hit_rate": f"success_{k}", "map": f"map_cut_{k}",
        "ndcg": f"ndcg_cut_{k}", "r_precision": "Rprec", "mrr": "recip_rank", "bpref": "bpref", "f1": "set_F",
        "hits": "num_rel_ret",
    }  # fmt: skip
    measures = {f"{measure}.{k}" for measure in ("P", "recall", "success", "map_cut", "ndcg_cut")}
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, measures | {"Rprec", "recip_rank", "bpref", "set_F", "num_rel_ret"}
    )
    results = evaluator.evaluate(_nested(tables.lists, "score", float))
    return {spec: {user: of_user[name] for user, of_user in results.items()} for spec, name in names.items()}
