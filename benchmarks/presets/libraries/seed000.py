"""The functions of a tutorial about offline metrics: a text, not a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "Offline metrics tutorial"
REQUIREMENTS: tuple[str, ...] = ()
NOT_RUN = "a text, not a library; its examples are worked values of the tests"
WORLDS: tuple[str, ...] = ()
TOLERANCE = 0.0
PRINTED = {
    "precision": "precision_k", "recall": "recall_k", "f1": "f1_score", "map": "map_k", "mrr": "mrr_k",
    "ndcg": "ndcg_k",
}  # fmt: skip
DIFFERENT: dict[str, str] = {}
NOT_REPRODUCED: dict[str, str] = {}


def values(tables: Tables, k: int) -> dict[str, Any]:
    raise NotImplementedError(NOT_RUN)
