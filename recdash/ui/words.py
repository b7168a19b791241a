"""Short names of metrics and the words that follow the statistics."""

from __future__ import annotations

import re
from collections.abc import Sequence

from recdash.charts import numbers
from recdash.charts.forest import glyph

SHORT_NAMES = {
    "ndcg": "nDCG", "precision": "Precision", "recall": "Recall", "f1": "F1", "hit_rate": "Hit rate",
    "mrr": "MRR", "map": "MAP", "mar": "MAR", "r_precision": "R-precision", "rbp": "RBP", "err": "ERR",
    "rmse": "RMSE", "mae": "MAE", "r2": "R²", "coverage": "Coverage", "novelty": "Novelty",
    "personalization": "Personalization", "gini": "Gini", "popularity": "Popularity",
    "entropy": "Entropy", "tail_share": "Tail share", "diversity": "Diversity",
    "serendipity": "Serendipity", "user_coverage": "User coverage",
}  # fmt: skip
WITHOUT_K = frozenset({"rmse", "mae", "r2", "r_precision", "bpref", "user_coverage"})
LOWER_IS_BETTER = frozenset({"rmse", "mae", "gini", "popularity"})
NEITHER_IS_BETTER = frozenset({"novelty"})
PERCENT = frozenset({"coverage"})
CORE = ("ndcg", "recall", "precision", "hit_rate", "map", "mrr", "rmse", "mae")
BEYOND = ("coverage", "novelty", "personalization", "diversity", "serendipity", "gini", "popularity")

_SPEC = re.compile(r"^(\w+)(?:\((.*)\))?$")
_NUMBER_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def base(metric: str) -> str:
    """``ndcg(gain=exp)`` → ``ndcg``."""
    found = _SPEC.match(metric)
    return found.group(1) if found else metric


def metric_name(metric: str) -> str:
    """``ndcg`` → nDCG, ``precision(average=micro)`` → Precision (average=micro)."""
    found = _SPEC.match(metric)
    if not found:
        return metric
    name = SHORT_NAMES.get(found.group(1), found.group(1).replace("_", " ").capitalize())
    return f"{name} ({found.group(2)})" if found.group(2) else name


def has_k(metric: str) -> bool:
    return base(metric) not in WITHOUT_K


def metric_at(metric: str, k: int | str) -> str:
    """``ndcg, 10`` → nDCG@10; a metric without a cutoff keeps its bare name."""
    return f"{metric_name(metric)}@{k}" if has_k(metric) else metric_name(metric)


def is_percent(metric: str) -> bool:
    return base(metric) in PERCENT


def finding(metric: str, low: float, high: float) -> str:
    """better or worse only when the interval excludes zero, else not settled.

    Words follow the metric's direction; where neither direction is better they are higher and lower.
    """
    sign = glyph(low, high)
    if sign == "=":
        return "not settled"
    if base(metric) in NEITHER_IS_BETTER:
        return "higher" if sign == "▲" else "lower"
    rising = sign == "▲"
    return "better" if rising != (base(metric) in LOWER_IS_BETTER) else "worse"


def tone(word: str) -> str:
    """The colour class of a finding."""
    return {"better": "better", "worse": "worse"}.get(word, "same")


def named_number(n: int) -> str:
    return _NUMBER_WORDS[n] if n < len(_NUMBER_WORDS) else numbers.count(n)


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])


def ordered_metrics(metrics: Sequence[str]) -> list[str]:
    """Core accuracy first, then beyond accuracy, then the rest; variants behind their plain form."""
    rank = {name: place for place, name in enumerate((*CORE, *BEYOND))}
    return sorted(metrics, key=lambda metric: (rank.get(base(metric), len(rank)), "(" in metric, metric))
