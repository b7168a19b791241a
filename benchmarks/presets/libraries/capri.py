"""CAPRI: the functions of its documentation (seed 001), which is not on PyPI."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "CAPRI"
REQUIREMENTS: tuple[str, ...] = ()
NOT_RUN = "CAPRI is not on PyPI (it is a framework in a repository), so that nothing was run"
WORLDS: tuple[str, ...] = ()
TOLERANCE = 0.0
PRINTED = {
    "precision": "precisionk", "recall": "recallk", "map": "mapk", "ndcg": "ndcgk",
    "diversity": "listDiversity", "novelty": "novelty", "coverage": "catalogCoverage",
    "personalization": "personalization",
}  # fmt: skip
DIFFERENT = {
    "ndcg": "CAPRI rounds each user's nDCG to four digits",
    "coverage": "CAPRI prints a percentage, rounded to two digits; here it is a share",
}
NOT_REPRODUCED: dict[str, str] = {}


def values(tables: Tables, k: int) -> dict[str, Any]:
    raise NotImplementedError(NOT_RUN)
