"""Display names of metrics, and the metrics with which tables, charts and verdicts begin."""

from __future__ import annotations

from collections.abc import Sequence

from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.ranking import RankingMetric, missing_train
from recdash.metrics.registry import METRICS, Metric, define
from recdash.metrics.spec import parse

_BY_ORDER = sorted(METRICS.values(), key=lambda metric: metric.usage.order)
CORE = tuple(metric.name for metric in _BY_ORDER if metric.usage.group == "core")
"""Accuracy metrics that every comparison begins with; a verdict weighs them beside the primary one."""
BEYOND = tuple(metric.name for metric in _BY_ORDER if metric.usage.group == "beyond")
"""Catalogue metrics that tables list behind the core."""
GUARDRAILS = tuple(metric.name for metric in _BY_ORDER if metric.usage.guardrail)
"""Catalogue metrics that a gain in accuracy must not cost too much of."""
OF_CATALOGUE = tuple(
    metric.name for metric in _BY_ORDER if isinstance(metric, CatalogueMetric) and metric.usage.is_scored
)
"""Catalogue metrics that are computed for every upload."""
SCORED = tuple(
    spec
    for metric in METRICS.values()
    if metric.usage.is_scored
    for spec in (metric.name, *metric.usage.variants)
)
"""Specs that are computed for every upload."""
FIRST_CORE = 3
MOST_CURVES = 4


def metric_title(metric: str, k: int | None = None) -> str:
    """Returns the display name: ``ndcg(gain=exp)`` at 10 → ``nDCG(gain=exp)@10``; without k no cutoff."""
    spec = parse(metric)
    name = METRICS[spec.name].label + spec.label[len(spec.name) :]
    return f"{name}@{k}" if k and METRICS[spec.name].has_cutoff else name


def row_of(metric: str) -> Metric:
    """Returns the metric's row in the table of its family, without the parameters of the spec."""
    return METRICS[base(metric)]


def lower_is_better(metric: str) -> bool:
    return define(metric).lower_is_better


def less_is_wanted(metric: str) -> bool:
    """Returns True for errors, and for catalogue metrics of which a team usually wants less."""
    row = METRICS.get(base(metric))  # an old decision may name a metric that is gone
    return row is not None and (row.usage.less_is_wanted or lower_is_better(metric))


def reads_train(metric: str) -> bool:
    """True for a ranking metric that looks at the popularity of items in train."""
    row = row_of(metric)
    return isinstance(row, RankingMetric) and row.missing_input is missing_train


def base(metric: str) -> str:
    """Returns the bare name: ``ndcg(gain=exp)`` → ``ndcg``."""
    return parse(metric).name


def has_k(metric: str) -> bool:
    return row_of(metric).has_cutoff


def metric_at(metric: str, k: int | str) -> str:
    """Returns the name with cutoff: ``ndcg, 10`` → nDCG@10; a metric without a cutoff keeps its bare name."""
    return f"{metric_title(metric)}@{k}" if has_k(metric) else metric_title(metric)


def is_percent(metric: str) -> bool:
    """Returns whether values are shown in %; False for a metric that is gone, as in an old decision."""
    row = METRICS.get(base(metric))
    return row is not None and row.usage.is_percent


def scale_of(metric: str) -> int:
    """Returns the display factor of a value: 100 if it is shown in %."""
    return 100 if is_percent(metric) else 1


def metric_and_unit(metric: str, k: int | str) -> str:
    """Returns ``nDCG@10``, or ``Coverage@10, %`` for a metric shown in %."""
    return f"{metric_at(metric, k)}{', %' if is_percent(metric) else ''}"


def ordered_metrics(metrics: Sequence[str]) -> list[str]:
    """Returns core accuracy first, then catalogue-level metrics, then others; variants after their plain
    form.
    """
    rank = {name: place for place, name in enumerate((*CORE, *BEYOND))}
    return sorted(metrics, key=lambda metric: (rank.get(base(metric), len(rank)), "(" in metric, metric))


def curve_metrics(primary: str, offered: Sequence[str]) -> list[str]:
    """Returns the metrics drawn against k at first: the primary one and three more that are offered and have
    a k.

    One of them looks beyond accuracy, for what a gain may cost.
    """
    names = (primary, *CORE[:FIRST_CORE], *BEYOND[:1], *CORE[FIRST_CORE:])
    drawn = dict.fromkeys(name for name in names if name in offered and has_k(name))
    return list(drawn)[:MOST_CURVES]
