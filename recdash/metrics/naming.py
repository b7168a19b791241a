"""Names of metrics as people read them, and the order in which they are listed."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.metrics.registry import METRICS, define
from recdash.metrics.spec import parse

PERCENT = frozenset({"coverage"})
CORE = ("ndcg", "recall", "precision", "hit_rate", "map", "mrr", "rmse", "mae")
BEYOND = ("coverage", "novelty", "personalization", "gini", "popularity")


def metric_title(metric: str, k: int | None = None) -> str:
    """``ndcg(gain=exp)`` at 10 → ``nDCG(gain=exp)@10``, as a person reads it; without a k no cutoff."""
    spec = parse(metric)
    name = METRICS[spec.name].label + spec.label[len(spec.name) :]
    return f"{name}@{k}" if k and METRICS[spec.name].has_cutoff else name


def lower_is_better(metric: str) -> bool:
    return define(metric).lower_is_better


def base(metric: str) -> str:
    """``ndcg(gain=exp)`` → ``ndcg``."""
    return parse(metric).name


def has_k(metric: str) -> bool:
    return METRICS[base(metric)].has_cutoff


def metric_at(metric: str, k: int | str) -> str:
    """``ndcg, 10`` → nDCG@10; a metric without a cutoff keeps its bare name."""
    return f"{metric_title(metric)}@{k}" if has_k(metric) else metric_title(metric)


def is_percent(metric: str) -> bool:
    return base(metric) in PERCENT


def scale_of(metric: str) -> int:
    """What a value is multiplied by to be read: 100 where that is in %."""
    return 100 if is_percent(metric) else 1


def metric_and_unit(metric: str, k: int | str) -> str:
    """``nDCG@10``; ``Coverage@10, %`` of a metric that is read in %."""
    return f"{metric_at(metric, k)}{', %' if is_percent(metric) else ''}"


def ordered_metrics(metrics: Sequence[str]) -> list[str]:
    """Core accuracy first, then beyond accuracy, then the rest; variants behind their plain form."""
    rank = {name: place for place, name in enumerate((*CORE, *BEYOND))}
    return sorted(metrics, key=lambda metric: (rank.get(base(metric), len(rank)), "(" in metric, metric))
