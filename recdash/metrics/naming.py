"""Display names of metrics, and the metrics that tables, charts and verdicts show by default."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from recdash.metrics.catalogue import CatalogueMetric
from recdash.metrics.ranking import RankingMetric, why_no_popularity
from recdash.metrics.registry import BUILT_IN, METRICS, Metric, define
from recdash.metrics.spec import parse

_BY_ORDER = sorted(BUILT_IN, key=lambda metric: metric.usage.order)
CORE = tuple(metric.name for metric in _BY_ORDER if metric.usage.group == "core")
"""Names of the accuracy metrics that every comparison shows first.

A verdict checks them beside its primary metric.
"""
BEYOND = tuple(metric.name for metric in _BY_ORDER if metric.usage.group == "beyond")
"""Names of the catalogue-level metrics that tables list after ``CORE``."""
GUARDRAILS = tuple(metric.name for metric in _BY_ORDER if metric.usage.guardrail)
"""Names of the catalogue-level metrics that a gain in accuracy must not worsen by more than a set margin."""
SCORED = tuple(
    spec for metric in BUILT_IN if metric.usage.is_scored for spec in (metric.name, *metric.usage.variants)
)
"""Specs of the metrics whose curves are stored with every run, including variants with other parameters.

Own metrics are not among them: their code may change or go, and they are computed from the stored hits.
"""
WITH_LISTS = ("users", "both")
"""The parameter that counts only users with a list, which titles say in words."""
FIRST_CORE = 3
MOST_CURVES = 4


def metric_title(metric: str, k: int | str | None = None) -> str:
    """Returns the display name of a metric: ``ndcg(gain=exp)`` with k = 10 gives ``nDCG(gain=exp)@10``.

    ``ndcg(users=both)`` gives ``nDCG@10 (users with lists)``. The name has no cutoff if k is None or if the
    metric has none. A metric that is not installed here is named by its spec. Raises InputError for a bad
    spec.
    """
    spec = parse(metric)
    others = tuple(parameter for parameter in spec.parameters if parameter != WITH_LISTS)
    end = "" if others == spec.parameters else " (users with lists)"
    row = METRICS.get(spec.name)
    if row is None:
        return metric
    name = row.label + replace(spec, parameters=others).label[len(spec.name) :]
    return f"{name}{f'@{k}' if k and row.has_cutoff else ''}{end}"


def default_specs() -> list[str]:
    """Returns the specs that are computed if none is named: ``SCORED``, and those of own metrics."""
    own = (metric for metric in METRICS.own.values() if metric.usage.is_scored)
    return [*SCORED, *(spec for metric in own for spec in (metric.name, *metric.usage.variants))]


def catalogue_metrics() -> tuple[str, ...]:
    """Returns the names of the catalogue-level metrics that are computed by default."""
    rows = (*_BY_ORDER, *METRICS.own.values())
    return tuple(row.name for row in rows if isinstance(row, CatalogueMetric) and row.usage.is_scored)


def metric_row(metric: str) -> Metric:
    """Returns the metric's row in the metric table; the parameters in the spec are ignored."""
    return METRICS[base(metric)]


def lower_is_better(metric: str) -> bool:
    return define(metric).lower_is_better


def less_is_wanted(metric: str) -> bool:
    """Returns True for error metrics, and for catalogue-level metrics that teams usually want to lower.

    Returns False for a metric that no longer exists, which an old decision may name.
    """
    row = METRICS.get(base(metric))  # an old decision may name a metric that is gone
    return row is not None and (row.usage.less_is_wanted or lower_is_better(metric))


def reads_train(metric: str) -> bool:
    """Returns True for a ranking metric that needs the items' popularity in the training data."""
    row = metric_row(metric)
    return isinstance(row, RankingMetric) and row.why_unavailable is why_no_popularity


def base(metric: str) -> str:
    """Returns a spec's metric name without parameters and cutoff: ``ndcg(gain=exp)`` gives ``ndcg``."""
    return parse(metric).name


def has_k(metric: str) -> bool:
    """Returns whether the metric has a cutoff; False for one that is not installed here."""
    row = METRICS.get(base(metric))
    return row is not None and row.has_cutoff


def why_not_installed(metric: str) -> str:
    """Returns why a metric that was used before is not known here; an empty text if it is."""
    name = base(metric)
    if name in METRICS:
        return ""
    problem = METRICS.refused.get(name)
    if problem is not None:
        return f"it is an own metric, and was refused: {problem.found}"
    return "it is an own metric that is not installed here (docs/own-metrics.md)"


def metric_at(metric: str, k: int | str) -> str:
    """Returns the display name with the cutoff: ``ndcg`` with k = 10 gives ``nDCG@10``.

    The name of a metric without a cutoff stays as it is.
    """
    return metric_title(metric, k if has_k(metric) else None)


def is_percent(metric: str) -> bool:
    """Returns True if the metric's values are shown in %.

    Returns False for a metric that no longer exists, which an old decision may name.
    """
    row = METRICS.get(base(metric))
    return row is not None and row.usage.is_percent


def scale_of(metric: str) -> int:
    """Returns the factor from a value to the displayed number: 100 for a metric shown in %, else 1."""
    return 100 if is_percent(metric) else 1


def metric_and_unit(metric: str, k: int | str) -> str:
    """Returns the display name with cutoff and unit: ``nDCG@10``, or ``Coverage@10, %`` if shown in %."""
    return f"{metric_at(metric, k)}{', %' if is_percent(metric) else ''}"


def ordered_metrics(metrics: Sequence[str]) -> list[str]:
    """Returns the metrics in display order: core accuracy, then catalogue-level metrics, then all others.

    Variants with parameters follow the plain form of the same metric.
    """
    rank = {name: place for place, name in enumerate((*CORE, *BEYOND))}
    return sorted(metrics, key=lambda metric: (rank.get(base(metric), len(rank)), "(" in metric, metric))


def curve_metrics(primary: str, offered: Sequence[str]) -> list[str]:
    """Returns the metrics that a chart over k draws by default, at most four.

    They are the primary metric and others that are offered and have a cutoff. Usually one of them is a
    catalogue-level metric, because it shows what a gain in accuracy costs.
    """
    names = (primary, *CORE[:FIRST_CORE], *BEYOND[:1], *CORE[FIRST_CORE:])
    drawn = dict.fromkeys(name for name in names if name in offered and has_k(name))
    return list(drawn)[:MOST_CURVES]
