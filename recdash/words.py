"""Short names of metrics and the words that follow the statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recdash import numbers
from recdash.metrics import METRICS, parse
from recdash.numbers import glyph
from recdash.views import metric_title

PERCENT = frozenset({"coverage"})
CORE = ("ndcg", "recall", "precision", "hit_rate", "map", "mrr", "rmse", "mae")
BEYOND = ("coverage", "novelty", "personalization", "gini", "popularity")

_NUMBER_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")


def base(metric: str) -> str:
    """``ndcg(gain=exp)`` → ``ndcg``."""
    return parse(metric).name


def metric_name(metric: str) -> str:
    """``ndcg`` → nDCG, ``precision(average=micro)`` → Precision(average=micro)."""
    return metric_title(metric)


def has_k(metric: str) -> bool:
    return METRICS[base(metric)].has_cutoff


def metric_at(metric: str, k: int | str) -> str:
    """``ndcg, 10`` → nDCG@10; a metric without a cutoff keeps its bare name."""
    return f"{metric_title(metric)}@{k}" if has_k(metric) else metric_title(metric)


def is_percent(metric: str) -> bool:
    return base(metric) in PERCENT


def finding(low: float, high: float) -> str:
    """better or worse only when the interval excludes zero, else not settled."""
    sign = glyph(low, high)
    if sign == "=":
        return "not settled"
    return "better" if sign == "▲" else "worse"


def tone(word: str) -> str:
    """The colour class of a finding."""
    return _TONES.get(word, "same")


_TONES = {
    "better": "better", "worse": "worse", "below its guardrail": "worse", "above its guardrail": "worse",
}  # fmt: skip


def named_number(n: int) -> str:
    return _NUMBER_WORDS[n] if n < len(_NUMBER_WORDS) else numbers.count(n)


def many(n: float, noun: str) -> str:
    """``1 user``, ``6,263 users``; ``no user`` of none."""
    return f"{numbers.count(n) if n else 'no'} {noun}{'s' if n > 1 else ''}"


def users(counts: Iterable[float]) -> str:
    """``60 users``, or ``40 to 80 users`` where the counts differ; ``no user`` where there is none."""
    known = sorted(set(counts)) or [0]
    first = f"{numbers.count(known[0])} to " if len(known) > 1 else ""
    return f"{first}{many(known[-1], 'user')}"


def day(when: datetime) -> str:
    """``9 Oct 2026``."""
    return f"{when.day} {when:%b %Y}"


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), *names[-1:]])


def ordered_metrics(metrics: Sequence[str]) -> list[str]:
    """Core accuracy first, then beyond accuracy, then the rest; variants behind their plain form."""
    rank = {name: place for place, name in enumerate((*CORE, *BEYOND))}
    return sorted(metrics, key=lambda metric: (rank.get(base(metric), len(rank)), "(" in metric, metric))
