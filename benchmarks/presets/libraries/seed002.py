"""The functions of notes about ranking metrics: a text, not a library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.presets.tables import Tables

TITLE = "Ranking metrics notes"
REQUIREMENTS: tuple[str, ...] = ()
NOT_RUN = "a text, not a library; its examples are worked values of the tests"
WORLDS: tuple[str, ...] = ()
TOLERANCE = 0.0
PRINTED = {
    "hit_rate": "Hit Ratio", "mrr": "MRR", "map": "MAP", "precision": "precision_at_k",
    "recall": "recall_at_k",
}  # fmt: skip
DIFFERENT = {
    "precision": "the notes cut the truth to its first k rows; here to the k with the highest grades",
    "recall": "the notes cut the truth to its first k rows; here to the k with the highest grades",
}
NOT_REPRODUCED: dict[str, str] = {}


def values(tables: Tables, k: int) -> dict[str, Any]:
    raise NotImplementedError(NOT_RUN)
