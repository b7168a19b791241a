"""Sets of metrics that tables and charts show by default."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.metrics.naming import BEYOND, CORE, base

FEW = 4


def metrics_of_set(available: Sequence[str], primary: str, name: str, few: int = FEW) -> tuple[str, ...]:
    """Returns the metrics of a set, the primary metric first.

    "core" adds ``few`` accuracy metrics, "beyond" the metrics beyond accuracy, and "all" all available ones.
    """
    others = [metric for metric in available if metric != primary]
    if name == "all":
        return (primary, *others)
    wanted = CORE if name == "core" else BEYOND
    plain = [metric for metric in others if "(" not in metric and base(metric) in wanted]
    return (primary, *(plain[:few] if name == "core" else plain))
