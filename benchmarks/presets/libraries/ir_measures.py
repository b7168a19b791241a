"""ir-measures: trec_eval, gdeval, cwl and others behind one language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.peers.ir_measures import REQUIREMENTS, TITLE

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

__all__ = ["REQUIREMENTS", "TITLE"]

NOT_RUN = ""
WORLDS = ("graded", "ragged")
TOLERANCE = 1e-9
PRINTED = {
    "precision": "P", "recall": "R", "hit_rate": "Success", "mrr": "RR", "map": "AP", "ndcg": "nDCG",
    "r_precision": "Rprec", "bpref": "Bpref", "judged": "Judged", "err": "ERR", "f1": "SetF",
    "hits": "NumRelRet",
}  # fmt: skip
DIFFERENT = {
    "err": "ir-measures asks gdeval, which prints five digits",
    "bpref": "Bpref has no cutoff: it reads the whole list; take k = the depth",
    "f1": "SetF reads the whole list, and divides by its length",
    "hits": "NumRelRet is the sum over all users of the whole lists; `hits` is the mean over users",
}
NOT_REPRODUCED = {
    "RBP": "computed by cwl_eval, which ir-measures does not install; the formula is that of `rbp`",
    "IPrec, infAP, SetP, SetR, SetAP, SetRelP": "of the set or of recall levels",
    "alpha_nDCG, nERR_IA, P_IA, StRecall, NRBP": "need subtopics",
    "NERR8 … NERR11, INST, INSQ, BPM, SDCG": "of the C/W/L family of user models",
    "Compat, Accuracy, NumQ, NumRet, NumRel": "not of a ranked list's accuracy for a user",
}


def values(tables: Tables, k: int) -> dict[str, Any]:
    import ir_measures as im

    from benchmarks.presets.libraries.ranx import _nested

    measures = {
        "precision": im.P @ k, "recall": im.R @ k, "hit_rate": im.Success @ k, "mrr": im.RR @ k,
        "map": im.AP @ k, "ndcg": im.nDCG @ k, "r_precision": im.Rprec, "bpref": im.Bpref,
        "judged": im.Judged @ k, "f1": im.SetF, "hits": im.NumRelRet,
    }  # fmt: skip
    measures["err"] = im.ERR @ k
    qrels, run = _nested(tables.truth, "relevance", int), _nested(tables.lists, "score", float)
    results: dict[str, dict[str, float]] = {spec: {} for spec in measures}
    specs = {str(measure): spec for spec, measure in measures.items()}
    for measured in im.iter_calc(list(measures.values()), qrels, run):
        results[specs[str(measured.measure)]][measured.query_id] = measured.value
    return results
